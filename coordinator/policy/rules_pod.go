package policy

import (
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// belowPartition holds a pod that the StatefulSet controller would bring back on the old revision
// again and again, because the partition is not ours to lower.
func (d *decision) belowPartition(c *candidate) *finding {
	p := c.OwnPool
	if p.Strategy != model.StrategyRollingUpdate || !cluster.IsOutdated(c.Pod) || c.leaves || p.Force {
		return nil
	}
	line := p.Partition
	switch {
	case p.ByPartition && c.Ordinal < line && !d.x.Snapshot.Cluster.Status.Initialized:
		return found(fmt.Sprintf("the partition of pool %s is %d, and is left alone until the database has been healthy once", p.Name, line),
			fmt.Sprintf("the database healthy, or a partition of at most %d", c.Ordinal))
	case p.ByPartition && p.Ordered != nil && c.Ordinal < *p.Ordered:
		return found(fmt.Sprintf("a person set the partition of pool %s to %d: ordinals below it stay on the old revision", p.Name, *p.Ordered),
			fmt.Sprintf("a partition of at most %d", c.Ordinal))
	case p.ByPartition && c.action != model.ActionReplace:
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
	if c.OwnPool.Operation == model.OperationNone || d.curing || c.reason == model.ReasonScaleDown || c.reason == model.ReasonReplacement {
		return nil
	}
	return found(fmt.Sprintf("pool %s has an operation under way: %s", c.OwnPool.Name, c.OwnPool.Operation),
		"that operation finished")
}

func (d *decision) shutdown(c *candidate) *finding {
	if !cluster.EndsAtNone(c.OwnPool.Pool) || c.OwnPool.AllowShutdown {
		return nil
	}
	return found(fmt.Sprintf("pool %s is scaled to 0, which would shut it down", c.OwnPool.Name),
		"the annotation rollcall.dev/allow-shutdown: \"true\" on the StatefulSet, if that is meant")
}

// noReport requires a report on what the pod is to the database: by its own agent, or for a pod
// without one by a majority of the others.
func (d *decision) noReport(c *candidate) *finding {
	switch {
	case c.OwnReport == nil && d.x.NoAgents:
		return nil // nobody can say anything
	case c.OwnReport == nil && !c.Agent:
		return d.unheard(c, "it has no agent, and no majority of the other agents reports on it", "the other agents reporting")
	case c.OwnReport == nil && c.Report != nil:
		return found("the report at hand is that of another pod with its name", "a report from its own agent")
	case c.OwnReport == nil:
		return d.unheard(c, "its agent has sent no report", "a report from its agent")
	case c.OwnReport.Member != model.MembershipLive && c.OwnReport.Member != model.MembershipNotLive:
		return d.unheard(c, "its report does not tell whether the database has it as a member", "a report that does")
	case c.OwnReport.Member == model.MembershipLive && neverRuns(c.Phase):
		return found(fmt.Sprintf("its report says that it is live in the database, and its phase is %s", c.Phase),
			"the two agreeing")
	}
	return nil
}

// unheard adds that nothing new can come from a pod whose node does not answer, so a person should
// look at the node.
func (d *decision) unheard(c *candidate, what, unblocks string) *finding {
	if c.reason == model.ReasonScaleDown && c.broken {
		return d.cannotEmpty(c, what)
	}
	if d.x.NodeGone(c.Pod) && (c.OwnReport == nil || !c.OwnReport.Fresh) {
		return found(what+", and "+nameOr(c.Node, "its node")+", its node, does not answer", "the node back")
	}
	return found(what, unblocks)
}

// cannotEmpty is for a pod that does not start and is scaled down while the database still has
// members on it. Its report may never come, and only a person can move or give up what it has.
func (d *decision) cannotEmpty(c *candidate, what string) *finding {
	on := cluster.FirstFew(c.Hosts, func(h cluster.Hosting) string { return d.x.Groups[h.Group].ID })
	return found(fmt.Sprintf("%s, it does not start, and the database has members of %s on it, which it cannot move away%s", what, on, cluster.About(c.Pod)),
		cluster.OrAdvice(fmt.Sprintf("its members of %s moved or taken out of the database by a person, or %s started", on, c.Name), c.Pod))
}

// neverRuns reports whether no process that could be a member of the database runs in this phase.
func neverRuns(p model.PodPhase) bool {
	return p == model.PodPhasePending || p == model.PodPhaseNotStarted || p == model.PodPhaseFailed
}

func (d *decision) staleReport(c *candidate) *finding {
	if c.OwnReport == nil || c.OwnReport.Fresh {
		return nil
	}
	return d.unheard(c, fmt.Sprintf("its report is %s old and was not made after the last action", seconds(ageOf(c.OwnReport))),
		"a fresh report from its agent")
}

// counted returns a number with its noun.
func counted(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

func ageOf(r *model.Report) time.Duration {
	return cluster.Span(r.AgeSeconds)
}

// nodeGone holds a pod if nobody can end its containers and confirm that. With an override the pod
// is deleted without that: see ForceDeletes.
func (d *decision) nodeGone(c *candidate) *finding {
	if !d.x.StuckOnGoneNode(c.Pod) {
		return nil
	}
	return found("it is terminating on "+nameOr(c.Node, "a node")+", which is gone: nothing there reports that its containers have ended",
		model.ProblemNodeGone.Advice())
}

func (d *decision) terminating(c *candidate) *finding {
	if c.Phase != model.PodPhaseTerminating {
		return d.inHands(c)
	}
	if c.Problem == model.ProblemStuckTerminating {
		return found("it is terminating for longer than it may"+cluster.About(c.Pod), model.ProblemStuckTerminating.Advice())
	}
	return found("it is terminating", "the recreated pod back")
}

// isClaimed holds a pod that its claim is already removing. A broken recreated pod is not held, and
// waits for nothing: a correction always gets through.
func (d *decision) isClaimed(c *candidate) *finding {
	if c.Claim == nil || c.outside && c.UID != "" && c.Claim.UID != "" && c.UID != c.Claim.UID {
		return nil
	}
	return found("it is "+cluster.ClaimedHow(c.Claim), "its claim released")
}

func (d *decision) vetoed(c *candidate) *finding {
	if c.cannotBeDone() {
		return found(fmt.Sprintf("it is to be replaced (%s), and no agent of its own runs that could empty it, or none elsewhere that could say that it is empty", d.replaceText(c)),
			"agents running there, or its replacement by hand")
	}
	if c.OwnReport == nil || c.OwnReport.Veto == "" {
		return nil
	}
	return found(c.OwnReport.Veto, "the database withdrawing its veto")
}

func (d *decision) isBusy(c *candidate) *finding {
	if f := d.isStarting(c); f != nil {
		return f
	}
	if c.OwnReport == nil || c.OwnReport.Busy == "" {
		return nil
	}
	return found("it is busy: "+c.OwnReport.Busy, c.OwnReport.Busy+" ending")
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
