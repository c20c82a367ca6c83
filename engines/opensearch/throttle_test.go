package opensearch

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// TestThrottleThatPeopleChanged checks that allocation that a person stops in the middle of a
// rollout stays stopped.
func TestThrottleThatPeopleChanged(t *testing.T) {
	for name, c := range map[string]struct {
		before map[string]any // persistent
		change func(f *fakeCluster)
		want   []any // persistent, transient
	}{
		"nobody":              {map[string]any{settingAllocation: "all"}, func(*fakeCluster) {}, []any{"all", nil}},
		"stopped":             {nil, func(f *fakeCluster) { f.persistent[settingAllocation] = "none" }, []any{"none", nil}},
		"stopped transiently": {nil, func(f *fakeCluster) { f.transient[settingAllocation] = "none" }, []any{nil, "none"}},
		"taken away":          {map[string]any{settingAllocation: "all"}, func(f *fakeCluster) { delete(f.persistent, settingAllocation) }, []any{nil, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeCluster(t, 3, "data", "cluster_manager")
			f.add("books/0", 1, 2)
			maps.Copy(f.persistent, c.before)
			e := mustNew(t, testOptions(f.options(1)))
			order := handoffOf("c1")
			var err error
			order.Setting, err = e.PlanSetting(t.Context(), order)
			require.NoError(t, err)
			do(t, e, order)
			require.Equal(t, throttledValue, f.persistent[settingAllocation])
			f.locked(func() { c.change(f) })
			for range 2 {
				p, err := e.RestoreSetting(t.Context(), order.Setting, time.Time{})
				require.NoError(t, err)
				require.Equal(t, engines.ProgressDone, p.State)
				require.Equal(t, c.want, []any{f.persistent[settingAllocation], f.transient[settingAllocation]})
			}
		})
	}
}

// A record comes back from the status of a DatabaseCluster. Whatever it says, allocation is not
// off after a rollout that found it on.
func TestARecordLeavesAllocationNotOff(t *testing.T) {
	for _, value := range []string{"none", "new_primaries", "NONE"} {
		f := newFakeCluster(t, 3, "data", "cluster_manager")
		f.add("books/0", 1, 2)
		e := mustNew(t, testOptions(f.options(1)))
		order := handoffOf("c1")
		order.Setting = engines.Setting{Name: settingAllocation, Undo: []byte(`{"persistent":"` + value + `","transient":"` + value + `"}`)}
		do(t, e, order)
		require.Equal(t, throttledValue, f.persistent[settingAllocation])
		p, err := e.RestoreSetting(t.Context(), order.Setting, time.Time{})
		require.NoError(t, err)
		require.Equal(t, engines.ProgressDone, p.State)
		require.Nil(t, f.persistent[settingAllocation])
		require.Nil(t, f.transient[settingAllocation])
	}
}
