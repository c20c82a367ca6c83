package opensearch

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

func groupsOf(r *reading) map[string]engines.Group {
	out := map[string]engines.Group{}
	for _, g := range r.groups() {
		out[g.ID] = g
	}
	return out
}

func words(g engines.Group) string {
	text := fmt.Sprint(g.Kind, " ", g.MinAvailable)
	if g.Moving {
		text += " moving"
	}
	for _, m := range g.Members {
		text += fmt.Sprint(" ", m.ID, "@", m.Node, ":", m.State)
		if m.Leader {
			text += ":leader"
		}
	}
	return text
}

func TestGroups(t *testing.T) {
	r := cluster("m1 2.19.4 cluster_manager", "m2 2.19.4 cluster_manager", "m3 2.19.4 master",
		"d1 2.19.4 data,ingest", "d2 2.19.4 data_hot", "s 2.19.4 search", "c 2.19.4").
		with("x/0", "p d1 STARTED", "r d2 STARTED").
		with("x/1", "p d1 RELOCATING d2").
		with("x/2", "p d1 STARTED", "r d2 INITIALIZING").
		with("x/3", "p d1 STARTED", "r - NODE_LEFT", "r - NODE_LEFT").
		with("x/4", "p d1 STARTED", "r d2 STARTED", "r - INDEX_CREATED").
		with("x/5", "p d1 STARTED", "r - INDEX_CREATED").
		with("x/6", "p gone STARTED")
	r.voting.accepted = []string{"m1", "m2", "gone"}
	g := groupsOf(r)
	for id, want := range map[string]string{
		"x/0":                    "Shard 0 d1@d1:Active d2@d2:Active",
		"x/1":                    "Shard 0 moving d1@d1:Active d2@d2:Recovering", // both ends
		"x/2":                    "Shard 0 d1@d1:Active d2@d2:Recovering",
		"x/3":                    "Shard 0 d1@d1:Active missing-1@:Down missing-2@:Down",
		"x/4":                    "Shard 0 d1@d1:Active d2@d2:Active", // two nodes take copies, three are wanted
		"x/5":                    "Shard 0 d1@d1:Active missing-1@:Down",
		"x/6":                    "Shard 0 gone@:Down",
		"voting/committed":       "Quorum 2 m1@m1:Active:leader m2@m2:Active m3@m3:Active",
		"voting/accepted":        "Quorum 2 gone@:Down m1@m1:Active:leader m2@m2:Active",
		"role/data":              "Role 1 d1@d1:Active d2@d2:Active",
		"role/ingest":            "Role 1 d1@d1:Active",
		"role/search":            "Role 1 s@s:Active",
		"role/coordinating_only": "Role 1 c@c:Active",
	} {
		require.Equal(t, want, words(g[id]), id)
	}
	require.Len(t, g, 13)
	r.setting(settingExclude, "d2")
	require.Equal(t, "Role 1 d1@d1:Active", words(groupsOf(r)["role/data"]), "who is being emptied is not counted on")
}

func TestRanks(t *testing.T) {
	last := 0
	for _, roles := range [][]string{{"data_frozen"}, {"data_cold", "ingest"}, {"search"}, {"data_hot"}, {"data", "data_hot", "ingest"}, {}, {"data", "cluster_manager"}} {
		rank := nodeFacts{roles: roles}.rank()
		require.Greater(t, rank, last, "%v", roles)
		last = rank
	}
	require.Equal(t, nodeFacts{}.rank(), nodeFacts{roles: []string{"ml", "ingest"}}.rank())
	require.Equal(t, last, nodeFacts{roles: []string{"master"}}.rank())
}

func TestObservation(t *testing.T) {
	good := func() readings {
		return readings{
			self: identity{"b", nodeFacts{"b", "2.19.4", []string{"data", "master"}}}, managed: true, dataBytes: 7,
			cluster: cluster("a 2.19.4 data,master", "b 2.19.4 data,master").with("x/0", "p a STARTED", "r b STARTED"),
			health:  health{status: "green", copies: 2},
		}
	}
	for name, c := range map[string]struct {
		change func(*readings)
		check  func(*testing.T, engines.Observation)
	}{
		"good": {func(*readings) {}, func(t *testing.T, o engines.Observation) {
			require.Equal(t, "b 2.19.4 Live Green true false", fmt.Sprint(o.Node, " ", o.Version, " ", o.Member, " ", o.Health.Verdict, " ", o.Settled, " ", o.Last))
			require.Equal(t, []string{"cluster_manager", "data"}, o.Roles)
			require.Equal(t, []engines.Node{{Name: "a", Address: "a:9300", State: engines.MembershipLive}, {Name: "b", Address: "b:9300", State: engines.MembershipLive}}, o.Nodes)
			require.EqualValues(t, 7, o.DataBytes)
			require.Empty(t, o.Veto+o.Busy)
		}},
		"elected": {func(r *readings) { r.cluster.state.elected = "b" }, func(t *testing.T, o engines.Observation) {
			require.True(t, o.Last)
			require.Equal(t, []string{"cluster_manager", "data", "elected_cluster_manager"}, o.Roles)
		}},
		"just back, its copy is not": {func(r *readings) {
			r.cluster = cluster("a 2.19.4 data,master", "b 2.19.4 data,master").with("x/0", "p - NODE_LEFT b")
		}, func(t *testing.T, o engines.Observation) {
			require.Equal(t, "Live Red false", fmt.Sprint(o.Member, " ", o.Health.Verdict, " ", o.Settled))
		}},
		"just back, its replica is held back": {func(r *readings) {
			r.cluster = cluster("a 2.19.4 data,master", "b 2.19.4 data,master").with("x/0", "p a STARTED", "r - NODE_LEFT b").setting(settingAllocation, throttledValue)
		}, func(t *testing.T, o engines.Observation) { require.False(t, o.Settled) }},
		"just back, it is asked what it has": {func(r *readings) {
			r.cluster = cluster("a 2.19.4 data,master", "b 2.19.4 data,master").with("x/0", "p a STARTED", "r - NODE_LEFT b")
			r.health.fetching = 1
		}, func(t *testing.T, o engines.Observation) { require.False(t, o.Settled) }},
		"a replica that nobody places is for the verdict": {func(r *readings) {
			r.cluster = cluster("a 2.19.4 data,master", "b 2.19.4 data,master").with("x/0", "p a STARTED", "r - NODE_LEFT b")
		}, func(t *testing.T, o engines.Observation) {
			require.Equal(t, "Yellow true", fmt.Sprint(o.Health.Verdict, " ", o.Settled))
		}},
		"what another node left with": {func(r *readings) {
			r.cluster = cluster("a 2.19.4 data,master", "b 2.19.4 data,master").with("x/0", "p - NODE_LEFT c")
		}, func(t *testing.T, o engines.Observation) { require.True(t, o.Settled) }},
		"not in the cluster": {func(r *readings) { delete(r.cluster.state.nodes, "b") }, func(t *testing.T, o engines.Observation) {
			require.Equal(t, engines.MembershipNotLive, o.Member)
			require.False(t, o.Settled)
		}},
		"an election": {func(r *readings) { r.managed = false }, func(t *testing.T, o engines.Observation) {
			require.Equal(t, "Unknown Unknown the node follows no elected cluster manager, and one may be elected right now", fmt.Sprint(o.Member, " ", o.Health.Verdict, " ", o.Health.Reason))
			require.Empty(t, o.Groups)
		}},
		"no manager": {func(r *readings) { r.managed, r.lonely = false, true }, func(t *testing.T, o engines.Observation) {
			require.Equal(t, "NotLive Unknown the node follows no elected cluster manager", fmt.Sprint(o.Member, " ", o.Health.Verdict, " ", o.Health.Reason))
			require.Empty(t, o.Groups)
		}},
		"own copy starts": {func(r *readings) { r.cluster.state.shards[0].copies[1].state = initializing }, func(t *testing.T, o engines.Observation) {
			require.False(t, o.Settled)
			require.Equal(t, engines.VerdictYellow, o.Health.Verdict)
		}},
		"two of the name": {func(r *readings) { r.cluster.state.nodes["c"] = stateNode{name: "b"} }, func(t *testing.T, o engines.Observation) {
			require.Equal(t, "several nodes are called b", o.Veto)
		}},
		"another does not tell": {func(r *readings) { delete(r.cluster.facts, "a") }, func(t *testing.T, o engines.Observation) {
			require.Equal(t, "node a does not tell its roles and version", o.Veto)
		}},
		"snapshot": {func(r *readings) { r.cluster.state.snapshot = "backup/daily" }, func(t *testing.T, o engines.Observation) {
			require.Equal(t, "a snapshot is being taken: backup/daily", o.Busy)
		}},
		"copies are counted, and none listed": {func(r *readings) { r.cluster.state.shards = nil }, func(t *testing.T, o engines.Observation) {
			require.Equal(t, "Unknown Unknown opensearch counts 2 copies and lists none", fmt.Sprint(o.Member, " ", o.Health.Verdict, " ", o.Health.Reason))
			require.Empty(t, o.Groups)
		}},
		"no answer": {func(r *readings) { r.err = errors.New("timeout") }, func(t *testing.T, o engines.Observation) {
			require.Equal(t, engines.Observation{Node: "b", Version: "2.19.4", DataBytes: 7, Health: engines.Health{Reason: "timeout"}}, o)
		}},
		"nothing listens": {func(r *readings) { r.err = fmt.Errorf("dial: %w", syscall.ECONNREFUSED) }, func(t *testing.T, o engines.Observation) {
			require.Equal(t, engines.MembershipNotLive, o.Member)
			require.Empty(t, o.Node)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := good()
			c.change(&r)
			c.check(t, observation(r))
		})
	}
}

const wholeState = "GET " + pathState + "/version,master_node,nodes,routing_table,customs"

// The large answer is asked for when something changed; the nodes when a process did.
func TestUnchangedStateIsReadOnce(t *testing.T) {
	c := newFakeCluster(t, 3, "data", "cluster_manager")
	c.add("books/0", 0, 1)
	e := mustNew(t, testOptions(c.options(1)))
	look := func() engines.Observation {
		o, err := e.Observe(t.Context())
		require.NoError(t, err)
		require.Equal(t, engines.MembershipLive, o.Member, o.Health.Reason)
		return o
	}
	for range 4 {
		look()
	}
	require.Equal(t, []int{1, 1, 1, 1, 4}, []int{c.asked(wholeState), c.asked("GET " + pathNodes), c.asked("GET " + pathSelf), c.asked("GET " + pathStore), c.asked("GET " + pathHealth)})
	c.add("books/1", 1, 2)
	require.Len(t, look().Groups, 2+2+1)
	require.Equal(t, []int{2, 1}, []int{c.asked(wholeState), c.asked("GET " + pathNodes)})
	c.locked(func() { c.nodes["id-2"].process, c.nodes["id-2"].version = "p2", "3.0.0" })
	look()
	require.Equal(t, []int{3, 2}, []int{c.asked(wholeState), c.asked("GET " + pathNodes)})
}

// TestSilentNodeIsAskedAgain checks that a node that did not report its facts is asked again, even
// if nothing has changed.
func TestSilentNodeIsAskedAgain(t *testing.T) {
	c := newFakeCluster(t, 3, "data", "cluster_manager")
	c.locked(func() { c.unready["id-2"] = true })
	e := mustNew(t, testOptions(c.options(0)))
	o, err := e.Observe(t.Context())
	require.NoError(t, err)
	require.Equal(t, "node db-2 does not tell its roles and version", o.Veto)
	c.mu.Lock()
	c.unready = map[string]bool{}
	c.mu.Unlock()
	o, err = e.Observe(t.Context())
	require.NoError(t, err)
	require.Empty(t, o.Veto)
}

func TestObserveWithoutManager(t *testing.T) {
	c := newFakeCluster(t, 3, "data", "cluster_manager")
	c.locked(func() { c.elected = "" })
	o, err := mustNew(t, testOptions(c.options(0))).Observe(t.Context())
	require.NoError(t, err)
	require.Equal(t, engines.MembershipUnknown, o.Member)
	require.Equal(t, "db-0", o.Node)
}

func TestVersionIsReadAnewAfterARestart(t *testing.T) {
	c := newFakeCluster(t, 3, "data", "cluster_manager")
	e := mustNew(t, testOptions(c.options(0)))
	o, err := e.Observe(t.Context())
	require.NoError(t, err)
	require.Equal(t, "2.19.4", o.Version)
	c.fault(0, 1)
	_, err = e.Observe(t.Context())
	require.NoError(t, err)
	c.locked(func() { c.nodes["id-0"].version = "3.0.0" })
	c.fault(0, 0)
	o, err = e.Observe(t.Context())
	require.NoError(t, err)
	require.Equal(t, "3.0.0", o.Version)
}

func TestQueuedChangesHold(t *testing.T) {
	c := newFakeCluster(t, 3, "data", "cluster_manager")
	c.add("books/0", 0, -1)
	c.locked(func() { c.queued = true })
	o, err := mustNew(t, testOptions(c.options(0))).Observe(t.Context())
	require.NoError(t, err)
	require.Equal(t, "Yellow changes of the cluster are queued; missing until a node is back or updated: a copy of books/0", fmt.Sprint(o.Health.Verdict, " ", o.Health.Reason))
}
