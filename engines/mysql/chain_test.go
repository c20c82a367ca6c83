package mysql

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// followed returns which server each server follows, and how.
func (w *simWorld) followed() map[string]string {
	out := map[string]string{}
	for _, s := range w.list {
		out[s.name] = s.service + " " + s.source
	}
	return out
}

// rounds lets all agents take turns and look.
func (w *simWorld) rounds(n int) {
	for range n {
		time.Sleep(250 * time.Millisecond)
		w.tick()
		w.runLater()
		for _, a := range w.agents {
			a.turn()
			if a.alive {
				_, _ = a.engine.Observe(context.Background())
			}
		}
	}
}

// prepare carries out an order of the agent as far as it goes at once.
func (w *simWorld) prepare(t *testing.T, i int) engines.Progress {
	order := engines.Order{Kind: engines.Handoff, Claim: "claim-r", NotAfter: time.Now().Add(time.Minute)}
	undo, err := w.agents[i].engine.PlanDrain(context.Background(), order)
	require.NoError(t, err)
	p, err := w.agents[i].engine.Drain(context.Background(), order, undo)
	require.NoError(t, err)
	return p
}

// serviced is a database whose replicas follow the primary by a Service's name.
func serviced(flavor replication.Flavor) *simWorld {
	w := newWorld(simSetup{flavor: flavor, members: 3, acks: 1, dns: true}, true)
	for _, s := range w.list[1:] {
		s.service = "db-primary.ns.svc"
	}
	return w
}

// TestPreparedReplicaMovesNobody checks that draining a replica changes neither the sources of the
// replicas nor their names. The server that is reached counts, not the name.
func TestPreparedReplicaMovesNobody(t *testing.T) {
	for _, flavor := range []replication.Flavor{replication.MySQL, replication.MariaDB} {
		synctest.Test(t, func(t *testing.T) {
			w := serviced(flavor)
			w.rounds(3)
			before := w.followed()
			p := w.prepare(t, 2)
			require.Equal(t, engines.Progress{State: engines.ProgressDone, Detail: "db-2 is a replica"}, p)
			w.rounds(3)
			require.Equal(t, before, w.followed(), w.story())

			// The primary can hand over all the same; then a name has to be written.
			p = w.prepare(t, 0)
			require.Equal(t, engines.ProgressDone, p.State, p.Detail+w.story())
			require.Equal(t, map[string]string{"db-0": " db-1", "db-1": " ", "db-2": " db-1"}, w.followed(), w.story())
			require.Empty(t, w.violations)
		})
	}
}

// TestReplicaThatCannotReachItsService checks that what its agent knows of it is left alone.
func TestReplicaThatCannotReachItsService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serviced(replication.MySQL)
		w.rounds(3)
		before := w.followed()
		w.list[0].crash()
		w.rounds(3)
		w.prepare(t, 2)
		w.list[0].boot()
		w.rounds(100)
		require.Equal(t, before, w.followed(), w.story())
		require.Equal(t, replication.Allowed, w.list[0].writes, "it is known who follows it")
	})
}

// chain is db-3 behind db-2 behind db-0, with db-1 beside.
func chain(flavor replication.Flavor) *simWorld {
	w := newWorld(simSetup{flavor: flavor, members: 4, dns: true, silent: 12}, true)
	w.list[3].source = "db-2"
	w.rounds(3)
	return w
}

// TestChainsAreLeft checks that a replica of a replica waits for that one when it is unavailable,
// and is left where it is when the role moves.
func TestChainsAreLeft(t *testing.T) {
	for _, flavor := range []replication.Flavor{replication.MySQL, replication.MariaDB} {
		synctest.Test(t, func(t *testing.T) {
			w := chain(flavor)
			require.Equal(t, "db-2", w.list[3].source, w.story())
			for _, i := range []int{2, 3, 1} {
				require.Equal(t, engines.ProgressDone, w.prepare(t, i).State)
			}
			w.list[2].crash()
			w.agents[2].end()
			w.rounds(20)
			require.Equal(t, "db-2", w.list[3].source, w.story())
			w.list[2].boot()
			w.agents[2].begin()
			w.rounds(20)
			require.NotNil(t, w.list[3].connected())

			w.agents[0].engine.options.Limits.Patience = time.Minute
			require.Equal(t, engines.ProgressDone, w.prepare(t, 0).State, w.story())
			w.rounds(10)
			require.Equal(t, replication.Allowed, w.list[1].writes, w.story())
			require.Equal(t, map[string]string{"db-0": " db-1", "db-1": " ", "db-2": " db-1", "db-3": " db-2"}, w.followed(), w.story())
			require.Empty(t, w.violations)
		})
	}
}

// TestWhoWasLeftBehindFollows checks that one that did not hear of a switchover follows, whatever
// its agent has seen before: a replica behind the old primary is no chain.
func TestWhoWasLeftBehindFollows(t *testing.T) {
	for name, forgets := range map[string]bool{"its agent remembers": false, "the new primary's agent does": true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(simSetup{flavor: replication.MySQL, members: 3, dns: true}, true)
			w.rounds(3)
			if forgets {
				w.agents[2].end()
			} else {
				w.list[2].hung = true
			}
			p := w.prepare(t, 0)
			require.Equal(t, engines.ProgressDone, p.State, p.Detail)
			require.Equal(t, map[string]string{"db-0": " db-1", "db-1": " ", "db-2": " db-0"}, w.followed(), name)
			if forgets {
				w.agents[2].begin()
			}
			w.list[2].hung = false
			w.rounds(10)
			require.Equal(t, "db-1", w.list[2].source, name+w.story())
			require.Empty(t, w.agents[1].engine.predecessor, "nobody is left behind")
		})
	}
}

// TestChainBehindTheOldPrimary checks that somebody makes one later. It is left.
func TestChainBehindTheOldPrimary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(simSetup{flavor: replication.MySQL, members: 3, dns: true}, true)
		w.rounds(3)
		require.Equal(t, engines.ProgressDone, w.prepare(t, 0).State)
		w.rounds(3)
		w.list[2].source = "db-0"
		w.rounds(10)
		require.Equal(t, "db-0", w.list[2].source, w.story())
		w.agents[2].end()
		w.agents[2].begin()
		w.rounds(10)
		require.Equal(t, "db-0", w.list[2].source, w.story())
	})
}
