package rollout

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

var (
	handoff = model.Claim{ID: "c", Action: model.Restart, Prepare: model.PrepareHandoff}
	stored  = model.Claim{ID: "c", Action: model.Restart, Prepare: model.PrepareHandoff, Undo: []byte("u")}
	broke   = model.Claim{ID: "c", Action: model.Restart, Prepare: model.PrepareNone}
	swap    = model.Claim{ID: "c", Action: model.Replace, Prepare: model.PrepareEvacuate}
	swapped = model.Claim{ID: "c", Action: model.Replace, Prepare: model.PrepareEvacuate, Undo: []byte("u"), Volumes: []model.VolumeClaim{{Name: "v", UID: "1"}}}
	emptied = model.Claim{ID: "c", Action: model.Replace, Prepare: model.PrepareEvacuate, Undo: []byte("u"), Volumes: swapped.Volumes, EmptiedAt: &model.Time{}}
	removal = model.Claim{ID: "c", Action: model.Remove, Prepare: model.PrepareEvacuate, Undo: []byte("u")}
)

// empties is a claim that says that its pod is empty.
func empties(c model.Claim) model.Claim {
	c.EmptiedAt = &model.Time{}
	return c
}

// withUndo is a claim whose undo is stored, and no volumes.
func withUndo(c model.Claim) model.Claim {
	c.Undo = []byte("u")
	return c
}

func TestNext(t *testing.T) {
	ready := Known{Asked: true, Drained: DrainedBySelf}
	opened := Known{Asked: true, Drained: DrainedBySelf, Guard: KnownOpen}
	found := Known{Asked: true, Drained: DrainedBySelf, Found: true}
	discarded := Known{Asked: true, Drained: DrainedBySelf, Found: true, VolumesDeleted: true}
	for name, c := range map[string]struct {
		in    Case
		move  Move
		phase model.ClaimPhase
	}{
		"new claim":                         {Case{Claim: handoff, Pod: Here}, MovePlanDrain, model.PhaseClaimed},
		"nothing is known of the pod":       {Case{Claim: handoff}, MoveWait, model.PhaseClaimed},
		"undo was answered":                 {Case{Claim: handoff, Pod: Here, Known: Known{Asked: true, Undo: []byte("u")}}, MoveRecordDrain, model.PhasePreparing},
		"nothing to undo":                   {Case{Claim: handoff, Pod: Here, Known: Known{Asked: true}}, MoveDrain, model.PhasePreparing},
		"undo is stored":                    {Case{Claim: stored, Pod: Here}, MoveDrain, model.PhasePreparing},
		"a setting without any undo":        {Case{Claim: handoff, Pod: Here, Known: Known{Asked: true, Shared: effect.Shared{Knob: "k"}}}, MoveRecordDrain, model.PhasePreparing},
		"a setting is recorded":             {Case{Claim: handoff, Pod: Here, Listed: true, Known: Known{Asked: true, Shared: effect.Shared{Knob: "k"}}}, MoveDrain, model.PhasePreparing},
		"others write the setting":          {Case{Claim: stored, Pod: Here, Listed: true, Queued: true}, MoveWait, model.PhasePreparing},
		"given up in the queue":             {Case{Claim: stored, Pod: Here, Listed: true, Queued: true, GiveUp: true}, MoveCloseGuard, model.PhasePreparing},
		"prepared":                          {Case{Claim: stored, Pod: Here, Known: Known{Drained: DrainedBySelf}}, MoveObserve, model.PhasePrepared},
		"held":                              {Case{Claim: stored, Pod: Here, Held: true, Observed: true, Known: ready}, MoveWait, model.PhasePrepared},
		"may go":                            {Case{Claim: stored, Pod: Here, Observed: true, Known: ready}, MoveOpenGuard, model.PhasePrepared},
		"the cache is behind":               {Case{Claim: stored, Pod: Here, Observed: true, Known: opened}, MoveWait, model.PhaseOpened},
		"the cache has caught up":           {Case{Claim: stored, Pod: Here, CaughtUp: true, Observed: true, Known: opened}, MoveEvict, model.PhaseOpened},
		"opened by force, not drained":      {Case{Claim: stored, Pod: Here, CaughtUp: true, Known: Known{Guard: KnownOpen}}, MoveCloseGuard, model.PhaseOpened},
		"held when opened":                  {Case{Claim: stored, Pod: Here, Held: true, CaughtUp: true, Observed: true, Known: opened}, MoveCloseGuard, model.PhaseOpened},
		"broken pods need no drain":         {Case{Claim: broke, Pod: Here}, MoveObserve, model.PhaseClaimed},
		"nobody in the pod can drain":       {Case{Claim: broke, Pod: Here, Alone: true}, MoveHandoffOnBehalf, model.PhaseClaimed},
		"another has handed over for it":    {Case{Claim: broke, Pod: Here, Alone: true, Known: Known{HandedOff: true}}, MoveObserve, model.PhaseClaimed},
		"sent":                              {Case{Claim: stored, Pod: Here, Known: Known{Guard: RemovalSent}}, MoveWait, model.PhaseOpened},
		"terminating":                       {Case{Claim: stored, Pod: Leaving, GiveUp: true}, MoveWait, model.PhaseOpened},
		"gone, says the cache":              {Case{Claim: stored, Pod: Gone, Rejoined: true, Back: true}, MoveConfirmGone, model.PhaseRestoring},
		"gone":                              {Case{Claim: stored, Pod: Gone, Known: Known{Confirmed: true}}, MoveWait, model.PhaseGone},
		"rejoined":                          {Case{Claim: stored, Pod: Gone, Rejoined: true, Known: Known{Confirmed: true}}, MoveRestore, model.PhaseRestoring},
		"undone":                            {Case{Claim: stored, Pod: Gone, Rejoined: true, Known: Known{Confirmed: true, Restored: true}}, MoveWait, model.PhaseSettling},
		"back":                              {Case{Claim: stored, Pod: Gone, Rejoined: true, Back: true, Known: Known{Confirmed: true, Restored: true}}, MoveRelease, model.PhaseSettling},
		"back, nothing to undo":             {Case{Claim: handoff, Pod: Gone, Rejoined: true, Back: true, Known: Known{Confirmed: true}}, MoveRelease, model.PhaseSettling},
		"failed":                            {Case{Claim: stored, Pod: Gone, Failed: true, Known: Known{Confirmed: true}}, MoveRestore, model.PhaseRestoring},
		"failed and undone":                 {Case{Claim: stored, Pod: Gone, Failed: true, Known: Known{Confirmed: true, Restored: true}}, MoveWait, model.PhaseGone},
		"failed, and to go again":           {Case{Claim: stored, Pod: Gone, Failed: true, Superseded: true, Known: Known{Confirmed: true, Restored: true}}, MoveRelease, model.PhaseGone},
		"failed, to go again, and noted":    {Case{Claim: stored, Pod: Gone, Failed: true, Superseded: true, Known: Known{Confirmed: true, Left: true}}, MoveRelease, model.PhaseGone},
		"failed, and noted":                 {Case{Claim: stored, Pod: Gone, Failed: true, Known: Known{Confirmed: true, Left: true}}, MoveWait, model.PhaseGone},
		"given up, shut and noted":          {Case{Claim: stored, Pod: Here, GiveUp: true, Known: Known{Guard: KnownClosed, Left: true}}, MoveRelease, model.PhasePreparing},
		"given up, noted and not shut":      {Case{Claim: stored, Pod: Here, GiveUp: true, Known: Known{Left: true}}, MoveCloseGuard, model.PhasePreparing},
		"removed":                           {Case{Claim: removal, Pod: Gone, Known: Known{Confirmed: true}}, MoveRestore, model.PhaseGone},
		"removed and undone":                {Case{Claim: removal, Pod: Gone, Known: Known{Confirmed: true, Restored: true}}, MoveRelease, model.PhaseGone},
		"held when the look is old":         {Case{Claim: stored, Pod: Here, Held: true, Known: Known{Drained: DrainedBySelf, Guard: KnownOpen}}, MoveCloseGuard, model.PhaseOpened},
		"left open":                         {Case{Claim: stored, Pod: Here, Known: Known{Guard: PossiblyOpen}}, MoveCloseGuard, model.PhasePreparing},
		"left open, and sent":               {Case{Claim: stored, Pod: Here, Known: Known{Guard: RemovalSent}}, MoveWait, model.PhaseOpened},
		"given up":                          {Case{Claim: stored, Pod: Here, GiveUp: true, Observed: true, Known: opened}, MoveCloseGuard, model.PhaseOpened},
		"given up and shut":                 {Case{Claim: stored, Pod: Here, GiveUp: true, Known: Known{Guard: KnownClosed}}, MoveRestore, model.PhaseRestoring},
		"given up, shut and undone":         {Case{Claim: stored, Pod: Here, GiveUp: true, Known: Known{Guard: KnownClosed, Restored: true}}, MoveRelease, model.PhasePreparing},
		"volumes come first":                {Case{Claim: swap, Pod: Here}, MoveFindVolumes, model.PhaseClaimed},
		"then what is moved":                {Case{Claim: swap, Pod: Here, Known: Known{Found: true}}, MovePlanDrain, model.PhaseClaimed},
		"volumes are stored":                {Case{Claim: swap, Pod: Here, Known: Known{Found: true, Asked: true, Volumes: swapped.Volumes}}, MoveRecordDrain, model.PhasePreparing},
		"volumes of a follower":             {Case{Claim: withUndo(swap), Pod: Here, Known: Known{Found: true, Volumes: swapped.Volumes}}, MoveRecordDrain, model.PhasePreparing},
		"data is moved":                     {Case{Claim: swapped, Pod: Here, Known: Known{Found: true}}, MoveDrain, model.PhasePreparing},
		"moved, and not looked at":          {Case{Claim: swapped, Pod: Here, Known: Known{Found: true, Drained: DrainedBySelf}}, MoveObserve, model.PhasePrepared},
		"moved, and not empty":              {Case{Claim: swapped, Pod: Here, Observed: true, Known: found}, MoveWait, model.PhasePrepared},
		"empty":                             {Case{Claim: swapped, Pod: Here, Empty: true, Observed: true, Known: found}, MoveRecordEmpty, model.PhasePrepared},
		"empty, and held":                   {Case{Claim: swapped, Pod: Here, Empty: true, Held: true, Observed: true, Known: found}, MoveWait, model.PhasePrepared},
		"empty, and given up":               {Case{Claim: swapped, Pod: Here, Empty: true, GiveUp: true, Observed: true, Known: found}, MoveCloseGuard, model.PhasePrepared},
		"empty, as is written":              {Case{Claim: emptied, Pod: Here, Empty: true, Observed: true, Known: found}, MoveDeleteVolumes, model.PhaseEmptied},
		"written, and not empty any more":   {Case{Claim: emptied, Pod: Here, Observed: true, Known: found}, MoveWait, model.PhaseEmptied},
		"written, and given up":             {Case{Claim: emptied, Pod: Here, GiveUp: true, Held: true, Observed: true, Known: Known{Found: true, Drained: DrainedBySelf, Guard: KnownClosed}}, MoveWait, model.PhaseEmptied},
		"written, and stopped":              {Case{Claim: emptied, Pod: Here, Empty: true, Stopped: true, Held: true, Observed: true, Known: found}, MoveWait, model.PhaseEmptied},
		"opened, and stopped":               {Case{Claim: emptied, Pod: Here, Stopped: true, Held: true, Observed: true, Known: opened}, MoveCloseGuard, model.PhaseOpened},
		"volumes are deleted":               {Case{Claim: emptied, Pod: Here, Empty: true, Observed: true, Known: discarded}, MoveOpenGuard, model.PhaseEmptied},
		"no volumes":                        {Case{Claim: empties(swap), Pod: Here, Empty: true, Observed: true, Known: found}, MoveOpenGuard, model.PhaseEmptied},
		"the recreated pod is awaited":      {Case{Claim: emptied, Pod: Gone, Known: Known{Confirmed: true}}, MoveWait, model.PhaseGone},
		"the recreated pod is there":        {Case{Claim: emptied, Pod: Gone, Recreated: true, Rejoined: true, Back: true, Known: Known{Confirmed: true}}, MoveAwaitVolumes, model.PhaseGone},
		"the recreated pod failed":          {Case{Claim: emptied, Pod: Gone, Recreated: true, Failed: true, Superseded: true, Known: Known{Confirmed: true}}, MoveAwaitVolumes, model.PhaseGone},
		"the recreated pod has its volumes": {Case{Claim: emptied, Pod: Gone, Recreated: true, Known: Known{Confirmed: true, Inheritor: "w"}}, MoveFollowSuccessor, model.PhaseGone},
		"the recreated pod has its own":     {Case{Claim: emptied, Pod: Gone, Recreated: true, Rejoined: true, Known: Known{Confirmed: true, VolumesNew: true}}, MoveRestore, model.PhaseRestoring},
		"nobody comes in its place":         {Case{Claim: swapped, Pod: Gone, Rejoined: true, Back: true, Known: Known{Confirmed: true}}, MoveRestore, model.PhaseRestoring},
		"nobody comes to its volumes":       {Case{Claim: emptied, Pod: Gone, Rejoined: true, Back: true, Known: Known{Confirmed: true}}, MoveDeleteVolumes, model.PhaseGone},
		"they are not to be deleted now":    {Case{Claim: emptied, Pod: Gone, Rejoined: true, Back: true, Stopped: true, Held: true, Known: Known{Confirmed: true}}, MoveWait, model.PhaseGone},
		"its volumes are gone, too":         {Case{Claim: emptied, Pod: Gone, Rejoined: true, Back: true, Known: Known{Confirmed: true, VolumesDeleted: true}}, MoveRestore, model.PhaseRestoring},
		"gone before it was empty":          {Case{Claim: swapped, Pod: Gone, Recreated: true, Rejoined: true, Known: Known{Confirmed: true}}, MoveAwaitVolumes, model.PhaseGone},
		"forced":                            {Case{Claim: broke, Pod: Here, Forced: true}, MoveOpenGuard, model.PhaseClaimed},
		"forced, and opened":                {Case{Claim: broke, Pod: Here, Forced: true, CaughtUp: true, Observed: true, Known: opened}, MoveWait, model.PhaseOpened},
		"forced, and waited for":            {Case{Claim: broke, Pod: Here, Forced: true, Awaited: true, CaughtUp: true, Observed: true, Known: opened}, MoveEvict, model.PhaseOpened},
		"forced, waited for, not shown":     {Case{Claim: broke, Pod: Here, Forced: true, Awaited: true, Observed: true, Known: opened}, MoveWait, model.PhaseOpened},
		"forced, and held":                  {Case{Claim: broke, Pod: Here, Forced: true, Held: true}, MoveWait, model.PhaseClaimed},
		"held, and left open":               {Case{Claim: stored, Pod: Here, Held: true, Known: Known{Guard: PossiblyOpen}}, MoveCloseGuard, model.PhasePreparing},
		"emptied, without an agent":         {Case{Claim: emptied, Pod: Here, Restarts: true}, MoveObserve, model.PhaseEmptied},
		"and another hands over":            {Case{Claim: emptied, Pod: Here, Restarts: true, Alone: true}, MoveHandoffOnBehalf, model.PhaseEmptied},
		"and it may not go":                 {Case{Claim: emptied, Pod: Here, Restarts: true, Held: true, Observed: true}, MoveWait, model.PhaseEmptied},
		"and it may":                        {Case{Claim: emptied, Pod: Here, Restarts: true, Observed: true}, MoveOpenGuard, model.PhaseEmptied},
		"and is shown with it":              {Case{Claim: emptied, Pod: Here, Restarts: true, CaughtUp: true, Observed: true, Known: Known{Guard: KnownOpen}}, MoveEvict, model.PhaseOpened},
		"emptied, and not drained":          {Case{Claim: emptied, Pod: Here, Stopped: true, Held: true, Known: Known{Found: true}}, MoveWait, model.PhaseEmptied},
		"behind, and given up":              {Case{Claim: stored, Pod: Here, Behind: true, GiveUp: true, Observed: true, Known: ready}, MoveCloseGuard, model.PhasePrepared},
		"out of sight":                      {Case{Claim: stored, Pod: Gone, Vanished: true}, MoveConfirmGone, model.PhaseGone},
		"out of sight, and there":           {Case{Claim: model.Claim{Phase: model.PhasePrepared}, Pod: Gone, Vanished: true, Known: Known{Hidden: true}}, MoveConfirmGone, model.PhasePrepared},
		"out of sight with an open guard":   {Case{Claim: stored, Pod: Gone, Vanished: true, Known: Known{Hidden: true, Guard: KnownOpen}}, MoveCloseGuard, ""},
		"out of sight, left open":           {Case{Claim: stored, Pod: Gone, Vanished: true, Known: Known{Hidden: true, Guard: PossiblyOpen}}, MoveCloseGuard, ""},
		"out of sight, and sent":            {Case{Claim: stored, Pod: Gone, Vanished: true, Known: Known{Hidden: true, Guard: RemovalSent}}, MoveConfirmGone, ""},
		"gone, and its pool out of sight":   {Case{Claim: stored, Pod: Gone, Vanished: true, Rejoined: true, Back: true, Known: Known{Confirmed: true}}, MoveFindSet, model.PhaseRestoring},
		"removed, and its pool as well":     {Case{Claim: removal, Pod: Gone, Vanished: true, Known: Known{Confirmed: true}}, MoveFindSet, model.PhaseGone},
		"its pool is gone, too":             {Case{Claim: stored, Pod: Gone, Vanished: true, Rejoined: true, Back: true, Known: Known{Confirmed: true, SetGone: true}}, MoveRestore, model.PhaseRestoring},
		"back, unprepared":                  {Case{Claim: broke, Pod: Gone, Rejoined: true, Back: true, Known: Known{Confirmed: true}}, MoveRelease, model.PhaseSettling},
		"unprepared, and given up":          {Case{Claim: broke, Pod: Here, GiveUp: true, Known: Known{Guard: KnownClosed}}, MoveRelease, model.PhaseClaimed},
		"given up before it was stored":     {Case{Claim: handoff, Pod: Here, GiveUp: true, Known: Known{Guard: KnownClosed}}, MoveRestore, model.PhaseRestoring},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.move.String(), next(c.in).String())
			require.Equal(t, c.phase, stateOf(&c.in))
		})
	}
}

// TestBehind: whoever the hold line would free with a pod goes first. The pod waits for
// them however far it is, and is neither looked at, nor opened, nor removed.
func TestBehind(t *testing.T) {
	for _, heard := range []Known{
		{Drained: DrainedBySelf}, {Drained: DrainedBySelf, Guard: KnownOpen},
		{Drained: DrainedBySelf, Found: true}, {Drained: DrainedBySelf, Found: true, VolumesDeleted: true},
	} {
		for _, observed := range []bool{false, true} {
			for _, claim := range []model.Claim{stored, broke} {
				c := Case{Claim: claim, Pod: Here, Behind: true, CaughtUp: true, Observed: observed, Known: heard}
				require.Equal(t, MoveWait.String(), next(c).String(), "%+v", heard)
				c.Behind = false
				require.NotEqual(t, MoveWait.String(), next(c).String(), "%+v", heard)
			}
		}
	}
	// What leads to no removal does not wait for them.
	require.Equal(t, MovePlanDrain, next(Case{Claim: handoff, Pod: Here, Behind: true}))
	require.Equal(t, MoveCloseGuard, next(Case{Claim: stored, Pod: Here, Behind: true, Known: Known{Guard: PossiblyOpen}}))
}

// The promises of the step machine, on all that can be said to it. Each field is
// drawn, each decides something, and each move is made often.
func TestNextNeverBreaksItsPromises(t *testing.T) {
	in := newInputs(t)
	const drawn = 1_000_000
	m := in.all(drawn, func(c Case) {
		if why := breach(c); why != "" {
			t.Fatalf("%s: %s of %+v", why, next(c), simplest(c, breach))
		}
	})
	var idle []string
	for _, f := range in.fields {
		require.Greater(t, m.set[f.name], drawn/4, f.name)
		require.Less(t, m.set[f.name], drawn*3/4, f.name)
		if m.decided[f.name] < 50 {
			idle = append(idle, f.name)
		}
	}
	require.Equal(t, []string{"Known.Shared.Undo"}, idle, "what only is stored decides nothing, all else does")
	for move := MoveWait; move <= MoveRelease; move++ {
		require.Greater(t, m.moves[move], drawn/100, move.String())
	}
}

// breach says which promise the next move breaks; empty = none.
func breach(c Case) string {
	move := next(c)
	stays := c.GiveUp && !committed(c.Claim)
	// The guard of a pod that a person has handed to its controller is to be open.
	openInVain := c.Known.Guard == PossiblyOpen && (!c.Forced || c.Held) || c.Known.Guard == KnownOpen && c.Held
	switch {
	case c.Pod == Here && !stays && c.Known.Guard != RemovalSent && openInVain && move != MoveCloseGuard:
		return "a guard stays open with no decision behind it"
	case c.Pod == Here && stays && c.Known.Guard != KnownClosed && move != MoveCloseGuard:
		return "something else is done before the guard of a pod that stays is shut"
	case c.Pod != Here && c.Pod != Gone && move != MoveWait:
		return "something is done about a pod that is nowhere to be seen, or on its way"
	case c.Pod == Here && !stays && c.Known.Guard == RemovalSent && move != MoveWait:
		return "something is done about a pod that is removed already"
	case c.Pod == Here && !stays && c.Stopped && move != MoveWait && move != MoveCloseGuard:
		return "a claim that has been stopped goes on"
	case c.Pod == Here && !stays && c.Forced && !c.Awaited && move != MoveWait && move != MoveCloseGuard && move != MoveOpenGuard:
		return "more is done about a pod that is its controller's than to open its guard"
	case c.Pod == Gone && c.Known.Hidden && !c.Known.Confirmed && c.Known.Guard != RemovalSent && c.Known.Guard.mayBeOpen() && move != MoveCloseGuard:
		return "the guard of a pod stays open that is only out of sight"
	}
	// haunted: the pod has gone, and one of its volumes may be met again, or deleted late.
	haunted := c.Pod == Gone && len(c.Claim.Volumes) > 0 && !c.Known.VolumesNew && (c.Recreated || !c.Back || c.Claim.EmptiedAt != nil && !c.Known.VolumesDeleted)
	// bare: it is restarted for an agent or by its new template, with all that it has.
	bare := c.Restarts && committed(c.Claim)
	looked := (c.Known.Drained != NotDrained || !prepares(c.Claim) || bare) && (c.Known.HandedOff || !c.Alone) && c.Observed && !c.Behind
	switch move {
	case MoveFindVolumes, MovePlanDrain, MoveRecordDrain, MoveDrain, MoveHandoffOnBehalf, MoveObserve, MoveRecordEmpty, MoveDeleteVolumes, MoveOpenGuard, MoveEvict:
		if unwanted := move == MoveDeleteVolumes && c.Pod == Gone && c.Back && !c.Recreated; c.Pod != Here && !unwanted || stays {
			return "a claim goes on whose pod has gone or stays"
		}
	case MoveAwaitVolumes, MoveFollowSuccessor, MoveConfirmGone, MoveFindSet:
		if c.Pod != Gone {
			return "a successor is looked for while the pod is there"
		}
	case MoveRestore, MoveRelease:
		if c.Pod == Gone && c.Vanished && !c.Known.SetGone {
			return "a claim ends whose pool is only out of sight"
		}
	}
	switch move {
	case MoveFindVolumes, MovePlanDrain, MoveRecordDrain, MoveDrain, MoveRecordEmpty, MoveDeleteVolumes:
		if bare && c.Pod == Here {
			return "a pod in which no agent runs is emptied"
		}
	}
	switch move {
	case MoveHandoffOnBehalf:
		if !c.Alone || c.Known.HandedOff {
			return "another pod hands over for one that needs none"
		}
	case MoveObserve:
		if prepares(c.Claim) && c.Known.Drained == NotDrained && !bare || c.Alone && !c.Known.HandedOff || c.Behind {
			return "a look before there is anything to see"
		}
	case MoveDeleteVolumes:
		if c.Pod == Gone {
			if c.Claim.EmptiedAt == nil || !c.Known.Confirmed || c.Vanished && !c.Known.SetGone || c.Stopped {
				return "a volume is deleted of a pod that may be there, may have data, or is to be left as it is"
			}
			break
		}
		if c.Claim.EmptiedAt == nil || !c.Empty && c.Known.Guard != KnownOpen || !looked || c.Held {
			return "a volume is deleted that may have data"
		}
	case MoveRecordEmpty:
		if !c.Empty && c.Known.Guard != KnownOpen || !looked || c.Held {
			return "a pod is called empty that nobody has seen so"
		}
	case MoveFollowSuccessor:
		if !c.Known.Confirmed || c.Known.Inheritor == "" {
			return "a claim leaves a pod that may be there"
		}
	case MoveOpenGuard, MoveEvict:
		if c.Held {
			return "a pod goes that is held"
		}
		if move == MoveEvict && !(c.Known.Guard == KnownOpen && c.CaughtUp) {
			return "a pod goes that the cache has not shown with its guard open"
		}
		if c.Forced {
			break // by its controller, and nothing else is asked
		}
		if replaces(c.Claim) && !bare && (c.Claim.EmptiedAt == nil || len(c.Claim.Volumes) > 0 && !c.Known.VolumesDeleted) {
			return "a pod goes before its volumes"
		}
		if !looked {
			return "a pod goes that is not drained, not looked at, or not its turn"
		}
	case MovePlanDrain, MoveRecordDrain, MoveDrain:
		if replaces(c.Claim) && !c.Known.Found {
			return "data is moved before the volumes are known"
		}
		if move != MoveDrain {
			break
		}
		if len(c.Claim.Undo) == 0 && !c.Known.Asked && !c.Listed {
			return "applied before it is known what that changes"
		}
		// Who is listed has its undo, if any: both are one write.
		if len(c.Claim.Undo) == 0 && len(c.Known.Undo) > 0 && !c.Listed {
			return "applied before the undo is stored"
		}
		if c.Queued || len(c.Claim.Undo) == 0 && c.Known.Shared.Knob != "" && !c.Listed {
			return "applied out of its turn, or before the value of a setting is recorded"
		}
	case MoveRestore:
		if replaces(c.Claim) && len(c.Claim.Volumes) > 0 && (c.Pod == Here && c.Claim.EmptiedAt != nil || haunted) {
			return "data comes back before the volumes are new"
		}
		if c.Pod == Here && !(c.GiveUp && c.Known.Guard == KnownClosed) || c.Pod == Gone && !c.Known.Confirmed {
			return "undone while the pod may still go"
		}
		if c.Pod == Gone && c.Claim.Action != model.Remove && !c.Rejoined && !c.Failed {
			return "undone before the pod is back"
		}
	case MoveRelease:
		if replaces(c.Claim) && (c.Pod == Here && c.Claim.EmptiedAt != nil || haunted) {
			return "released with volumes that may go"
		}
		if len(c.Claim.Undo) > 0 && prepares(c.Claim) && !c.Known.Restored && !c.Known.Left {
			return "released with something left behind"
		}
		if c.Pod == Gone && !c.Known.Confirmed {
			return "released while the pod may be there"
		}
		if c.Pod == Gone && c.Claim.Action != model.Remove && !c.Back && !c.Superseded {
			return "released while the pod is unavailable"
		}
	}
	return ""
}

func TestNamesOfMoves(t *testing.T) {
	require.Equal(t, "Wait", MoveWait.String())
	require.Equal(t, "OpenGuard", MoveOpenGuard.String())
	require.Equal(t, "Release", MoveRelease.String())
	require.Equal(t, "Gone", Gone.String())
}
