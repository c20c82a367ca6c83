package rollout

import "github.com/rollcall-dev/rollcall/coordinator/model"

// Case is everything that the next move of a claim depends on.
type Case struct {
	Claim model.Claim
	Pod   PodPresence
	// Known is what this coordinator has learned by its own moves.
	Known Known

	// About a pod that is there:

	// GiveUp is true if the claim is no longer to be carried out.
	GiveUp bool
	// Observed is true if the pod and its witnesses were observed recently, and after the pod was
	// drained.
	Observed bool
	// WithoutAgent is true if the pod serves and has no agent. Another pod's agent can hand over
	// for it.
	WithoutAgent bool
	// HandedToController is true if a person has handed the pod to its controller, which removes it
	// when it likes. The partition, the guard and other checks do not apply.
	HandedToController bool
	// BlocksController is true if the controller removes no pod before this one is Ready, and this
	// one cannot become Ready.
	BlocksController bool
	// WaitsForOthers is true if other pods of the pool, which lowering the partition would also
	// free, go first.
	WaitsForOthers bool
	// CaughtUp is true if the cache shows the pod as it is since its guard was opened, and so
	// everything that happened to other pods before that.
	CaughtUp bool
	// SettingRecorded is true if the record of a cluster setting lists the claim, because its drain
	// writes that setting.
	SettingRecorded bool
	// SettingBusy is true if another drain writes that setting first, or the setting is restored
	// first.
	SettingBusy bool
	// LabelFirst is true if clients may still be sent to the pod for their writes by its label, and
	// its agent has not been asked to drain it.
	LabelFirst bool
	// Held is true if a new decision for this pod alone says that it may not go now.
	Held bool
	// Suspended is true if the claim can no longer be given up but must not be carried out now, or
	// if the volumes of a pod that has gone for good must not be deleted now.
	Suspended bool
	// RestartFirst is true if the pod has come back without an agent that could drain it, or with a
	// template that does not start. The claim can no longer be given up, so a restart fixes that
	// first.
	RestartFirst bool
	// Empty is true if the pod and its witnesses agree that the database has nothing left on the
	// pod.
	Empty bool

	// About a pod that has gone:

	// PoolHidden is true if the pod's pool is not shown, which says nothing about its pods.
	PoolHidden bool
	// Recreated is true if there is a pod of that name with another UID.
	Recreated bool
	// Rejoined is true if the recreated pod is a live member of the database.
	Rejoined bool
	// Returned is true if everything that is required of the recreated pod holds.
	Returned bool
	// ReturnFailed is true if the recreated pod is broken or late. It may still come back.
	ReturnFailed bool
	// SuccessorMustGo is true if the recreated pod should go, too, and counts as unavailable
	// without the claim.
	SuccessorMustGo bool
}

// needsDrain reports whether a claim's pod is drained before it goes.
func needsDrain(c model.Claim) bool {
	return c.Prepare == model.PrepareHandoff || c.Prepare == model.PrepareEvacuate
}

// replaces reports whether a claim's pod comes back with fresh data.
func replaces(c model.Claim) bool { return c.Action == model.ActionReplace }

// committed reports whether the claim's volumes may have been deleted, by us or by a late write of
// a predecessor. Such a claim is not given up, because no data may come back to these volumes.
func committed(c model.Claim) bool { return replaces(c) && c.EmptiedAt != nil }

// leftToController reports whether the pod's own controller removes it when it likes.
func (c *Case) leftToController() bool { return c.HandedToController && !c.Held }

// mustDrain reports whether the pod has to be drained and is not drained yet.
func (c *Case) mustDrain() bool { return needsDrain(c.Claim) && c.Known.Drained == NotDrained }

// drainReady reports whether all that comes before the drain is done, so that its agent may be asked.
func (c *Case) drainReady() bool {
	planned := c.Known.DrainPlanned && len(c.Known.Undo) == 0 && c.Known.Setting.Name == ""
	return len(c.Claim.Undo) > 0 || c.SettingRecorded || planned
}

// handsOver reports whether the pod gives away what it leads, or is about to.
func (c *Case) handsOver() bool {
	return c.Pod == PodPresent && !c.mustEnd() && (c.mustDrain() && c.drainReady() && !c.SettingBusy || c.Known.Drained.confirmed())
}

// mustRecordVolumes reports whether the pod's own volume claims are known but not yet recorded.
func (c *Case) mustRecordVolumes() bool {
	return replaces(c.Claim) && len(c.Claim.Volumes) == 0 && len(c.Known.Volumes) > 0 && (len(c.Claim.Undo) > 0 || c.Known.DrainPlanned)
}

// scalesDown reports whether no pod of that name is to come back.
func (c *Case) scalesDown() bool { return c.Claim.Action == model.ActionRemove }

// mustEnd reports whether the claim is not carried out and its pod stays.
func (c *Case) mustEnd() bool { return c.Pod == PodPresent && c.GiveUp && !committed(c.Claim) }

// goneForGood reports whether the pod is no longer desired and no pod of its name exists.
func (c *Case) goneForGood() bool { return c.Returned && !c.Recreated }

// awaitsVolumes reports whether some of the claimed volumes may still exist. If no pod of that name
// is desired any more, it is enough that none can use them: the volumes that may be deleted late
// have been deleted.
func (c *Case) awaitsVolumes() bool {
	deleted := !committed(c.Claim) || c.Known.VolumesDeleted
	return replaces(c.Claim) && len(c.Claim.Volumes) > 0 && !c.Known.VolumesNew && !(c.goneForGood() && deleted)
}

// mustRestore reports whether the drain must still be undone. A drain whose undo was never recorded
// has changed nothing, but the agent of a pod that stays must hear that the claim is over.
func (c *Case) mustRestore() bool {
	return needsDrain(c.Claim) && !c.Known.Restored && !c.Known.UndoDeferred && (c.Pod == PodPresent || len(c.Claim.Undo) > 0)
}

// stateOf returns the state of a claim, which is written into it as its phase. The written phase
// may lag behind, because it is written only together with something else. So a new coordinator
// assumes nothing (attemptOf), and repeats what it does not know.
//
// model.ClaimPhase says of each phase how a claim enters it, what is true in it, and how it leaves.
// The moves that each phase allows are in claim_transitions.go; DESIGN.md has the table.
func stateOf(c *Case) model.ClaimPhase {
	switch {
	case c.Pod == PodGone && c.Known.StillExists && !c.Known.GoneConfirmed:
		return c.Claim.Phase // the pod exists, and the claim stays where it was
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

// asRestart returns the claim as one for a pod that keeps its volumes.
func asRestart(claim model.Claim) model.Claim {
	claim.Action, claim.Prepare = model.ActionRestart, model.PrepareNone
	return claim
}

// broken reports whether a claim is for a pod that cannot be asked or drained.
func broken(claim model.Claim) bool {
	return claim.Reason == model.ReasonNeverStarted || claim.Reason == model.ReasonFailed
}
