package status

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
)

// Key names one DatabaseCluster.
type Key = types.NamespacedName

// Decision is the coordinator's newest decision about one database cluster, together with
// everything that it depended on.
//
// A Decision is a value: the publisher must not change what it points to afterwards, because
// readers share it.
type Decision struct {
	progress.Moment
	Key Key
	// Idle is true if the agents' reports are not followed because nothing is to be done. What the
	// snapshot says about pods and groups is then not known and decides nothing.
	Idle bool
	// SpecError says what in the spec cannot be read although the policy finds nothing wrong with
	// it: a cron expression or a time zone.
	SpecError error
	Guard     Guard
	// Refused says, by pod UID, why the last message of its agent was not accepted.
	Refused map[string]string
	// Withheld is what the DatabaseCluster names but is not used, because the people who may write
	// the Secrets have not allowed it, and how they can. It is empty if there is nothing.
	Withheld string
}

// PodCounts are the pods of one database cluster, counted over all pools.
type PodCounts = model.PodCounts

// Guard is what people should know about the guard, besides whether it enforces.
type Guard struct {
	// Why says why it does not enforce although that is requested. It is empty otherwise.
	Why string
	// ForeignBudget says what to do about somebody else's PodDisruptionBudget that selects a pod.
	// It is empty if there is none.
	ForeignBudget string
}

// FromSnapshot decides on a snapshot and returns the Decision that the coordinator would make at
// the snapshot's own time.
func FromSnapshot(s model.Snapshot) Decision {
	return Decision{Key: Key{Namespace: s.Cluster.Namespace, Name: s.Cluster.Name}, Moment: progress.At(s)}
}
