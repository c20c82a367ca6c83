package policy

import "time"

// candidate is a pod that should go.
type candidate struct {
	*pod
	reason  Reason
	broken  bool // by itself: never started, or failed
	outside bool // broken, and taking it takes nothing away: outside the budget
	dead    bool // one of a database in which nobody is live
	lost    bool // its data does not survive
	leaves  bool // it does not come back, or comes back elsewhere
	action  Action
	prepare Prepare
	place   int // in the order
	replace replacement
}

// candidates lists who should go, unordered.
func (x *index) candidates() []candidate {
	var list []candidate
	dead := x.nobodyLive()
	x.dead = dead
	for i := range x.pods {
		p := &x.pods[i]
		reason := x.whyGo(p)
		if reason == "" {
			continue
		}
		c := candidate{pod: p, reason: reason}
		switch reason {
		case ReasonReplacement:
			c.replace = x.whyReplace(p)
			c.broken = p.Phase == Missing || x.whyBroken(p) != ""
			c.outside = c.broken && takesNothing(p, ReasonFailed)
		case ReasonOutdated, ReasonRestartRequested:
			if why := x.whyBroken(p); why != "" {
				c.reason, c.broken = why, true
				c.outside = takesNothing(p, why)
				c.dead = dead && why == ReasonFailed
			}
		}
		x.chooseAction(&c)
		list = append(list, c)
	}
	return list
}

// whyGo is the first reason for which a pod should go.
func (x *index) whyGo(p *pod) Reason {
	leaves, why := goesForGood(p), x.whyReplace(p)
	switch {
	case p.Phase == Missing && (leaves || why.failed.condition == ""):
		return "" // it has gone
	case leaves:
		return ReasonScaleDown
	case why.wanted():
		return ReasonReplacement
	case p.Restart:
		return ReasonRestartRequested
	case isOutdated(p):
		return ReasonOutdated
	case !p.Agent:
		return ReasonAdopt
	case x.mustLeaveNode(p):
		return ReasonNodeDrain
	}
	return ""
}

// scaledAway: a scale-down in progress leaves no room for this ordinal.
func scaledAway(p *pod) bool {
	to := p.pool.ScalingTo
	return to != nil && int64(p.Ordinal) >= int64(p.pool.Start)+int64(*to)
}

// mustLeaveNode: its node is to be left, and the cluster follows node drains.
func (x *index) mustLeaveNode(p *pod) bool {
	n := x.nodes[p.Node]
	if n == nil || p.Node == "" || !x.spec.Update.NodeDrains.Follow {
		return false
	}
	if n.Cordoned {
		return true
	}
	for _, taint := range n.Taints {
		for _, key := range x.spec.Update.NodeDrains.Taints {
			if taint.Key == key {
				return true
			}
		}
	}
	return false
}

func (x *index) chooseAction(c *candidate) {
	data := x.spec.Drain.Data
	switch {
	case c.reason == ReasonScaleDown:
		c.action, c.lost, c.leaves = Remove, true, true
	case c.reason == ReasonReplacement:
		c.action, c.lost, c.leaves = Replace, true, !c.replace.forUpdate()
	case x.mustLeaveNode(c.pod):
		c.action, c.lost, c.leaves = Restart, data.NodeDrain == Lose, true
	default:
		c.action, c.lost = Restart, data.Restart == Lose
	}
	switch {
	case c.pool.shutdown:
		// Everybody goes, so nobody is left to take over; the volumes stay.
		c.prepare, c.lost = PrepareNone, false
	case c.action == Replace:
		c.prepare = PrepareEvacuate // the database itself must say that nothing is left on it
	case c.outside, !c.Agent:
		c.prepare = PrepareNone
	case c.lost:
		c.prepare = PrepareEvacuate
	default:
		c.prepare = PrepareHandoff
	}
	if c.reason == ReasonNodeDrain {
		switch c.prepare {
		case PrepareEvacuate:
			c.action = Evacuate
		case PrepareHandoff:
			c.action = Handoff
		}
	}
}

// bringsNoUpdate: nothing comes back, or only what ran before.
func (c *candidate) bringsNoUpdate() bool {
	return c.action == Remove || c.action == Replace && !isOutdated(c.pod)
}

// cannotBeDone: whoever acts cannot replace pods.
func (c *candidate) cannotBeDone() bool { return c.action == Replace && c.Refused == Vetoed }

// startSeconds is how long a pod may take to start and join.
func (x *index) startSeconds() time.Duration {
	return span(x.spec.Policy.StartSeconds)
}

// overdue: the pod's phase has lasted longer than a start may take.
func (x *index) overdue(p *pod) bool { return !p.Since.Add(x.startSeconds()).After(x.now) }

// whyBroken is NeverStarted or Failed when there is direct evidence for it,
// from the container's state, which no report can talk away, or from the pod's
// own agent. A missing report is none. A pod that is still starting, cloning
// or recovering is not broken.
func (x *index) whyBroken(p *pod) Reason {
	if x.nodeGone(p) {
		return "" // nobody is there to tell
	}
	switch p.Phase {
	case Pending, NotStarted:
		switch {
		case p.Problem == CrashLoop:
			return ReasonFailed
		case p.Problem != NoProblem || x.overdue(p):
			return ReasonNeverStarted
		}
	case Failed:
		return ReasonFailed
	case Started, Ready:
		crashes := p.Phase == Started && p.Problem == CrashLoop
		if x.saysNotLive(p) && (crashes || x.overdue(p)) {
			return ReasonFailed
		}
	}
	return ""
}

// saysNotLive: the pod's own agent says, freshly, that the database does not
// have it as a member.
func (x *index) saysNotLive(p *pod) bool {
	r := p.report
	return r != nil && r.Self && r.Fresh && r.Member == NotLive
}

// takesNothing: every member that the pod hosts is already not Active, or it
// hosts none. Of a container that has never started it need not be known in
// which state a member is; of one that has, it must.
func takesNothing(p *pod, why Reason) bool {
	for i := range p.hosts {
		h := &p.hosts[i]
		if h.available > 0 || h.maybe > 0 && why != ReasonNeverStarted {
			return false
		}
	}
	return true
}

// nobodyLive: the database has nobody left to ask.
func (x *index) nobodyLive() bool {
	for i := range x.pods {
		if x.pods[i].live {
			return false
		}
	}
	return true
}
