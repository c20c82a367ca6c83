package rollout

import "github.com/rollcall-dev/rollcall/coordinator/model"

// Move is what is to be done next about one claim.
type Move uint8

const (
	// Wait: something else must happen first.
	Wait Move = iota
	// AskPlan: ask the agent what its drain will change.
	AskPlan
	// RecordDrain: write the answer into the claim.
	RecordDrain
	// ApplyDrain: have the agent drain, or ask how far it is.
	ApplyDrain
	// LookForVolumes: find the volume claims that are the pod's own, and whether they may be deleted.
	LookForVolumes
	// RecordEmpty: write down that the database has nothing left on the pod.
	RecordEmpty
	// RemoveVolumes: delete the volume claims.
	RemoveVolumes
	// LookForNewVolumes: find out whether the pod's successor stands on new volume claims.
	LookForNewVolumes
	// FollowSuccessor: claim the successor instead, which stands on the volumes that the pod had.
	FollowSuccessor
	// HandOff: have another pod's agent hand over for a pod that has none.
	HandOff
	// LookAnew: have the pod and the witnesses look anew.
	LookAnew
	// Open: read the pod and the claim once more, and open the guard.
	Open
	// Evict: remove the pod.
	Evict
	// Close the guard, because the pod stays, at least for now.
	Close
	// Undo what the drain did.
	Undo
	// Confirm with the API server itself that the pod is gone.
	Confirm
	// LookForSet: ask it what has become of a StatefulSet that is not shown.
	LookForSet
	// Release the claim.
	Release
)

func (m Move) String() string {
	return [...]string{"Wait", "PlanDrain", "RecordDrain", "Drain", "FindVolumes", "RecordEmpty", "DeleteVolumes", "AwaitVolumes", "FollowSuccessor",
		"HandoffOnBehalf", "Observe", "OpenGuard", "Remove", "CloseGuard", "Restore", "ConfirmGone", "FindSet", "Release"}[m]
}

// Whereabouts of the pod that was claimed, by its UID. The zero value is unknown.
type Whereabouts uint8

const (
	Unknown Whereabouts = iota
	// Here: it exists and nobody has deleted it.
	Here
	// Leaving: its deletion was accepted.
	Leaving
	// Gone: there is none of that UID.
	Gone
)

func (w Whereabouts) String() string {
	return [...]string{"Unknown", "Here", "Leaving", "Gone"}[w]
}

// Case is all that the next move about a claim depends on.
type Case struct {
	Claim model.Claim
	Pod   Whereabouts
	// Vanished: nothing is shown of the pod's pool, which says nothing about its pods.
	Vanished bool
	// Rejoined: the pod's successor is a live member of the database.
	Rejoined bool
	// Back: everything that was asked of the successor is true.
	Back bool
	// Failed: the successor is broken, or late; it may still come back.
	Failed bool
	// Superseded: the successor should go, too, and counts as away by itself.
	Superseded bool
	// GiveUp: the claim is not to be carried out any more.
	GiveUp bool
	// Alone: the pod serves and has no agent; another pod's can hand over for it.
	Alone bool
	// Forced: a person has handed the pod to its controller, which takes it when it
	// likes: no line, no guard, and nothing else is asked.
	Forced bool
	// Awaited: the controller takes nobody before this pod is Ready, which it can not become.
	Awaited bool
	// Behind: others in its pool, which the hold line would free with it, go first.
	Behind bool
	// CaughtUp: the cache shows the pod as it is since its guard was opened, and so
	// everything that happened to other pods before that.
	CaughtUp bool
	// Listed: the claim is listed with a setting of the whole database that its
	// prepare writes.
	Listed bool
	// Queued: another prepare writes that setting first, or it is put back first.
	Queued bool
	// Held: deciding again for this pod alone, it may not go now.
	Held bool
	// Stopped: the claim can not be given up any more, and is not to be carried out now;
	// or the volumes of a pod that has gone for good are not to be deleted now.
	Stopped bool
	// Restarts: the pod has come without an agent that could prepare it, or from a template that
	// it does not start from. The claim can not be given up any more, so a restart puts that right first.
	Restarts bool
	// Empty: pod and witnesses agree that the database has nothing left on the pod.
	Empty bool
	// Succeeded: there is a pod of that name with another UID.
	Succeeded bool
	// Heard is what this process has learned by its own moves.
	Heard Heard
}

// Heard is what one process knows of a claim beyond what is written down. All
// of it can be had again by repeating moves.
type Heard struct {
	// Asked: the agent has said what it will change; Undo is its answer.
	Asked bool
	Undo  []byte
	// Shared is the setting of the whole database that the agent will write, if any.
	Shared Shared
	// Prepared: the agent has confirmed the prepare (or its time is up and the
	// pod may go without).
	Prepared bool
	// Relieved: another agent has handed over for the pod, or had its time.
	Relieved bool
	// Observed: pod and witnesses have looked after that, not long ago.
	Observed bool
	// Opened: the claim is noted on the pod and its guard open, on a decision that
	// still stands. In a RollingUpdate pool the guard is opened with the removal.
	Opened bool
	// Ajar: the guard may be open without such a decision: a predecessor, a write
	// without an answer or a removal that was refused may have left it so.
	Ajar bool
	// Found: the pod's own volume claims are known, and that we may delete them.
	Found   bool
	Volumes []model.VolumeClaim
	// Discarded: none of the claimed volumes outlives the pod.
	Discarded bool
	// Renewed: none of the claimed volumes is left, and the successor has its own.
	Renewed bool
	// Heir is the UID of a successor that stands on a claimed volume; empty = none.
	Heir string
	// Sent: the API server has accepted the removal, or said that the pod is gone.
	Sent bool
	// Closed: the guard is known to be closed and the pod not to be terminating.
	Closed bool
	// Confirmed: the API server itself knows no pod of the claim's UID.
	Confirmed bool
	// Hidden: it knows the pod, although nobody shows it any more.
	Hidden bool
	// Ended: it knows neither the pod's StatefulSet nor any pod of that.
	Ended bool
	// Undone: an agent has confirmed that the prepare is undone.
	Undone bool
	// Left: nobody is there who could undo it; it is written down and undone later.
	Left bool
}

// prepares says whether a claim's pod is prepared before it goes.
func prepares(c model.Claim) bool {
	return c.Prepare == model.PrepareHandoff || c.Prepare == model.PrepareEvacuate
}

// replaces says whether a claim's pod comes back with fresh data.
func replaces(c model.Claim) bool { return c.Action == model.Replace }

// committed: the claim's volumes may have been deleted, by us or by a late write
// of a predecessor. Nothing may come back to them, so it is not given up.
func committed(c model.Claim) bool { return replaces(c) && c.EmptiedAt != nil }

// leftForGood: the pod is not wanted any more, and none of its name is there.
func leftForGood(c Case) bool { return c.Back && !c.Succeeded }

// renewing: it is not yet known that nothing is left of the claimed volumes. Where
// no successor is wanted any more, it is enough that none gets at them: those that may
// be deleted late have been deleted.
func renewing(c Case) bool {
	discarded := !committed(c.Claim) || c.Heard.Discarded
	return replaces(c.Claim) && len(c.Claim.Volumes) > 0 && !c.Heard.Renewed && !(leftForGood(c) && discarded)
}

// next is the step machine. It leaves no guard open that no decision stands
// behind. It never leads to Undo while the pod can still go, to Go without a
// prepare that is acknowledged and looked at from outside, nor to Release while
// the pod is away and not accounted for in another way. Of a replacement it deletes
// no volume before it is written down that nothing is left on it, and undoes
// nothing after that while a volume of the pod is left.
func next(c Case) Move {
	switch c.Pod {
	case Here:
		if c.GiveUp && !committed(c.Claim) {
			return abandon(c)
		}
		return advance(c)
	case Gone:
		return settle(c)
	}
	return Wait
}

// advance leads to the removal of the pod.
func advance(c Case) Move {
	switch {
	case c.Heard.Sent:
		return Wait
	case c.Forced && !c.Held:
		switch {
		case !c.Heard.Opened:
			return Open
		case c.Awaited && c.CaughtUp:
			return Evict
		}
		return Wait
	case c.Heard.Ajar, c.Heard.Opened && c.Held:
		return Close
	case c.Forced, c.Stopped:
		return Wait
	case c.Restarts && committed(c.Claim):
		return restart(c)
	case replaces(c.Claim) && !c.Heard.Found:
		return LookForVolumes
	case prepares(c.Claim) && !c.Heard.Prepared:
		switch {
		case c.Queued:
			return Wait
		case replaces(c.Claim) && len(c.Claim.Volumes) == 0 && len(c.Heard.Volumes) > 0 && (len(c.Claim.Undo) > 0 || c.Heard.Asked):
			return RecordDrain
		case len(c.Claim.Undo) > 0 || c.Listed:
			return ApplyDrain
		case !c.Heard.Asked:
			return AskPlan
		case len(c.Heard.Undo) > 0 || c.Heard.Shared.Knob != "":
			return RecordDrain
		}
		return ApplyDrain
	case c.Alone && !c.Heard.Relieved:
		return HandOff
	case c.Behind:
		return Wait
	case !c.Heard.Observed:
		return LookAnew
	case c.Held:
		return Wait
	case replaces(c.Claim) && !c.Empty && !c.Heard.Opened:
		return Wait
	case replaces(c.Claim) && c.Claim.EmptiedAt == nil:
		return RecordEmpty
	case replaces(c.Claim) && len(c.Claim.Volumes) > 0 && !c.Heard.Discarded:
		return RemoveVolumes
	case !c.Heard.Opened:
		return Open
	case !c.CaughtUp:
		return Wait
	}
	return Evict
}

// restart leads to the removal of a pod that keeps its volumes, as if it had been claimed for
// that. It stays excluded: nobody hands over for it where that would include it again.
func restart(c Case) Move {
	c.Claim = asRestart(c.Claim)
	return advance(c)
}

func asRestart(claim model.Claim) model.Claim {
	claim.Action, claim.Prepare = model.Restart, model.PrepareNone
	return claim
}

// abandon leads back to a pod that stays. The guard comes first: a prepare may
// be undone only once it is certain that the pod will not go.
func abandon(c Case) Move {
	switch {
	case !c.Heard.Closed:
		return Close
	case mustUndo(c):
		return Undo
	}
	return Release
}

// settle follows a pod that has gone until its successor is back.
func settle(c Case) Move {
	removed := c.Claim.Action == model.Remove
	switch {
	case !c.Heard.Confirmed && c.Heard.Hidden && !c.Heard.Sent && (c.Heard.Ajar || c.Heard.Opened):
		return Close
	case !c.Heard.Confirmed:
		return Confirm
	case c.Vanished && !c.Heard.Ended:
		return LookForSet
	case renewing(c):
		switch {
		case leftForGood(c) && !c.Stopped:
			return RemoveVolumes
		case !c.Succeeded:
			return Wait
		case c.Heard.Heir != "":
			return FollowSuccessor
		}
		return LookForNewVolumes
	case !removed && !c.Rejoined && !c.Failed:
		return Wait
	case mustUndo(c):
		return Undo
	case removed, c.Back, c.Superseded:
		return Release
	}
	return Wait
}

// undoing: the next move about the claim is to undo its prepare.
func undoing(c Case) bool { return next(c) == Undo }

// mustUndo: a prepare whose undo was never stored has changed nothing; but an
// agent whose pod stays must hear that the claim is over.
func mustUndo(c Case) bool {
	return prepares(c.Claim) && !c.Heard.Undone && !c.Heard.Left && (c.Pod == Here || len(c.Claim.Undo) > 0)
}

// phase is what a claim's phase is in fact; the written one may lag behind.
func phase(c Case) model.ClaimPhase {
	undoing := mustUndo(c)
	switch {
	case c.Pod == Gone && c.Heard.Hidden && !c.Heard.Confirmed:
		return c.Claim.Phase // it is there, and stays as far as it was
	case c.Pod == Gone && renewing(c):
		return model.PhaseGone
	case c.Pod == Gone && (c.Rejoined || c.Failed) && undoing:
		return model.PhaseRestoring
	case c.Pod == Gone && c.Rejoined:
		return model.PhaseSettling
	case c.Pod == Gone:
		return model.PhaseGone
	case c.Pod == Leaving || c.Heard.Sent || c.Heard.Opened:
		return model.PhaseOpened
	case c.Pod == Here && c.GiveUp && !committed(c.Claim) && c.Heard.Closed && undoing:
		return model.PhaseRestoring
	case committed(c.Claim):
		return model.PhaseEmptied
	case !prepares(c.Claim):
		return model.PhaseClaimed
	case c.Heard.Prepared:
		return model.PhasePrepared
	case len(c.Claim.Undo) > 0 || c.Heard.Asked:
		return model.PhasePreparing
	}
	return model.PhaseClaimed
}
