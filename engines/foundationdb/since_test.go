package foundationdb

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/test/fdbsim/fdbsimtest"
	"github.com/rollcall-dev/rollcall/test/fdbsim/model"
)

// TestExcludedByAPersonSinceThePlan checks that what a person excludes after the plan is not excluded
// once more as ours: the order is refused, and the next one leaves it.
func TestExcludedByAPersonSinceThePlan(t *testing.T) {
	for _, version := range []string{"7.3.63", "6.3.25"} {
		s := simulate(t, fdbsimtest.Options{Version: version, Scale: 20})
		s.Settle()
		pod := s.pods[4]
		e := s.engine(pod)
		order := engines.Order{Kind: engines.Evacuate, Claim: "early"}
		undo := plan(t, e, order)
		u, err := readUndo(undo)
		require.NoError(t, err)
		theirs := u.Targets[:1]
		s.Change(func(m *model.Cluster) { m.Exclude(theirs, false) })
		s.Settle()
		p := apply(t, e, order, undo)
		require.Equal(t, engines.ProgressRefused, p.State, p.Detail)
		require.Contains(t, p.Detail, "somebody else has excluded "+pod+" since this was planned ("+theirs[0]+"): it is to be begun again")
		s.Settle()
		restored, err := e.Restore(t.Context(), undo)
		require.NoError(t, err)
		require.Contains(t, restored.Detail, "on the exclusion list stay "+theirs[0])
		require.Equal(t, theirs, s.Model().Excluded)

		order.Claim = "again"
		undo = plan(t, e, order)
		finish(t, s, e, order, undo)
		s.Settle()
		for range 3 {
			_, err = e.Restore(t.Context(), undo)
			require.NoError(t, err)
		}
		require.Equal(t, theirs, s.Model().Excluded, version)
	}
}

// TestAnAnnouncementStandsForNoEntry checks that what a person excludes after an announcement is
// theirs for a plan, a restart, a restore and a sweep, and that the announcement itself goes.
func TestAnAnnouncementStandsForNoEntry(t *testing.T) {
	const pod = "fdb-4"
	v := seven(t)
	order := engines.Order{Kind: engines.Evacuate, Claim: "c"}
	s := &status{processes: []process{{instance: pod, address: "10.0.0.4:4500", version: "7.3.63"}}}
	u := undo{Undo: order.UndoOn(pod)}
	require.NoError(t, u.plan(s, "c", pod))
	told := announcement(u.Mark)
	require.True(t, validTarget(told))
	s.excluded = []string{told, instanceTarget(pod)}
	require.True(t, s.replaces(pod))
	require.Equal(t, instanceTarget(pod), s.foreignSince(u))
	require.Equal(t, instanceTarget(pod), s.excludedByPerson(pod))
	ours, left, err := s.toInclude(u)
	require.NoError(t, err)
	require.Contains(t, ours, told)
	require.NotContains(t, ours, instanceTarget(pod))
	require.Equal(t, []string{instanceTarget(pod)}, left)
	require.NotContains(t, s.leftovers(pod, nil), instanceTarget(pod))
	require.Contains(t, s.leftovers(pod, nil), told)
	again := undo{Undo: order.UndoOn(pod)}
	require.NoError(t, again.plan(s, "c", pod))
	require.Empty(t, again.Targets)

	s.excluded = append(s.excluded, markOf(v, "c", pod))
	require.Empty(t, s.foreignSince(u), "excluded by the order itself")
	require.Empty(t, announcement(addressMark("c", pod)))
}

// TestStorageThatLags checks that a storage server for which readers have to wait is not one that serves.
func TestStorageThatLags(t *testing.T) {
	for lag, want := range map[float64]engines.MemberState{
		0: engines.MemberActive, 2.2: engines.MemberActive, 11: engines.MemberRecovering, 300: engines.MemberRecovering,
	} {
		d := healthy(t)
		d.process("a0")["roles"].([]any)[1].(map[string]any)["data_lag"] = map[string]any{"seconds": lag}
		s, err := decodeStatus(strings.NewReader(d.text()))
		require.NoError(t, err)
		require.Equal(t, want, s.of("fdb-0")[0].state(), "%v s", lag)
	}
}
