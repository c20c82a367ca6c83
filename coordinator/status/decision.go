package status

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// Key names one DatabaseCluster.
type Key = types.NamespacedName

// Decision is the newest thing that the coordinator decided about one
// database cluster, together with everything that it depended on.
//
// A Decision is a value: whoever publishes one must not change what it points
// to afterwards, because readers share it.
type Decision struct {
	Key      Key
	Snapshot model.Snapshot
	Plan     model.Plan
	// Claims that are open now. They may be newer than those of the snapshot,
	// because a claim changes its phase without a new decision.
	Claims []model.Claim
	Pods   PodCounts
	// Phase is what the cluster as a whole is doing. It may say more than the
	// plan's: that a rollout is stalled is known only with time.
	Phase     model.ClusterPhase
	DecidedAt time.Time
	// Idle: nobody follows what the agents say, because nothing is to be done.
	// What the snapshot says of pods and groups is then not known and decides nothing.
	Idle bool
	// HeldSince says since when each of the Waits has lasted without a break, by
	// its key, as far as that is known.
	HeldSince map[string]time.Time
	// AwaySince says since when each pod that does not serve has not, as far as that
	// is known.
	AwaySince map[string]time.Time
	// SpecError is what in the spec cannot be read although the policy finds
	// nothing wrong with it: a cron expression or a time zone.
	SpecError error
	// Resets says of pools how often somebody has undone what was written to their
	// partition, where that happens again and again.
	Resets map[string]int
	Guard  Guard
	// Waiting is, by pod, what an open claim waits for, in the words of whoever
	// carries it out.
	Waiting map[string]string
	// Refused is, by pod UID, why what its agent sent last was not taken.
	Refused map[string]string
	// Withheld is what the DatabaseCluster names and is not used, because those who may
	// write the Secrets have not allowed it, and how they do; empty: nothing.
	Withheld string
	// Settings of the whole database that could not be put back yet, with why.
	Settings map[string]string
}

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
	plan := policy.Decide(s)
	return Decision{
		Key:       Key{Namespace: s.Cluster.Namespace, Name: s.Cluster.Name},
		Snapshot:  s,
		Plan:      plan,
		Claims:    s.Cluster.Status.Claims,
		Pods:      CountPods(s, plan),
		Phase:     plan.Phase,
		DecidedAt: s.Now.Time,
	}
}

// claimOf is the open claim on the named pod.
func (d Decision) claimOf(pod string) (model.Claim, bool) {
	for _, c := range d.Claims {
		if c.Pod == pod {
			return c, true
		}
	}
	return model.Claim{}, false
}

// pod is the named pod of the snapshot.
func (d Decision) pod(name string) (model.Pod, bool) {
	for _, p := range d.Snapshot.Pods {
		if p.Name == name {
			return p, true
		}
	}
	return model.Pod{}, false
}

// pool is the named pool of the snapshot.
func (d Decision) pool(name string) (model.Pool, bool) {
	for _, p := range d.Snapshot.Pools {
		if p.Name == name {
			return p, true
		}
	}
	return model.Pool{}, false
}

// updated says whether a pod runs its pool's update revision. While that
// revision is unknown nobody does, and nobody is out of date either.
func updated(pod model.Pod, pool model.Pool) bool {
	return exists(pod) && pool.Revision != "" && pod.Revision == pool.Revision
}

func exists(pod model.Pod) bool { return pod.Phase != model.Missing }
