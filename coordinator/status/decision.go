package status

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
)

// Key names one DatabaseCluster.
type Key = types.NamespacedName

// Decision is the newest thing that the coordinator decided about one
// database cluster, together with everything that it depended on.
//
// A Decision is a value: whoever publishes one must not change what it points
// to afterwards, because readers share it.
type Decision struct {
	progress.Moment
	Key Key
	// Idle is true if nobody follows what the agents say, because nothing is to be done. What the
	// snapshot says of pods and groups is then not known and decides nothing.
	Idle bool
	// SpecError is what in the spec cannot be read although the policy finds
	// nothing wrong with it: a cron expression or a time zone.
	SpecError error
	Guard     Guard
	// Refused is, by pod UID, why what its agent sent last was not taken.
	Refused map[string]string
	// Withheld is what the DatabaseCluster names and is not used, because those who may write the
	// Secrets have not allowed it, and how they do. It is empty if nothing.
	Withheld string
}

// PodCounts are the pods of one database cluster, counted over all pools.
type PodCounts = model.PodCounts

// Guard is what people should know of the guard, beside whether it enforces.
type Guard struct {
	// Why it does not although that is asked for; empty otherwise.
	Why string
	// ForeignBudget says what to do about a PodDisruptionBudget of somebody else
	// that selects a pod; empty without one.
	ForeignBudget string
}

// FromSnapshot decides on a snapshot and makes a Decision of it, as the
// coordinator would at the snapshot's own time.
func FromSnapshot(s model.Snapshot) Decision {
	return Decision{Key: Key{Namespace: s.Cluster.Namespace, Name: s.Cluster.Name}, Moment: progress.At(s)}
}
