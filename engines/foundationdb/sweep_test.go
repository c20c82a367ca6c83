package foundationdb

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/test/fdbsim/fdbsimtest"
	"github.com/rollcall-dev/rollcall/test/fdbsim/model"
)

// TestLeftovers checks that what an order whose claim is not open has excluded goes off the list,
// also at an address that the pod has no more; what somebody else excluded of the pod does not.
func TestLeftovers(t *testing.T) {
	const pod, now, before = "fdb-3", "10.0.0.3:4500", "10.9.9.9:4500"
	ours := func(claim, version string) []string {
		v, err := parseVersion(version)
		require.NoError(t, err)
		u := undo{Mark: markOf(v, claim, pod), Targets: targetsFor(v, pod, []process{{address: before, rolesKnown: true, roles: []string{"log"}}})}
		return u.entries()
	}
	theirs := []string{"10.0.0.3", now, "locality_zoneid:z1", "10.0.0.4:4500"}
	for name, tt := range map[string]struct {
		list, keep, stays []string
	}{
		"a log's":                     {ours("old", "7.3.63"), nil, nil},
		"by address only":             {ours("old", "7.1.40"), nil, nil},
		"an open claim's":             {ours("now", "7.3.63"), []string{"now"}, ours("now", "7.3.63")},
		"beside an open claim's":      {append(ours("now", "7.3.63"), markFor(markOf(seven(t), "old", pod), "10.8.8.8:4500"), "10.8.8.8:4500"), []string{"now"}, ours("now", "7.3.63")},
		"what an open one needs, too": {append(ours("now", "7.3.63"), ours("old", "7.3.63")...), []string{"now"}, ours("now", "7.3.63")},
		"another pod's":               {[]string{markOf(seven(t), "old", "fdb-4"), "locality_instance_id:fdb-4"}, nil, []string{markOf(seven(t), "old", "fdb-4"), "locality_instance_id:fdb-4"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &status{excluded: append(slices.Clone(theirs), tt.list...), processes: []process{{address: now, instance: pod, version: "7.3.63"}}}
			left := slices.DeleteFunc(slices.Clone(s.excluded), func(e string) bool { return slices.Contains(s.leftovers(pod, tt.keep), e) })
			require.ElementsMatch(t, slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(theirs), tt.stays...)))), slices.Compact(slices.Sorted(slices.Values(left))))
		})
	}
}

func seven(t *testing.T) version {
	v, err := parseVersion("7.3.63")
	require.NoError(t, err)
	return v
}

// TestSweepOfALog checks that the same on a database, whose pod came back at another address.
func TestSweepOfALog(t *testing.T) {
	s := simulate(t, fdbsimtest.Options{Scale: 20})
	s.Settle()
	pod := s.pods[4]
	s.Change(func(m *model.Cluster) {
		mark := "locality_rollcall:gone/" + pod
		m.Exclude([]string{mark, "locality_instance_id:" + pod, mark + "/10.9.9.9:4500", "10.9.9.9:4500", "10.9.9.10:4500"}, false)
	})
	s.Settle()
	e := s.engine(pod)
	require.NoError(t, e.Sweep(t.Context(), nil))
	require.Equal(t, []string{"10.9.9.10:4500"}, s.Model().Excluded)
}

// TestEvacuationAtAnotherAddress checks that where addresses are excluded, a process that comes
// back at another one is not waited for: the order is refused, and the next excludes that one.
func TestEvacuationAtAnotherAddress(t *testing.T) {
	s := simulate(t, fdbsimtest.Options{Version: "6.3.25", Scale: 20})
	s.Settle()
	pod := s.pods[4]
	e := s.engine(pod)
	order := engines.Order{Kind: engines.Evacuate, Claim: "move"}
	undo := plan(t, e, order)
	u, err := readUndo(undo)
	require.NoError(t, err)
	s.Change(func(m *model.Cluster) { m.Exclude([]string{"10.9.9.9:4500", u.Mark}, false) })
	u.Targets = []string{"10.9.9.9:4500"} // where it was when that was planned
	undo, err = u.encode()
	require.NoError(t, err)
	p := apply(t, e, order, undo)
	require.Equal(t, engines.ProgressRefused, p.State, p.Detail)
	require.Contains(t, p.Detail, "has come to 127.")
	for p.State != engines.ProgressDone {
		p, err = e.Restore(t.Context(), undo)
		require.NoError(t, err)
	}
	require.Empty(t, s.leftovers())
	order.Claim = "again"
	finish(t, s, e, order, plan(t, e, order))
	require.Zero(t, s.hosts(pod))
}

// TestForeignMaintenanceEnds checks that maintenance that the record calls foreign is not set
// again, since Rollcall would not end it.
func TestForeignMaintenanceEnds(t *testing.T) {
	s := simulate(t, fdbsimtest.Options{Scale: -1})
	s.Settle()
	e := s.engine(s.pods[0])
	order := engines.Order{Kind: engines.Handoff, Claim: "one"}
	s.Change(func(m *model.Cluster) { m.Maintain("zone-a", time.Hour) })
	var err error
	order.Setting, err = e.PlanSetting(t.Context(), order)
	require.NoError(t, err)
	undo := plan(t, e, order)
	s.Change((*model.Cluster).EndMaintenance)
	p := apply(t, e, order, undo)
	require.Equal(t, engines.ProgressRefused, p.State, p.Detail)
	require.Contains(t, p.Detail, "that has ended")
	require.Empty(t, s.Model().Maintenance.Zone)
	order.Setting, err = e.PlanSetting(t.Context(), order)
	require.NoError(t, err)
	require.Equal(t, engines.ProgressDone, apply(t, e, order, undo).State)
	require.Equal(t, "zone-a", s.Model().Maintenance.Zone)
}
