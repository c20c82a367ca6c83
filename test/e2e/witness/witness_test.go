package witness

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func pods(uids ...string) []Pod {
	names := []string{"solr-0", "solr-1", "solr-2"}
	var out []Pod
	for i, uid := range uids {
		if uid != "" {
			out = append(out, Pod{Name: names[i], Host: names[i], UID: uid, BaseURL: names[i], Ready: uid != "?"})
		}
	}
	return out
}

func TestSeesOrderAndElected(t *testing.T) {
	now, elected := pods("a", "b", "c"), "solr-1"
	w := New(Options{Desired: 3, Pods: func() []Pod { return now }, Read: func(context.Context, string) (State, error) {
		return State{Elected: elected, Shards: map[string]Shard{"books/s1": {Replicas: 2, Away: 3 - len(now), Leader: true}}}, nil
	}})
	for _, step := range [][]Pod{pods("a", "b", "c"), pods("a", "b", ""), pods("a", "b", "c2"), pods("a2", "b", "c2"), pods("a2", "", "c2"), pods("a2", "b2", "c2")} {
		now = step
		w.look(t.Context())
	}
	r := w.Report()
	require.Equal(t, map[string]int{"solr-0": 1, "solr-1": 1, "solr-2": 1}, r.RestartCounts())
	require.NoError(t, r.ElectedLast())
	require.Equal(t, 1, r.MaxPodsAway)
	require.Equal(t, map[string]int{"books/s1": 1}, r.MaxAway)
	require.Zero(t, r.Misses)
}

func TestSeesWhatThoseWhoGoStillLed(t *testing.T) {
	now := pods("a", "b", "")
	two := func(leader string) Shard {
		return Shard{Replicas: 2, On: []string{"solr-0", "solr-1"}, Leader: true, LedBy: leader}
	}
	w := New(Options{Desired: 2, Pods: func() []Pod { return now }, Read: func(context.Context, string) (State, error) {
		return State{Shards: map[string]Shard{
			"books/s1": two("solr-1"), "books/s2": two("solr-0"), "logs/s1": {Replicas: 2, Away: 1, On: []string{"solr-1"}, Leader: true, LedBy: "solr-1"},
		}}, nil
	}})
	w.look(t.Context())
	now = pods("a", "", "")
	w.look(t.Context())
	require.Len(t, w.Report().Restarts, 1)
	require.Equal(t, []string{"books/s1"}, w.Report().Restarts[0].Led, "another could have led that")
}

func TestADeletionCountsOnceAndWhenItIsAskedFor(t *testing.T) {
	now, elected := pods("a", "b", "c"), "solr-1"
	w := New(Options{Desired: 3, Pods: func() []Pod { return now }, Read: func(context.Context, string) (State, error) {
		return State{Elected: elected}, nil
	}})
	w.look(t.Context())
	deleting := pods("a", "b", "c")
	deleting[1].Deleting, deleting[1].Ready = true, false
	now = deleting
	w.look(t.Context())
	elected = "solr-0"
	w.look(t.Context())
	now = pods("a", "", "c")
	w.look(t.Context())
	now = pods("a", "b2", "c")
	w.look(t.Context())
	r := w.Report()
	require.Equal(t, map[string]int{"solr-1": 1}, r.RestartCounts())
	require.NoError(t, r.ElectedLast())
}

// A pod that came without an agent goes again; that is no second restart of it.
func TestAgain(t *testing.T) {
	now := pods("a", "b", "c")
	w := New(Options{Desired: 3, Pods: func() []Pod { return now }, Read: func(context.Context, string) (State, error) { return State{}, nil }})
	bare := pods("a2", "b", "c")
	for i := range bare {
		bare[i].Agent = i != 0
	}
	whole := func(uids ...string) []Pod {
		out := pods(uids...)
		for i := range out {
			out[i].Agent = true
		}
		return out
	}
	now = bare
	w.look(t.Context())
	now = whole("a3", "b2", "c")
	w.look(t.Context())
	require.Equal(t, 2, w.Report().RestartCounts()["solr-0"])
	require.Empty(t, w.Report().Again())
	now = whole("a3", "b3", "c")
	w.look(t.Context())
	again := w.Report().Again()
	require.Len(t, again, 1)
	require.Equal(t, "solr-1", again[0].Pod)
}

func TestElectedNotLast(t *testing.T) {
	now := pods("a", "b", "c")
	w := New(Options{Desired: 3, Pods: func() []Pod { return now }, Read: func(context.Context, string) (State, error) {
		return State{Elected: "solr-0"}, nil
	}})
	for _, step := range [][]Pod{pods("a", "b", "c"), pods("a2", "b", "c"), pods("a2", "b2", "c")} {
		now = step
		w.look(t.Context())
	}
	require.ErrorContains(t, w.Report().ElectedLast(), "restart 1 of 2 (solr-0)")
}

func TestANodeThatDoesNotAnswerIsAMiss(t *testing.T) {
	w := New(Options{Desired: 1, Pods: func() []Pod { return pods("a") }, Read: func(context.Context, string) (State, error) {
		return State{}, errors.New("down")
	}})
	w.look(t.Context())
	require.Equal(t, 1, w.Report().Misses)
}

func TestReadSolr(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("action") == "OVERSEERSTATUS" {
			_, _ = w.Write([]byte(`{"leader":"solr-0.solr:8983_solr"}`))
			return
		}
		_, _ = w.Write([]byte(`{"cluster":{"live_nodes":["n0","n1"],"collections":{"books":{"shards":{
			"s1":{"state":"active","replicas":{"a":{"node_name":"n0","state":"active","leader":"true"},"b":{"node_name":"n2","state":"active"}}},
			"s0":{"state":"inactive","replicas":{}}}}}}}`))
	}))
	t.Cleanup(server.Close)
	s, err := ReadSolr(t.Context(), server.URL)
	require.NoError(t, err)
	require.Equal(t, map[string]Shard{"books/s1": {Replicas: 2, Away: 1, Missing: []string{"b of n2 active"}, On: []string{"n0"}, Leader: true, LedBy: "n0"}}, s.Shards)
	require.False(t, s.AllActive())
	require.Equal(t, "solr-0", s.Elected)
}

func TestAPodThatTheTestHurtsIsAwayOnlyOnceItIsDeleted(t *testing.T) {
	now := pods("a", "b", "c")
	w := New(Options{Desired: 3, Pods: func() []Pod { return now }, Read: func(context.Context, string) (State, error) { return State{}, nil }})
	w.Hurt("c")
	now = pods("a", "", "c")
	now[1].Ready = false // c: its agent was killed
	w.look(t.Context())
	require.Equal(t, 1, w.Report().MaxPodsAway)
	now[1].Deleting = true
	w.look(t.Context())
	require.Equal(t, 2, w.Report().MaxPodsAway)
}

// What an elected node gives away before it goes still counts as its own.
func TestElectedThatHandsOverIsLast(t *testing.T) {
	now, elected := pods("a", "b", "c"), "solr-2"
	w := New(Options{Desired: 3, Pods: func() []Pod { return now }, Read: func(context.Context, string) (State, error) { return State{Elected: elected}, nil }})
	for _, step := range []struct {
		pods    []Pod
		elected string
	}{{pods("a", "b", "c"), "solr-2"}, {pods("a2", "b", "c"), "solr-2"}, {pods("a2", "b2", "c"), "solr-2"}, {pods("a2", "b2", "c"), "solr-0"}, {pods("a2", "b2", "c2"), "solr-0"}} {
		now, elected = step.pods, step.elected
		w.look(t.Context())
	}
	require.NoError(t, w.Report().ElectedLast())
	last := map[string]int{"solr-0": 1, "solr-1": 0, "solr-2": 2}
	require.ErrorContains(t, w.Report().InOrder(func(pod string) int { return last[pod] }), "solr-1 went after solr-0")
	last["solr-0"] = 0
	require.NoError(t, w.Report().InOrder(func(pod string) int { return last[pod] }))
}

// A shard that nobody has led yet is new; one of a single copy is told apart.
func TestLeaderless(t *testing.T) {
	now, shards := pods("a", "b", "c"), map[string]Shard{
		"books/0": {Replicas: 2, On: []string{"solr-1"}, Leader: true}, "scratch/0": {Replicas: 1, On: []string{"solr-1"}, Leader: true}, "new/0": {Replicas: 2, Unbuilt: 1},
	}
	w := New(Options{Desired: 3, Pods: func() []Pod { return now }, Read: func(context.Context, string) (State, error) { return State{Shards: shards}, nil }})
	w.look(t.Context())
	require.Empty(t, w.Report().Leaderless)
	now = pods("a", "b2", "c")
	shards = map[string]Shard{"books/0": {Replicas: 2}, "scratch/0": {Replicas: 1}, "new/0": {Replicas: 2}}
	w.look(t.Context())
	w.look(t.Context())
	r := w.Report()
	require.Equal(t, map[string]int{"books/0": 2}, r.Leaderless)
	require.Equal(t, map[string]int{"scratch/0": 2}, r.Alone)
	require.Equal(t, []string{"books/0"}, r.Restarts[0].Only, "the pod had its only copy")
}

func TestReadOpenSearch(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"cluster_manager_node":"m","nodes":{"m":{"name":"os-manager-0"},"d":{"name":"os-data-0"}},"routing_table":{"indices":{"books":{"shards":{
			"0":[{"state":"STARTED","primary":true,"node":"d"},{"state":"UNASSIGNED","primary":false,"node":null,"unassigned_info":{"reason":"NODE_LEFT"}}],
			"1":[{"state":"RELOCATING","primary":true,"node":"d","relocating_node":"e"},{"state":"UNASSIGNED","primary":false,"unassigned_info":{"reason":"INDEX_CREATED"}}],
			"2":[{"state":"UNASSIGNED","primary":true,"unassigned_info":{"reason":"INDEX_CREATED"}},{"state":"INITIALIZING","primary":false,"node":"d"}]}}}}}`))
	}))
	t.Cleanup(server.Close)
	s, err := ReadOpenSearch(t.Context(), server.URL)
	require.NoError(t, err)
	require.Equal(t, "os-manager-0", s.Elected)
	require.ElementsMatch(t, []string{"os-manager-0", "os-data-0"}, s.Live)
	require.Equal(t, map[string]Shard{
		"books/0": {Replicas: 2, Away: 1, Missing: []string{`primary=false on "" UNASSIGNED since NODE_LEFT`}, On: []string{"os-data-0"}, Leader: true, LedBy: "os-data-0"},
		"books/1": {Replicas: 2, Unbuilt: 1, On: []string{"os-data-0"}, Leader: true, LedBy: "os-data-0"},
		"books/2": {Replicas: 2, Away: 2, Missing: []string{`primary=true on "" UNASSIGNED since INDEX_CREATED`, `primary=false on "os-data-0" INITIALIZING`}},
	}, s.Shards)
	require.False(t, s.AllActive())
	require.Contains(t, s.Missing(), "1 copies of books/1 are not built yet")
}
