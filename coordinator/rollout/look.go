package rollout

import (
	"strconv"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// PodPresence of the pod that was claimed, by its UID. The zero value is unknown.
type PodPresence uint8

const (
	PodUnknown PodPresence = iota
	// PodPresent means that it exists and nobody has deleted it.
	PodPresent
	// PodTerminating means that its deletion was accepted.
	PodTerminating
	// PodGone means that there is none of that UID.
	PodGone
)

func (w PodPresence) String() string {
	return [...]string{"Unknown", "Here", "Leaving", "Gone"}[w]
}

// presenceOf finds the claimed pod by its UID. A snapshot without any pod of that UID means
// Gone, which MoveConfirmGone checks with the API server.
func presenceOf(s model.Snapshot, claim model.Claim) PodPresence {
	for i := range s.Pods {
		if s.Pods[i].UID != claim.UID {
			continue
		}
		switch s.Pods[i].Phase {
		case model.PodPhaseMissing:
		case model.PodPhaseTerminating:
			return PodTerminating
		default:
			return PodPresent
		}
	}
	return PodGone
}

// sight is what is seen of a claim, whatever is known of it by acting.
type sight struct {
	where PodPresence
	pod   *model.Pod // of its name; nil: there is none

	// Of a pod that is there:

	// ahead are the pods that go before it; byOthers: another pod's agent evacuates it;
	// restarts: it is restarted before it can be replaced; forced: a person has handed it to
	// its controller.
	ahead                      []model.Pod
	byOthers, restarts, forced bool
	// listed is true if a cluster setting is recorded for its drain.
	listed bool

	// Of a pod that has gone:

	// vanished is true if nothing is shown of its pool; returned is what the policy says of its
	// return.
	vanished bool
	returned returned
}

// see looks at a claim. Looking changes nothing.
func (a *step) see(claim model.Claim) sight {
	v := sight{where: presenceOf(a.Snapshot, claim), pod: podNamed(a.Snapshot, claim.Pod), listed: sharedBy(&a.Record, claim.ID) != nil}
	switch v.where {
	case PodPresent:
		v.ahead = goFirst(a.Snapshot, claim)
		v.byOthers = replaces(claim) && v.pod != nil && a.emptiedByOthers(v.pod)
		v.restarts = a.restartsFirst(a.Snapshot, claim)
		v.forced = forced(a.Snapshot, claim)
	case PodGone:
		v.vanished = poolHidden(a.Snapshot, claim)
		v.returned = a.judgeReturn(claim)
	}
	return v
}

// recreated reports whether there is a pod of the claimed one's name with another UID.
func (v *sight) recreated(claim model.Claim) bool {
	return v.pod != nil && v.pod.UID != "" && v.pod.UID != claim.UID && v.pod.Phase != model.PodPhaseMissing
}

// caseOf is all that the next move depends on, but for what the policy says of a pod that could
// go now: see keeps. It changes nothing. stopped: the claim is not to be carried out now.
func (a *step) caseOf(claim model.Claim, r *attempt, v sight, stopped bool) Case {
	c := Case{Claim: claim, Pod: v.where, Known: r.known, GiveUp: r.giveUp != "", SettingRecorded: v.listed, HandedToController: v.forced, RestartFirst: v.restarts, PoolHidden: v.vanished}
	c.Observed = !r.observedAt.IsZero() && a.now.Sub(r.observedAt) <= observationMaxAge
	c.CaughtUp = r.known.Guard == GuardKnownOpen && notBefore(a.ResourceVersions[claim.UID], r.opened.ResourceVersion)
	switch v.where {
	case PodPresent:
		c.Suspended, c.Held = stopped, stopped
		c.SettingBusy = r.known.Drained == NotDrained && a.queued(claim, r)
		c.BlocksController = v.forced && broken(claim) && poolOf(a.Snapshot, claim.Pod).Management == model.ManagementOrderedReady
		c.WaitsForOthers = len(v.ahead) > 0
		c.WithoutAgent = (!needsDrain(claim) || v.restarts && a.mustBeAnswered(a.Snapshot)) && a.alone(claim)
	case PodGone:
		if v.vanished && !r.known.SetGone {
			break
		}
		c.Recreated = v.recreated(claim)
		c.Rejoined, c.Returned, c.ReturnFailed, c.SuccessorMustGo = v.returned.rejoined, v.returned.back, v.returned.failed, v.returned.superseded
		c.Suspended = c.awaitsVolumes() && c.goneForGood() && a.mayNotDiscard() != ""
	}
	return c
}

// kept is why a claimed pod that is there does not go now.
type kept struct {
	// asked is true if it was found out, and why is empty when nothing keeps the pod.
	asked bool
	why   string
	// held is true if the policy holds it.
	held bool
	// empty is true if nothing is left on a pod that is replaced; notEmpty says what is.
	empty    bool
	notEmpty string
}

// recheckClaim finds out what keeps a pod that is drained and was looked at, or that others go before.
// It changes nothing.
func (a *step) recheckClaim(claim model.Claim, v sight, c *Case) kept {
	switch {
	case c.Pod != PodPresent || c.GiveUp:
		return kept{}
	case c.WaitsForOthers:
		return kept{asked: true, why: a.deadlock(claim, v.ahead)}
	case c.Suspended || !c.Observed && c.Known.Guard != GuardKnownOpen && !c.HandedToController:
		return kept{}
	}
	k := kept{asked: true}
	if hold := holdOf(a.Snapshot, claim, c.RestartFirst); hold != nil {
		k.held, k.why = true, string(hold.Rule)+": "+hold.Reason
		return k
	}
	if c.Known.Guard == GuardKnownOpen {
		if !c.CaughtUp && !c.HandedToController {
			k.why = "the cache has not shown the opened guard yet"
		}
		return k
	}
	if replaces(claim) {
		k.notEmpty = notEmpty(a.Snapshot, claim, a.MemberNames, v.byOthers)
		k.empty = k.notEmpty == ""
	}
	return k
}

// waitReason says what a claim waits for. It returns empty if for nothing but its next move. It
// changes nothing.
func (a *step) waitReason(claim model.Claim, r *attempt, v sight, c *Case, k kept, noticed string) string {
	why := noticed
	if c.SettingBusy && why == "" {
		why = "another drain writes the same setting of the whole database, or that is put back first"
	}
	switch {
	case c.PoolHidden && !c.Known.SetGone:
		if why = r.problem; why == "" {
			why = "nothing is shown of StatefulSet " + model.SetOf(claim.Pod)
		}
	case c.Pod == PodGone:
		why = v.returned.why
		if c.awaitsVolumes() && c.goneForGood() {
			why = a.mayNotDiscard()
		}
	case k.asked && (k.why != "" || c.WaitsForOthers):
		why = k.why
	case k.notEmpty != "":
		why = "not empty: " + k.notEmpty
	}
	if c.Pod == PodGone && c.awaitsVolumes() && r.problem != "" {
		why = r.problem // what is waited for with the recreated pod
	}
	switch {
	case r.problem == "" && why == "" && c.Pod == PodPresent:
		why = r.refusal // nothing has failed since, and the removal is yet to be tried again
	case r.problem == "":
	case why == "":
		why = r.problem
	case next(*c) == MoveRestore:
		why += "; the drain is not undone yet: " + r.problem
	}
	return why
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
