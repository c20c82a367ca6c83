package policy

import "github.com/rollcall-dev/rollcall/coordinator/model"
import "time"

// candidate is a pod that should go.
type candidate struct {
	*pod
	reason  model.Reason
	broken  bool // by itself: never started, or failed
	failed  bool // to return, on its pool's revision
	outside bool // broken, and taking it takes nothing away: outside the budget
	dead    bool // one of a database in which nobody is live
	lost    bool // its data does not survive
	leaves  bool // it does not come back, or comes back elsewhere
	forced  bool // a person handed it to its controller: no rule is asked
	action  model.Action
	prepare model.Prepare
	place   int // in the order
	replace replacement
}

// candidates lists who should go, unordered.
func (x *index) candidates() []candidate {
	list := make([]candidate, 0, len(x.pods))
	for i := range x.pods {
		p := &x.pods[i]
		reason := x.whyGo(p)
		if reason == "" {
			continue
		}
		c := candidate{pod: p, reason: reason, failed: x.failedToReturn(p)}
		if reason == model.ReasonReplacement {
			c.replace = x.whyReplace(p)
		}
		x.chooseAction(&c)
		switch reason {
		case model.ReasonScaleDown:
			c.broken = x.whyBroken(p) == model.ReasonNeverStarted || x.neverJoined(p)
			c.outside = c.broken && len(p.hosts) == 0
		case model.ReasonReplacement:
			c.broken = p.Phase == model.Missing || x.whyBroken(p) != ""
			c.outside = c.broken && takesNothing(p, false)
		case model.ReasonOutdated, model.ReasonRestartRequested, model.ReasonNodeDrain:
			if why := x.whyBroken(p); why != "" {
				c.reason, c.broken = why, true
				c.outside = x.nothingLost(&c, why)
				c.dead = x.dead && why == model.ReasonFailed
			}
		}
		x.choosePrepare(&c)
		list = append(list, c)
	}
	return list
}

// nothingLost: a restart of the broken candidate takes nothing away. While
// nobody is live, nobody is left who could know more of a member, and it is not
// served.
func (x *index) nothingLost(c *candidate, why model.Reason) bool {
	return takesNothing(c.pod, why == model.ReasonNeverStarted || x.dead && !c.lost)
}

// whyGo is the first reason for which a pod should go.
func (x *index) whyGo(p *pod) model.Reason {
	leaves, why := goesForGood(p), x.whyReplace(p)
	switch {
	case p.Phase == model.Missing && (leaves || why.failed.condition == ""):
		return "" // it has gone
	case leaves:
		return model.ReasonScaleDown
	case why.wanted():
		return model.ReasonReplacement
	case p.Restart:
		return model.ReasonRestartRequested
	case isOutdated(p):
		return model.ReasonOutdated
	case !p.Agent && p.pool.Agents:
		return model.ReasonAdopt
	case x.mustLeaveNode(p):
		return model.ReasonNodeDrain
	}
	return ""
}

// endsAtNone: the pool is scaled to 0, or on its way there.
func endsAtNone(p *model.Pool) bool {
	return p.Replicas <= 0 || p.ScalingTo != nil && *p.ScalingTo <= 0
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
	case c.reason == model.ReasonScaleDown:
		c.action, c.lost, c.leaves = model.Remove, true, true
	case c.reason == model.ReasonReplacement:
		c.action, c.lost, c.leaves = model.Replace, true, !c.replace.forUpdate()
	case x.mustLeaveNode(c.pod):
		c.action, c.lost, c.leaves = model.Restart, data.NodeDrain == model.Lose, true
	default:
		c.action, c.lost = model.Restart, data.Restart == model.Lose
	}
	if c.pool.shutdown {
		c.lost = false // the volumes stay
	}
}

func (x *index) choosePrepare(c *candidate) {
	switch {
	case c.pool.shutdown, x.outage() && !c.lost:
		c.prepare = model.PrepareNone // everybody goes, so nobody is left to take over
	case c.action == model.Replace:
		c.prepare = model.PrepareEvacuate // the database itself must say that nothing is left on it
	case c.outside, !c.Agent:
		c.prepare = model.PrepareNone
	case c.lost:
		c.prepare = model.PrepareEvacuate
	default:
		c.prepare = model.PrepareHandoff
	}
	c.forced = c.pool.Force && c.pool.Strategy == model.RollingUpdateStrategy && isOutdated(c.pod) && c.action == model.Restart
	switch {
	case c.forced && !x.leftOpen(c.pod):
		c.action, c.prepare = model.LowerPartition, model.PrepareNone
	case c.pool.byLine && isOutdated(c.pod) && !c.leaves && c.action == model.Restart && c.Ordinal < c.pool.Partition:
		c.action = model.LowerPartition
	}
	if c.reason == model.ReasonNodeDrain {
		switch c.prepare {
		case model.PrepareEvacuate:
			c.action = model.Evacuate
		case model.PrepareHandoff:
			c.action = model.Handoff
		}
	}
}

// bringsNoUpdate: nothing comes back, or what ran before comes back elsewhere. A restart that was
// asked for may bring what the template only refers to.
func (c *candidate) bringsNoUpdate() bool {
	return c.action == model.Remove || (c.action == model.Replace || c.leaves) && !isOutdated(c.pod)
}

// rolls: who is of a higher rank waits for it. One that is scaled away, adopted, or replaced on
// the same template, brings nothing that the others would have to be ready for.
func (c *candidate) rolls() bool {
	return c.reason != model.ReasonScaleDown && c.reason != model.ReasonAdopt && (c.reason != model.ReasonReplacement || isOutdated(c.pod))
}

// cannotBeDone: nobody is there who could empty the pod.
func (c *candidate) cannotBeDone() bool {
	return c.action == model.Replace && c.Refused == model.Vetoed
}

// startSeconds is how long a pod may take to start and join.
func (x *index) startSeconds() time.Duration {
	return span(x.spec.Policy.StartSeconds)
}

// overdue: the pod's phase has lasted longer than a start may take. Of a pod
// that is missing it must be known since when.
func (x *index) overdue(p *pod) bool {
	return (p.Phase != model.Missing || !p.Since.IsZero()) && !p.Since.Add(x.startSeconds()).After(x.now)
}

// shows: a problem that is evidence that a start has failed.
func shows(p model.Problem) bool {
	switch p {
	case model.CrashLoop, model.StartupProbe, model.ImagePull, model.BadConfig, model.Unschedulable, model.InitFailed, model.SidecarFailed:
		return true
	}
	return false
}

// loops: the database container has run and failed again and again.
func loops(p model.Problem) bool { return p == model.CrashLoop || p == model.StartupProbe }

// whyBroken is NeverStarted or Failed when there is direct evidence for it,
// from the container's state, which only a member that is live talks away, or from the pod's
// own agent. A missing report is none. A pod that is still starting, cloning
// or recovering is not broken.
func (x *index) whyBroken(p *pod) model.Reason {
	if x.nodeGone(p) {
		return "" // nobody is there to tell
	}
	switch p.Phase {
	case model.Pending, model.NotStarted:
		switch {
		case loops(p.Problem):
			return model.ReasonFailed
		case shows(p.Problem) || x.overdue(p):
			return model.ReasonNeverStarted
		}
	case model.Failed:
		return model.ReasonFailed
	case model.Started, model.Ready:
		crashes := p.Phase == model.Started && loops(p.Problem)
		if crashes && (p.report == nil || p.report.Member != model.Live) || x.lastingNotLive(p) {
			return model.ReasonFailed
		}
	}
	return ""
}

// neverJoined: the pod has no agent, is not ready in time, and nobody knows of it.
func (x *index) neverJoined(p *pod) bool {
	return !p.Agent && p.Phase == model.Started && !p.live && x.overdue(p)
}

// timeTells: once the pod is overdue, it counts as broken, as failed to return,
// or in a database in which nobody is live as one that does not come back.
func (x *index) timeTells(p *pod, dead bool) bool {
	if p.Phase == model.Missing {
		return p.claim != nil || dead
	}
	if x.nodeGone(p) || x.whyBroken(p) != "" && !x.mayYetStart(p) {
		return false
	}
	switch p.Phase {
	case model.Pending, model.NotStarted:
		return true
	case model.Started:
		return !p.live && p.Revision == p.pool.Revision
	}
	return false
}

// lastsAt is when a pod that says it is not live will have said so for long enough
// to count as failed; zero when it does not say so, or already has.
func (x *index) lastsAt(p *pod) time.Time {
	if !saysNotLive(p) || x.lastingNotLive(p) {
		return time.Time{}
	}
	return x.now.Add(x.startSeconds() - span(p.report.NotLiveSeconds))
}

// saysNotLive: the pod's own agent says, freshly, that the database does not
// have it as a member. For a pod that is not ready and has no agent the majority
// of the others says so, or it could never be corrected.
func saysNotLive(p *pod) bool {
	r := p.report
	return r != nil && (r.Self || !p.Agent && p.Phase == model.Started) && r.Fresh && r.Member == model.NotLive
}

// lastingNotLive: it has been said for as long as a start may take. Members lose their
// session, wait for an election or are paused, and come back by themselves: before that
// time nothing tells such a blip from a failure.
func (x *index) lastingNotLive(p *pod) bool {
	return saysNotLive(p) && x.forLong(p.report)
}

// forLong: what the report says of a member that is not live has been so for as long as
// a start may take.
func (x *index) forLong(r *model.Report) bool { return span(r.NotLiveSeconds) >= x.startSeconds() }

// takesNothing: every member that the pod hosts is already not Active, or it
// hosts none. Of a container that has never started, or in a database in which
// nobody is live, it need not be known in which state a member is.
func takesNothing(p *pod, unasked bool) bool {
	for i := range p.hosts {
		h := &p.hosts[i]
		if h.available > 0 || h.maybe > 0 && !unasked {
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

// restarts: the pod goes and comes back.
func restarts(a model.Action) bool { return a == model.Restart || a == model.LowerPartition }
