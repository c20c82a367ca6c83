package foundationdb

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Of a pod without a process nothing is known but what the database misses: what it
// does not count, or not yet, is no proof that nothing is on it.
func TestAnAbsentPodIsNotEmptyWhereNothingIsCounted(t *testing.T) {
	whole := func(change func(*snapshot)) snapshot {
		one, replicas := 1, 2
		available := true
		s := snapshot{status: &status{
			available: &available, generations: &one, redundancy: "double",
			processes: []process{{address: "10.0.0.4:4500", instance: "fdb-4", rolesKnown: true}},
			trackers:  []tracker{{replicas: &replicas}},
		}}
		change(&s)
		return s
	}
	for name, tt := range map[string]struct {
		change func(*snapshot)
		want   string
	}{
		"all is there":             {func(*snapshot) {}, ""},
		"in maintenance":           {func(s *snapshot) { s.maintenance = "z2" }, "zone z2 is in maintenance"},
		"unavailable for a moment": {func(s *snapshot) { s.away = []remembered{{instance: "fdb-3"}} }, "not been unavailable for long"},
		"another is unavailable":   {func(s *snapshot) { s.away = []remembered{{instance: "fdb-1"}} }, ""},
		"a copy is missing":        {func(s *snapshot) { one := 1; s.trackers[0].replicas = &one }, "copies of data are missing"},
		"nobody says how many":     {func(s *snapshot) { s.trackers = nil }, "copies of data are missing"},
		"generations of logs":      {func(s *snapshot) { two := 2; s.generations = &two }, "several generations of logs"},
	} {
		t.Run(name, func(t *testing.T) {
			got := whole(tt.change).held("fdb-3")
			if tt.want == "" {
				require.Empty(t, got)
				return
			}
			require.Contains(t, got, tt.want)
		})
	}
}

// A seat may be told by host name: it is the pod's whose name that is.
func TestSeatsByHostName(t *testing.T) {
	reachable := true
	s := &status{
		processes:    []process{{address: "10.0.0.1:4500", dns: "fdb-1.fdb", instance: "fdb-1"}, {address: "10.0.0.2:4500", instance: "fdb-2"}},
		coordinators: []coordinator{{address: "fdb-1.fdb:4500", reachable: &reachable}, {address: "10.0.0.2:4500", reachable: &reachable}},
	}
	require.Equal(t, []string{"fdb-1.fdb:4500"}, s.seats("fdb-1"))
	require.Equal(t, []string{"10.0.0.2:4500"}, s.seats("fdb-2"))
	nodes := map[string]string{}
	for _, m := range s.quorum().Members {
		nodes[m.ID] = m.Node
	}
	require.Equal(t, map[string]string{"fdb-1.fdb:4500": "fdb-1", "10.0.0.2:4500": "fdb-2"}, nodes)
}
