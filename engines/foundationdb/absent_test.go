package foundationdb

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/test/fdbsim/fdbsimtest"
	"github.com/rollcall-dev/rollcall/test/fdbsim/model"
	"github.com/rollcall-dev/rollcall/test/race"
)

// TestEvacuateAnAbsentProcess checks that a pod whose process is unavailable is done when the
// database has everything without it, and not before; its seat is another's by then. So it is when
// it goes before the order, and in the middle of it.
func TestEvacuateAnAbsentProcess(t *testing.T) {
	n := 0
	for _, version := range []string{"7.3.63", "7.1.67", "7.4.5"} {
		for _, when := range []string{"", "its seat among the coordinators moved", "excluded, its data are being moved", " still is storage"} {
			for _, by := range []string{"", " by another agent"} {
				if n++; !race.Part(n, 15) {
					continue
				}
				t.Run(version+" after "+when+by, func(t *testing.T) { evacuateAbsent(t, version, when, by != "") })
			}
		}
	}
}

func evacuateAbsent(t *testing.T, version, when string, byOther bool) {
	s := simulate(t, fdbsimtest.Options{Version: version, Scale: 20})
	s.Settle()
	s.Change(func(m *model.Cluster) { m.Pace.BytesPerS = 2 << 20 }) // it takes a while
	pod := s.pods[0]
	order := engines.Order{Kind: engines.Evacuate, Claim: "move"}
	e := s.engine(pod)
	if byOther {
		order.Node, e = pod, s.engine(s.pods[1])
	}
	virtual := time.Now()
	e.now = func() time.Time { return virtual }
	advance := func(d time.Duration) {
		s.Advance(d)
		virtual = virtual.Add(d)
	}
	round := func(order engines.Order, undo []byte) engines.Progress {
		p, err := e.Drain(t.Context(), order, undo)
		if !errors.Is(err, ErrUnavailable) { // it recovers
			require.NoError(t, err)
		}
		return p
	}
	_, err := e.Observe(t.Context())
	require.NoError(t, err)
	var undo []byte
	if when != "" {
		undo = plan(t, e, order)
		for said := ""; !strings.Contains(said, when); advance(time.Second) {
			said = round(order, undo).Detail
		}
	}
	s.Kill(pod)
	advance(20 * time.Second)
	if undo == nil {
		undo = plan(t, e, order)
	}
	var p engines.Progress
	for range 300 {
		p = round(order, undo)
		require.NotEqual(t, engines.ProgressRefused, p.State, p.Detail)
		if p.State == engines.ProgressDone {
			break
		}
		advance(5 * time.Second)
	}
	require.Equal(t, engines.ProgressDone, p.State, p.Detail)
	m := s.Model()
	require.NotContains(t, m.Holding(), pod)
	require.True(t, m.Losing(pod).DataKept)
	require.True(t, m.Without(pod).Available)
	for _, seat := range m.Seats {
		p := m.At(seat.Address)
		require.NotNil(t, p, "a seat where nobody is: %s", seat.Address)
		require.NotEqual(t, pod, p.Instance)
	}
	requireCareful(t, s)

	o, err := e.Observe(t.Context())
	require.NoError(t, err)
	if !byOther {
		require.Equal(t, engines.MembershipNotLive, o.Member)
		require.Equal(t, pod, o.Node, "its name is certain")
	}
	require.Zero(t, s.hosts(pod))
	for _, g := range o.Groups {
		require.False(t, g.Kind != engines.GroupRole && g.Has(pod) && !hasDown(g, pod), "%s", g.ID)
	}

	s.LoseVolume(pod)
	s.Start(pod)
	require.True(t, s.Model().Truth().DataReached)
	for range 10 {
		p, err := e.Restore(t.Context(), undo)
		require.NoError(t, err)
		if p.State == engines.ProgressDone {
			break
		}
		advance(time.Second)
	}
	require.Empty(t, s.leftovers())
}

// hasDown reports whether what the group has of the pod is down, and remembered for a while.
func hasDown(g engines.Group, pod string) bool {
	return slices.ContainsFunc(g.Members, func(m engines.Member) bool { return m.Node == pod && m.State == engines.MemberDown })
}

// TestAbsentProcessIsNotDoneTooEarly checks that the drain waits while data are nowhere else.
func TestAbsentProcessIsNotDoneTooEarly(t *testing.T) {
	s := simulate(t, fdbsimtest.Options{Redundancy: model.Single, Scale: -1})
	s.Settle()
	pod := s.pods[1]
	require.Contains(t, s.Model().Holding(), pod)
	e := s.engine(pod)
	order := engines.Order{Kind: engines.Evacuate, Claim: "move"}
	undo := plan(t, e, order)
	s.Kill(pod)
	for range 30 {
		s.Advance(20 * time.Second)
		p, err := e.Drain(t.Context(), order, undo)
		if err != nil {
			require.ErrorIs(t, err, ErrUnavailable)
			continue
		}
		require.NotEqual(t, engines.ProgressDone, p.State, "all data have one copy")
	}
	s.Start(pod)
	s.Settle()
	finish(t, s, e, order, undo)
	require.NotContains(t, s.Model().Holding(), pod)
}

// TestAbsentProcessOfOldVersions checks that they know no locality that could be waited for.
func TestAbsentProcessOfOldVersions(t *testing.T) {
	for _, version := range []string{"6.3.25", "7.1.41"} {
		s := simulate(t, fdbsimtest.Options{Version: version, Scale: -1})
		s.Settle()
		s.Kill(s.pods[0])
		s.Advance(5 * time.Second)
		_, err := s.engine(s.pods[0]).PlanDrain(t.Context(), engines.Order{Kind: engines.Evacuate, Claim: "move"})
		require.ErrorIs(t, err, ErrNotThere)
		require.ErrorContains(t, err, "before 7.1.42 and 7.3.26")
	}
}

// TestSeatsOfAbsentProcesses checks that by the name of the pod, or where it was last.
func TestSeatsOfAbsentProcesses(t *testing.T) {
	s := snapshot{status: &status{}, last: map[string]whereabouts{"fdb-1": {endpoints: []string{"10.0.0.1:4500"}}}}
	for seat, want := range map[string]bool{
		"fdb-1.fdb:4500": true, "fdb-1.fdb.prod.svc.cluster.local:4500": true, "fdb-1:4500:tls": true,
		"fdb-10.fdb:4500": false, "10.0.0.1:4500": true, "10.0.0.1:4500:tls": true, "10.0.0.2:4500": false,
	} {
		require.Equal(t, want, s.leaves(seat, "fdb-1"), seat)
	}
	require.Empty(t, s.nobodys("fdb-1", []string{"10.0.0.2:4500", "fdb-2.fdb:4500"}))
	s.last = nil
	require.Equal(t, "10.0.0.2:4500", s.nobodys("fdb-1", []string{"fdb-2.fdb:4500", "10.0.0.2:4500"}))
	require.Empty(t, s.nobodys("fdb-1", []string{"fdb-2.fdb:4500"}))
	require.False(t, s.leaves("10.0.0.1:4500", "fdb-1"))
}

// TestWhereEverybodyWas checks that the last place of each, for a week.
func TestWhereEverybodyWas(t *testing.T) {
	at := func(instance, address string) process { return process{instance: instance, address: address} }
	var m memory
	now := time.Now()
	m.lookAt(now, &status{processes: []process{at("fdb-1", "10.0.0.1:4500"), at("fdb-1", "10.0.0.1:4501"), at("fdb-2", "10.0.0.2:4500"), at("", "10.0.0.9:4500")}})
	m.lookAt(now.Add(time.Second), &status{processes: []process{at("fdb-1", "10.0.0.1:4501"), at("fdb-2", "10.0.0.3:4500")}})
	require.Equal(t, []string{"10.0.0.1:4501"}, m.last["fdb-1"].endpoints)
	m.lookAt(now.Add(keepLast+time.Second), &status{processes: []process{at("fdb-2", "10.0.0.4:4500:tls")}})
	require.Equal(t, []string{"10.0.0.1:4501"}, m.last["fdb-1"].endpoints)
	require.Equal(t, []string{"10.0.0.4:4500"}, m.last["fdb-2"].endpoints)
	m.lookAt(now.Add(keepLast+2*time.Second), &status{})
	require.NotContains(t, m.last, "fdb-1")
	require.Len(t, m.last, 1)
}
