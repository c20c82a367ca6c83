package galera

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// realWorld is a cluster of real members, each with an agent.
type realWorld struct {
	*testing.T
	*mysqltest.Galera
	wiring  *enginetest.Wired[*Engine]
	engines []*Engine
	claims  int
}

func newRealWorld(t *testing.T, o mysqltest.GaleraOptions) *realWorld {
	t.Parallel()
	w := &realWorld{T: t, Galera: mysqltest.StartGalera(t, o)}
	var names []string
	for _, s := range w.Members {
		names = append(names, s.Name)
	}
	w.wiring = enginetest.NewWired(names, func(i int, peers engines.Peers) *Engine {
		e, err := New(realOptions(w.Members[i], peers))
		require.NoError(t, err)
		return e
	})
	w.engines = w.wiring.First
	t.Cleanup(w.wiring.Close)
	for i := range names {
		w.green(i)
	}
	return w
}

func realOptions(s *mysqltest.Server, peers engines.Peers) Options {
	return Options{
		Access: web.Access{Host: s.Host, Port: s.Port, Timeout: 2 * time.Second, Credentials: mysqltest.Fixed(mysqltest.AgentUser, mysqltest.AgentPassword)},
		Peers:  peers, LongWrites: 3 * time.Second,
	}
}

func (w *realWorld) observe(i int) engines.Observation {
	w.Helper()
	o, err := w.engines[i].Observe(w.Context())
	require.NoError(w, err)
	return o
}

// until waits for an observation of a member, which may have to get all data from another one first.
func (w *realWorld) until(i int, what string, is func(o engines.Observation) bool) engines.Observation {
	w.Helper()
	var o engines.Observation
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if o = w.observe(i); is(o) {
			return o
		}
		if time.Now().After(deadline) {
			require.FailNow(w, what, "%+v\n%s", o, w.Logs())
		}
	}
}

// green waits until a member is settled and finds nothing wrong.
func (w *realWorld) green(i int) {
	w.Helper()
	w.until(i, "green", func(o engines.Observation) bool {
		return o.Settled && o.Member == engines.MembershipLive && o.Health.Verdict == engines.VerdictGreen && o.Busy == ""
	})
}

// says waits until a verdict is given in these words.
func (w *realWorld) says(i int, verdict engines.Verdict, words string) engines.Observation {
	w.Helper()
	return w.until(i, words, func(o engines.Observation) bool {
		return o.Health.Verdict == verdict && strings.Contains(o.Health.Reason, words)
	})
}

// drain tries once to drain a member. While the view changes, its server's list of members does not
// fit for a moment, and the order is given again.
func (w *realWorld) drain(i int) engines.Progress {
	w.Helper()
	w.claims++
	order := engines.Order{Kind: engines.Handoff, Claim: fmt.Sprintf("claim-%d", w.claims)}
	undo, err := w.engines[i].PlanDrain(w.Context(), order)
	var p engines.Progress
	if err == nil {
		p, err = w.engines[i].Drain(w.Context(), order, undo)
	}
	if errors.Is(err, engines.ErrNotServing) {
		require.ErrorContains(w, err, "the view changes")
		return engines.Progress{State: engines.ProgressRunning, Detail: err.Error()}
	}
	require.NoError(w, err)
	return p
}

// held fails unless the drain of a member waits all the time, and in these words once all members have
// the view.
func (w *realWorld) held(i int, words string) {
	w.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		p := w.drain(i)
		require.Equal(w, engines.ProgressRunning, p.State, p.Detail)
		if strings.Contains(p.Detail, words) {
			return
		}
		require.True(w, time.Now().Before(deadline), p.Detail)
	}
}

// available counts the members of a group that are Active, as an observation has it.
func available(o engines.Observation, group string) (active, least int) {
	for _, g := range o.Groups {
		if g.ID != group {
			continue
		}
		least = g.MinAvailable
		for _, m := range g.Members {
			if m.State == engines.MemberActive {
				active++
			}
		}
	}
	return active, least
}

// writer writes numbers all the time, to one member after the other until one acknowledges.
type writer struct {
	mu      sync.Mutex
	acked   []int
	longest time.Duration
	stop    context.CancelFunc
	ended   sync.WaitGroup
}

func (w *realWorld) write() *writer {
	var clients []*sql.DB
	for _, s := range w.Members {
		clients = append(clients, s.Open(mysqltest.AppUser, mysqltest.AppPassword, "app"))
	}
	ctx, stop := context.WithCancel(w.Context())
	c := &writer{stop: stop}
	c.ended.Go(func() {
		last := time.Now()
		for n, at := 0, 0; ctx.Err() == nil; {
			bounded, cancel := context.WithTimeout(ctx, 2*time.Second)
			_, err := clients[at].ExecContext(bounded, "REPLACE INTO numbers VALUES (?)", n)
			cancel()
			if err != nil {
				at = (at + 1) % len(clients)
				engines.Sleep(ctx, 10*time.Millisecond)
				continue
			}
			c.mu.Lock()
			c.acked = append(c.acked, n)
			c.longest = max(c.longest, time.Since(last))
			c.mu.Unlock()
			last = time.Now()
			n++
			at = n / 20 % len(clients)
			engines.Sleep(ctx, 5*time.Millisecond)
		}
	})
	w.Cleanup(func() { c.end() })
	return c
}

func (c *writer) end() {
	c.stop()
	c.ended.Wait()
}

// complete checks that each member has each acknowledged number.
func (c *writer) complete(w *realWorld) {
	w.Helper()
	c.end()
	require.NotEmpty(w, c.acked)
	w.Logf("%d acknowledged writes, none lost is expected; the longest pause was %s", len(c.acked), c.longest.Round(time.Millisecond))
	for _, s := range w.Members {
		s.Exec("SET SESSION wsrep_sync_wait = 1")
		have := map[string]bool{}
		for _, r := range s.Rows("SELECT n FROM app.numbers") {
			have[r["n"]] = true
		}
		lost := 0
		for _, n := range c.acked {
			if !have[fmt.Sprint(n)] {
				lost++
			}
		}
		require.Zero(w, lost, "%s has lost acknowledged writes", s.Name)
	}
}
