package status

import (
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
)

// PoolState is how far one StatefulSet of a database cluster has come.
type PoolState struct {
	Name string
	// Revision is the one that its pods should run. It is empty if not known.
	Revision string
	// Version is the engine's version in its template, as far as the tag says.
	Version                 string
	Desired, Updated, Ready int32
	// Complete is true if every desired pod runs the revision and is back, and there is no other
	// pod. If the whole cluster is done, so is each pool.
	Complete bool
}

// PoolsOf returns the pools of a decision, as listed there.
func PoolsOf(d Decision) []PoolState {
	s := d.Snapshot
	out := make([]PoolState, len(s.Pools))
	places := make(map[string]*PoolState, len(s.Pools))
	for i, pool := range s.Pools {
		out[i] = PoolState{Name: pool.Name, Revision: pool.Revision, Version: pool.Version, Desired: pool.Replicas, Complete: pool.Observed}
		if pool.Revision == "" && pool.Replicas > 0 {
			out[i].Complete = false
		}
		places[pool.Name] = &out[i]
	}
	for _, pod := range s.Pods {
		p := places[pod.Pool]
		if p == nil || !progress.Exists(pod) {
			continue
		}
		ready := pod.Phase == model.PodPhaseReady
		_, claimed := d.ClaimOf(pod.Name)
		if ready {
			p.Ready++
		}
		is := p.Revision != "" && pod.Revision == p.Revision
		if is {
			p.Updated++
		}
		if !is || !ready || claimed || !inDatabase(pod) {
			p.Complete = false
		}
	}
	for i := range out {
		p := &out[i]
		p.Complete = p.Complete && p.Updated == p.Desired || d.Phase == model.ClusterDone
	}
	return out
}

// inDatabase reports whether the database has the pod as a member and it has caught up. Nobody may
// be able to say that about a pod without an agent.
func inDatabase(pod model.Pod) bool {
	r := pod.Report
	if r == nil {
		return !pod.Agent
	}
	return r.Member == model.MembershipLive && r.Settled
}
