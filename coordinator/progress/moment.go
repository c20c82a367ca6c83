package progress

import (
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// Moment is what is decided about one database cluster at one time, with everything that it
// depended on.
//
// A Moment is a value: its creator must not change what it points to afterwards, because readers
// share it.
type Moment struct {
	Snapshot model.Snapshot
	Plan     model.Plan
	// Claims that are open now. They may be newer than those of the snapshot,
	// because a claim changes its phase without a new decision.
	Claims []model.Claim
	Pods   model.PodCounts
	// Phase is what the cluster as a whole is doing. It may say more than the
	// plan's: that a rollout is stalled is known only with time.
	Phase     model.ClusterPhase
	DecidedAt time.Time
	// Waiting is, by pod, what an open claim waits for, in words.
	Waiting map[string]string
	// Settings are the cluster settings that no claim relies on any more, and what claims have
	// left, that could not be restored yet, with the reason.
	Settings map[string]string
	// Resets says how often somebody has reset the partition of a pool, if that happens repeatedly.
	Resets map[string]int
	// HeldSince says since when each wait has lasted without a break, by its key, as far as
	// that is known.
	HeldSince map[string]time.Time
	// UnavailableSince says since when each pod that does not serve has not, as far as that
	// is known.
	UnavailableSince map[string]time.Time
}

// At returns the moment of a snapshot: what would be decided at the snapshot's own time.
func At(s model.Snapshot) Moment {
	plan := policy.Decide(s)
	return Moment{Snapshot: s, Plan: plan, Claims: s.Cluster.Status.Claims, Pods: CountPods(s, plan), Phase: plan.Phase, DecidedAt: s.Now.Time}
}

// ClaimOf returns the open claim on the named pod.
func (m *Moment) ClaimOf(pod string) (model.Claim, bool) {
	at := slices.IndexFunc(m.Claims, func(c model.Claim) bool { return c.Pod == pod })
	if at < 0 {
		return model.Claim{}, false
	}
	return m.Claims[at], true
}

// Pod returns the named pod of the snapshot.
func (m *Moment) Pod(name string) (model.Pod, bool) {
	for i := range m.Snapshot.Pods {
		if m.Snapshot.Pods[i].Name == name {
			return m.Snapshot.Pods[i], true
		}
	}
	return model.Pod{}, false
}

// Pool returns the named pool of the snapshot.
func (m *Moment) Pool(name string) (model.Pool, bool) {
	for i := range m.Snapshot.Pools {
		if m.Snapshot.Pools[i].Name == name {
			return m.Snapshot.Pools[i], true
		}
	}
	return model.Pool{}, false
}

func (m *Moment) stallAfter() time.Duration {
	return time.Duration(m.Snapshot.Cluster.Spec.Policy.ProgressSeconds) * time.Second
}
