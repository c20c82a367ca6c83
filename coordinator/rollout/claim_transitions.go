package rollout

// transition is one row of the table of what is done next about a claim: the first whose
// condition holds.
type transition struct {
	// when is the condition in words, for the picture in DESIGN.md.
	when  string
	holds func(c *Case) bool
	move  Move
}

// next is what is done next about a claim. It leaves no guard open that no decision stands
// behind. It never leads to Undo while the pod can still go, to Evict without a
// drain that is confirmed and looked at from outside, nor to Release while
// the pod is away and not accounted for in another way. Of a replacement it deletes
// no volume before it is written down that nothing is left on it, and undoes
// nothing after that while a volume of the pod is left.
func next(c Case) Move {
	switch {
	case c.Pod == Here && c.ends():
		return first(whenGivenUp, c)
	case c.Pod == Here && c.Restarts && committed(c.Claim):
		return first(whenHere, asRestarted(c))
	case c.Pod == Here:
		return first(whenHere, c)
	case c.Pod == Gone:
		return first(whenGone, c)
	}
	return MoveWait
}

func first(table []transition, c Case) Move {
	for i := range table {
		if table[i].holds(&c) {
			return table[i].move
		}
	}
	return MoveWait
}

// asRestarted is the case of a pod that keeps its volumes, as if it had been claimed for that. It
// stays excluded: nobody hands over for it where that would include it again. What closes
// a guard, or waits, is the same.
func asRestarted(c Case) Case {
	c.Claim = asRestart(c.Claim)
	return c
}

// whenHere leads to the removal of the pod.
var whenHere = []transition{
	{"its removal is accepted", func(c *Case) bool { return c.Known.Guard == RemovalSent }, MoveWait},
	{"it is handed to its controller, and its guard is closed", func(c *Case) bool { return c.handedOver() && c.Known.Guard != KnownOpen }, MoveOpenGuard},
	{"it is handed to its controller, which waits for it in vain", func(c *Case) bool { return c.handedOver() && c.Awaited && c.CaughtUp }, MoveEvict},
	{"it is handed to its controller", (*Case).handedOver, MoveWait},
	{"no decision stands behind its open guard", func(c *Case) bool {
		return c.Known.Guard == PossiblyOpen || c.Known.Guard == KnownOpen && (c.Held || c.mustDrain() && !c.Restarts)
	}, MoveCloseGuard},
	{"it is held, and would be handed to its controller", func(c *Case) bool { return c.Forced }, MoveWait},
	{"it is held, and can not be given up any more", func(c *Case) bool { return c.Stopped }, MoveWait},

	{"its volumes are not known", func(c *Case) bool { return replaces(c.Claim) && !c.Known.Found }, MoveFindVolumes},
	{"another drain writes the same cluster setting", func(c *Case) bool { return c.mustDrain() && c.Queued }, MoveWait},
	{"its volumes are not recorded", func(c *Case) bool { return c.mustDrain() && c.mustRecordVolumes() }, MoveRecordDrain},
	{"its undo is recorded, and it is not drained", func(c *Case) bool { return c.mustDrain() && (len(c.Claim.Undo) > 0 || c.Listed) }, MoveDrain},
	{"what its drain changes is not known", func(c *Case) bool { return c.mustDrain() && !c.Known.Asked }, MovePlanDrain},
	{"what its drain changes is not recorded", func(c *Case) bool { return c.mustDrain() && (len(c.Known.Undo) > 0 || c.Known.Shared.Knob != "") }, MoveRecordDrain},
	{"its drain changes nothing that is to be undone", (*Case).mustDrain, MoveDrain},
	{"it has no agent, and another can hand over", func(c *Case) bool { return c.Alone && !c.Known.HandedOff }, MoveHandoffOnBehalf},

	{"others go first", func(c *Case) bool { return c.Behind }, MoveWait},
	{"pod and witnesses have not looked", func(c *Case) bool { return !c.Observed }, MoveObserve},
	{"it is held", func(c *Case) bool { return c.Held }, MoveWait},
	{"it is not empty", func(c *Case) bool { return replaces(c.Claim) && !c.Empty && c.Known.Guard != KnownOpen }, MoveWait},
	{"that it is empty is not recorded", func(c *Case) bool { return replaces(c.Claim) && c.Claim.EmptiedAt == nil }, MoveRecordEmpty},
	{"its volumes are not deleted", func(c *Case) bool { return replaces(c.Claim) && len(c.Claim.Volumes) > 0 && !c.Known.VolumesDeleted }, MoveDeleteVolumes},
	{"it may go", func(c *Case) bool { return c.Known.Guard != KnownOpen }, MoveOpenGuard},
	{"the cache has not shown its open guard", func(c *Case) bool { return !c.CaughtUp }, MoveWait},
	{"it may still go", func(*Case) bool { return true }, MoveEvict},
}

// whenGivenUp leads back to a pod that stays. The guard comes first: a drain may
// be undone only once it is certain that the pod will not go.
var whenGivenUp = []transition{
	{"its guard is not known to be closed", func(c *Case) bool { return c.Known.Guard != KnownClosed }, MoveCloseGuard},
	{"its drain is not undone", (*Case).mustRestore, MoveRestore},
	{"it stays as it was", func(*Case) bool { return true }, MoveRelease},
}

// whenGone follows a pod that has gone until it is recreated and back.
var whenGone = []transition{
	{"the API server shows it, with a guard that may be open", func(c *Case) bool {
		return !c.Known.Confirmed && c.Known.Hidden && c.Known.Guard.mayBeOpen()
	}, MoveCloseGuard},
	{"only the cache says that it is gone", func(c *Case) bool { return !c.Known.Confirmed }, MoveConfirmGone},
	{"its StatefulSet is not shown", func(c *Case) bool { return c.Vanished && !c.Known.SetGone }, MoveFindSet},
	{"it has gone for good, and its volumes are there", func(c *Case) bool { return c.awaitsVolumes() && c.leftForGood() && !c.Stopped }, MoveDeleteVolumes},
	{"it is not recreated, and its volumes are there", func(c *Case) bool { return c.awaitsVolumes() && !c.Recreated }, MoveWait},
	{"it is recreated on a claimed volume", func(c *Case) bool { return c.awaitsVolumes() && c.Known.Inheritor != "" }, MoveFollowSuccessor},
	{"its volumes are not known to be new", (*Case).awaitsVolumes, MoveAwaitVolumes},
	{"it is neither back in the database nor given up on", func(c *Case) bool { return !c.scalesDown() && !c.Rejoined && !c.Failed }, MoveWait},
	{"its drain is not undone", (*Case).mustRestore, MoveRestore},
	{"it is back, or need not be", func(c *Case) bool { return c.scalesDown() || c.Back || c.Superseded }, MoveRelease},
	{"not all that was asked of it is true", func(*Case) bool { return true }, MoveWait},
}
