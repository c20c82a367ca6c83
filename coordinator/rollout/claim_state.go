package rollout

import "github.com/rollcall-dev/rollcall/coordinator/model"

// Case is all that the next move about a claim depends on.
type Case struct {
	Claim model.Claim
	Pod   PodPresence
	// Known is what this coordinator has learned by its own moves.
	Known Known

	// Of a pod that is there:

	// GiveUp is true if the claim is not to be carried out any more.
	GiveUp bool
	// Observed is true if pod and witnesses have looked since the pod was drained, not long ago.
	Observed bool
	// WithoutAgent is true if the pod serves and has no agent; another pod's can hand over for it.
	WithoutAgent bool
	// HandedToController is true if a person has handed the pod to its controller, which takes it
	// when it likes: no partition, no guard, and nothing else is asked.
	HandedToController bool
	// BlocksController is true if the controller takes nobody before this pod is Ready, which it
	// cannot become.
	BlocksController bool
	// WaitsForOthers is true if others in its pool, which the partition would free with it, go
	// first.
	WaitsForOthers bool
	// CaughtUp is true if the cache shows the pod as it is since its guard was opened, and so
	// everything that happened to other pods before that.
	CaughtUp bool
	// SettingRecorded is true if the claim is listed with a cluster setting that its drain writes.
	SettingRecorded bool
	// SettingBusy is true if another drain writes that setting first, or it is put back first.
	SettingBusy bool
	// Held is true if deciding again for this pod alone, it may not go now.
	Held bool
	// Suspended is true if the claim cannot be given up any more, and is not to be carried out now;
	// or the volumes of a pod that has gone for good are not to be deleted now.
	Suspended bool
	// RestartFirst is true if the pod has come without an agent that could drain it, or from a
	// template that it does not start from. The claim cannot be given up any more, so a restart
	// puts that right first.
	RestartFirst bool
	// Empty is true if pod and witnesses agree that the database has nothing left on the pod.
	Empty bool

	// Of a pod that has gone:

	// PoolHidden is true if nothing is shown of the pod's pool, which says nothing about its pods.
	PoolHidden bool
	// Recreated is true if there is a pod of that name with another UID.
	Recreated bool
	// Rejoined is true if the recreated pod is a live member of the database.
	Rejoined bool
	// Returned is true if everything that was asked of the recreated pod is true.
	Returned bool
	// ReturnFailed is true if the recreated pod is broken, or late; it may still come back.
	ReturnFailed bool
	// SuccessorMustGo is true if the recreated pod should go, too, and counts as unavailable by
	// itself.
	SuccessorMustGo bool
}

// needsDrain reports whether a claim's pod is drained before it goes.
func needsDrain(c model.Claim) bool {
	return c.Prepare == model.PrepareHandoff || c.Prepare == model.PrepareEvacuate
}

// replaces reports whether a claim's pod comes back with fresh data.
func replaces(c model.Claim) bool { return c.Action == model.ActionReplace }

// committed reports whether the claim's volumes may have been deleted, by us or by a late write of
// a predecessor. Nothing may come back to them, so it is not given up.
func committed(c model.Claim) bool { return replaces(c) && c.EmptiedAt != nil }

// leftToController reports whether the pod's own controller takes it when it likes.
func (c *Case) leftToController() bool { return c.HandedToController && !c.Held }

// mustDrain reports whether the pod is to be drained, and is not.
func (c *Case) mustDrain() bool { return needsDrain(c.Claim) && c.Known.Drained == NotDrained }

// mustRecordVolumes reports whether the pod's own volume claims are known and not written down.
func (c *Case) mustRecordVolumes() bool {
	return replaces(c.Claim) && len(c.Claim.Volumes) == 0 && len(c.Known.Volumes) > 0 && (len(c.Claim.Undo) > 0 || c.Known.DrainPlanned)
}

// removed: no pod of that name is to come back.
func (c *Case) scalesDown() bool { return c.Claim.Action == model.ActionRemove }

// mustEnd reports whether the claim is not carried out, and its pod stays.
func (c *Case) mustEnd() bool { return c.Pod == PodPresent && c.GiveUp && !committed(c.Claim) }

// goneForGood reports whether the pod is not wanted any more, and none of its name is there.
func (c *Case) goneForGood() bool { return c.Returned && !c.Recreated }

// awaitsVolumes reports whether it is not yet known that nothing is left of the claimed volumes.
// Where no pod of that name is wanted any more, it is enough that none gets at them: those that may
// be deleted late have been deleted.
func (c *Case) awaitsVolumes() bool {
	deleted := !committed(c.Claim) || c.Known.VolumesDeleted
	return replaces(c.Claim) && len(c.Claim.Volumes) > 0 && !c.Known.VolumesNew && !(c.goneForGood() && deleted)
}

// mustRestore reports whether a drain whose undo was never recorded has changed nothing; but an
// agent whose pod stays must hear that the claim is over.
func (c *Case) mustRestore() bool {
	return needsDrain(c.Claim) && !c.Known.Restored && !c.Known.UndoDeferred && (c.Pod == PodPresent || len(c.Claim.Undo) > 0)
}

// stateOf is the state of a claim: what stands in it as its phase. The written one may lag
// behind, as it is written with whatever must be written anyway. So a successor begins where
// nothing is taken for granted (attemptOf), and repeats what it does not know of.
//
// Each phase says in model.ClaimPhase how a claim enters it, what is true in it, and how it
// leaves. The moves that each allows are in claim_transitions.go; DESIGN.md has the picture.
func stateOf(c *Case) model.ClaimPhase {
	switch {
	case c.Pod == PodGone && c.Known.StillExists && !c.Known.GoneConfirmed:
		return c.Claim.Phase // it is there, and stays as far as it was
	case c.Pod == PodGone && c.awaitsVolumes():
		return model.PhaseGone
	case c.Pod == PodGone && (c.Rejoined || c.ReturnFailed) && c.mustRestore():
		return model.PhaseRestoring
	case c.Pod == PodGone && c.Rejoined:
		return model.PhaseSettling
	case c.Pod == PodGone:
		return model.PhaseGone
	case c.Pod == PodTerminating, c.Known.Guard == RemovalAccepted, c.Known.Guard == GuardKnownOpen:
		return model.PhaseOpened
	case c.mustEnd() && c.Known.Guard == GuardKnownClosed && c.mustRestore():
		return model.PhaseRestoring
	case committed(c.Claim):
		return model.PhaseEmptied
	case !needsDrain(c.Claim):
		return model.PhaseClaimed
	case c.Known.Drained != NotDrained:
		return model.PhaseDrained
	case len(c.Claim.Undo) > 0 || c.Known.DrainPlanned:
		return model.PhaseDraining
	}
	return model.PhaseClaimed
}

// asRestart is a claim of a pod that keeps its volumes.
func asRestart(claim model.Claim) model.Claim {
	claim.Action, claim.Prepare = model.ActionRestart, model.PrepareNone
	return claim
}

// broken reports whether a claim is for a pod that cannot be asked or drained.
func broken(claim model.Claim) bool {
	return claim.Reason == model.ReasonNeverStarted || claim.Reason == model.ReasonFailed
}
