package solr

import (
	"cmp"
	"slices"
)

// move is one shard whose leadership must move from the node to another copy.
type move struct {
	to    place
	mark  mark
	ready bool // mark and preferredLeader are both there already
}

// handoffPlan is what is left of a handoff.
type handoffPlan struct {
	moves []move // sorted by collection and shard
	// stuck shards stay: no other active copy can lead them. No obstacle.
	stuck []string
	// leaderless shards carry our mark and have no leader at the moment.
	leaderless []string
	// commits are the collections of which the node has copies. Those of which a copy takes over that has
	// to replay its log are there twice, to be committed twice at the same time. When a copy of type TLOG
	// has fetched a commit, it drops from its log what is older than the commit. An update that is older
	// and was still on its way into the leader's index is in neither. Solr lets the second commit wait for
	// the first, so that such an update has arrived.
	commits []string
}

func (p handoffPlan) done() bool { return len(p.moves) == 0 && len(p.leaderless) == 0 }

// planHandoff decides which copy takes over each shard that the node leads: an active copy that can
// lead, on an eligible node if there is one. Otherwise not on a node that has itself given the
// shard away and leaves as well, because two nodes would pass it to each other for ever. Among
// these it prefers the copy that is marked for this claim already or that people prefer, then one of
// type NRT, whose index has what it has acknowledged, then the one whose node leads the least.
func planHandoff(state *clusterState, node, claim string, eligible []string) handoffPlan {
	var plan handoffPlan
	leads := map[string]int{}
	for r := range state.replicas() {
		if state.leads(r) {
			leads[r.node]++
		}
	}
	for _, col := range state.collections {
		hosted, lags := false, false
		for _, s := range col.shards {
			hosted = hosted || slices.ContainsFunc(s.replicas, func(r replica) bool { return r.node == node })
			if !s.counts() || s.building() {
				continue
			}
			leader, led := state.leader(s)
			if !led && s.markedFor(claim) {
				plan.leaderless = append(plan.leaderless, col.name+"/"+s.name)
			}
			if !led || leader.node != node {
				continue
			}
			target, found := successor(state, s, node, claim, eligible, leads)
			if !found {
				plan.stuck = append(plan.stuck, col.name+"/"+s.name)
				continue
			}
			lags = lags || target.lags() > 0
			leads[target.node]++
			leads[node]--
			plan.moves = append(plan.moves, s.moveTo(col.name, target, mark{claim: claim, node: node}))
		}
		if hosted {
			plan.commits = append(plan.commits, col.name)
		}
		if lags {
			plan.commits = append(plan.commits, col.name)
		}
	}
	return plan
}

func (s shard) markedFor(claim string) bool {
	return slices.ContainsFunc(s.replicas, func(r replica) bool {
		m, ok := parseMark(r.mark)
		return ok && m.claim == claim
	})
}

// givenAwayBy reports whether the node has handed the shard over for a claim that nobody has
// restored yet.
func (s shard) givenAwayBy(node string) bool {
	return slices.ContainsFunc(s.replicas, func(r replica) bool {
		m, ok := parseMark(r.mark)
		return ok && m.node == node
	})
}

// moveTo keeps the prior that an unfinished attempt has written, because the preferred replica is
// our own choice by then.
func (s shard) moveTo(collection string, target replica, m mark) move {
	_, m.prior = s.owner()
	if old, ok := parseMark(target.mark); ok && !target.preferred && old.claim == m.claim {
		m.prior = old.prior
	}
	return move{
		to:    place{collection, s.name, target.name},
		mark:  m,
		ready: target.preferred && target.mark == m.String(),
	}
}

func successor(state *clusterState, s shard, node, claim string, eligible []string, leads map[string]int) (replica, bool) {
	var fit []replica
	for _, r := range s.replicas {
		if r.node != node && r.canLead() && state.active(r) {
			fit = append(fit, r)
		}
	}
	best := slices.DeleteFunc(slices.Clone(fit), func(r replica) bool { return !slices.Contains(eligible, r.node) })
	if len(best) == 0 {
		best = slices.DeleteFunc(fit, func(r replica) bool { return s.givenAwayBy(r.node) })
	}
	if fit = best; len(fit) == 0 {
		return replica{}, false
	}
	rank := func(r replica) int {
		m, ok := parseMark(r.mark)
		switch {
		case ok && m.claim == claim:
			return 0
		case r.preferred:
			return 1
		}
		return 2
	}
	return slices.MinFunc(fit, func(a, b replica) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.lags(), b.lags()), cmp.Compare(leads[a.node], leads[b.node]), cmp.Compare(a.name, b.name))
	}), true
}
