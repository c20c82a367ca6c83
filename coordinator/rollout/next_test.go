package rollout

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

var (
	handoff = model.Claim{ID: "c", Action: model.ActionRestart, Prepare: model.PrepareHandoff}
	stored  = model.Claim{ID: "c", Action: model.ActionRestart, Prepare: model.PrepareHandoff, Undo: []byte("u")}
	broke   = model.Claim{ID: "c", Action: model.ActionRestart, Prepare: model.PrepareNone}
	swap    = model.Claim{ID: "c", Action: model.ActionReplace, Prepare: model.PrepareEvacuate}
	swapped = model.Claim{ID: "c", Action: model.ActionReplace, Prepare: model.PrepareEvacuate, Undo: []byte("u"), Volumes: []model.VolumeClaim{{Name: "v", UID: "1"}}}
	emptied = model.Claim{ID: "c", Action: model.ActionReplace, Prepare: model.PrepareEvacuate, Undo: []byte("u"), Volumes: swapped.Volumes, EmptiedAt: &model.Time{}}
	removal = model.Claim{ID: "c", Action: model.ActionRemove, Prepare: model.PrepareEvacuate, Undo: []byte("u")}
)

// empties returns a claim that says that its pod is empty.
func empties(c model.Claim) model.Claim {
	c.EmptiedAt = &model.Time{}
	return c
}

// withUndo returns a claim whose undo is stored, without volumes.
func withUndo(c model.Claim) model.Claim {
	c.Undo = []byte("u")
	return c
}

func TestNext(t *testing.T) {
	ready := Known{DrainPlanned: true, Drained: DrainedBySelf}
	opened := Known{DrainPlanned: true, Drained: DrainedBySelf, Guard: GuardKnownOpen}
	found := Known{DrainPlanned: true, Drained: DrainedBySelf, VolumesFound: true}
	discarded := Known{DrainPlanned: true, Drained: DrainedBySelf, VolumesFound: true, VolumesDeleted: true}
	for name, c := range map[string]struct {
		in    Case
		move  Move
		phase model.ClaimPhase
	}{
		"new claim":                         {Case{Claim: handoff, Pod: PodPresent}, MovePlanDrain, model.PhaseClaimed},
		"nothing is known of the pod":       {Case{Claim: handoff}, MoveWait, model.PhaseClaimed},
		"undo was answered":                 {Case{Claim: handoff, Pod: PodPresent, Known: Known{DrainPlanned: true, Undo: []byte("u")}}, MoveRecordDrain, model.PhaseDraining},
		"nothing to undo":                   {Case{Claim: handoff, Pod: PodPresent, Known: Known{DrainPlanned: true}}, MoveDrain, model.PhaseDraining},
		"undo is stored":                    {Case{Claim: stored, Pod: PodPresent}, MoveDrain, model.PhaseDraining},
		"a setting without any undo":        {Case{Claim: handoff, Pod: PodPresent, Known: Known{DrainPlanned: true, Setting: effect.ClusterSetting{Name: "k"}}}, MoveRecordDrain, model.PhaseDraining},
		"a setting is recorded":             {Case{Claim: handoff, Pod: PodPresent, SettingRecorded: true, Known: Known{DrainPlanned: true, Setting: effect.ClusterSetting{Name: "k"}}}, MoveDrain, model.PhaseDraining},
		"others write the setting":          {Case{Claim: stored, Pod: PodPresent, SettingRecorded: true, SettingBusy: true}, MoveWait, model.PhaseDraining},
		"given up in the queue":             {Case{Claim: stored, Pod: PodPresent, SettingRecorded: true, SettingBusy: true, GiveUp: true}, MoveCloseGuard, model.PhaseDraining},
		"prepared":                          {Case{Claim: stored, Pod: PodPresent, Known: Known{Drained: DrainedBySelf}}, MoveObserve, model.PhaseDrained},
		"held":                              {Case{Claim: stored, Pod: PodPresent, Held: true, Observed: true, Known: ready}, MoveWait, model.PhaseDrained},
		"may go":                            {Case{Claim: stored, Pod: PodPresent, Observed: true, Known: ready}, MoveOpenGuard, model.PhaseDrained},
		"the cache is behind":               {Case{Claim: stored, Pod: PodPresent, Observed: true, Known: opened}, MoveWait, model.PhaseOpened},
		"the cache has caught up":           {Case{Claim: stored, Pod: PodPresent, CaughtUp: true, Observed: true, Known: opened}, MoveEvict, model.PhaseOpened},
		"opened by force, not drained":      {Case{Claim: stored, Pod: PodPresent, CaughtUp: true, Known: Known{Guard: GuardKnownOpen}}, MoveCloseGuard, model.PhaseOpened},
		"held when opened":                  {Case{Claim: stored, Pod: PodPresent, Held: true, CaughtUp: true, Observed: true, Known: opened}, MoveCloseGuard, model.PhaseOpened},
		"broken pods need no drain":         {Case{Claim: broke, Pod: PodPresent}, MoveObserve, model.PhaseClaimed},
		"nobody in the pod can drain":       {Case{Claim: broke, Pod: PodPresent, WithoutAgent: true}, MoveHandoffOnBehalf, model.PhaseClaimed},
		"another has handed over for it":    {Case{Claim: broke, Pod: PodPresent, WithoutAgent: true, Known: Known{HandedOff: true}}, MoveObserve, model.PhaseClaimed},
		"sent":                              {Case{Claim: stored, Pod: PodPresent, Known: Known{Guard: RemovalAccepted}}, MoveWait, model.PhaseOpened},
		"terminating":                       {Case{Claim: stored, Pod: PodTerminating, GiveUp: true}, MoveWait, model.PhaseOpened},
		"gone, says the cache":              {Case{Claim: stored, Pod: PodGone, Rejoined: true, Returned: true}, MoveConfirmGone, model.PhaseRestoring},
		"gone":                              {Case{Claim: stored, Pod: PodGone, Known: Known{GoneConfirmed: true}}, MoveWait, model.PhaseGone},
		"rejoined":                          {Case{Claim: stored, Pod: PodGone, Rejoined: true, Known: Known{GoneConfirmed: true}}, MoveRestore, model.PhaseRestoring},
		"undone":                            {Case{Claim: stored, Pod: PodGone, Rejoined: true, Known: Known{GoneConfirmed: true, Restored: true}}, MoveWait, model.PhaseSettling},
		"back":                              {Case{Claim: stored, Pod: PodGone, Rejoined: true, Returned: true, Known: Known{GoneConfirmed: true, Restored: true}}, MoveRelease, model.PhaseSettling},
		"back, nothing to undo":             {Case{Claim: handoff, Pod: PodGone, Rejoined: true, Returned: true, Known: Known{GoneConfirmed: true}}, MoveRelease, model.PhaseSettling},
		"failed":                            {Case{Claim: stored, Pod: PodGone, ReturnFailed: true, Known: Known{GoneConfirmed: true}}, MoveRestore, model.PhaseRestoring},
		"failed and undone":                 {Case{Claim: stored, Pod: PodGone, ReturnFailed: true, Known: Known{GoneConfirmed: true, Restored: true}}, MoveWait, model.PhaseGone},
		"failed, and to go again":           {Case{Claim: stored, Pod: PodGone, ReturnFailed: true, SuccessorMustGo: true, Known: Known{GoneConfirmed: true, Restored: true}}, MoveRelease, model.PhaseGone},
		"failed, to go again, and noted":    {Case{Claim: stored, Pod: PodGone, ReturnFailed: true, SuccessorMustGo: true, Known: Known{GoneConfirmed: true, UndoDeferred: true}}, MoveRelease, model.PhaseGone},
		"failed, and noted":                 {Case{Claim: stored, Pod: PodGone, ReturnFailed: true, Known: Known{GoneConfirmed: true, UndoDeferred: true}}, MoveWait, model.PhaseGone},
		"given up, shut and noted":          {Case{Claim: stored, Pod: PodPresent, GiveUp: true, Known: Known{Guard: GuardKnownClosed, UndoDeferred: true}}, MoveRelease, model.PhaseDraining},
		"given up, noted and not shut":      {Case{Claim: stored, Pod: PodPresent, GiveUp: true, Known: Known{UndoDeferred: true}}, MoveCloseGuard, model.PhaseDraining},
		"removed":                           {Case{Claim: removal, Pod: PodGone, Known: Known{GoneConfirmed: true}}, MoveRestore, model.PhaseGone},
		"removed and undone":                {Case{Claim: removal, Pod: PodGone, Known: Known{GoneConfirmed: true, Restored: true}}, MoveRelease, model.PhaseGone},
		"held when the look is old":         {Case{Claim: stored, Pod: PodPresent, Held: true, Known: Known{Drained: DrainedBySelf, Guard: GuardKnownOpen}}, MoveCloseGuard, model.PhaseOpened},
		"left open":                         {Case{Claim: stored, Pod: PodPresent, Known: Known{Guard: GuardMaybeOpen}}, MoveCloseGuard, model.PhaseDraining},
		"left open, and sent":               {Case{Claim: stored, Pod: PodPresent, Known: Known{Guard: RemovalAccepted}}, MoveWait, model.PhaseOpened},
		"given up":                          {Case{Claim: stored, Pod: PodPresent, GiveUp: true, Observed: true, Known: opened}, MoveCloseGuard, model.PhaseOpened},
		"given up and shut":                 {Case{Claim: stored, Pod: PodPresent, GiveUp: true, Known: Known{Guard: GuardKnownClosed}}, MoveRestore, model.PhaseRestoring},
		"given up, shut and undone":         {Case{Claim: stored, Pod: PodPresent, GiveUp: true, Known: Known{Guard: GuardKnownClosed, Restored: true}}, MoveRelease, model.PhaseDraining},
		"volumes come first":                {Case{Claim: swap, Pod: PodPresent}, MoveFindVolumes, model.PhaseClaimed},
		"then what is moved":                {Case{Claim: swap, Pod: PodPresent, Known: Known{VolumesFound: true}}, MovePlanDrain, model.PhaseClaimed},
		"volumes are stored":                {Case{Claim: swap, Pod: PodPresent, Known: Known{VolumesFound: true, DrainPlanned: true, Volumes: swapped.Volumes}}, MoveRecordDrain, model.PhaseDraining},
		"volumes of a follower":             {Case{Claim: withUndo(swap), Pod: PodPresent, Known: Known{VolumesFound: true, Volumes: swapped.Volumes}}, MoveRecordDrain, model.PhaseDraining},
		"data is moved":                     {Case{Claim: swapped, Pod: PodPresent, Known: Known{VolumesFound: true}}, MoveDrain, model.PhaseDraining},
		"moved, and not looked at":          {Case{Claim: swapped, Pod: PodPresent, Known: Known{VolumesFound: true, Drained: DrainedBySelf}}, MoveObserve, model.PhaseDrained},
		"moved, and not empty":              {Case{Claim: swapped, Pod: PodPresent, Observed: true, Known: found}, MoveWait, model.PhaseDrained},
		"empty":                             {Case{Claim: swapped, Pod: PodPresent, Empty: true, Observed: true, Known: found}, MoveRecordEmpty, model.PhaseDrained},
		"empty, and held":                   {Case{Claim: swapped, Pod: PodPresent, Empty: true, Held: true, Observed: true, Known: found}, MoveWait, model.PhaseDrained},
		"empty, and given up":               {Case{Claim: swapped, Pod: PodPresent, Empty: true, GiveUp: true, Observed: true, Known: found}, MoveCloseGuard, model.PhaseDrained},
		"empty, as is written":              {Case{Claim: emptied, Pod: PodPresent, Empty: true, Observed: true, Known: found}, MoveDeleteVolumes, model.PhaseEmptied},
		"written, and not empty any more":   {Case{Claim: emptied, Pod: PodPresent, Observed: true, Known: found}, MoveWait, model.PhaseEmptied},
		"written, and given up":             {Case{Claim: emptied, Pod: PodPresent, GiveUp: true, Held: true, Observed: true, Known: Known{VolumesFound: true, Drained: DrainedBySelf, Guard: GuardKnownClosed}}, MoveWait, model.PhaseEmptied},
		"written, and stopped":              {Case{Claim: emptied, Pod: PodPresent, Empty: true, Suspended: true, Held: true, Observed: true, Known: found}, MoveWait, model.PhaseEmptied},
		"opened, and stopped":               {Case{Claim: emptied, Pod: PodPresent, Suspended: true, Held: true, Observed: true, Known: opened}, MoveCloseGuard, model.PhaseOpened},
		"volumes are deleted":               {Case{Claim: emptied, Pod: PodPresent, Empty: true, Observed: true, Known: discarded}, MoveOpenGuard, model.PhaseEmptied},
		"no volumes":                        {Case{Claim: empties(swap), Pod: PodPresent, Empty: true, Observed: true, Known: found}, MoveOpenGuard, model.PhaseEmptied},
		"the recreated pod is awaited":      {Case{Claim: emptied, Pod: PodGone, Known: Known{GoneConfirmed: true}}, MoveWait, model.PhaseGone},
		"the recreated pod is there":        {Case{Claim: emptied, Pod: PodGone, Recreated: true, Rejoined: true, Returned: true, Known: Known{GoneConfirmed: true}}, MoveAwaitVolumes, model.PhaseGone},
		"the recreated pod failed":          {Case{Claim: emptied, Pod: PodGone, Recreated: true, ReturnFailed: true, SuccessorMustGo: true, Known: Known{GoneConfirmed: true}}, MoveAwaitVolumes, model.PhaseGone},
		"the recreated pod has its volumes": {Case{Claim: emptied, Pod: PodGone, Recreated: true, Known: Known{GoneConfirmed: true, Successor: "w"}}, MoveFollowSuccessor, model.PhaseGone},
		"the recreated pod has its own":     {Case{Claim: emptied, Pod: PodGone, Recreated: true, Rejoined: true, Known: Known{GoneConfirmed: true, VolumesNew: true}}, MoveRestore, model.PhaseRestoring},
		"nobody comes in its place":         {Case{Claim: swapped, Pod: PodGone, Rejoined: true, Returned: true, Known: Known{GoneConfirmed: true}}, MoveRestore, model.PhaseRestoring},
		"nobody comes to its volumes":       {Case{Claim: emptied, Pod: PodGone, Rejoined: true, Returned: true, Known: Known{GoneConfirmed: true}}, MoveDeleteVolumes, model.PhaseGone},
		"they are not to be deleted now":    {Case{Claim: emptied, Pod: PodGone, Rejoined: true, Returned: true, Suspended: true, Held: true, Known: Known{GoneConfirmed: true}}, MoveWait, model.PhaseGone},
		"its volumes are gone, too":         {Case{Claim: emptied, Pod: PodGone, Rejoined: true, Returned: true, Known: Known{GoneConfirmed: true, VolumesDeleted: true}}, MoveRestore, model.PhaseRestoring},
		"gone before it was empty":          {Case{Claim: swapped, Pod: PodGone, Recreated: true, Rejoined: true, Known: Known{GoneConfirmed: true}}, MoveAwaitVolumes, model.PhaseGone},
		"forced":                            {Case{Claim: broke, Pod: PodPresent, HandedToController: true}, MoveOpenGuard, model.PhaseClaimed},
		"forced, and opened":                {Case{Claim: broke, Pod: PodPresent, HandedToController: true, CaughtUp: true, Observed: true, Known: opened}, MoveWait, model.PhaseOpened},
		"forced, and waited for":            {Case{Claim: broke, Pod: PodPresent, HandedToController: true, BlocksController: true, CaughtUp: true, Observed: true, Known: opened}, MoveEvict, model.PhaseOpened},
		"forced, waited for, not shown":     {Case{Claim: broke, Pod: PodPresent, HandedToController: true, BlocksController: true, Observed: true, Known: opened}, MoveWait, model.PhaseOpened},
		"forced, and held":                  {Case{Claim: broke, Pod: PodPresent, HandedToController: true, Held: true}, MoveWait, model.PhaseClaimed},
		"held, and left open":               {Case{Claim: stored, Pod: PodPresent, Held: true, Known: Known{Guard: GuardMaybeOpen}}, MoveCloseGuard, model.PhaseDraining},
		"emptied, without an agent":         {Case{Claim: emptied, Pod: PodPresent, RestartFirst: true}, MoveObserve, model.PhaseEmptied},
		"and another hands over":            {Case{Claim: emptied, Pod: PodPresent, RestartFirst: true, WithoutAgent: true}, MoveHandoffOnBehalf, model.PhaseEmptied},
		"and it may not go":                 {Case{Claim: emptied, Pod: PodPresent, RestartFirst: true, Held: true, Observed: true}, MoveWait, model.PhaseEmptied},
		"and it may":                        {Case{Claim: emptied, Pod: PodPresent, RestartFirst: true, Observed: true}, MoveOpenGuard, model.PhaseEmptied},
		"and is shown with it":              {Case{Claim: emptied, Pod: PodPresent, RestartFirst: true, CaughtUp: true, Observed: true, Known: Known{Guard: GuardKnownOpen}}, MoveEvict, model.PhaseOpened},
		"emptied, and not drained":          {Case{Claim: emptied, Pod: PodPresent, Suspended: true, Held: true, Known: Known{VolumesFound: true}}, MoveWait, model.PhaseEmptied},
		"behind, and given up":              {Case{Claim: stored, Pod: PodPresent, WaitsForOthers: true, GiveUp: true, Observed: true, Known: ready}, MoveCloseGuard, model.PhaseDrained},
		"out of sight":                      {Case{Claim: stored, Pod: PodGone, PoolHidden: true}, MoveConfirmGone, model.PhaseGone},
		"out of sight, and there":           {Case{Claim: model.Claim{Phase: model.PhaseDrained}, Pod: PodGone, PoolHidden: true, Known: Known{StillExists: true}}, MoveConfirmGone, model.PhaseDrained},
		"out of sight with an open guard":   {Case{Claim: stored, Pod: PodGone, PoolHidden: true, Known: Known{StillExists: true, Guard: GuardKnownOpen}}, MoveCloseGuard, ""},
		"out of sight, left open":           {Case{Claim: stored, Pod: PodGone, PoolHidden: true, Known: Known{StillExists: true, Guard: GuardMaybeOpen}}, MoveCloseGuard, ""},
		"out of sight, and sent":            {Case{Claim: stored, Pod: PodGone, PoolHidden: true, Known: Known{StillExists: true, Guard: RemovalAccepted}}, MoveConfirmGone, ""},
		"gone, and its pool out of sight":   {Case{Claim: stored, Pod: PodGone, PoolHidden: true, Rejoined: true, Returned: true, Known: Known{GoneConfirmed: true}}, MoveFindSet, model.PhaseRestoring},
		"removed, and its pool as well":     {Case{Claim: removal, Pod: PodGone, PoolHidden: true, Known: Known{GoneConfirmed: true}}, MoveFindSet, model.PhaseGone},
		"its pool is gone, too":             {Case{Claim: stored, Pod: PodGone, PoolHidden: true, Rejoined: true, Returned: true, Known: Known{GoneConfirmed: true, SetGone: true}}, MoveRestore, model.PhaseRestoring},
		"back, unprepared":                  {Case{Claim: broke, Pod: PodGone, Rejoined: true, Returned: true, Known: Known{GoneConfirmed: true}}, MoveRelease, model.PhaseSettling},
		"unprepared, and given up":          {Case{Claim: broke, Pod: PodPresent, GiveUp: true, Known: Known{Guard: GuardKnownClosed}}, MoveRelease, model.PhaseClaimed},
		"given up before it was stored":     {Case{Claim: handoff, Pod: PodPresent, GiveUp: true, Known: Known{Guard: GuardKnownClosed}}, MoveRestore, model.PhaseRestoring},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.move.String(), next(c.in).String())
			require.Equal(t, c.phase, stateOf(&c.in))
		})
	}
}

// The pods that the partition would free with a pod go first. The pod waits for them at every
// stage, and is neither observed, nor opened, nor removed.
func TestBehind(t *testing.T) {
	for _, heard := range []Known{
		{Drained: DrainedBySelf}, {Drained: DrainedBySelf, Guard: GuardKnownOpen},
		{Drained: DrainedBySelf, VolumesFound: true}, {Drained: DrainedBySelf, VolumesFound: true, VolumesDeleted: true},
	} {
		for _, observed := range []bool{false, true} {
			for _, claim := range []model.Claim{stored, broke} {
				c := Case{Claim: claim, Pod: PodPresent, WaitsForOthers: true, CaughtUp: true, Observed: observed, Known: heard}
				require.Equal(t, MoveWait.String(), next(c).String(), "%+v", heard)
				c.WaitsForOthers = false
				require.NotEqual(t, MoveWait.String(), next(c).String(), "%+v", heard)
			}
		}
	}
	// Moves that lead to no removal do not wait for them.
	require.Equal(t, MovePlanDrain, next(Case{Claim: handoff, Pod: PodPresent, WaitsForOthers: true}))
	require.Equal(t, MoveCloseGuard, next(Case{Claim: stored, Pod: PodPresent, WaitsForOthers: true, Known: Known{Guard: GuardMaybeOpen}}))
}

// TestNextNeverBreaksItsPromises tests the promises of the state machine on all possible inputs.
// Each field is drawn, each decides something, and each move is made often.
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
	require.Equal(t, []string{"Known.Setting.Undo"}, idle, "what only is stored decides nothing, all else does")
	for move := MoveWait; move <= MoveRelease; move++ {
		require.Greater(t, m.moves[move], drawn/100, move.String())
	}
}

// breach says which promise the next move breaks. It is empty if none.
func breach(c Case) string {
	move := next(c)
	stays := c.GiveUp && !committed(c.Claim)
	// The guard of a pod that a person has handed to its controller has to be open.
	openInVain := c.Known.Guard == GuardMaybeOpen && (!c.HandedToController || c.Held) || c.Known.Guard == GuardKnownOpen && c.Held
	switch {
	case c.Pod == PodPresent && !stays && c.Known.Guard != RemovalAccepted && openInVain && move != MoveCloseGuard:
		return "a guard stays open with no decision behind it"
	case c.Pod == PodPresent && stays && c.Known.Guard != GuardKnownClosed && move != MoveCloseGuard:
		return "something else is done before the guard of a pod that stays is shut"
	case c.Pod != PodPresent && c.Pod != PodGone && move != MoveWait:
		return "something is done about a pod that is nowhere to be seen, or on its way"
	case c.Pod == PodPresent && !stays && c.Known.Guard == RemovalAccepted && move != MoveWait:
		return "something is done about a pod that is removed already"
	case c.Pod == PodPresent && !stays && c.Suspended && move != MoveWait && move != MoveCloseGuard:
		return "a claim that has been stopped goes on"
	case c.Pod == PodPresent && !stays && c.HandedToController && !c.BlocksController && move != MoveWait && move != MoveCloseGuard && move != MoveOpenGuard:
		return "more is done about a pod that is its controller's than to open its guard"
	case c.Pod == PodGone && c.Known.StillExists && !c.Known.GoneConfirmed && c.Known.Guard != RemovalAccepted && c.Known.Guard.mayBeOpen() && move != MoveCloseGuard:
		return "the guard of a pod stays open that is only out of sight"
	}
	// haunted means that the pod has gone, and one of its volumes may be used again or deleted
	// late.
	haunted := c.Pod == PodGone && len(c.Claim.Volumes) > 0 && !c.Known.VolumesNew && (c.Recreated || !c.Returned || c.Claim.EmptiedAt != nil && !c.Known.VolumesDeleted)
	// bare: it is restarted for an agent or by its new template, with all that it has.
	bare := c.RestartFirst && committed(c.Claim)
	looked := (c.Known.Drained != NotDrained || !needsDrain(c.Claim) || bare) && (c.Known.HandedOff || !c.WithoutAgent) && c.Observed && !c.WaitsForOthers
	switch move {
	case MoveFindVolumes, MovePlanDrain, MoveRecordDrain, MoveDrain, MoveHandoffOnBehalf, MoveObserve, MoveRecordEmpty, MoveDeleteVolumes, MoveOpenGuard, MoveEvict:
		if unwanted := move == MoveDeleteVolumes && c.Pod == PodGone && c.Returned && !c.Recreated; c.Pod != PodPresent && !unwanted || stays {
			return "a claim goes on whose pod has gone or stays"
		}
	case MoveAwaitVolumes, MoveFollowSuccessor, MoveConfirmGone, MoveFindSet:
		if c.Pod != PodGone {
			return "a successor is looked for while the pod is there"
		}
	case MoveRestore, MoveRelease:
		if c.Pod == PodGone && c.PoolHidden && !c.Known.SetGone {
			return "a claim ends whose pool is only out of sight"
		}
	}
	switch move {
	case MoveFindVolumes, MovePlanDrain, MoveRecordDrain, MoveDrain, MoveRecordEmpty, MoveDeleteVolumes:
		if bare && c.Pod == PodPresent {
			return "a pod in which no agent runs is emptied"
		}
	}
	switch move {
	case MoveHandoffOnBehalf:
		if !c.WithoutAgent || c.Known.HandedOff {
			return "another pod hands over for one that needs none"
		}
	case MoveObserve:
		if needsDrain(c.Claim) && c.Known.Drained == NotDrained && !bare || c.WithoutAgent && !c.Known.HandedOff || c.WaitsForOthers {
			return "a look before there is anything to see"
		}
	case MoveDeleteVolumes:
		if c.Pod == PodGone {
			if c.Claim.EmptiedAt == nil || !c.Known.GoneConfirmed || c.PoolHidden && !c.Known.SetGone || c.Suspended {
				return "a volume is deleted of a pod that may be there, may have data, or is to be left as it is"
			}
			break
		}
		if c.Claim.EmptiedAt == nil || !c.Empty && c.Known.Guard != GuardKnownOpen || !looked || c.Held {
			return "a volume is deleted that may have data"
		}
	case MoveRecordEmpty:
		if !c.Empty && c.Known.Guard != GuardKnownOpen || !looked || c.Held {
			return "a pod is called empty that nobody has seen so"
		}
	case MoveFollowSuccessor:
		if !c.Known.GoneConfirmed || c.Known.Successor == "" {
			return "a claim leaves a pod that may be there"
		}
	case MoveOpenGuard, MoveEvict:
		if c.Held {
			return "a pod goes that is held"
		}
		if move == MoveEvict && !(c.Known.Guard == GuardKnownOpen && c.CaughtUp) {
			return "a pod goes that the cache has not shown with its guard open"
		}
		if c.HandedToController {
			break // its controller removes it, and nothing else is checked
		}
		if replaces(c.Claim) && !bare && (c.Claim.EmptiedAt == nil || len(c.Claim.Volumes) > 0 && !c.Known.VolumesDeleted) {
			return "a pod goes before its volumes"
		}
		if !looked {
			return "a pod goes that is not drained, not looked at, or not its turn"
		}
	case MovePlanDrain, MoveRecordDrain, MoveDrain:
		if replaces(c.Claim) && !c.Known.VolumesFound {
			return "data is moved before the volumes are known"
		}
		if move != MoveDrain {
			break
		}
		if len(c.Claim.Undo) == 0 && !c.Known.DrainPlanned && !c.SettingRecorded {
			return "applied before it is known what that changes"
		}
		// A claim that is listed has its undo, if any: both are one write.
		if len(c.Claim.Undo) == 0 && len(c.Known.Undo) > 0 && !c.SettingRecorded {
			return "applied before the undo is stored"
		}
		if c.SettingBusy || len(c.Claim.Undo) == 0 && c.Known.Setting.Name != "" && !c.SettingRecorded {
			return "applied out of its turn, or before the value of a setting is recorded"
		}
	case MoveRestore:
		if replaces(c.Claim) && len(c.Claim.Volumes) > 0 && (c.Pod == PodPresent && c.Claim.EmptiedAt != nil || haunted) {
			return "data comes back before the volumes are new"
		}
		if c.Pod == PodPresent && !(c.GiveUp && c.Known.Guard == GuardKnownClosed) || c.Pod == PodGone && !c.Known.GoneConfirmed {
			return "undone while the pod may still go"
		}
		if c.Pod == PodGone && c.Claim.Action != model.ActionRemove && !c.Rejoined && !c.ReturnFailed {
			return "undone before the pod is back"
		}
	case MoveRelease:
		if replaces(c.Claim) && (c.Pod == PodPresent && c.Claim.EmptiedAt != nil || haunted) {
			return "released with volumes that may go"
		}
		if len(c.Claim.Undo) > 0 && needsDrain(c.Claim) && !c.Known.Restored && !c.Known.UndoDeferred {
			return "released with something left behind"
		}
		if c.Pod == PodGone && !c.Known.GoneConfirmed {
			return "released while the pod may be there"
		}
		if c.Pod == PodGone && c.Claim.Action != model.ActionRemove && !c.Returned && !c.SuccessorMustGo {
			return "released while the pod is unavailable"
		}
	}
	return ""
}

func TestNamesOfMoves(t *testing.T) {
	require.Equal(t, "Wait", MoveWait.String())
	require.Equal(t, "OpenGuard", MoveOpenGuard.String())
	require.Equal(t, "Release", MoveRelease.String())
	require.Equal(t, "Gone", PodGone.String())
}
