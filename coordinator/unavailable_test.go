package coordinator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
	"github.com/rollcall-dev/rollcall/test/race"
)

// A pod that goes away while nothing is rolled is named when it has been unavailable for longer
// than a start may take, and that is written once.
func TestUnavailablePodIsReportedWithoutARollout(t *testing.T) {
	race.Heavy(t)
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("search", 3)
		p := w.start()
		defer p.end()
		overdue := func() []progress.Unavailable {
			d, ok := p.board.Newest(Key{Namespace: namespace, Name: "search"})
			require.True(t, ok)
			return progress.OverduePods(&d.Moment)
		}
		time.Sleep(30 * time.Minute)
		require.Equal(t, model.ClusterDone, db.status().Phase)
		require.Empty(t, overdue(), "nobody is followed at rest, and nobody is missed")

		db.strand("search-1")
		time.Sleep(9 * time.Minute)
		require.Equal(t, model.ClusterIdle, db.status().Phase)
		require.Contains(t, conditionOf(db.status(), v1alpha1.ConditionReady).Message, "search-1 is pending (Unschedulable)")
		require.Empty(t, overdue())
		time.Sleep(13 * time.Minute) // the condition may be written ten minutes later
		require.Len(t, overdue(), 1)
		available := conditionOf(db.status(), v1alpha1.ConditionAvailable)
		require.Equal(t, "PodsUnavailable", available.Reason, available.Message)
		require.Contains(t, available.Message, "search-1 is pending (Unschedulable), no node takes it, since ")

		before := p.total()
		time.Sleep(2 * time.Hour)
		require.Len(t, overdue(), 1)
		require.Equal(t, before, p.total(), "nothing is written again as time passes")
	})
}
