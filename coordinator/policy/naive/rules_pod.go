package naive

import (
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// The rules about one pod.

func (w *world) otherOperation(c *candidate) bool {
	return w.pool(c.Pod).Operation != model.OperationNone &&
		c.reason != model.ReasonScaleDown && c.reason != model.ReasonReplacement
}

// anotherFirst is not asked about a pod before its turn.
func (w *world) anotherFirst(c *candidate) bool { return w.early != c && w.otherOperation(c) }

// shutdownNotMeant reports whether its pool ends at none without allowShutdown.
func (w *world) shutdownNotMeant(c *candidate) bool {
	pool := w.pool(c.Pod)
	return endsAtNone(pool) && !pool.AllowShutdown
}

func (w *world) endsOnGoneNode(c *candidate) bool {
	return c.Phase == model.PodPhaseTerminating && w.nodeGone(c.Pod)
}

// noReport reports whether the pod has no report (and there are agents); or one that says neither
// Live nor NotLive; or Live in phase Pending, NotStarted or Failed.
func (w *world) noReport(c *candidate) bool {
	r := report(c.Pod)
	if r == nil {
		return !w.noAgents()
	}
	switch r.Member {
	case model.MembershipLive:
		return c.Phase == model.PodPhasePending || c.Phase == model.PodPhaseNotStarted || c.Phase == model.PodPhaseFailed
	case model.MembershipNotLive:
		return false
	}
	return true
}

func (w *world) staleReport(c *candidate) bool { return report(c.Pod) != nil && !report(c.Pod).Fresh }

// onItsWay reports whether the pod is Terminating; or it is left open, within the budget, without a
// claim, and there are no guards or it is forced, unless its controller waits for it. At the
// barrier only the first counts.
func (w *world) onItsWay(c *candidate) bool {
	if c.Phase == model.PodPhaseTerminating {
		return true
	}
	if w.barrier != "" || !w.leftOpen(c.Pod) || c.outside || w.claimed(c.Pod) {
		return false
	}
	waitedFor := w.pool(c.Pod).Management == model.ManagementOrderedReady && c.Phase != model.PodPhaseReady
	return w.isForced(c) || !w.guards() && !waitedFor
}

// claimedAlready reports whether the pod is claimed. It does not for a pod outside the budget whose
// UID and the claim's are known and differ.
func (w *world) claimedAlready(c *candidate) bool {
	if !w.claimed(c.Pod) {
		return false
	}
	uid := w.claim(c.Pod).UID
	return !(c.outside && c.UID != "" && uid != "" && uid != c.UID)
}

func (w *world) vetoed(c *candidate) bool { return report(c.Pod) != nil && report(c.Pod).Veto != "" }

// nobodyCanEmpty reports whether the pod is to be replaced, and refused: veto.
func (w *world) nobodyCanEmpty(c *candidate) bool {
	return c.action == model.ActionReplace && c.Refused == model.RuleVeto
}

// busy reports whether its report says busy, or it would be freed by LowerPartition while it
// starts.
func (w *world) busy(c *candidate) bool {
	if r := report(c.Pod); r != nil && r.Busy != "" {
		return true
	}
	return w.freed(c) && !c.broken && !w.live(c.Pod) && !w.overdue(c.Pod) && starts(c.Pod)
}

// versionOrder reports whether the pod is outdated, its reason is not ScaleDown, and a pod of after
// is unknown, not live, or not on its pool's revision. The pod itself is left out, and so is one
// that waits for it because of the partition, if it hands over first; at the barrier all count.
func (w *world) versionOrder(c *candidate) bool {
	r := report(c.Pod)
	if r == nil || !w.outdated(c.Pod) || c.reason == model.ReasonScaleDown {
		return false
	}
	return slices.ContainsFunc(r.After, func(name string) bool {
		q := w.podNamed(name)
		switch {
		case name == c.Name:
			return false
		case q == nil:
			return true
		case w.barrier == "" && c.prepare == model.PrepareHandoff && w.waitsByPartition(q, c):
			return false
		}
		return !w.live(q) || !w.onRevision(q)
	})
}

// rankOrder reports whether a pod of a lower rank is desired and unavailable, or in the order (not
// ScaleDown, nor Adopt; Replacement only if outdated; none that would come back old; none that is
// outdated, if the pod is not itself). A pod that serves although left open waits only for
// unavailable ones. Not asked about a pod before its turn.
func (w *world) rankOrder(c *candidate) bool {
	if w.outage() || w.early == c {
		return false
	}
	return slices.ContainsFunc(w.pods, func(p *model.Pod) bool {
		if w.rank(p) >= w.rank(c.Pod) {
			return false
		}
		if w.desired(p) && w.awayOrChosen(p) {
			return true
		}
		q := find(w.order, p)
		if q == nil || w.servesLeftOpen(c.Pod) || w.wouldComeBackOld(q) || w.outdated(p) && !w.outdated(c.Pod) {
			return false
		}
		switch q.reason {
		case model.ReasonScaleDown, model.ReasonAdopt:
			return false
		case model.ReasonReplacement:
			return w.outdated(p)
		}
		return true
	})
}

// leaderLast reports whether the pod is last, and any pod is before it in the order, or any other
// is unavailable. Not asked about a pod before its turn.
func (w *world) leaderLast(c *candidate) bool {
	if !last(c.Pod) || w.outage() || w.shutdown(c.Pod) || w.early == c {
		return false
	}
	if len(w.unknownClaims()) > 0 {
		return true
	}
	for _, q := range w.order {
		if q == c {
			break
		}
		if !w.leaderDoesNotWaitFor(c, q) && !w.freedAfterAnotherLast(c, q) {
			return true
		}
	}
	return slices.ContainsFunc(w.pods, func(p *model.Pod) bool {
		stillReady := (w.claimed(p) || w.isChosen(p)) && p.Phase == model.PodPhaseReady && w.freed(c)
		q := find(w.order, p)
		waitsForIt := w.waitsByPartition(p, c) && (stillReady || q != nil && w.correction(q))
		return p != c.Pod && w.awayOrChosen(p) && !waitsForIt && !w.goesWith(p)
	})
}

// leaderDoesNotWaitFor is from section "Who goes last".
func (w *world) leaderDoesNotWaitFor(c, before *candidate) bool {
	switch {
	case w.waitsByPartition(before.Pod, c), w.goesWith(before.Pod):
		return true
	case c.reason == model.ReasonScaleDown && before.Pool == c.Pool && w.otherOperation(before):
		return true
	case w.outdated(c.Pod) && before.Pool == c.Pool && w.wouldComeBackOld(before):
		return true
	case w.servesLeftOpen(c.Pod) && !w.awayOrChosen(before.Pod):
		return true
	case w.outdated(before.Pod) && (!w.outdated(c.Pod) || w.bringsNoUpdate(c)):
		return true
	case c.leaves && !before.outside && w.waitsForCanary(before):
		return true
	}
	return before.reason == model.ReasonAdopt && c.reason != model.ReasonAdopt && w.lacksApproval(before)
}

// freedAfterAnotherLast reports whether the partition frees before only after another pod that goes
// last and waits for this one.
func (w *world) freedAfterAnotherLast(c, before *candidate) bool {
	if !w.freed(before) && !w.wouldComeBackOld(before) {
		return false
	}
	laterInOrder := false
	for _, other := range w.order {
		if other == c {
			laterInOrder = true
			continue
		}
		onTheLine := other.Pool == before.Pool && other.Ordinal > before.Ordinal && w.waitsBelow(other.Pod) && !w.isForced(other)
		freshlyLast := last(other.Pod) && report(other.Pod).Fresh
		if laterInOrder && onTheLine && freshlyLast && !w.overridden(model.RuleLeaderLast, other.Name) &&
			!w.leaderDoesNotWaitFor(other, c) {
			return true
		}
	}
	return false
}

func refusedAs(rule model.Rule) func(*world, *candidate) bool {
	return func(_ *world, c *candidate) bool { return c.Refused == rule }
}

// Section "OrderedReady".

// notItsTurn reports whether another pod of an OrderedReady pool is unavailable or was chosen.
func (w *world) notItsTurn(c *candidate) bool {
	if w.pool(c.Pod).Management != model.ManagementOrderedReady {
		return false
	}
	return slices.ContainsFunc(w.pods, func(p *model.Pod) bool {
		if p == c.Pod || p.Pool != c.Pool || !w.awayOrChosen(p) {
			return false
		}
		staysBelow := p.Ordinal < c.Ordinal && p.Phase != model.PodPhaseReady && !w.claimed(p) && !w.isChosen(p)
		comesBack := c.action != model.ActionRemove && !w.outage()
		if w.unitOf(p) == w.unitOf(c.Pod) && !(staysBelow && comesBack) {
			return false
		}
		stands := p.Phase == model.PodPhaseReady && !w.isChosen(p) && w.evidence(p) == ""
		waitsLess := c.broken || w.early == c || w.noAgents() && w.late(c.Pod)
		willBeMade := c.outside || p.Phase == model.PodPhaseMissing || p.Phase == model.PodPhaseTerminating || w.outdated(p)
		untouched := p.Phase == model.PodPhaseReady && !w.claimed(p) && !w.isChosen(p)
		return !(waitsLess && (p.Ordinal > c.Ordinal || stands) || w.away(c.Pod) && untouched || w.goesWith(p) && willBeMade)
	})
}

// Section "Approval, adoption, canary".

func (w *world) approved(what model.Approved, c *candidate, so func(model.Approval) bool) bool {
	return slices.ContainsFunc(w.s.Cluster.Status.Approvals, func(a model.Approval) bool {
		return a.What == what && (a.Revision == "" || a.Revision == w.pool(c.Pod).Revision) && so(a)
	})
}

func always(model.Approval) bool { return true }

// lacksApproval reports the first approval that is missing.
func (w *world) lacksApproval(c *candidate) bool {
	restarted := c.action == model.ActionRestart || c.action == model.ActionLowerPartition ||
		c.action == model.ActionReplace && c.forUpdate
	notOlder := func(a model.Approval) bool {
		return c.reason != model.ReasonAdopt || a.At.IsZero() || !a.At.Before(c.Since.Time)
	}
	switch {
	case w.outage() && !w.approved(model.ApprovedOutage, c, always):
		return true
	case !c.Agent && restarted && w.spec.Update.Adopt == model.AdoptAsk &&
		!w.approved(model.ApprovedAdopt, c, notOlder):
		return true
	case c.reason == model.ReasonAdopt && !c.Since.IsZero() && w.now().Sub(c.Since.Time) < 5*time.Minute:
		return true
	}
	return last(c.Pod) && w.spec.Update.ApproveLeader && !w.approved(model.ApprovedLeader, c, always)
}

// waitsForCanary holds an outdated pod that does not leave, when at least k pods of
// its pool have gone or been chosen, and they are not proven.
func (w *world) waitsForCanary(c *candidate) bool {
	k := int(w.spec.Update.Canary.Pods)
	if k <= 0 || !w.outdated(c.Pod) || c.leaves {
		return false
	}
	gone, proven := 0, 0
	for _, p := range w.pods {
		if p.Pool != c.Pool {
			continue
		}
		claim := w.claim(p)
		updated := w.desired(p) && w.onRevision(p)
		onItsWay := w.desired(p) && w.claimed(p) && claim.To == w.pool(p).Revision && claim.Action != model.ActionRemove
		if updated || onItsWay || w.isChosen(p) && w.outdated(p) && !w.bringsNoUpdate(find(w.chosen, p)) {
			gone++
		}
		if updated && !w.away(p) && w.settledFor(p, float64(w.spec.Update.Canary.SoakSeconds)) {
			proven++
		}
	}
	if gone < k {
		return false
	}
	return proven < k || w.spec.Update.Canary.Approve && !w.approved(model.ApprovedCanary, c, always)
}

// settledFor reports whether the later of since and settledSince is so long ago.
func (w *world) settledFor(p *model.Pod, n float64) bool {
	at := settledAt(p)
	return at.IsZero() || !at.Add(seconds(n)).After(w.now())
}
