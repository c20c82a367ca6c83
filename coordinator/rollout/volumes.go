package rollout

import (
	"errors"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// A pod that is recorded as empty may go by itself before its volumes are deleted, and may not be
// desired any more when it has gone. A deletion that a former leader sent may still arrive. If a
// pod of that name is desired again, it would come back to these volumes. So they are deleted
// first, and what kept data off them is undone after that.

// mayNotDiscard says why nothing is deleted now. It returns an empty reason if deleting is allowed.
func (a *step) mayNotDiscard() string {
	why := policy.Forbidden(&a.Snapshot)
	if !a.Object.DeletionTimestamp.IsZero() {
		why = "the DatabaseCluster is being deleted"
	}
	if why == "" {
		return ""
	}
	return "its volumes are left: " + why
}

// deleteVolumes deletes the claimed volumes, which are recorded as empty: while the pod is still
// the one that was emptied, or after it has gone for good.
func (a *step) deleteVolumes(claim model.Claim) {
	templates, shown := a.VolumeTemplates[model.SetOf(claim.Pod)]
	e := effect.DeleteVolumes{Claim: claim, SetShown: shown && templates != nil, PodGone: presenceOf(a.Snapshot, claim) == PodGone, Expected: a.expectedWith(claim)}
	for _, template := range templates {
		e.Own = append(e.Own, template+"-"+claim.Pod)
	}
	a.effect(e)
}

func (a *step) learnVolumesDeleted(res effect.VolumesDeleted) {
	r := a.done(res.Claim)
	switch {
	case r == nil, res.PodGone && errors.Is(res.Err, effect.ErrSuperseded):
		a.noteSuperseded(res.Err)
	case res.Err != nil && res.PodGone:
		r.failed(a.now, res.Err)
	case res.Err != nil:
		a.refused(r, res.Err, res.Unanswered)
	default:
		r.succeeded()
		r.known.VolumesDeleted = true
	}
}

func (a *step) learnVolumesFound(res effect.VolumesFound) {
	r, claim := a.done(res.Claim), a.open(res.Claim)
	switch {
	case r == nil || claim == nil:
	case errors.Is(res.Err, effect.ErrForbidden) && !committed(*claim):
		r.abandon(res.Err.Error(), model.RuleVeto)
	case res.Err != nil:
		r.failed(a.now, res.Err)
	default:
		r.succeeded()
		r.known.VolumesFound, r.known.Volumes = true, res.Volumes
	}
}

func (a *step) learnVolumesAwaited(res effect.VolumesAwaited) {
	r := a.done(res.Claim)
	switch {
	case r == nil:
	case res.Err != nil:
		r.failed(a.now, res.Err)
	case res.Successor.Terminating:
		r.later(a.now.Add(volumesEvery), "the recreated pod is being deleted, too")
	case res.Inherited:
		a.out.warn("the pod went before its volumes, and the recreated pod has them", "id", res.Claim, "pod", res.Successor.Name)
		r.succeeded()
		r.known.Successor = res.Successor.UID
	case res.Missing != "":
		r.later(a.now.Add(volumesEvery), res.Missing)
	default:
		r.succeeded()
		r.known.VolumesNew = true
	}
}
