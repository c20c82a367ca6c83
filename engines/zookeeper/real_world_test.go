package zookeeper

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/engines/web"
	"github.com/rollcall-dev/rollcall/engines/zookeeper/zookeepertest"
)

// realWorld is an ensemble of real servers, each with an agent.
type realWorld struct {
	*testing.T
	*zookeepertest.Ensemble
	wiring *enginetest.Wired[*Engine]
	claims int
}

// enough are the words with which no admin server is needed.
const enough = "srvr,mntr,conf"

func newRealWorld(t *testing.T, o zookeepertest.Options) *realWorld {
	t.Parallel()
	w := &realWorld{T: t, Ensemble: zookeepertest.Start(t, o)}
	var names []string
	for _, s := range w.Servers {
		names = append(names, nodeOf(int64(s.ID)))
	}
	w.wiring = enginetest.NewWired(names, func(i int, peers engines.Peers) *Engine {
		e, err := New(w.options(w.Servers[i], peers))
		require.NoError(t, err)
		return e
	})
	t.Cleanup(w.wiring.Close)
	return w
}

func (w *realWorld) options(s *zookeepertest.Server, peers engines.Peers) Options {
	return Options{Access: web.Access{Host: "127.0.0.1", Port: s.Port, Timeout: 2 * time.Second}, AdminPort: s.AdminPort, Peers: peers}
}

func (w *realWorld) observe(i int) engines.Observation {
	w.Helper()
	o, err := w.wiring.First[i].Observe(w.Context())
	require.NoError(w, err)
	return o
}

// until waits for an observation of a member.
func (w *realWorld) until(i int, what string, is func(o engines.Observation) bool) engines.Observation {
	w.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		o := w.observe(i)
		if is(o) {
			return o
		}
		require.True(w, time.Now().Before(deadline), "%s: %+v", what, o)
	}
}

// green waits until each member is settled and finds nothing wrong.
func (w *realWorld) green() {
	w.Helper()
	for i := range w.Servers {
		w.until(i, "green", func(o engines.Observation) bool {
			return o.Settled && o.Member == engines.MembershipLive && o.Health.Verdict == engines.VerdictGreen && o.Busy == ""
		})
	}
}

// drain tries once to drain a member, and undoes it.
func (w *realWorld) drain(i int) engines.Progress {
	w.Helper()
	w.claims++
	order := engines.Order{Kind: engines.Handoff, Claim: fmt.Sprintf("claim-%d", w.claims)}
	undo, err := w.wiring.First[i].PlanDrain(w.Context(), order)
	require.NoError(w, err)
	p, err := w.wiring.First[i].Drain(w.Context(), order, undo)
	require.NoError(w, err)
	_, err = w.wiring.First[i].Restore(w.Context(), undo)
	require.NoError(w, err)
	return p
}

// held requires that the drain of a member waits, in these words.
func (w *realWorld) held(i int, words string) {
	w.Helper()
	p := w.drain(i)
	require.Equal(w, engines.ProgressRunning, p.State, p.Detail)
	require.Contains(w, p.Detail, words)
}

// index of the leader, and of two that follow.
func (w *realWorld) roles() (leader, follower, other int) {
	w.Helper()
	leader = slices.Index(w.Servers, w.Leader())
	return leader, (leader + 1) % 3, (leader + 2) % 3
}

// restart drains a member, and starts it again; by then the true others must be a majority.
func (w *realWorld) restart(i int, before func(s *zookeepertest.Server)) {
	w.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		p := w.drain(i)
		if p.State == engines.ProgressDone {
			break
		}
		require.True(w, time.Now().Before(deadline), p.Detail)
	}
	s := w.Servers[i]
	for _, other := range w.Servers {
		require.True(w, other == s || other.Mode() != "", "server.%d does not serve, and server.%d goes", other.ID, s.ID)
	}
	s.Stop()
	before(s)
	s.Start()
	s.AwaitServing()
	w.green()
}

// states of the voters by node, as a member sees them.
func states(o engines.Observation) map[string]engines.MemberState {
	out := map[string]engines.MemberState{}
	for _, g := range o.Groups {
		for _, m := range g.Members {
			out[m.Node] = m.State
		}
	}
	return out
}

func says(verdict engines.Verdict, words string) func(o engines.Observation) bool {
	return func(o engines.Observation) bool {
		return o.Health.Verdict == verdict && strings.Contains(o.Health.Reason, words)
	}
}
