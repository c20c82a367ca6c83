package policy

import (
	"maps"
	"slices"
)

// partitions makes the pools ones with hold lines.
func (g generator) partitions(s *Snapshot) {
	s.Cluster.Spec.Update.RollingUpdate = ByPartition
	s.Cluster.Spec.Guard = pick(g, GuardEnforce, GuardEnforce, GuardOff)
	s.Cluster.GuardEnforcing = !g.rarely(5)
	s.Cluster.Status.Initialized = !g.rarely(10)
	for i := range s.Pools {
		p := &s.Pools[i]
		p.Strategy = pick(g, RollingUpdateStrategy, RollingUpdateStrategy, RollingUpdateStrategy, OnDelete)
		p.Partition = pick(g, RestLine, RestLine, p.Start, p.Start+int32(g.IntN(int(p.Replicas)+1)))
		p.Force = g.rarely(12)
		if g.rarely(8) {
			ordered := p.Start + int32(g.IntN(int(p.Replicas)+1))
			p.Ordered = &ordered
		}
	}
}

// handed: nothing keeps its controller from this pod.
func (n *naive) handed(p *Pod) bool {
	pool := n.pool(p.Pool)
	shut := n.sp.Guard == GuardEnforce && n.s.Cluster.GuardEnforcing && p.Guard == GuardClosed
	return pool.Strategy == RollingUpdateStrategy && p.Ordinal >= pool.Partition && n.old(p) && !shut
}

// serving: it is handed to its controller and works as if nothing were.
func (n *naive) serving(p *Pod) bool {
	return n.handed(p) && n.claimed(p) == nil && n.wanted(p) && p.Phase == Ready && !n.lost(p) && n.alive(p)
}

func (n *naive) quits(p *Pod) bool {
	return n.why(p) == ReasonScaleDown || n.replacedAnyway(p) || n.leaving(p) && n.why(p) != ReasonReplacement
}

func (n *naive) lined(p *Pod) bool {
	return n.pool(p.Pool).Strategy == RollingUpdateStrategy && n.sp.Update.RollingUpdate == ByPartition
}

func (n *naive) forced(p *Pod) bool {
	pool := n.pool(p.Pool)
	quits := n.why(p) == ReasonScaleDown || n.why(p) == ReasonReplacement
	return pool.Force && pool.Strategy == RollingUpdateStrategy && n.old(p) && !quits
}

// below: it can go only when the line is lowered to it.
func (n *naive) below(p *Pod) bool {
	return n.lined(p) && n.old(p) && !n.quits(p) && n.why(p) != ReasonReplacement && p.Ordinal < n.pool(p.Pool).Partition && !n.forced(p)
}

func (n *naive) movesLine(p *Pod) bool { return n.below(p) || n.forced(p) && !n.handed(p) }

// comingUp: it has a while left to start, and the line would have to be lowered to it.
func (n *naive) comingUp(p *Pod) bool {
	early := slices.Contains([]PodPhase{Pending, NotStarted, Started}, p.Phase) && !n.slow(p)
	return n.below(p) && early && !n.alive(p) && !n.isSick(p)
}

// mustWaitFor: a can go only after b.
func (n *naive) mustWaitFor(a, b *Pod) bool {
	return n.below(b) && a.Pool == b.Pool && n.old(a) && a.Ordinal < b.Ordinal
}

func (n *naive) stoppedByPartition(p *Pod) bool {
	pool := n.pool(p.Pool)
	if pool.Strategy != RollingUpdateStrategy || !n.old(p) || n.quits(p) || pool.Force {
		return false
	}
	person := pool.Ordered != nil && p.Ordinal < *pool.Ordered
	if n.lined(p) {
		return person || p.Ordinal < pool.Partition && (!n.s.Cluster.Status.Initialized || n.why(p) == ReasonReplacement)
	}
	return person || p.Ordinal < pool.Partition
}

// freed are the outdated pods that lowering the line to p would free before it.
func (n *naive) freed(p *Pod) []*Pod {
	var all []*Pod
	for _, o := range n.everyPodThere() {
		if o.Pool == p.Pool && n.wanted(o) && n.old(o) && o.Ordinal > p.Ordinal && o.Ordinal < n.pool(o.Pool).Partition &&
			o.Phase != Terminating && n.claimed(o) == nil && !slices.Contains(n.chosen, o.Name) {
			all = append(all, o)
		}
	}
	return all
}

// goesUp: the line of this pool is to protect somebody first.
func (n *naive) goesUp(pool *Pool) bool {
	if n.sp.Guard == GuardEnforce && n.s.Cluster.GuardEnforcing || pool.Ordered != nil || !n.s.Cluster.Status.Initialized ||
		n.sp.Update.Mode == Observe || pool.Force {
		return false
	}
	works, fails := false, false
	for _, o := range n.everyPodThere() {
		if o.Pool == pool.Name && n.handed(o) && n.claimed(o) == nil && o.Phase != Terminating {
			works, fails = works || n.serving(o), fails || !n.serving(o)
		}
	}
	return works && !fails
}

func (n *naive) waitsForLine(p *Pod) bool {
	if n.lined(p) && n.below(p) && n.goesUp(n.pool(p.Pool)) {
		return true
	}
	return n.lined(p) && !n.forced(p) && n.below(p) && len(n.freed(p)) > 0 && !(n.free(p) && n.allShut(n.freed(p)))
}

// allShut: no controller can take any of them.
func (n *naive) allShut(pods []*Pod) bool {
	for _, p := range pods {
		if n.sp.Guard != GuardEnforce || !n.s.Cluster.GuardEnforcing || p.Guard != GuardClosed {
			return false
		}
	}
	return true
}

func (n *naive) comesBackOld(p *Pod) bool {
	if !n.lined(p) || n.forced(p) || n.below(p) {
		return false
	}
	comesBack := n.why(p) != ReasonScaleDown && n.why(p) != ReasonReplacement
	return comesBack && !n.old(p) && p.Ordinal < n.pool(p.Pool).Partition &&
		slices.ContainsFunc(n.everyPodThere(), func(o *Pod) bool { return o.Pool == p.Pool && n.old(o) })
}

func (n *naive) inHands(p *Pod) bool {
	enforced := n.sp.Guard == GuardEnforce && n.s.Cluster.GuardEnforcing
	return n.handed(p) && !n.free(p) && n.claimed(p) == nil && (!enforced || n.forced(p))
}

func (n *naive) highestFirst(pods []*Pod) {
	slices.SortFunc(pods, func(a, b *Pod) int {
		if d := n.poolAt(a.Pool) - n.poolAt(b.Pool); d != 0 {
			return d
		}
		return int(b.Ordinal) - int(a.Ordinal)
	})
}

// mayRepair: it is broken, below the line, and others are between.
func (n *naive) mayRepair(p *Pod) bool {
	return n.free(p) && n.below(p) && len(n.freed(p)) > 0 && !n.allShut(n.freed(p)) && !slices.Contains(n.tried, p.Pool)
}

// repairs are a broken pod below the line and all that must go with it, if
// they may. One try for each pool is enough.
func (n *naive) repairs(p *Pod, order []*Pod, asked map[string]bool) []*Pod {
	unit := append(n.freed(p), p)
	if slices.ContainsFunc(unit, func(o *Pod) bool { return asked[o.Name] }) {
		return nil
	}
	n.tried = append(n.tried, p.Pool)
	n.highestFirst(unit)
	trial := newNaive(n.s)
	trial.chosen, trial.repairing, trial.pods = slices.Clone(n.chosen), unit, n.everyPodThere()
	for _, o := range unit {
		if trial.ask(o, order).Rule != "" {
			return nil
		}
		trial.chosen = append(trial.chosen, o.Name)
	}
	return unit
}

// target is the partition that a step asks for.
func (n *naive) target(p *Pod) *int32 {
	switch to := p.Ordinal; {
	case n.forced(p) && !n.handed(p):
		to = 0
		return &to
	case n.below(p):
		return &to
	}
	return nil
}

func (n *naive) cost(unit []*Pod) int {
	needs := 0
	for _, q := range unit {
		if !n.gone(q) && !n.free(q) && !slices.Contains(n.chosen, q.Name) {
			needs++
		}
	}
	return needs
}

// askedByForce are the rules for pods that a person handed to their controller.
var askedByForce = map[Rule]bool{ObserveOnly: true, Paused: true, OnDeadNode: true, OnItsWay: true, Claimed: true}

// reallyAway leaves out of those away who only are because of their controller.
func (n *naive) reallyAway() int {
	away := map[string]bool{}
	for _, name := range n.awayNow() {
		away[name] = slices.Contains(n.chosen, name) || n.find(name) == nil || !n.serving(n.find(name))
	}
	maps.DeleteFunc(away, func(_ string, really bool) bool { return !really })
	return len(away)
}
