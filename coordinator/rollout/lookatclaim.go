package rollout

import (
	"fmt"
	"strconv"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// look makes a Case of one claim: what the snapshot says of its pod, what the
// policy says of the claim, and what was heard. The text is for people.
func (a *step) look(claim model.Claim, r *attempt) (Case, string) {
	where, why := whereabouts(a.Snapshot, claim), ""
	r.stopped = ""
	if committed(claim) && r.giveUp != "" {
		r.keepOn(a.now)
	}
	pod := podNamed(a.Snapshot, claim.Pod)
	byOthers := where == Here && replaces(claim) && pod != nil && a.emptiedByOthers(pod)
	switch where {
	case Here:
		r.changeHands(byOthers)
		why = a.lookAhead(claim, r)
	case Leaving:
		r.gone(a.now)
		why = "its containers stop"
	case Gone:
		if r.heard.Confirmed { // until then it may only be out of sight
			r.gone(a.now)
		}
	}
	c := Case{Claim: claim, Pod: where, GiveUp: r.giveUp != "", Heard: r.heard}
	c.Stopped = where == Here && r.stopped != ""
	c.Held = c.Stopped
	if where == Here {
		c.Restarts = a.restartsFirst(a.Snapshot, claim)
		r.changeWay(c.Restarts)
		r.shown()
		a.lookAgain(claim, r)
		a.lookAtRelieved(claim, r)
		c.Heard = r.heard
		c.GiveUp = r.giveUp != ""
	}
	c.Heard.Observed = r.heard.Observed && a.now.Sub(r.observedAt) <= observedFor
	c.Listed = sharedBy(&a.Record, claim.ID) != nil
	if r.heard.Shared.Knob != "" && !c.Listed && r.askedIn != a.s.restored {
		// The agent may have read what a prepare had written: that is no value to save.
		r.heard.Asked, c.Heard.Asked = false, false
	}
	c.Queued = where == Here && !r.heard.Prepared && a.queued(claim, r)
	if c.Queued {
		r.queuedTill = a.now
		if why == "" {
			why = "another prepare writes the same setting of the whole database, or that is put back first"
		}
	}
	c.Forced = where == Here && forced(a.Snapshot, claim)
	c.Awaited = c.Forced && broken(claim) && poolOf(a.Snapshot, claim.Pod).Management == model.OrderedReady
	var first []model.Pod
	if where == Here {
		first = ahead(a.Snapshot, claim)
	}
	c.Behind = len(first) > 0
	c.Alone = where == Here && (!prepares(claim) || c.Restarts && a.mustBeAnswered(a.Snapshot)) && a.alone(claim)
	c.CaughtUp = r.heard.Opened && notBefore(a.Versions[claim.UID], r.opened.ResourceVersion)
	c.Vanished = where == Gone && vanished(a.Snapshot, claim)
	if !c.Vanished {
		r.heard.Ended, c.Heard.Ended = false, false
	}
	switch {
	case c.Vanished && !c.Heard.Ended:
		r.recheckAt = time.Time{}
		if why = r.problem; why == "" {
			why = "nothing is shown of StatefulSet " + model.SetOf(claim.Pod)
		}
	case where == Gone:
		c.Succeeded = pod != nil && pod.UID != "" && pod.UID != claim.UID && pod.Phase != model.Missing
		successor := a.judgeReturn(claim)
		c.Rejoined, c.Back, c.Failed, c.Superseded = successor.rejoined, successor.back, successor.failed, successor.superseded
		r.recheckAt, why = time.Time{}, successor.why
		if renewing(c) && leftForGood(c) {
			why = a.mayNotDiscard()
			c.Stopped = why != ""
		}
		if successor.recheck > 0 {
			r.recheckAt = a.now.Add(successor.recheck)
		}
	case c.Behind && !c.GiveUp:
		if why = a.deadlock(claim, first); why != "" {
			r.held(a.now, why)
			c.GiveUp = r.giveUp != ""
		} else {
			r.heldSince = time.Time{}
		}
	case c.Stopped:
	case where == Here && !c.GiveUp && (c.Heard.Observed || c.Heard.Opened || c.Forced):
		if hold := holdOf(a.Snapshot, claim, c.Restarts); hold != nil {
			c.Held, why = true, string(hold.Rule)+": "+hold.Reason
			r.held(a.now, why)
			c.GiveUp = r.giveUp != ""
		} else if r.heard.Opened && !c.CaughtUp && !c.Forced {
			why = "the cache has not shown the opened guard yet"
			r.held(a.now, why)
			c.GiveUp = r.giveUp != ""
		} else {
			r.heldSince = time.Time{}
		}
		if replaces(claim) && !c.Held && !c.Heard.Opened {
			what := notEmpty(a.Snapshot, claim, a.Names, byOthers)
			if c.Empty = what == ""; !c.Empty {
				why = "not empty: " + what
			}
		}
	}
	if renewing(c) && where == Gone && r.problem != "" {
		why = r.problem // what the successor is waited for with
	}
	switch {
	case r.problem == "" && why == "" && where == Here:
		why = r.refusal // nothing has failed since, and the removal is yet to be tried again
	case r.problem == "":
	case why == "":
		why = r.problem
	case undoing(c):
		why += "; what was prepared is not undone yet: " + r.problem
	}
	return c, why
}

// lookAhead finds out whether the claim on a pod that is still there is to be
// carried out.
func (a *step) lookAhead(claim model.Claim, r *attempt) string {
	if r.heard.Sent && a.now.Sub(r.sentAt) > sentFor {
		// It was accepted and yet the pod is here: look at it again from the start.
		r.heard.Sent = false
		r.backToBarrier()
	}
	if r.giveUp != "" {
		return r.giveUp
	}
	if r.heard.Sent {
		return "the removal was accepted"
	}
	going := judgeGoing(a.Snapshot, claim)
	hopeless, passes := a.hopeless(a.Snapshot, claim)
	if replaces(claim) && hopeless == "" && !r.heard.Prepared {
		r.heldSince = time.Time{}
	}
	switch {
	case !a.Object.Deleted.IsZero():
		return r.stop(claim, "the DatabaseCluster is being deleted")
	case !going.wanted:
		return r.stop(claim, going.why)
	case going.hold != nil && endsClaim(going.hold.Rule):
		return r.stop(claim, fmt.Sprintf("%s: %s", going.hold.Rule, going.hold.Reason))
	case unforced(a.Snapshot, claim):
		return r.stop(claim, "it was claimed by force, and is forced no more")
	case hopeless != "" && passes:
		r.held(a.now, hopeless)
		return hopeless
	case hopeless != "":
		return r.stop(claim, hopeless)
	case r.spared && going.hold == nil && !going.unasked:
		r.unprepare("it is well again")
	case prepares(claim) && !r.heard.Prepared && going.unasked:
		a.out.warn("the pod is broken by now, going on without a prepare", "id", claim.ID, "pod", claim.Pod, "problem", r.problem)
		r.succeeded()
		r.heard.Prepared, r.spared = true, true
	case prepares(claim) && !r.heard.Prepared && a.timedOut(claim, r):
		if mayProceed(a.Snapshot, claim) {
			a.out.warn("prepare timed out, going on without it", "id", claim.ID, "pod", claim.Pod)
			r.heard.Prepared, r.overdue = true, true
		}
		return "prepare timed out: " + r.problem
	}
	return ""
}

// stop ends the claim, or where that can not be any more holds it.
func (r *attempt) stop(claim model.Claim, why string) string {
	if committed(claim) {
		r.stopped = why
	} else {
		r.abandon(why, "")
	}
	return why
}

// endsClaim says which holds are orders to stop rather than things that pass.
func endsClaim(rule model.Rule) bool {
	return rule == model.Paused || rule == model.ObserveOnly || rule == model.BadInput
}

// held notes that a claimed pod may not go, and ends the claim when that lasts:
// a claim reserves budget that others can use meanwhile.
func (r *attempt) held(now time.Time, why string) {
	if r.heldSince.IsZero() {
		r.heldSince = now
	}
	if now.Sub(r.heldSince) > patience {
		r.abandon("held for too long by "+why, "")
	}
}

// gone notes that the pod goes, so that its guard is nobody's business any more.
func (r *attempt) gone(now time.Time) {
	r.heard.Sent, r.heard.Opened, r.heard.Ajar = false, false, false
	if r.wentAt.IsZero() {
		r.wentAt = now
	}
}

// whereabouts finds the claimed pod by its UID. A snapshot without any pod of
// that name and UID means Gone, which Confirm checks with the API server.
func whereabouts(s model.Snapshot, claim model.Claim) Whereabouts {
	for i := range s.Pods {
		if s.Pods[i].UID != claim.UID {
			continue
		}
		switch s.Pods[i].Phase {
		case model.Missing:
		case model.Terminating:
			return Leaving
		default:
			return Here
		}
	}
	return Gone
}

// notBefore compares resourceVersions of one object. API servers count them up;
// where one does not, only the same one will do.
func notBefore(have, want string) bool {
	if have == want {
		return have != ""
	}
	h, errH := strconv.ParseUint(have, 10, 64)
	w, errW := strconv.ParseUint(want, 10, 64)
	return errH == nil && errW == nil && h > w
}

// timedOut does not count the time for which others were in front, or another
// coordinator led. It counts by how this process's time goes by: a clock that is set is
// no reason to go unprepared.
func (a *step) timedOut(claim model.Claim, r *attempt) bool {
	limit := a.prepareTimeout(claim)
	began := r.takenAt
	if r.queuedTill.After(began) {
		began = r.queuedTill
	}
	return limit > 0 && a.now.Sub(began) > limit
}

// prepareTimeout is how long a claim's prepare may take; 0 means for ever.
func (a *step) prepareTimeout(claim model.Claim) time.Duration {
	drain := a.Snapshot.Cluster.Spec.Drain
	if claim.Prepare == model.PrepareEvacuate {
		return time.Duration(drain.EvacuateTimeoutSeconds) * time.Second
	}
	return time.Duration(drain.TimeoutSeconds) * time.Second
}

// mayProceed: a pod whose data would be lost never goes without its prepare.
func mayProceed(s model.Snapshot, claim model.Claim) bool {
	return s.Cluster.Spec.Drain.OnTimeout == model.TimeoutProceed &&
		claim.Prepare == model.PrepareHandoff && s.Cluster.Spec.Drain.Data.Restart == model.Keep
}
