package act

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

var (
	handoff = policy.Claim{ID: "c", Action: policy.Restart, Prepare: policy.PrepareHandoff}
	stored  = policy.Claim{ID: "c", Action: policy.Restart, Prepare: policy.PrepareHandoff, Undo: []byte("u")}
	broke   = policy.Claim{ID: "c", Action: policy.Restart, Prepare: policy.PrepareNone}
	swap    = policy.Claim{ID: "c", Action: policy.Replace, Prepare: policy.PrepareEvacuate}
	swapped = policy.Claim{ID: "c", Action: policy.Replace, Prepare: policy.PrepareEvacuate, Undo: []byte("u"), Volumes: []policy.VolumeClaim{{Name: "v", UID: "1"}}}
	emptied = policy.Claim{ID: "c", Action: policy.Replace, Prepare: policy.PrepareEvacuate, Undo: []byte("u"), Volumes: swapped.Volumes, EmptiedAt: &policy.Time{}}
	removal = policy.Claim{ID: "c", Action: policy.Remove, Prepare: policy.PrepareEvacuate, Undo: []byte("u")}
)

// empties is a claim that says that its pod is empty.
func empties(c policy.Claim) policy.Claim {
	c.EmptiedAt = &policy.Time{}
	return c
}

// withUndo is a claim whose undo is stored, and no volumes.
func withUndo(c policy.Claim) policy.Claim {
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
		phase policy.ClaimPhase
	}{
		"new claim":                       {Case{Claim: handoff, Pod: Here}, Ask, policy.PhaseClaimed},
		"nothing is known of the pod":     {Case{Claim: handoff}, Wait, policy.PhaseClaimed},
		"undo was answered":               {Case{Claim: handoff, Pod: Here, Heard: Heard{Asked: true, Undo: []byte("u")}}, Store, policy.PhasePreparing},
		"nothing to undo":                 {Case{Claim: handoff, Pod: Here, Heard: Heard{Asked: true}}, Apply, policy.PhasePreparing},
		"undo is stored":                  {Case{Claim: stored, Pod: Here}, Apply, policy.PhasePreparing},
		"a setting without any undo":      {Case{Claim: handoff, Pod: Here, Heard: Heard{Asked: true, Shared: Shared{Knob: "k"}}}, Store, policy.PhasePreparing},
		"a setting is recorded":           {Case{Claim: handoff, Pod: Here, Listed: true, Heard: Heard{Asked: true, Shared: Shared{Knob: "k"}}}, Apply, policy.PhasePreparing},
		"others write the setting":        {Case{Claim: stored, Pod: Here, Listed: true, Queued: true}, Wait, policy.PhasePreparing},
		"given up in the queue":           {Case{Claim: stored, Pod: Here, Listed: true, Queued: true, GiveUp: true}, Shut, policy.PhasePreparing},
		"prepared":                        {Case{Claim: stored, Pod: Here, Heard: Heard{Prepared: true}}, Observe, policy.PhasePrepared},
		"held":                            {Case{Claim: stored, Pod: Here, Held: true, Heard: ready}, Wait, policy.PhasePrepared},
		"may go":                          {Case{Claim: stored, Pod: Here, Heard: ready}, Open, policy.PhasePrepared},
		"the cache is behind":             {Case{Claim: stored, Pod: Here, Heard: opened}, Wait, policy.PhaseOpened},
		"the cache has caught up":         {Case{Claim: stored, Pod: Here, CaughtUp: true, Heard: opened}, Go, policy.PhaseOpened},
		"held when opened":                {Case{Claim: stored, Pod: Here, Held: true, CaughtUp: true, Heard: opened}, Shut, policy.PhaseOpened},
		"broken pods need no prepare":     {Case{Claim: broke, Pod: Here}, Observe, policy.PhaseClaimed},
		"nobody in the pod can prepare":   {Case{Claim: broke, Pod: Here, Alone: true}, Relieve, policy.PhaseClaimed},
		"another has handed over for it":  {Case{Claim: broke, Pod: Here, Alone: true, Heard: Heard{Relieved: true}}, Observe, policy.PhaseClaimed},
		"sent":                            {Case{Claim: stored, Pod: Here, Heard: Heard{Sent: true}}, Wait, policy.PhaseOpened},
		"terminating":                     {Case{Claim: stored, Pod: Leaving, GiveUp: true}, Wait, policy.PhaseOpened},
		"gone, says the cache":            {Case{Claim: stored, Pod: Gone, Rejoined: true, Back: true}, Confirm, policy.PhaseRestoring},
		"gone":                            {Case{Claim: stored, Pod: Gone, Heard: Heard{Confirmed: true}}, Wait, policy.PhaseGone},
		"rejoined":                        {Case{Claim: stored, Pod: Gone, Rejoined: true, Heard: Heard{Confirmed: true}}, Undo, policy.PhaseRestoring},
		"undone":                          {Case{Claim: stored, Pod: Gone, Rejoined: true, Heard: Heard{Confirmed: true, Undone: true}}, Wait, policy.PhaseSettling},
		"back":                            {Case{Claim: stored, Pod: Gone, Rejoined: true, Back: true, Heard: Heard{Confirmed: true, Undone: true}}, Release, policy.PhaseSettling},
		"back, nothing to undo":           {Case{Claim: handoff, Pod: Gone, Rejoined: true, Back: true, Heard: Heard{Confirmed: true}}, Release, policy.PhaseSettling},
		"failed":                          {Case{Claim: stored, Pod: Gone, Failed: true, Heard: Heard{Confirmed: true}}, Undo, policy.PhaseRestoring},
		"failed and undone":               {Case{Claim: stored, Pod: Gone, Failed: true, Heard: Heard{Confirmed: true, Undone: true}}, Wait, policy.PhaseGone},
		"failed, and to go again":         {Case{Claim: stored, Pod: Gone, Failed: true, Superseded: true, Heard: Heard{Confirmed: true, Undone: true}}, Release, policy.PhaseGone},
		"removed":                         {Case{Claim: removal, Pod: Gone, Heard: Heard{Confirmed: true}}, Undo, policy.PhaseGone},
		"removed and undone":              {Case{Claim: removal, Pod: Gone, Heard: Heard{Confirmed: true, Undone: true}}, Release, policy.PhaseGone},
		"held when the look is old":       {Case{Claim: stored, Pod: Here, Held: true, Heard: Heard{Prepared: true, Opened: true}}, Shut, policy.PhaseOpened},
		"left open":                       {Case{Claim: stored, Pod: Here, Heard: Heard{Ajar: true}}, Shut, policy.PhasePreparing},
		"left open, and sent":             {Case{Claim: stored, Pod: Here, Heard: Heard{Ajar: true, Sent: true}}, Wait, policy.PhaseOpened},
		"given up":                        {Case{Claim: stored, Pod: Here, GiveUp: true, Heard: opened}, Shut, policy.PhaseOpened},
		"given up and shut":               {Case{Claim: stored, Pod: Here, GiveUp: true, Heard: Heard{Closed: true}}, Undo, policy.PhaseRestoring},
		"given up, shut and undone":       {Case{Claim: stored, Pod: Here, GiveUp: true, Heard: Heard{Closed: true, Undone: true}}, Release, policy.PhasePreparing},
		"volumes come first":              {Case{Claim: swap, Pod: Here}, Find, policy.PhaseClaimed},
		"then what is moved":              {Case{Claim: swap, Pod: Here, Heard: Heard{Found: true}}, Ask, policy.PhaseClaimed},
		"volumes are stored":              {Case{Claim: swap, Pod: Here, Heard: Heard{Found: true, Asked: true, Volumes: swapped.Volumes}}, Store, policy.PhasePreparing},
		"volumes of a follower":           {Case{Claim: withUndo(swap), Pod: Here, Heard: Heard{Found: true, Volumes: swapped.Volumes}}, Store, policy.PhasePreparing},
		"data is moved":                   {Case{Claim: swapped, Pod: Here, Heard: Heard{Found: true}}, Apply, policy.PhasePreparing},
		"moved, and not looked at":        {Case{Claim: swapped, Pod: Here, Heard: Heard{Found: true, Prepared: true}}, Observe, policy.PhasePrepared},
		"moved, and not empty":            {Case{Claim: swapped, Pod: Here, Heard: found}, Wait, policy.PhasePrepared},
		"empty":                           {Case{Claim: swapped, Pod: Here, Empty: true, Heard: found}, Attest, policy.PhasePrepared},
		"empty, and held":                 {Case{Claim: swapped, Pod: Here, Empty: true, Held: true, Heard: found}, Wait, policy.PhasePrepared},
		"empty, and given up":             {Case{Claim: swapped, Pod: Here, Empty: true, GiveUp: true, Heard: found}, Shut, policy.PhasePrepared},
		"empty, as is written":            {Case{Claim: emptied, Pod: Here, Empty: true, Heard: found}, Discard, policy.PhaseEmptied},
		"written, and not empty any more": {Case{Claim: emptied, Pod: Here, Heard: found}, Wait, policy.PhaseEmptied},
		"written, and given up":           {Case{Claim: emptied, Pod: Here, GiveUp: true, Held: true, Heard: Heard{Found: true, Prepared: true, Observed: true, Closed: true}}, Wait, policy.PhaseEmptied},
		"written, and stopped":            {Case{Claim: emptied, Pod: Here, Empty: true, Stopped: true, Held: true, Heard: found}, Wait, policy.PhaseEmptied},
		"opened, and stopped":             {Case{Claim: emptied, Pod: Here, Stopped: true, Held: true, Heard: opened}, Shut, policy.PhaseOpened},
		"volumes are deleted":             {Case{Claim: emptied, Pod: Here, Empty: true, Heard: discarded}, Open, policy.PhaseEmptied},
		"no volumes":                      {Case{Claim: empties(swap), Pod: Here, Empty: true, Heard: found}, Open, policy.PhaseEmptied},
		"its successor is awaited":        {Case{Claim: emptied, Pod: Gone, Heard: Heard{Confirmed: true}}, Wait, policy.PhaseGone},
		"its successor is there":          {Case{Claim: emptied, Pod: Gone, Succeeded: true, Rejoined: true, Back: true, Heard: Heard{Confirmed: true}}, Renew, policy.PhaseGone},
		"its successor failed":            {Case{Claim: emptied, Pod: Gone, Succeeded: true, Failed: true, Superseded: true, Heard: Heard{Confirmed: true}}, Renew, policy.PhaseGone},
		"its successor has its volumes":   {Case{Claim: emptied, Pod: Gone, Succeeded: true, Heard: Heard{Confirmed: true, Heir: "w"}}, Follow, policy.PhaseGone},
		"its successor has its own":       {Case{Claim: emptied, Pod: Gone, Succeeded: true, Rejoined: true, Heard: Heard{Confirmed: true, Renewed: true}}, Undo, policy.PhaseRestoring},
		"nobody comes in its place":       {Case{Claim: emptied, Pod: Gone, Rejoined: true, Back: true, Heard: Heard{Confirmed: true}}, Undo, policy.PhaseRestoring},
		"gone before it was empty":        {Case{Claim: swapped, Pod: Gone, Succeeded: true, Rejoined: true, Heard: Heard{Confirmed: true}}, Renew, policy.PhaseGone},
		"forced":                          {Case{Claim: broke, Pod: Here, Forced: true}, Open, policy.PhaseClaimed},
		"forced, and opened":              {Case{Claim: broke, Pod: Here, Forced: true, CaughtUp: true, Heard: opened}, Wait, policy.PhaseOpened},
		"forced, and held":                {Case{Claim: broke, Pod: Here, Forced: true, Held: true}, Wait, policy.PhaseClaimed},
		"held, and left open":             {Case{Claim: stored, Pod: Here, Held: true, Heard: Heard{Ajar: true}}, Shut, policy.PhasePreparing},
		"emptied, and not prepared":       {Case{Claim: emptied, Pod: Here, Stopped: true, Held: true, Heard: Heard{Found: true}}, Wait, policy.PhaseEmptied},
		"behind, and given up":            {Case{Claim: stored, Pod: Here, Behind: true, GiveUp: true, Heard: ready}, Shut, policy.PhasePrepared},
		"out of sight":                    {Case{Claim: stored, Pod: Gone, Vanished: true}, Confirm, policy.PhaseGone},
		"out of sight, and there":         {Case{Claim: policy.Claim{Phase: policy.PhasePrepared}, Pod: Gone, Vanished: true, Heard: Heard{Hidden: true}}, Confirm, policy.PhasePrepared},
		"out of sight with an open guard": {Case{Claim: stored, Pod: Gone, Vanished: true, Heard: Heard{Hidden: true, Opened: true}}, Shut, ""},
		"out of sight, left open":         {Case{Claim: stored, Pod: Gone, Vanished: true, Heard: Heard{Hidden: true, Ajar: true}}, Shut, ""},
		"out of sight, and sent":          {Case{Claim: stored, Pod: Gone, Vanished: true, Heard: Heard{Hidden: true, Opened: true, Sent: true}}, Confirm, ""},
		"gone, and its pool out of sight": {Case{Claim: stored, Pod: Gone, Vanished: true, Rejoined: true, Back: true, Heard: Heard{Confirmed: true}}, Seek, policy.PhaseRestoring},
		"removed, and its pool as well":   {Case{Claim: removal, Pod: Gone, Vanished: true, Heard: Heard{Confirmed: true}}, Seek, policy.PhaseGone},
		"its pool is gone, too":           {Case{Claim: stored, Pod: Gone, Vanished: true, Rejoined: true, Back: true, Heard: Heard{Confirmed: true, Ended: true}}, Undo, policy.PhaseRestoring},
		"back, unprepared":                {Case{Claim: broke, Pod: Gone, Rejoined: true, Back: true, Heard: Heard{Confirmed: true}}, Release, policy.PhaseSettling},
		"unprepared, and given up":        {Case{Claim: broke, Pod: Here, GiveUp: true, Heard: Heard{Closed: true}}, Release, policy.PhaseClaimed},
		"given up before it was stored":   {Case{Claim: handoff, Pod: Here, GiveUp: true, Heard: Heard{Closed: true}}, Undo, policy.PhaseRestoring},
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
		for _, claim := range []policy.Claim{stored, broke} {
			c := Case{Claim: claim, Pod: Here, Behind: true, CaughtUp: true, Heard: heard}
			require.Equal(t, Wait.String(), next(c).String(), "%+v", heard)
			c.Behind = false
			require.NotEqual(t, Wait.String(), next(c).String(), "%+v", heard)
		}
	}
	// What leads to no removal does not wait for them.
	require.Equal(t, Ask, next(Case{Claim: handoff, Pod: Here, Behind: true}))
	require.Equal(t, Shut, next(Case{Claim: stored, Pod: Here, Behind: true, Heard: Heard{Ajar: true}}))
}

// The promises of the step machine, on all that can be said to it.
func TestNextNeverBreaksItsPromises(t *testing.T) {
	for range 100 { // what breaks one is rare
		rapid.Check(t, promises)
	}
}

func promises(t *rapid.T) {
	flag := func(name string) bool { return rapid.Bool().Draw(t, name) }
	c := Case{
		Claim: rapid.SampledFrom([]policy.Claim{handoff, stored, broke, removal, swap, swapped, emptied, empties(swap), {}}).Draw(t, "claim"),
		Pod:   Whereabouts(rapid.IntRange(0, 3).Draw(t, "pod")), Rejoined: flag("rejoined"), Back: flag("back"),
		Failed: flag("failed"), Superseded: flag("superseded"), GiveUp: flag("giveUp"), CaughtUp: flag("caughtUp"), Held: flag("held"),
		Listed: flag("listed"), Queued: flag("queued"), Stopped: flag("stopped"), Empty: flag("empty"), Succeeded: flag("succeeded"),
		Alone: flag("alone"), Forced: flag("forced"), Behind: flag("behind"), Vanished: flag("vanished"),
		Heard: Heard{Asked: flag("asked"), Prepared: flag("prepared"), Observed: flag("observed"), Opened: flag("opened"), Ajar: flag("ajar"),
			Sent: flag("sent"), Closed: flag("closed"), Confirmed: flag("confirmed"), Undone: flag("undone"),
			Found: flag("found"), Discarded: flag("discarded"), Renewed: flag("renewed"), Relieved: flag("relieved"), Hidden: flag("hidden"), Ended: flag("ended")},
	}
	// What look makes sure of.
	c.Held = c.Held || c.Stopped
	if flag("volumes") {
		c.Heard.Volumes = swapped.Volumes
	}
	if flag("heir") {
		c.Heard.Heir = "w"
	}
	if flag("undo") {
		c.Heard.Undo = []byte("u")
	}
	if flag("shared") {
		c.Heard.Shared.Knob = "k"
	}
	openInVain := (c.Heard.Ajar || c.Heard.Opened && c.Held) && !(c.Forced && !c.Held) // by force it is opened once more
	if c.Pod == Here && !c.GiveUp && !c.Heard.Sent && openInVain && next(c) != Shut {
		t.Fatalf("a guard stays open with no decision behind it: %+v", c)
	}
	hidden := c.Pod == Gone && c.Heard.Hidden && !c.Heard.Confirmed && !c.Heard.Sent
	if hidden && (c.Heard.Ajar || c.Heard.Opened) && next(c) != Shut {
		t.Fatalf("the guard of a pod that is out of sight stays open: %+v", c)
	}
	onItsWay := c.Pod == Here && !c.GiveUp && !c.Forced
	switch move := next(c); move {
	case Observe, Attest, Discard, Open, Go:
		if onItsWay && c.Behind {
			t.Fatalf("%s before those whom the line would free: %+v", move, c)
		}
		if onItsWay && c.Alone && !c.Heard.Relieved {
			t.Fatalf("%s before somebody handed over for the pod: %+v", move, c)
		}
	case Find, Ask, Store, Apply, Relieve:
		if c.Pod != Here || c.Forced || c.Stopped || c.Heard.Sent {
			t.Fatalf("%s of a pod that goes, or does not: %+v", move, c)
		}
	case Confirm, Seek, Renew:
		if c.Pod != Gone {
			t.Fatalf("%s of a pod that is there: %+v", move, c)
		}
	case Undo, Release:
		if c.Pod == Gone && c.Vanished && !c.Heard.Ended {
			t.Fatalf("%s of a claim whose pool is only out of sight: %+v", move, c)
		}
	}
	switch next(c) {
	case Discard:
		if c.Claim.EmptiedAt == nil || !c.Empty && !c.Heard.Opened || !c.Heard.Prepared || !c.Heard.Observed || c.Held || c.Pod != Here {
			t.Fatalf("a volume is deleted that may have data: %+v", c)
		}
	case Attest:
		if !c.Empty && !c.Heard.Opened || !c.Heard.Prepared || !c.Heard.Observed || c.Held || c.Pod != Here {
			t.Fatalf("a pod is called empty that nobody has seen so: %+v", c)
		}
	case Follow:
		if c.Pod != Gone || !c.Heard.Confirmed || c.Heard.Heir == "" {
			t.Fatalf("a claim leaves a pod that may be there: %+v", c)
		}
	case Open, Go:
		if !c.Forced && replaces(c.Claim) && (c.Claim.EmptiedAt == nil || len(c.Claim.Volumes) > 0 && !c.Heard.Discarded) {
			t.Fatalf("a pod goes before its volumes: %+v", c)
		}
		if c.Pod != Here || c.GiveUp && !committed(c.Claim) || c.Held || !c.Forced && (!c.Heard.Observed || prepares(c.Claim) && !c.Heard.Prepared) {
			t.Fatalf("a pod goes that may not: %+v", c)
		}
		if next(c) == Go && (c.Forced || !c.Heard.Opened || !c.CaughtUp || c.Heard.Ajar) {
			t.Fatalf("a pod goes before the cache shows it opened: %+v", c)
		}
	case Apply:
		if replaces(c.Claim) && !c.Heard.Found {
			t.Fatalf("moved before its volumes are known: %+v", c)
		}
		if len(c.Claim.Undo) == 0 && (len(c.Heard.Undo) > 0 || !c.Heard.Asked && !c.Listed) {
			t.Fatalf("applied before the undo is stored: %+v", c)
		}
		if c.Queued || len(c.Claim.Undo) == 0 && c.Heard.Shared.Knob != "" && !c.Listed {
			t.Fatalf("applied out of its turn, or before the value of a setting is recorded: %+v", c)
		}
	case Undo:
		if replaces(c.Claim) && len(c.Claim.Volumes) > 0 && (c.Pod == Here && c.Claim.EmptiedAt != nil || c.Pod == Gone && !c.Heard.Renewed && (c.Succeeded || !c.Back)) {
			t.Fatalf("data comes back before the volumes are new: %+v", c)
		}
		if c.Pod == Here && !(c.GiveUp && c.Heard.Closed) || c.Pod == Gone && !c.Heard.Confirmed || c.Pod == Leaving || c.Pod == Unknown {
			t.Fatalf("undone while the pod may still go: %+v", c)
		}
		if c.Pod == Gone && c.Claim.Action != policy.Remove && !c.Rejoined && !c.Failed {
			t.Fatalf("undone before the pod is back: %+v", c)
		}
	case Release:
		if replaces(c.Claim) && (c.Pod == Here && c.Claim.EmptiedAt != nil || c.Pod == Gone && len(c.Claim.Volumes) > 0 && !c.Heard.Renewed && (c.Succeeded || !c.Back)) {
			t.Fatalf("released with volumes that may go: %+v", c)
		}
		if len(c.Claim.Undo) > 0 && prepares(c.Claim) && !c.Heard.Undone {
			t.Fatalf("released with something left behind: %+v", c)
		}
		if c.Pod == Gone && c.Claim.Action != policy.Remove && !c.Back && !c.Superseded {
			t.Fatalf("released while the pod is away: %+v", c)
		}
	}
}

func TestNamesOfMoves(t *testing.T) {
	require.Equal(t, "Wait", Wait.String())
	require.Equal(t, "Open", Open.String())
	require.Equal(t, "Release", Release.String())
	require.Equal(t, "Gone", Gone.String())
}
