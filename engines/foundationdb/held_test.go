package foundationdb

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Of a pod without a process nothing is known but what the database misses: what it
// does not count, or not yet, is no proof that nothing is on it. Nor is what a pod with a process
// does not say, where the database counts on a storage server that does not run.
func TestAnAbsentPodIsNotEmptyWhereNothingIsCounted(t *testing.T) {
	whole := func(change func(*snapshot)) snapshot {
		one, replicas := 1, 2
		available := true
		s := snapshot{status: &status{
			available: &available, generations: &one, redundancy: "double",
			processes: []process{{address: "10.0.0.4:4500", instance: "fdb-4", rolesKnown: true, excluded: &available}},
			trackers:  []tracker{{replicas: &replicas}}, list: serverList{read: true},
		}}
		change(&s)
		return s
	}
	away := func(instance, role string) func(*snapshot) {
		return func(s *snapshot) { s.away = []remembered{{instance: instance, role: role, id: "0011"}} }
	}
	for name, tt := range map[string]struct {
		change func(*snapshot)
		want   string
		both   bool // also of a pod with a process
	}{
		"all is there":           {func(*snapshot) {}, "", true},
		"in maintenance":         {func(s *snapshot) { s.maintenance = "z2" }, "zone z2 is in maintenance", false},
		"its storage server":     {away("fdb-3", "storage"), "the database still counts on a storage server of it", false},
		"its log":                {away("fdb-3", "log"), "the database still needs a log of it", false},
		"the other's":            {away("fdb-4", "storage"), "", false},
		"another is unavailable": {away("fdb-1", "storage"), "", true},
		"nobody knows whose":     {away("", "storage"), "a storage server (0011) that does not run, and nobody can tell whether it was in fdb-", true},
		"the list is not read":   {func(s *snapshot) { s.list = serverList{why: "no list"} }, "no list", true},
		"nothing is noticed":     {func(s *snapshot) { s.disabled.all = true }, "say `datadistribution on`", true},
		"a copy is missing":      {func(s *snapshot) { one := 1; s.trackers[0].replicas = &one }, "copies of data are missing", false},
		"nobody says how many":   {func(s *snapshot) { s.trackers = nil }, "copies of data are missing", false},
		"generations of logs":    {func(s *snapshot) { two := 2; s.generations = &two }, "several generations of logs", true},
	} {
		t.Run(name, func(t *testing.T) {
			pods := []string{"fdb-3"}
			if tt.both {
				pods = append(pods, "fdb-4")
			}
			for _, pod := range pods {
				got := whole(tt.change).held(pod)
				require.Equal(t, tt.want == "", got == "", got)
				require.Contains(t, got, tt.want)
			}
		})
	}
	still := whole(func(s *snapshot) {
		s.disabled.failures = true
		s.processes[0].roles = []string{"storage"}
	})
	require.Contains(t, still.held("fdb-4"), "say `datadistribution enable ssfailure`", "nothing is moved off it")
	require.Contains(t, whole(away("fdb-4", "storage")).held("fdb-4"), "the database still counts on a storage server of it")
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
