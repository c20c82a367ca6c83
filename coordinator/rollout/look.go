package rollout

import (
	"strconv"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// PodPresence says whether the claimed pod, by its UID, exists. The zero value means unknown.
type PodPresence uint8

const (
	PodUnknown PodPresence = iota
	// PodPresent means that it exists and nobody has deleted it.
	PodPresent
	// PodTerminating means that its deletion was accepted.
	PodTerminating
	// PodGone means that no pod has that UID.
	PodGone
)

func (w PodPresence) String() string {
	return [...]string{"Unknown", "Here", "Leaving", "Gone"}[w]
}

// presenceOf finds the claimed pod by its UID. If a snapshot has no pod of that UID it returns
// PodGone, which MoveConfirmGone checks with the API server.
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

// sight is what is seen of a claim, without what acting has found out about it.
type sight struct {
	where PodPresence
	pod   *model.Pod // of its name; nil if there is none

	// About a pod that is there:

	// ahead are the pods that go before it. byOthers is true if another pod's agent evacuates it,
	// restarts if it is restarted before it can be replaced, forced if a person has handed it to
	// its controller.
	ahead                      []model.Pod
	byOthers, restarts, forced bool
	// listed is true if a cluster setting is recorded for its drain.
	listed bool

	// About a pod that has gone:

	// vanished is true if the pod's pool is not shown. returned is what the policy says about its
	// return.
	vanished bool
	returned returned
}

// see looks at a claim. It changes nothing.
func (a *step) see(claim model.Claim) sight {
	v := sight{where: presenceOf(a.Snapshot, claim), pod: podNamed(a.Snapshot, claim.Pod), listed: settingOfClaim(&a.Record, claim.ID) != nil}
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

// recreated reports whether a pod with the claimed pod's name and another UID exists.
func (v *sight) recreated(claim model.Claim) bool {
	return v.pod != nil && v.pod.UID != "" && v.pod.UID != claim.UID && v.pod.Phase != model.PodPhaseMissing
}

// caseOf returns everything that the next move depends on, except what the policy says about a pod
// that could go now: see recheckClaim. It changes nothing. stopped means that the claim must not be
// carried out now.
func (a *step) caseOf(claim model.Claim, r *attempt, v sight, stopped bool) Case {
	c := Case{Claim: claim, Pod: v.where, Known: r.known, GiveUp: r.giveUp != "", SettingRecorded: v.listed, HandedToController: v.forced, RestartFirst: v.restarts, PoolHidden: v.vanished}
	c.Observed = !r.observedAt.IsZero() && a.now.Sub(r.observedAt) <= observationMaxAge
	c.CaughtUp = r.known.Guard == GuardKnownOpen && notBefore(a.ResourceVersions[claim.UID], r.opened.ResourceVersion)
	switch v.where {
	case PodPresent:
		c.Suspended, c.Held = stopped, stopped
		c.LabelFirst = a.takesWrites(claim.UID) && !r.handover.keeps && !(r.handover.untold && !r.drainBegan.IsZero())
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

// kept is why a claimed pod that exists does not go now.
type kept struct {
	// asked is true if that was checked. Then why is empty if nothing keeps the pod.
	asked bool
	why   string
	// held is true if the policy holds it.
	held bool
	// empty is true if nothing is left on a pod that is replaced. notEmpty says what is left.
	empty    bool
	notEmpty string
}

// recheckClaim finds out what keeps a pod that is drained and was observed, or that others go
// before. It changes nothing.
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

// waitReason says what a claim waits for. It is empty if it only waits for its next move. It
// changes nothing.
func (a *step) waitReason(claim model.Claim, r *attempt, v sight, c *Case, k kept, noticed string) string {
	why := noticed
	if c.SettingBusy && why == "" {
		why = "another drain writes the same setting of the whole database, or that is put back first"
	}
	if c.LabelFirst && c.handsOver() && why == "" {
		why = a.whyLabelled()
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
		why = r.problem // what the recreated pod waits for
	}
	switch {
	case r.problem == "" && why == "" && c.Pod == PodPresent:
		why = r.refusal // nothing has failed since, and the removal will be tried again
	case r.problem == "":
	case why == "":
		why = r.problem
	case next(*c) == MoveRestore:
		why += "; the drain is not undone yet: " + r.problem
	}
	return why
}

// notBefore compares resourceVersions of one object. API servers count them up. If they do not,
// only equality will do.
func notBefore(have, want string) bool {
	if have == want {
		return have != ""
	}
	h, errH := strconv.ParseUint(have, 10, 64)
	w, errW := strconv.ParseUint(want, 10, 64)
	return errH == nil && errW == nil && h > w
}
