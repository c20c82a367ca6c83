package progress

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

func TestEstimate(t *testing.T) {
	require.EqualValues(t, 30, estimate(0).with(30*time.Second))
	require.EqualValues(t, 25, estimate(30).with(20*time.Second))
	require.EqualValues(t, 1, estimate(0).with(time.Millisecond))
}

// Every pool has its own estimate, a successor goes on from the status, and a
// pool that is gone is forgotten.
func TestEstimatesByPool(t *testing.T) {
	before := NewEstimates(40, map[string]int64{"hot": 20, "old": 9})
	s := model.Snapshot{
		Pools: []model.Pool{{Name: "hot"}, {Name: "warm"}, {Name: "cold"}},
		Pods:  []model.Pod{{Name: "hot-0", Pool: "hot"}, {Name: "warm-0", Pool: "warm"}},
	}
	e := before.Learn(s, []Downtime{{Pod: "hot-0", Lasted: 30 * time.Second}, {Pod: "warm-0", Lasted: 90 * time.Second}, {Pod: "old-1", Lasted: 63 * time.Second}})
	require.Equal(t, map[string]int64{"hot": 25, "warm": 90}, e.ByPool(s.Pools))
	require.EqualValues(t, 63, e.Seconds(), "of all, whichever pool they were of")
	require.Nil(t, e.ByPool(nil))
	require.Equal(t, map[string]int64{"hot": 20}, before.ByPool(s.Pools), "what was learned from stays as it was")
}
