package policy

import (
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// belowPartition: the StatefulSet controller would bring the pod back on the
// old revision, again and again, and the line is not ours to lower.
func (d *decision) belowPartition(c *candidate) *finding {
	p := c.pool
	if p.Strategy != model.RollingUpdateStrategy || !isOutdated(c.pod) || c.leaves || p.Force {
		return nil
	}
	line := p.Partition
	switch {
	case p.byLine && c.Ordinal < line && !d.x.s.Cluster.Status.Initialized:
		return found(fmt.Sprintf("the partition of pool %s is %d, and is left alone until the database has been healthy once", p.Name, line),
			fmt.Sprintf("the database healthy, or a partition of at most %d", c.Ordinal))
	case p.byLine && p.Ordered != nil && c.Ordinal < *p.Ordered:
		return found(fmt.Sprintf("a person set the partition of pool %s to %d: ordinals below it stay on the old revision", p.Name, *p.Ordered),
			fmt.Sprintf("a partition of at most %d", c.Ordinal))
	case p.byLine && c.action != model.Replace:
		return nil
	case p.Ordered != nil:
		line = max(line, *p.Ordered)
	}
	if c.Ordinal >= line {
		return nil
	}
	return found(fmt.Sprintf("the partition of pool %s is %d: ordinals below it stay on the old revision", p.Name, line),
		fmt.Sprintf("a partition of at most %d", c.Ordinal))
}

func (d *decision) otherOperation(c *candidate) *finding {
	if c.pool.Operation == model.NoOperation || d.curing || c.reason == model.ReasonScaleDown || c.reason == model.ReasonReplacement {
		return nil
	}
	return found(fmt.Sprintf("pool %s has an operation under way: %s", c.pool.Name, c.pool.Operation),
		"that operation finished")
}

func (d *decision) shutdown(c *candidate) *finding {
	if !endsAtNone(c.pool.Pool) || c.pool.AllowShutdown {
		return nil
	}
	return found(fmt.Sprintf("pool %s is scaled to 0, which would shut it down", c.pool.Name),
		"the annotation rollcall.dev/allow-shutdown: \"true\" on the StatefulSet, if that is meant")
}

// inOrder: an OrderedReady pool has no other unit of it away; what is broken is
// repaired from the lowest ordinal up.
// noReport asks that somebody who knows says what the pod is to the database:
// its own agent, or for a pod without one a majority of the others.
func (d *decision) noReport(c *candidate) *finding {
	switch {
	case c.report == nil && d.x.noAgents:
		return nil // nobody is there to say anything
	case c.report == nil && !c.Agent:
		return d.unheard(c, "it has no agent, and no majority of the other agents reports on it", "the other agents reporting")
	case c.report == nil && c.Report != nil:
		return found("the report at hand is that of another pod with its name", "a report from its own agent")
	case c.report == nil:
		return d.unheard(c, "its agent has sent no report", "a report from its agent")
	case c.report.Member != model.Live && c.report.Member != model.NotLive:
		return d.unheard(c, "its report does not tell whether the database has it as a member", "a report that does")
	case c.report.Member == model.Live && neverRuns(c.Phase):
		return found(fmt.Sprintf("its report says that it is live in the database, and its phase is %s", c.Phase),
			"the two agreeing")
	}
	return nil
}

// unheard: nothing new can come from a pod whose node does not answer, so that is what a person should see to.
func (d *decision) unheard(c *candidate, what, unblocks string) *finding {
	if c.reason == model.ReasonScaleDown && c.broken {
		return d.cannotEmpty(c, what)
	}
	if d.x.nodeGone(c.pod) && (c.report == nil || !c.report.Fresh) {
		return found(what+", and "+nameOr(c.Node, "its node")+", its node, does not answer", "the node back")
	}
	return found(what, unblocks)
}

// cannotEmpty: a pod that does not start is scaled away, and the database still has members on it. No
// report may ever come, and nobody but a person can move or give up what it has.
func (d *decision) cannotEmpty(c *candidate, what string) *finding {
	on := firstFew(c.hosts, func(h hosting) string { return d.x.groups[h.group].ID })
	return found(fmt.Sprintf("%s, it does not start, and the database has members of %s on it, which it cannot move away%s", what, on, about(c.pod)),
		orAdvice(fmt.Sprintf("its members of %s moved or taken out of the database by a person, or %s started", on, c.Name), c.pod))
}

// neverRuns: no process that could be a member of the database runs in this phase.
func neverRuns(p model.PodPhase) bool {
	return p == model.Pending || p == model.NotStarted || p == model.Failed
}

func (d *decision) staleReport(c *candidate) *finding {
	if c.report == nil || c.report.Fresh {
		return nil
	}
	return d.unheard(c, fmt.Sprintf("its report is %s old and was not made after the last action", seconds(ageOf(c.report))),
		"a fresh report from its agent")
}

// counted is a number with its noun.
func counted(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

func ageOf(r *model.Report) time.Duration {
	return span(r.AgeSeconds)
}

// onDeadNode: nobody is there to end the pod's containers and to say so. An
// override lets whoever acts delete the pod's object without that: see ForceDeletes.
func (d *decision) onDeadNode(c *candidate) *finding {
	if !d.x.neverEnds(c.pod) {
		return nil
	}
	return found("it is terminating on "+nameOr(c.Node, "a node")+", which is gone: nothing there reports that its containers have ended",
		model.NodeGone.Advice())
}

func (d *decision) onItsWay(c *candidate) *finding {
	if c.Phase != model.Terminating {
		return d.inHands(c)
	}
	if c.Problem == model.StuckEnding {
		return found("it is terminating for longer than it may"+about(c.pod), model.StuckEnding.Advice())
	}
	return found("it is terminating", "the recreated pod back")
}

// isClaimed: the claim's pod is on its way. A broken successor of it is not,
// and waits for nothing: a correction always gets through.
func (d *decision) isClaimed(c *candidate) *finding {
	if c.claim == nil || c.outside && c.UID != "" && c.claim.UID != "" && c.UID != c.claim.UID {
		return nil
	}
	return found("it is "+claimedHow(c.claim), "its claim released")
}

func (d *decision) vetoed(c *candidate) *finding {
	if c.cannotBeDone() {
		return found(fmt.Sprintf("it is to be replaced (%s), and no agent of its own runs that could empty it, or none elsewhere that could say that it is empty", d.replaceText(c)),
			"agents running there, or its replacement by hand")
	}
	if c.report == nil || c.report.Veto == "" {
		return nil
	}
	return found(c.report.Veto, "the database withdrawing its veto")
}

func (d *decision) isBusy(c *candidate) *finding {
	if f := d.isStarting(c); f != nil {
		return f
	}
	if c.report == nil || c.report.Busy == "" {
		return nil
	}
	return found("it is busy: "+c.report.Busy, c.report.Busy+" ending")
}

func refused(name model.Rule, reason, unblocks string) func(*decision, *candidate) *finding {
	return func(_ *decision, c *candidate) *finding {
		if c.Refused != name {
			return nil
		}
		if c.RefusedBy != "" {
			return found(fmt.Sprintf("%s: PodDisruptionBudget %s", reason, c.RefusedBy), unblocks)
		}
		return found(reason, unblocks)
	}
}
