package solr

import (
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

func TestObservation(t *testing.T) {
	good := func() readings {
		return readings{
			self:     identity{node: "a", version: "9.9.0"},
			state:    stateWith([]string{"a", "b"}, shardOf("s", "active", leading("a"), on("b", "active"))),
			overseer: "b", health: nodeHealth{connected: true, settled: true}, dataBytes: 7,
		}
	}
	for name, c := range map[string]struct {
		change func(*readings)
		check  func(*testing.T, engines.Observation)
	}{
		"good": {func(*readings) {}, func(t *testing.T, o engines.Observation) {
			require.Equal(t, "a 9.9.0 Live Green true false", fmt.Sprint(o.Node, " ", o.Version, " ", o.Member, " ", o.Health.Verdict, " ", o.Settled, " ", o.Last))
			require.Empty(t, o.Roles)
			require.EqualValues(t, 7, o.DataBytes)
		}},
		"overseer": {func(r *readings) { r.overseer = "a" }, func(t *testing.T, o engines.Observation) {
			require.True(t, o.Last)
			require.Equal(t, []string{"overseer"}, o.Roles)
		}},
		"no overseer in this cluster": {func(r *readings) { r.overseer = "" }, func(t *testing.T, o engines.Observation) {
			require.False(t, o.Last)
			require.Empty(t, o.Veto)
		}},
		"overseer unknown": {func(r *readings) { r.overseerErr = errors.New("no answer") }, func(t *testing.T, o engines.Observation) {
			require.Equal(t, "the overseer is unknown: no answer", o.Veto)
			require.Equal(t, engines.MembershipLive, o.Member)
		}},
		"not in live nodes": {func(r *readings) { r.state.live = []string{"b"} }, func(t *testing.T, o engines.Observation) {
			require.Equal(t, engines.MembershipNotLive, o.Member)
			require.False(t, o.Settled)
		}},
		"its session is being lost": {func(r *readings) { r.health = nodeHealth{reason: "Host Unavailable: Not connected to zk"} }, func(t *testing.T, o engines.Observation) {
			require.Equal(t, engines.MembershipUnknown, o.Member, "ZooKeeper still has it")
			require.Equal(t, "the node is listed as live, and says of itself: Host Unavailable: Not connected to zk", o.Veto)
			require.False(t, o.Settled)
		}},
		"a copy is down for a moment": {func(r *readings) {
			r.state.collections[0].shards[0].replicas[1] = replica{name: "r2", node: "a", state: "down"}
			r.health = nodeHealth{connected: true, unhealthy: 1}
		}, func(t *testing.T, o engines.Observation) {
			require.Equal(t, "Live Recoverable false", fmt.Sprint(o.Member, " ", o.Health.Verdict, " ", o.Settled))
		}},
		"a copy has long been down": {func(r *readings) {
			r.state.collections[0].shards[0].replicas[1] = replica{name: "r2", node: "a", state: "down"}
			r.health, r.still = nodeHealth{connected: true, unhealthy: 1}, true
		}, func(t *testing.T, o engines.Observation) {
			require.True(t, o.Settled, "it is as well as it gets")
		}},
		"and another is not healthy, too": {func(r *readings) {
			r.state.collections[0].shards[0].replicas[1] = replica{name: "r2", node: "a", state: "down"}
			r.health, r.still = nodeHealth{connected: true, unhealthy: 2}, true
		}, func(t *testing.T, o engines.Observation) { require.False(t, o.Settled) }},
		"a copy has long been recovering": {func(r *readings) {
			r.state.collections[0].shards[0].replicas[1] = replica{name: "r2", node: "a", state: "recovering"}
			r.health, r.still = nodeHealth{connected: true, unhealthy: 1}, true
		}, func(t *testing.T, o engines.Observation) { require.False(t, o.Settled) }},
		"nothing is amiss in the state, and the node is not well": {func(r *readings) {
			r.health, r.still = nodeHealth{connected: true, unhealthy: 1}, true
		}, func(t *testing.T, o engines.Observation) { require.False(t, o.Settled) }},
		"health unknown": {func(r *readings) { r.health, r.healthErr = nodeHealth{}, errors.New("403") }, func(t *testing.T, o engines.Observation) {
			require.Equal(t, engines.MembershipUnknown, o.Member)
			require.Equal(t, "the node's own health is unknown: 403", o.Veto)
			require.False(t, o.Settled)
		}},
		"cores not healthy": {func(r *readings) { r.health.settled = false }, func(t *testing.T, o engines.Observation) {
			require.Equal(t, engines.MembershipLive, o.Member)
			require.False(t, o.Settled)
		}},
		"own copy failed to recover, which health calls healthy": {func(r *readings) {
			r.state.collections[0].shards[0].replicas[0] = replica{name: "r1", node: "a", state: "recovery_failed"}
		}, func(t *testing.T, o engines.Observation) {
			require.False(t, o.Settled)
			require.Equal(t, engines.VerdictYellow, o.Health.Verdict, "it led")
		}},
		"another's copy recovers": {func(r *readings) { r.state.collections[0].shards[0].replicas[1].state = "recovering" }, func(t *testing.T, o engines.Observation) {
			require.True(t, o.Settled)
		}},
		"state unknown": {func(r *readings) { r.stateErr = errors.New("no ZooKeeper") }, func(t *testing.T, o engines.Observation) {
			require.Equal(t, engines.Observation{Node: "a", Version: "9.9.0", DataBytes: 7, Health: engines.Health{Reason: "no ZooKeeper"}}, o)
		}},
		"name unknown": {func(r *readings) { r.self, r.selfErr = identity{}, errors.New("timeout") }, func(t *testing.T, o engines.Observation) {
			require.Equal(t, engines.MembershipUnknown, o.Member)
			require.Equal(t, "timeout", o.Health.Reason)
			require.Empty(t, o.Groups)
		}},
		"nothing listens, though it did a moment ago": {func(r *readings) { r.stateErr = fmt.Errorf("dial: %w", syscall.ECONNREFUSED) }, func(t *testing.T, o engines.Observation) {
			require.Equal(t, engines.MembershipNotLive, o.Member)
			require.Empty(t, o.Node)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := good()
			c.change(&r)
			r.facts = r.state.facts()
			c.check(t, observation(r))
		})
	}
}

func count(c *fakeCluster, call string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests[call]
}

// The overseer answers through its queue, so it is not asked every second.
func TestOverseerIsAskedWhenNodesChange(t *testing.T) {
	c := newFakeCluster(t, 3)
	e := mustNew(t, testOptions(c.options(0)))
	for range 5 {
		_, err := e.Observe(t.Context())
		require.NoError(t, err)
	}
	require.Equal(t, 1, count(c, pathCollections+" OVERSEERSTATUS"))
	require.Equal(t, 1, count(c, pathSystem+" "))
	require.Equal(t, 1, count(c, pathMetrics+" "))
	require.Equal(t, 5, count(c, pathCollections+" CLUSTERSTATUS"))

	c.mu.Lock()
	c.live[c.nodes[2]] = false // the overseer; nobody has taken over yet
	c.mu.Unlock()
	for range 2 {
		_, err := e.Observe(t.Context())
		require.NoError(t, err)
	}
	require.Equal(t, 3, count(c, pathCollections+" OVERSEERSTATUS"), "not kept between two overseers")
	c.mu.Lock()
	c.overseer = c.nodes[0]
	c.mu.Unlock()
	for range 3 {
		o, err := e.Observe(t.Context())
		require.NoError(t, err)
		require.True(t, o.Last)
	}
	require.Equal(t, 4, count(c, pathCollections+" OVERSEERSTATUS"))
}

// An operation that the overseer still has after a while makes every member busy, until it is over. One that passes
// does not.
func TestWorkOfTheOverseerIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(t, 3)
		e := mustNew(t, testOptions(c.options(0)))
		look := func(working int) string {
			c.mu.Lock()
			c.working = working
			c.mu.Unlock()
			time.Sleep(keepWorking)
			o, err := e.Observe(t.Context())
			require.NoError(t, err)
			require.Equal(t, engines.MembershipLive, o.Member)
			return o.Busy
		}
		require.Empty(t, look(0))
		time.Sleep(keepOverseer)
		require.Empty(t, look(1), "it may pass")
		require.Equal(t, busyWords, look(1))
		require.Empty(t, look(0), "it is over")
		time.Sleep(keepOverseer)
		require.Empty(t, look(1))
		require.Empty(t, look(0))
		require.Empty(t, look(1), "it has passed, and here is the next one")
	})
}

func TestVersionIsReadAnewAfterARestart(t *testing.T) {
	c := newFakeCluster(t, 3)
	e := mustNew(t, testOptions(c.options(0)))
	o, err := e.Observe(t.Context())
	require.NoError(t, err)
	require.Equal(t, "9.9.0", o.Version)
	c.fault(0, 1)
	_, err = e.Observe(t.Context())
	require.NoError(t, err)
	c.version = "9.10.0"
	c.fault(0, 0)
	o, err = e.Observe(t.Context())
	require.NoError(t, err)
	require.Equal(t, "9.10.0", o.Version)
}

func TestUnchangedStateIsDecodedOnce(t *testing.T) {
	c := newFakeCluster(t, 3)
	c.add("books", "shard1", "nn", 0, 1)
	o := newObserver(mustNew(t, testOptions(c.options(0))).api)
	first, err := o.clusterState(t.Context())
	require.NoError(t, err)
	again, err := o.clusterState(t.Context())
	require.NoError(t, err)
	require.Same(t, first, again)
	facts := o.facts
	_, err = o.observe(t.Context())
	require.NoError(t, err)
	require.Same(t, &facts.groups[0], &o.facts.groups[0], "nor is what it says worked out again")
	c.add("books", "shard2", "nn", 0, 1)
	again, err = o.clusterState(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, first, again)
}

// An answer cut short must not be remembered as if it were whole.
func TestFailedDecodeIsNotKept(t *testing.T) {
	c := newFakeCluster(t, 3)
	c.add("books", "shard1", "nn", 0, 1)
	e := mustNew(t, testOptions(c.options(0)))
	for range 2 {
		c.fault(0, 5) // truncated
		o, err := e.Observe(t.Context())
		require.NoError(t, err)
		require.Equal(t, engines.VerdictUnknown, o.Health.Verdict)
	}
}

func TestObserveIsNotSlowedByTheOverseer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(t, 3)
		served := c.servers[0].Handler
		c.servers[0].Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.FormValue("action") == "OVERSEERSTATUS" {
				<-r.Context().Done()
				return
			}
			served.ServeHTTP(w, r)
		})
		o := testOptions(c.options(0))
		o.Timeout = time.Minute
		e := mustNew(t, o)
		start := time.Now()
		seen, err := e.Observe(t.Context())
		require.NoError(t, err)
		require.Less(t, time.Since(start), 10*time.Second)
		require.Equal(t, engines.MembershipLive, seen.Member)
		require.Contains(t, seen.Veto, "the overseer is unknown")
	})
}
