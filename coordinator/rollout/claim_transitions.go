package rollout

// transition is one row of the table of moves. The first row whose condition holds applies.
type transition struct {
	// when is the condition in words, for the table in DESIGN.md.
	when  string
	holds func(c *Case) bool
	move  Move
}

// next returns the next move of a claim. It leaves no guard open without a decision that stands. It
// never returns Restore while the pod can still go, Evict without a drain that is confirmed and
// observed from outside, or Release while the pod is unavailable and not accounted for in another
// way. For a replacement it deletes no volume before it is recorded that nothing is left on the
// pod, and undoes nothing after that while a volume of the pod is left.
func next(c Case) Move {
	switch {
	case c.Pod == PodPresent && c.mustEnd():
		return first(whenGivenUp, c)
	case c.Pod == PodPresent && c.RestartFirst && committed(c.Claim):
		return first(whenHere, asRestarted(c))
	case c.Pod == PodPresent:
		return first(whenHere, c)
	case c.Pod == PodGone:
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

// asRestarted returns the case of a pod that keeps its volumes, as if it had been claimed for a
// restart. The pod stays excluded: nobody hands over for it where that would include it again.
// Closing the guard and waiting are the same.
func asRestarted(c Case) Case {
	c.Claim = asRestart(c.Claim)
	return c
}

// whenHere leads to the removal of the pod.
var whenHere = []transition{
	{"its removal is accepted", func(c *Case) bool { return c.Known.Guard == RemovalAccepted }, MoveWait},
	{"it is handed to its controller, and its guard is closed", func(c *Case) bool { return c.leftToController() && c.Known.Guard != GuardKnownOpen }, MoveOpenGuard},
	{"it is handed to its controller, which waits for it in vain", func(c *Case) bool { return c.leftToController() && c.BlocksController && c.CaughtUp }, MoveEvict},
	{"it is handed to its controller", (*Case).leftToController, MoveWait},
	{"no decision stands behind its open guard", func(c *Case) bool {
		return c.Known.Guard == GuardMaybeOpen || c.Known.Guard == GuardKnownOpen && (c.Held || c.mustDrain() && !c.RestartFirst)
	}, MoveCloseGuard},
	{"it is held, and would be handed to its controller", func(c *Case) bool { return c.HandedToController }, MoveWait},
	{"it is held, and can not be given up any more", func(c *Case) bool { return c.Suspended }, MoveWait},

	{"its volumes are not known", func(c *Case) bool { return replaces(c.Claim) && !c.Known.VolumesFound }, MoveFindVolumes},
	{"another drain writes the same cluster setting", func(c *Case) bool { return c.mustDrain() && c.SettingBusy }, MoveWait},
	{"its volumes are not recorded", func(c *Case) bool { return c.mustDrain() && c.mustRecordVolumes() }, MoveRecordDrain},
	{"it may hand over, and its label still says that it takes writes", func(c *Case) bool { return c.mustDrain() && c.drainReady() && c.LabelFirst }, MoveWait},
	{"its undo is recorded, and it is not drained", func(c *Case) bool { return c.mustDrain() && (len(c.Claim.Undo) > 0 || c.SettingRecorded) }, MoveDrain},
	{"what its drain changes is not known", func(c *Case) bool { return c.mustDrain() && !c.Known.DrainPlanned }, MovePlanDrain},
	{"what its drain changes is not recorded", func(c *Case) bool { return c.mustDrain() && (len(c.Known.Undo) > 0 || c.Known.Setting.Name != "") }, MoveRecordDrain},
	{"its drain changes nothing that is to be undone", (*Case).mustDrain, MoveDrain},
	{"it has no agent, and another can hand over", func(c *Case) bool { return c.WithoutAgent && !c.Known.HandedOff }, MoveHandoffOnBehalf},

	{"others go first", func(c *Case) bool { return c.WaitsForOthers }, MoveWait},
	{"pod and witnesses have not looked", func(c *Case) bool { return !c.Observed }, MoveObserve},
	{"it is held", func(c *Case) bool { return c.Held }, MoveWait},
	{"it is not empty", func(c *Case) bool { return replaces(c.Claim) && !c.Empty && c.Known.Guard != GuardKnownOpen }, MoveWait},
	{"that it is empty is not recorded", func(c *Case) bool { return replaces(c.Claim) && c.Claim.EmptiedAt == nil }, MoveRecordEmpty},
	{"its volumes are not deleted", func(c *Case) bool { return replaces(c.Claim) && len(c.Claim.Volumes) > 0 && !c.Known.VolumesDeleted }, MoveDeleteVolumes},
	{"it may go", func(c *Case) bool { return c.Known.Guard != GuardKnownOpen }, MoveOpenGuard},
	{"the cache has not shown its open guard", func(c *Case) bool { return !c.CaughtUp }, MoveWait},
	{"it may still go", func(*Case) bool { return true }, MoveEvict},
}

// whenGivenUp leads back to a pod that stays. The guard comes first: a drain may be undone only
// when it is certain that the pod will not go.
var whenGivenUp = []transition{
	{"its guard is not known to be closed", func(c *Case) bool { return c.Known.Guard != GuardKnownClosed }, MoveCloseGuard},
	{"its drain is not undone", (*Case).mustRestore, MoveRestore},
	{"it stays as it was", func(*Case) bool { return true }, MoveRelease},
}

// whenGone follows a pod that has gone until it is recreated and back in the database.
var whenGone = []transition{
	{"the API server shows it, with a guard that may be open", func(c *Case) bool {
		return !c.Known.GoneConfirmed && c.Known.StillExists && c.Known.Guard.mayBeOpen()
	}, MoveCloseGuard},
	{"only the cache says that it is gone", func(c *Case) bool { return !c.Known.GoneConfirmed }, MoveConfirmGone},
	{"its StatefulSet is not shown", func(c *Case) bool { return c.PoolHidden && !c.Known.SetGone }, MoveFindSet},
	{"it has gone for good, and its volumes are there", func(c *Case) bool { return c.awaitsVolumes() && c.goneForGood() && !c.Suspended }, MoveDeleteVolumes},
	{"it is not recreated, and its volumes are there", func(c *Case) bool { return c.awaitsVolumes() && !c.Recreated }, MoveWait},
	{"it is recreated on a claimed volume", func(c *Case) bool { return c.awaitsVolumes() && c.Known.Successor != "" }, MoveFollowSuccessor},
	{"its volumes are not known to be new", (*Case).awaitsVolumes, MoveAwaitVolumes},
	{"it is neither back in the database nor lost", func(c *Case) bool { return !c.scalesDown() && !c.Rejoined && !c.ReturnFailed }, MoveWait},
	{"its drain is not undone", (*Case).mustRestore, MoveRestore},
	{"it is back, or need not be", func(c *Case) bool { return c.scalesDown() || c.Returned || c.SuccessorMustGo }, MoveRelease},
	{"not all that was asked of it is true", func(*Case) bool { return true }, MoveWait},
}
