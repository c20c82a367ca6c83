package cluster

import (
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Index is a snapshot in which everything is joined that a decision needs more than once. It shares
// memory with the snapshot and writes none of it.
//
// Pods are in one canonical order (pools as listed, ordinals descending), and groups by id,
// whatever the order in the snapshot; every loop below runs over these, so that no answer can
// depend on the input's order.
type Index struct {
	Snapshot *model.Snapshot
	Now      time.Time
	Spec     model.Spec

	Pools    []Pool
	Pods     []Pod
	ByName   map[string]int32
	Groups   []Group
	Hosted   []int32 // where each member is, group by group
	OnDuty   []bool  // by pod: its copies are counted on, and it is not chosen
	nodes    map[string]*model.Node
	Claims   map[string]*model.Claim
	OwnClaim *model.Claim // of the pod that is asked about again
	Desired  int          // pods of all pools

	// Guards is true if Kubernetes refuses to remove a pod whose guard is closed.
	Guards bool
	// NoAgents is true if there are pods and none has an agent. Then Ready has to stand for live.
	NoAgents bool
	// InPlace is true if some pods have no agent yet, and get it without a handover. Then Ready stands
	// for what these would say. StandsIn is true if it does for something that nobody knows.
	InPlace, StandsIn bool
	// OneByOne is true in both cases: pods go one at a time.
	OneByOne bool
	// Soak is how long a pod must be settled before it counts as back.
	Soak time.Duration
	// Dead is true if no pod is live in the database.
	Dead bool
	// ReplaceAt is when the next pod will have been failing for too long, or zero.
	ReplaceAt time.Time
}

// Pool is a model.Pool with what was counted in it.
type Pool struct {
	*model.Pool
	Shutdown    bool // intended and announced
	ByPartition bool // RollingUpdate, driven by its partition
}

// New joins a snapshot. The claim of the pod ownClaim, if it has one, is ignored: that pod is
// rechecked.
func New(s *model.Snapshot, ownClaim string) *Index {
	in := standIn(s)
	s = in.Snapshot
	x := &Index{Snapshot: s, Now: s.Now.Time, Spec: s.Cluster.SpecWithDefaults(), InPlace: in.adopts, StandsIn: in.raised}
	x.Guards = x.Spec.Guard == model.GuardEnforce && s.Cluster.GuardEnforcing
	x.addPools()
	x.addClaims(ownClaim)
	x.addNodes()
	x.addPods()
	x.judgePods()
	x.Dead = x.noneLive()
	x.addGroups()
	x.noteContradictions()
	return x
}

func (x *Index) addPools() {
	x.Pools = make([]Pool, 0, len(x.Snapshot.Pools))
	for i := range x.Snapshot.Pools {
		p := &x.Snapshot.Pools[i]
		x.Pools = append(x.Pools, Pool{
			Pool: p, Shutdown: EndsAtNone(p) && p.AllowShutdown,
			ByPartition: p.Strategy == model.StrategyRollingUpdate && x.Spec.Update.RollingUpdate == model.RollingUpdateByPartition,
		})
		if p.Replicas > 0 && p.Replicas <= model.MaxReplicas {
			x.Desired += int(p.Replicas)
		}
	}
}

// addClaims leaves out the claim of the pod that is rechecked.
func (x *Index) addClaims(own string) {
	x.Claims = make(map[string]*model.Claim, len(x.Snapshot.Cluster.Status.Claims))
	for i := range x.Snapshot.Cluster.Status.Claims {
		c := &x.Snapshot.Cluster.Status.Claims[i]
		if c.Pod == own && own != "" {
			x.OwnClaim = c
			continue
		}
		if _, twice := x.Claims[c.Pod]; !twice {
			x.Claims[c.Pod] = c
		}
	}
}

func (x *Index) addNodes() {
	x.nodes = make(map[string]*model.Node, len(x.Snapshot.Nodes))
	for i := range x.Snapshot.Nodes {
		x.nodes[x.Snapshot.Nodes[i].Name] = &x.Snapshot.Nodes[i]
	}
}

// MovesPartition reports whether the partition of this pool is ours to move.
func (p *Pool) MovesPartition() bool {
	return p.ByPartition && !p.Force && p.Observed && p.Revision != "" && p.Replicas > 0
}

// EndsAtNone reports whether the pool is scaled to 0, or being scaled to 0.
func EndsAtNone(p *model.Pool) bool {
	return p.Replicas <= 0 || p.ScalingTo != nil && *p.ScalingTo <= 0
}
