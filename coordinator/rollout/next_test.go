package rollout

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
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
	ready := Heard{Asked: true, Prepared: true, Observed: true}
	opened := Heard{Asked: true, Prepared: true, Observed: true, Opened: true}
	found := Heard{Asked: true, Prepared: true, Observed: true, Found: true}
	discarded := Heard{Asked: true, Prepared: true, Observed: true, Found: true, Discarded: true}
	for name, c := range map[string]struct {
		in    Case
		move  Move
		phase model.ClaimPhase
	}{
		"new claim":                       {Case{Claim: handoff, Pod: Here}, AskPlan, model.PhaseClaimed},
		"nothing is known of the pod":     {Case{Claim: handoff}, Wait, model.PhaseClaimed},
		"undo was answered":               {Case{Claim: handoff, Pod: Here, Heard: Heard{Asked: true, Undo: []byte("u")}}, RecordDrain, model.PhasePreparing},
		"nothing to undo":                 {Case{Claim: handoff, Pod: Here, Heard: Heard{Asked: true}}, ApplyDrain, model.PhasePreparing},
		"undo is stored":                  {Case{Claim: stored, Pod: Here}, ApplyDrain, model.PhasePreparing},
		"a setting without any undo":      {Case{Claim: handoff, Pod: Here, Heard: Heard{Asked: true, Shared: Shared{Knob: "k"}}}, RecordDrain, model.PhasePreparing},
		"a setting is recorded":           {Case{Claim: handoff, Pod: Here, Listed: true, Heard: Heard{Asked: true, Shared: Shared{Knob: "k"}}}, ApplyDrain, model.PhasePreparing},
		"others write the setting":        {Case{Claim: stored, Pod: Here, Listed: true, Queued: true}, Wait, model.PhasePreparing},
		"given up in the queue":           {Case{Claim: stored, Pod: Here, Listed: true, Queued: true, GiveUp: true}, Close, model.PhasePreparing},
		"prepared":                        {Case{Claim: stored, Pod: Here, Heard: Heard{Prepared: true}}, LookAnew, model.PhasePrepared},
		"held":                            {Case{Claim: stored, Pod: Here, Held: true, Heard: ready}, Wait, model.PhasePrepared},
		"may go":                          {Case{Claim: stored, Pod: Here, Heard: ready}, Open, model.PhasePrepared},
		"the cache is behind":             {Case{Claim: stored, Pod: Here, Heard: opened}, Wait, model.PhaseOpened},
		"the cache has caught up":         {Case{Claim: stored, Pod: Here, CaughtUp: true, Heard: opened}, Evict, model.PhaseOpened},
		"held when opened":                {Case{Claim: stored, Pod: Here, Held: true, CaughtUp: true, Heard: opened}, Close, model.PhaseOpened},
		"broken pods need no prepare":     {Case{Claim: broke, Pod: Here}, LookAnew, model.PhaseClaimed},
		"nobody in the pod can prepare":   {Case{Claim: broke, Pod: Here, Alone: true}, HandOff, model.PhaseClaimed},
		"another has handed over for it":  {Case{Claim: broke, Pod: Here, Alone: true, Heard: Heard{Relieved: true}}, LookAnew, model.PhaseClaimed},
		"sent":                            {Case{Claim: stored, Pod: Here, Heard: Heard{Sent: true}}, Wait, model.PhaseOpened},
		"terminating":                     {Case{Claim: stored, Pod: Leaving, GiveUp: true}, Wait, model.PhaseOpened},
		"gone, says the cache":            {Case{Claim: stored, Pod: Gone, Rejoined: true, Back: true}, Confirm, model.PhaseRestoring},
		"gone":                            {Case{Claim: stored, Pod: Gone, Heard: Heard{Confirmed: true}}, Wait, model.PhaseGone},
		"rejoined":                        {Case{Claim: stored, Pod: Gone, Rejoined: true, Heard: Heard{Confirmed: true}}, Undo, model.PhaseRestoring},
		"undone":                          {Case{Claim: stored, Pod: Gone, Rejoined: true, Heard: Heard{Confirmed: true, Undone: true}}, Wait, model.PhaseSettling},
		"back":                            {Case{Claim: stored, Pod: Gone, Rejoined: true, Back: true, Heard: Heard{Confirmed: true, Undone: true}}, Release, model.PhaseSettling},
		"back, nothing to undo":           {Case{Claim: handoff, Pod: Gone, Rejoined: true, Back: true, Heard: Heard{Confirmed: true}}, Release, model.PhaseSettling},
		"failed":                          {Case{Claim: stored, Pod: Gone, Failed: true, Heard: Heard{Confirmed: true}}, Undo, model.PhaseRestoring},
		"failed and undone":               {Case{Claim: stored, Pod: Gone, Failed: true, Heard: Heard{Confirmed: true, Undone: true}}, Wait, model.PhaseGone},
		"failed, and to go again":         {Case{Claim: stored, Pod: Gone, Failed: true, Superseded: true, Heard: Heard{Confirmed: true, Undone: true}}, Release, model.PhaseGone},
		"failed, to go again, and noted":  {Case{Claim: stored, Pod: Gone, Failed: true, Superseded: true, Heard: Heard{Confirmed: true, Left: true}}, Release, model.PhaseGone},
		"failed, and noted":               {Case{Claim: stored, Pod: Gone, Failed: true, Heard: Heard{Confirmed: true, Left: true}}, Wait, model.PhaseGone},
		"given up, shut and noted":        {Case{Claim: stored, Pod: Here, GiveUp: true, Heard: Heard{Closed: true, Left: true}}, Release, model.PhasePreparing},
		"given up, noted and not shut":    {Case{Claim: stored, Pod: Here, GiveUp: true, Heard: Heard{Left: true}}, Close, model.PhasePreparing},
		"removed":                         {Case{Claim: removal, Pod: Gone, Heard: Heard{Confirmed: true}}, Undo, model.PhaseGone},
		"removed and undone":              {Case{Claim: removal, Pod: Gone, Heard: Heard{Confirmed: true, Undone: true}}, Release, model.PhaseGone},
		"held when the look is old":       {Case{Claim: stored, Pod: Here, Held: true, Heard: Heard{Prepared: true, Opened: true}}, Close, model.PhaseOpened},
		"left open":                       {Case{Claim: stored, Pod: Here, Heard: Heard{Ajar: true}}, Close, model.PhasePreparing},
		"left open, and sent":             {Case{Claim: stored, Pod: Here, Heard: Heard{Ajar: true, Sent: true}}, Wait, model.PhaseOpened},
		"given up":                        {Case{Claim: stored, Pod: Here, GiveUp: true, Heard: opened}, Close, model.PhaseOpened},
		"given up and shut":               {Case{Claim: stored, Pod: Here, GiveUp: true, Heard: Heard{Closed: true}}, Undo, model.PhaseRestoring},
		"given up, shut and undone":       {Case{Claim: stored, Pod: Here, GiveUp: true, Heard: Heard{Closed: true, Undone: true}}, Release, model.PhasePreparing},
		"volumes come first":              {Case{Claim: swap, Pod: Here}, LookForVolumes, model.PhaseClaimed},
		"then what is moved":              {Case{Claim: swap, Pod: Here, Heard: Heard{Found: true}}, AskPlan, model.PhaseClaimed},
		"volumes are stored":              {Case{Claim: swap, Pod: Here, Heard: Heard{Found: true, Asked: true, Volumes: swapped.Volumes}}, RecordDrain, model.PhasePreparing},
		"volumes of a follower":           {Case{Claim: withUndo(swap), Pod: Here, Heard: Heard{Found: true, Volumes: swapped.Volumes}}, RecordDrain, model.PhasePreparing},
		"data is moved":                   {Case{Claim: swapped, Pod: Here, Heard: Heard{Found: true}}, ApplyDrain, model.PhasePreparing},
		"moved, and not looked at":        {Case{Claim: swapped, Pod: Here, Heard: Heard{Found: true, Prepared: true}}, LookAnew, model.PhasePrepared},
		"moved, and not empty":            {Case{Claim: swapped, Pod: Here, Heard: found}, Wait, model.PhasePrepared},
		"empty":                           {Case{Claim: swapped, Pod: Here, Empty: true, Heard: found}, RecordEmpty, model.PhasePrepared},
		"empty, and held":                 {Case{Claim: swapped, Pod: Here, Empty: true, Held: true, Heard: found}, Wait, model.PhasePrepared},
		"empty, and given up":             {Case{Claim: swapped, Pod: Here, Empty: true, GiveUp: true, Heard: found}, Close, model.PhasePrepared},
		"empty, as is written":            {Case{Claim: emptied, Pod: Here, Empty: true, Heard: found}, RemoveVolumes, model.PhaseEmptied},
		"written, and not empty any more": {Case{Claim: emptied, Pod: Here, Heard: found}, Wait, model.PhaseEmptied},
		"written, and given up":           {Case{Claim: emptied, Pod: Here, GiveUp: true, Held: true, Heard: Heard{Found: true, Prepared: true, Observed: true, Closed: true}}, Wait, model.PhaseEmptied},
		"written, and stopped":            {Case{Claim: emptied, Pod: Here, Empty: true, Stopped: true, Held: true, Heard: found}, Wait, model.PhaseEmptied},
		"opened, and stopped":             {Case{Claim: emptied, Pod: Here, Stopped: true, Held: true, Heard: opened}, Close, model.PhaseOpened},
		"volumes are deleted":             {Case{Claim: emptied, Pod: Here, Empty: true, Heard: discarded}, Open, model.PhaseEmptied},
		"no volumes":                      {Case{Claim: empties(swap), Pod: Here, Empty: true, Heard: found}, Open, model.PhaseEmptied},
		"its successor is awaited":        {Case{Claim: emptied, Pod: Gone, Heard: Heard{Confirmed: true}}, Wait, model.PhaseGone},
		"its successor is there":          {Case{Claim: emptied, Pod: Gone, Succeeded: true, Rejoined: true, Back: true, Heard: Heard{Confirmed: true}}, LookForNewVolumes, model.PhaseGone},
		"its successor failed":            {Case{Claim: emptied, Pod: Gone, Succeeded: true, Failed: true, Superseded: true, Heard: Heard{Confirmed: true}}, LookForNewVolumes, model.PhaseGone},
		"its successor has its volumes":   {Case{Claim: emptied, Pod: Gone, Succeeded: true, Heard: Heard{Confirmed: true, Heir: "w"}}, FollowSuccessor, model.PhaseGone},
		"its successor has its own":       {Case{Claim: emptied, Pod: Gone, Succeeded: true, Rejoined: true, Heard: Heard{Confirmed: true, Renewed: true}}, Undo, model.PhaseRestoring},
		"nobody comes in its place":       {Case{Claim: swapped, Pod: Gone, Rejoined: true, Back: true, Heard: Heard{Confirmed: true}}, Undo, model.PhaseRestoring},
		"nobody comes to its volumes":     {Case{Claim: emptied, Pod: Gone, Rejoined: true, Back: true, Heard: Heard{Confirmed: true}}, RemoveVolumes, model.PhaseGone},
		"they are not to be deleted now":  {Case{Claim: emptied, Pod: Gone, Rejoined: true, Back: true, Stopped: true, Held: true, Heard: Heard{Confirmed: true}}, Wait, model.PhaseGone},
		"its volumes are gone, too":       {Case{Claim: emptied, Pod: Gone, Rejoined: true, Back: true, Heard: Heard{Confirmed: true, Discarded: true}}, Undo, model.PhaseRestoring},
		"gone before it was empty":        {Case{Claim: swapped, Pod: Gone, Succeeded: true, Rejoined: true, Heard: Heard{Confirmed: true}}, LookForNewVolumes, model.PhaseGone},
		"forced":                          {Case{Claim: broke, Pod: Here, Forced: true}, Open, model.PhaseClaimed},
		"forced, and opened":              {Case{Claim: broke, Pod: Here, Forced: true, CaughtUp: true, Heard: opened}, Wait, model.PhaseOpened},
		"forced, and waited for":          {Case{Claim: broke, Pod: Here, Forced: true, Awaited: true, CaughtUp: true, Heard: opened}, Evict, model.PhaseOpened},
		"forced, waited for, not shown":   {Case{Claim: broke, Pod: Here, Forced: true, Awaited: true, Heard: opened}, Wait, model.PhaseOpened},
		"forced, and held":                {Case{Claim: broke, Pod: Here, Forced: true, Held: true}, Wait, model.PhaseClaimed},
		"held, and left open":             {Case{Claim: stored, Pod: Here, Held: true, Heard: Heard{Ajar: true}}, Close, model.PhasePreparing},
		"emptied, without an agent":       {Case{Claim: emptied, Pod: Here, Restarts: true}, LookAnew, model.PhaseEmptied},
		"and another hands over":          {Case{Claim: emptied, Pod: Here, Restarts: true, Alone: true}, HandOff, model.PhaseEmptied},
		"and it may not go":               {Case{Claim: emptied, Pod: Here, Restarts: true, Held: true, Heard: Heard{Observed: true}}, Wait, model.PhaseEmptied},
		"and it may":                      {Case{Claim: emptied, Pod: Here, Restarts: true, Heard: Heard{Observed: true}}, Open, model.PhaseEmptied},
		"and is shown with it":            {Case{Claim: emptied, Pod: Here, Restarts: true, CaughtUp: true, Heard: Heard{Observed: true, Opened: true}}, Evict, model.PhaseOpened},
		"emptied, and not prepared":       {Case{Claim: emptied, Pod: Here, Stopped: true, Held: true, Heard: Heard{Found: true}}, Wait, model.PhaseEmptied},
		"behind, and given up":            {Case{Claim: stored, Pod: Here, Behind: true, GiveUp: true, Heard: ready}, Close, model.PhasePrepared},
		"out of sight":                    {Case{Claim: stored, Pod: Gone, Vanished: true}, Confirm, model.PhaseGone},
		"out of sight, and there":         {Case{Claim: model.Claim{Phase: model.PhasePrepared}, Pod: Gone, Vanished: true, Heard: Heard{Hidden: true}}, Confirm, model.PhasePrepared},
		"out of sight with an open guard": {Case{Claim: stored, Pod: Gone, Vanished: true, Heard: Heard{Hidden: true, Opened: true}}, Close, ""},
		"out of sight, left open":         {Case{Claim: stored, Pod: Gone, Vanished: true, Heard: Heard{Hidden: true, Ajar: true}}, Close, ""},
		"out of sight, and sent":          {Case{Claim: stored, Pod: Gone, Vanished: true, Heard: Heard{Hidden: true, Opened: true, Sent: true}}, Confirm, ""},
		"gone, and its pool out of sight": {Case{Claim: stored, Pod: Gone, Vanished: true, Rejoined: true, Back: true, Heard: Heard{Confirmed: true}}, LookForSet, model.PhaseRestoring},
		"removed, and its pool as well":   {Case{Claim: removal, Pod: Gone, Vanished: true, Heard: Heard{Confirmed: true}}, LookForSet, model.PhaseGone},
		"its pool is gone, too":           {Case{Claim: stored, Pod: Gone, Vanished: true, Rejoined: true, Back: true, Heard: Heard{Confirmed: true, Ended: true}}, Undo, model.PhaseRestoring},
		"back, unprepared":                {Case{Claim: broke, Pod: Gone, Rejoined: true, Back: true, Heard: Heard{Confirmed: true}}, Release, model.PhaseSettling},
		"unprepared, and given up":        {Case{Claim: broke, Pod: Here, GiveUp: true, Heard: Heard{Closed: true}}, Release, model.PhaseClaimed},
		"given up before it was stored":   {Case{Claim: handoff, Pod: Here, GiveUp: true, Heard: Heard{Closed: true}}, Undo, model.PhaseRestoring},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.move.String(), next(c.in).String())
			require.Equal(t, c.phase, phase(c.in))
		})
	}
}

// TestBehind: whoever the hold line would free with a pod goes first. The pod waits for
// them however far it is, and is neither looked at, nor opened, nor removed.
func TestBehind(t *testing.T) {
	for _, heard := range []Heard{
		{Prepared: true}, {Prepared: true, Observed: true}, {Prepared: true, Observed: true, Opened: true}, {Prepared: true, Opened: true},
		{Prepared: true, Observed: true, Found: true}, {Prepared: true, Observed: true, Found: true, Discarded: true},
	} {
		for _, claim := range []model.Claim{stored, broke} {
			c := Case{Claim: claim, Pod: Here, Behind: true, CaughtUp: true, Heard: heard}
			require.Equal(t, Wait.String(), next(c).String(), "%+v", heard)
			c.Behind = false
			require.NotEqual(t, Wait.String(), next(c).String(), "%+v", heard)
		}
	}
	// What leads to no removal does not wait for them.
	require.Equal(t, AskPlan, next(Case{Claim: handoff, Pod: Here, Behind: true}))
	require.Equal(t, Close, next(Case{Claim: stored, Pod: Here, Behind: true, Heard: Heard{Ajar: true}}))
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
	require.Equal(t, []string{"Heard.Shared.Undo"}, idle, "what only is stored decides nothing, all else does")
	for move := Wait; move <= Release; move++ {
		require.Greater(t, m.moves[move], drawn/100, move.String())
	}
}

// breach says which promise the next move breaks; empty = none.
func breach(c Case) string {
	move := next(c)
	stays := c.GiveUp && !committed(c.Claim)
	// The guard of a pod that a person has handed to its controller is to be open.
	openInVain := c.Heard.Ajar && (!c.Forced || c.Held) || c.Heard.Opened && c.Held
	switch {
	case c.Pod == Here && !stays && !c.Heard.Sent && openInVain && move != Close:
		return "a guard stays open with no decision behind it"
	case c.Pod == Here && stays && !c.Heard.Closed && move != Close:
		return "something else is done before the guard of a pod that stays is shut"
	case c.Pod != Here && c.Pod != Gone && move != Wait:
		return "something is done about a pod that is nowhere to be seen, or on its way"
	case c.Pod == Here && !stays && c.Heard.Sent && move != Wait:
		return "something is done about a pod that is removed already"
	case c.Pod == Here && !stays && c.Stopped && move != Wait && move != Close:
		return "a claim that has been stopped goes on"
	case c.Pod == Here && !stays && c.Forced && !c.Awaited && move != Wait && move != Close && move != Open:
		return "more is done about a pod that is its controller's than to open its guard"
	case c.Pod == Gone && c.Heard.Hidden && !c.Heard.Confirmed && !c.Heard.Sent && (c.Heard.Ajar || c.Heard.Opened) && move != Close:
		return "the guard of a pod stays open that is only out of sight"
	}
	// haunted: the pod has gone, and one of its volumes may be met again, or deleted late.
	haunted := c.Pod == Gone && len(c.Claim.Volumes) > 0 && !c.Heard.Renewed && (c.Succeeded || !c.Back || c.Claim.EmptiedAt != nil && !c.Heard.Discarded)
	// bare: it is restarted for an agent or by its new template, with all that it has.
	bare := c.Restarts && committed(c.Claim)
	looked := (c.Heard.Prepared || !prepares(c.Claim) || bare) && (c.Heard.Relieved || !c.Alone) && c.Heard.Observed && !c.Behind
	switch move {
	case LookForVolumes, AskPlan, RecordDrain, ApplyDrain, HandOff, LookAnew, RecordEmpty, RemoveVolumes, Open, Evict:
		if unwanted := move == RemoveVolumes && c.Pod == Gone && c.Back && !c.Succeeded; c.Pod != Here && !unwanted || stays {
			return "a claim goes on whose pod has gone or stays"
		}
	case LookForNewVolumes, FollowSuccessor, Confirm, LookForSet:
		if c.Pod != Gone {
			return "a successor is looked for while the pod is there"
		}
	case Undo, Release:
		if c.Pod == Gone && c.Vanished && !c.Heard.Ended {
			return "a claim ends whose pool is only out of sight"
		}
	}
	switch move {
	case LookForVolumes, AskPlan, RecordDrain, ApplyDrain, RecordEmpty, RemoveVolumes:
		if bare && c.Pod == Here {
			return "a pod in which no agent runs is emptied"
		}
	}
	switch move {
	case HandOff:
		if !c.Alone || c.Heard.Relieved {
			return "another pod hands over for one that needs none"
		}
	case LookAnew:
		if prepares(c.Claim) && !c.Heard.Prepared && !bare || c.Alone && !c.Heard.Relieved || c.Behind {
			return "a look before there is anything to see"
		}
	case RemoveVolumes:
		if c.Pod == Gone {
			if c.Claim.EmptiedAt == nil || !c.Heard.Confirmed || c.Vanished && !c.Heard.Ended || c.Stopped {
				return "a volume is deleted of a pod that may be there, may have data, or is to be left as it is"
			}
			break
		}
		if c.Claim.EmptiedAt == nil || !c.Empty && !c.Heard.Opened || !looked || c.Held {
			return "a volume is deleted that may have data"
		}
	case RecordEmpty:
		if !c.Empty && !c.Heard.Opened || !looked || c.Held {
			return "a pod is called empty that nobody has seen so"
		}
	case FollowSuccessor:
		if !c.Heard.Confirmed || c.Heard.Heir == "" {
			return "a claim leaves a pod that may be there"
		}
	case Open, Evict:
		if c.Held {
			return "a pod goes that is held"
		}
		if move == Evict && !(c.Heard.Opened && c.CaughtUp) {
			return "a pod goes that the cache has not shown with its guard open"
		}
		if c.Forced {
			break // by its controller, and nothing else is asked
		}
		if replaces(c.Claim) && !bare && (c.Claim.EmptiedAt == nil || len(c.Claim.Volumes) > 0 && !c.Heard.Discarded) {
			return "a pod goes before its volumes"
		}
		if !looked {
			return "a pod goes that is not prepared, not looked at, or not its turn"
		}
	case AskPlan, RecordDrain, ApplyDrain:
		if replaces(c.Claim) && !c.Heard.Found {
			return "data is moved before the volumes are known"
		}
		if move != ApplyDrain {
			break
		}
		if len(c.Claim.Undo) == 0 && !c.Heard.Asked && !c.Listed {
			return "applied before it is known what that changes"
		}
		// Who is listed has its undo, if any: both are one write.
		if len(c.Claim.Undo) == 0 && len(c.Heard.Undo) > 0 && !c.Listed {
			return "applied before the undo is stored"
		}
		if c.Queued || len(c.Claim.Undo) == 0 && c.Heard.Shared.Knob != "" && !c.Listed {
			return "applied out of its turn, or before the value of a setting is recorded"
		}
	case Undo:
		if replaces(c.Claim) && len(c.Claim.Volumes) > 0 && (c.Pod == Here && c.Claim.EmptiedAt != nil || haunted) {
			return "data comes back before the volumes are new"
		}
		if c.Pod == Here && !(c.GiveUp && c.Heard.Closed) || c.Pod == Gone && !c.Heard.Confirmed {
			return "undone while the pod may still go"
		}
		if c.Pod == Gone && c.Claim.Action != model.Remove && !c.Rejoined && !c.Failed {
			return "undone before the pod is back"
		}
	case Release:
		if replaces(c.Claim) && (c.Pod == Here && c.Claim.EmptiedAt != nil || haunted) {
			return "released with volumes that may go"
		}
		if len(c.Claim.Undo) > 0 && prepares(c.Claim) && !c.Heard.Undone && !c.Heard.Left {
			return "released with something left behind"
		}
		if c.Pod == Gone && !c.Heard.Confirmed {
			return "released while the pod may be there"
		}
		if c.Pod == Gone && c.Claim.Action != model.Remove && !c.Back && !c.Superseded {
			return "released while the pod is away"
		}
	}
	return ""
}

func TestNamesOfMoves(t *testing.T) {
	require.Equal(t, "Wait", Wait.String())
	require.Equal(t, "OpenGuard", Open.String())
	require.Equal(t, "Release", Release.String())
	require.Equal(t, "Gone", Gone.String())
}
