package foundationdb

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/test/fdbsim/fdbsimtest"
	"github.com/rollcall-dev/rollcall/test/fdbsim/model"
)

func plan(t *testing.T, e *Engine, o engines.Order) []byte {
	undo, err := e.PlanDrain(t.Context(), o)
	require.NoError(t, err)
	return undo
}

func apply(t *testing.T, e *Engine, o engines.Order, undo []byte) engines.Progress {
	p, err := e.Drain(t.Context(), o, undo)
	require.NoError(t, err)
	return p
}

// finish applies until it is done, and returns what was waited for.
func finish(t *testing.T, s *simulated, e *Engine, o engines.Order, undo []byte) []string {
	var waits []string
	for range 200 {
		p := apply(t, e, o, undo)
		if p.State == engines.ProgressDone {
			return waits
		}
		require.Equal(t, engines.ProgressRunning, p.State, p.Detail)
		waits = append(waits, p.Detail)
		s.Advance(5 * time.Second)
	}
	require.FailNow(t, "not done", "%v", waits)
	return nil
}

// forbiddenWords never leave this adapter: they give data up.
func requireCareful(t *testing.T, s *simulated) {
	for _, call := range s.Calls() {
		for word := range strings.FieldsSeq(call) {
			require.NotContains(t, []string{"failed", "FORCE", "all", "kill", "auto"}, word, call)
		}
	}
}

// TestMaintenanceOfAZone checks that it is set for pods of one zone together, waits for that of
// another, and ends only when it is ours.
func TestMaintenanceOfAZone(t *testing.T) {
	s := simulate(t, fdbsimtest.Options{Scale: -1})
	s.Settle()
	first, neighbour, other := s.pods[0], s.pods[1], s.pods[3]
	e := s.engine(first)
	order := engines.Order{Kind: engines.Handoff, Claim: "one"}
	setting, err := e.PlanSetting(t.Context(), order)
	require.NoError(t, err)
	require.Equal(t, "maintenance/zone-a", setting.Name)
	order.Setting = setting
	undo := plan(t, e, order)
	require.Equal(t, engines.ProgressDone, apply(t, e, order, undo).State)
	require.Equal(t, "zone-a", s.Model().Maintenance.Zone)

	o, err := e.Observe(t.Context())
	require.NoError(t, err)
	require.Equal(t, engines.VerdictGreen, o.Health.Verdict, o.Health.Reason)
	ok, by := permits(o.Groups, 1, nil, []string{first, neighbour}, true)
	require.True(t, ok, by)
	ok, _ = permits(o.Groups, 1, nil, []string{other}, true)
	require.False(t, ok, "another zone")

	// The neighbour joins; the other zone waits.
	second := engines.Order{Kind: engines.Handoff, Claim: "two", Setting: setting}
	require.Equal(t, engines.ProgressDone, apply(t, s.engine(neighbour), second, plan(t, s.engine(neighbour), second)).State)
	far := s.engine(other)
	third := engines.Order{Kind: engines.Handoff, Claim: "three"}
	if third.Setting, err = far.PlanSetting(t.Context(), third); err != nil {
		require.NoError(t, err)
	}
	p := apply(t, far, third, plan(t, far, third))
	require.Equal(t, engines.ProgressRunning, p.State)
	require.Contains(t, p.Detail, "zone zone-a is under maintenance")

	// The pod is unavailable: its database waits for it, and so do we.
	s.Kill(first)
	s.Advance(5 * time.Minute)
	n := s.engine(neighbour)
	_, err = n.Observe(t.Context())
	require.NoError(t, err)
	require.Equal(t, "zone-a", s.Model().Maintenance.Zone)
	s.Start(first)
	s.Advance(5 * time.Minute)

	done, err := far.RestoreSetting(t.Context(), third.Setting, time.Time{})
	require.NoError(t, err)
	require.Equal(t, engines.ProgressDone, done.State)
	require.Equal(t, "zone-a", s.Model().Maintenance.Zone, "another's")
	done, err = far.RestoreSetting(t.Context(), setting, time.Time{})
	require.NoError(t, err)
	require.Equal(t, engines.ProgressDone, done.State)
	require.Empty(t, s.Model().Maintenance.Zone)

	// Somebody else's stays.
	s.Change(func(m *model.Cluster) { m.Maintain("zone-a", time.Hour) })
	foreign, err := e.PlanSetting(t.Context(), order)
	require.NoError(t, err)
	order.Setting = foreign
	require.Equal(t, engines.ProgressDone, apply(t, e, order, undo).State)
	_, err = e.RestoreSetting(t.Context(), foreign, time.Time{})
	require.NoError(t, err)
	require.Equal(t, "zone-a", s.Model().Maintenance.Zone)
	requireCareful(t, s)
}

// TestEvacuateStepByStep checks that first the seat, then the exclusion, then fdbcli's own word.
func TestEvacuateStepByStep(t *testing.T) {
	s := simulate(t, fdbsimtest.Options{Scale: 20})
	s.Settle()
	pod := s.pods[0]
	e := s.engine(pod)
	order := engines.Order{Kind: engines.Evacuate, Claim: "move"}
	undo := plan(t, e, order)
	waits := finish(t, s, e, order, undo)
	require.Contains(t, waits[0], "seat")
	require.NotEmpty(t, waits)
	require.Zero(t, s.hosts(pod))
	require.Contains(t, s.Model().Excluded, "locality_instance_id:"+pod)
	require.Contains(t, s.Model().Excluded, "locality_rollcall:move/"+pod)
	seats := map[string]bool{}
	for _, seat := range s.Model().Seats {
		for _, p := range s.Model().Processes {
			if p.Address == seat.Address {
				require.False(t, seats[p.Zone], "two seats in %s", p.Zone)
				seats[p.Zone] = true
			}
		}
	}
	require.Len(t, seats, 3)
	var order1, order2 int
	for i, call := range s.Calls() {
		switch {
		case strings.HasPrefix(call, "coordinators 127"):
			order1 = i
		case strings.HasPrefix(call, "exclude no_wait"):
			order2 = i
		}
	}
	require.Less(t, order1, order2, "%v", s.Calls())
	require.True(t, s.Model().Losing(pod).DataKept)

	// What others exclude of the same pod stays theirs.
	s.Change(func(m *model.Cluster) { m.Exclude([]string{"locality_zoneid:zone-z"}, false) })
	for range 3 {
		_, err := s.engine(s.pods[5]).Restore(t.Context(), undo)
		require.NoError(t, err)
	}
	require.Equal(t, []string{"locality_zoneid:zone-z"}, s.Model().Excluded)
	requireCareful(t, s)
}

// TestForeignExclusionOfThePod checks that somebody decommissions it; we add nothing, and take
// nothing away.
func TestForeignExclusionOfThePod(t *testing.T) {
	s := simulate(t, fdbsimtest.Options{Scale: 20})
	s.Settle()
	pod := s.pods[4]
	target := "locality_instance_id:" + pod
	s.Change(func(m *model.Cluster) { m.Exclude([]string{target}, false) })
	s.Settle()
	e := s.engine(pod)
	o, err := e.Observe(t.Context())
	require.NoError(t, err)
	require.False(t, o.Excluded, "its successor would be excluded, too")
	order := engines.Order{Kind: engines.Evacuate, Claim: "theirs"}
	undo := plan(t, e, order)
	finish(t, s, e, order, undo)
	require.Contains(t, apply(t, e, order, undo).Detail, "somebody else has excluded it, too ("+target+"), and that stays")
	_, err = e.Restore(t.Context(), undo)
	require.NoError(t, err)
	require.NoError(t, e.Sweep(t.Context(), nil))
	require.Contains(t, s.Model().Excluded, target)
}

// TestForeignExclusionOfAnAddress checks that an exclusion by address is reported for the pod
// alone, and not when more than its address excludes it.
func TestForeignExclusionOfAnAddress(t *testing.T) {
	s := simulate(t, fdbsimtest.Options{Scale: 20})
	s.Settle()
	pod := s.pods[4]
	var address string
	for _, p := range s.Model().Processes {
		if p.Instance == pod {
			address = p.Address
		}
	}
	excluded := func() (pods []string) {
		s.Settle() // it recovers where the process had a part in transactions
		for _, of := range s.pods {
			o, err := s.engine(of).Observe(t.Context())
			require.NoError(t, err)
			require.NotEmpty(t, o.Node, o.Health.Reason)
			if o.Excluded {
				pods = append(pods, of)
			}
		}
		return pods
	}
	s.Change(func(m *model.Cluster) { m.Exclude([]string{address}, false) })
	require.Equal(t, []string{pod}, excluded())
	s.Change(func(m *model.Cluster) { m.Exclude([]string{"locality_instance_id:" + pod}, false) })
	require.Empty(t, excluded())
}

// TestEvacuationsThatCannotEnd are refused, in words.
func TestEvacuationsThatCannotEnd(t *testing.T) {
	s := simulate(t, fdbsimtest.Options{Scale: -1, Zones: 2, PerZone: 1})
	s.Settle()
	e := s.engine(s.pods[0])
	order := engines.Order{Kind: engines.Evacuate, Claim: "nowhere"}
	p := apply(t, e, order, plan(t, e, order))
	require.Equal(t, engines.ProgressRefused, p.State, p.Detail)
	require.Contains(t, p.Detail, "copies in as many zones")
	require.Empty(t, s.Model().Excluded)
}

// TestWaits checks that nothing begins while the database is in no state for it.
func TestWaits(t *testing.T) {
	s := simulate(t, fdbsimtest.Options{Scale: -1})
	s.Settle()
	e := s.engine(s.pods[4])
	handoff, evacuate := engines.Order{Kind: engines.Handoff, Claim: "h"}, engines.Order{Kind: engines.Evacuate, Claim: "e"}
	forHandoff, forEvacuate := plan(t, e, handoff), plan(t, e, evacuate)
	s.Change(func(m *model.Cluster) { m.Say("log_servers_error") })
	for want, f := range map[string]func() engines.Progress{
		"log_servers_error": func() engines.Progress { return apply(t, e, handoff, forHandoff) },
		"the database says": func() engines.Progress { return apply(t, e, evacuate, forEvacuate) },
	} {
		p := f()
		require.Equal(t, engines.ProgressRunning, p.State)
		require.Contains(t, p.Detail, want)
	}
	require.Empty(t, s.Model().Excluded)
	require.Empty(t, s.Model().Maintenance.Zone)
}

// TestLateAnswers checks that a warning before the document is no fault, an answer that is lost is
// no confirmation.
func TestLateAnswers(t *testing.T) {
	s := simulate(t, fdbsimtest.Options{Scale: 20})
	s.Settle()
	e := s.engine(s.pods[0])
	s.Fault(fdbsimtest.LongDelay)
	o, err := e.Observe(t.Context())
	require.NoError(t, err)
	require.Equal(t, engines.MembershipLive, o.Member, o.Health.Reason)
	for _, f := range []func(){
		func() { s.Fault(fdbsimtest.NoDocument) }, func() { s.Fault(fdbsimtest.Down) }, func() { s.Fault(fdbsimtest.WrongDatabase) }, func() { s.Fault(fdbsimtest.Truncated) },
	} {
		f()
		o, err := e.Observe(t.Context())
		require.NoError(t, err)
		require.Equal(t, engines.MembershipUnknown, o.Member)
		require.Empty(t, o.Groups)
		require.NotEmpty(t, o.Health.Reason)
	}
	s.Fault(fdbsimtest.None)
	order := engines.Order{Kind: engines.Evacuate, Claim: "lost"}
	undo := plan(t, e, order)
	s.Fault(fdbsimtest.LostAnswer)
	_, err = e.Drain(t.Context(), order, undo)
	require.Error(t, err)
	s.Fault(fdbsimtest.None)
	finish(t, s, e, order, undo)
	require.Zero(t, s.hosts(s.pods[0]))
}

// TestUndoIsChecked checks that only what this adapter could have planned.
func TestUndoIsChecked(t *testing.T) {
	good := `{"v":1,"kind":"Evacuate","claim":"c","node":"fdb-0","targets":["locality_instance_id:fdb-0"],"mark":"locality_rollcall:c/fdb-0"}`
	_, err := readUndo([]byte(good))
	require.NoError(t, err)
	for from, to := range map[string]string{
		`fdb-0"],`: `fdb-0; kill"],`, `rollcall:c/`: `rollcall:d/`, `"Evacuate"`: `"Handoff"`, `"targets":["locality_instance_id`: `"targets":["failed`,
		`"v":1`: `"v":2`, `"mark"`: `"other"`,
	} {
		_, err := readUndo([]byte(strings.Replace(good, from, to, 1)))
		require.ErrorIs(t, err, engines.ErrUndo, to)
	}
	for _, setting := range []engines.Setting{
		{}, {Name: "maintenance/", Undo: []byte(`{"zone":""}`)}, {Name: "maintenance/a b", Undo: []byte(`{"zone":"a b"}`)},
		{Name: "maintenance/a", Undo: []byte(`{"zone":"b"}`)}, {Name: "maintenance/a", Undo: []byte(`{}`)}, {Name: "other/a", Undo: []byte(`{"zone":"a"}`)},
	} {
		_, err := readSetting(setting)
		require.ErrorIs(t, err, engines.ErrSetting, setting.Name)
	}
}
