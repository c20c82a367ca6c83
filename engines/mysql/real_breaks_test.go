package mysql

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
)

// roles in one handover, as indexes of servers.
type roles struct{ from, to, other int }

// named puts the roles into what an agent does.
func (r roles) named(actor int, what string) string {
	names := map[int]string{r.from: "from", r.to: "to", r.other: "other"}
	for i, name := range names {
		what = strings.Replace(what, fmt.Sprintf("asks %d:", i), "asks "+name+":", 1)
	}
	return names[actor] + " " + what
}

// realBreak is one way to break a handover.
type realBreak struct {
	name string
	do   func(w *realWorld, r roles)
	// lost means that the request, or its answer.
	lost bool
	// then is what the driver's agent does when the order has been carried out.
	then realPhase
	// moves means that the order goes on until the role has moved.
	moves bool
}

const moment = 300 * time.Millisecond

func realBreaks() []realBreak {
	return []realBreak{
		{name: "the driver's agent restarts, the order goes on", moves: true, then: restores, do: func(w *realWorld, r roles) {
			w.restartAgent(r.from, moment, applies)
		}},
		{name: "the driver's agent restarts, the time of the order is over", do: func(w *realWorld, r roles) {
			w.restartAgent(r.from, moment, restores)
		}},
		{name: "the driver's agent restarts and has no order", do: func(w *realWorld, r roles) {
			w.restartAgent(r.from, moment, repairs)
		}},
		{name: "the order is taken back", do: func(w *realWorld, r roles) {
			a := w.agent(r.from)
			a.mu.Lock()
			defer a.mu.Unlock()
			if a.job.phase == applies {
				a.job.phase = restores
				a.cancel()
			}
		}},
		{name: "the candidate's agent restarts", moves: true, then: restores, do: func(w *realWorld, r roles) {
			w.restartAgent(r.to, moment, repairs)
		}},
		{name: "driver's and candidate's agents restart, the coordinator is gone", moves: true, do: func(w *realWorld, r roles) {
			w.restartAgent(r.from, moment, applies)
			w.restartAgent(r.to, moment, repairs)
		}},
		{name: "all agents restart, the time of the order is over", do: func(w *realWorld, r roles) {
			w.restartAgent(r.from, moment, restores)
			w.restartAgent(r.to, moment, repairs)
			w.restartAgent(r.other, moment, repairs)
		}},
		{name: "the driver's pod dies", moves: true, then: restores, do: func(w *realWorld, r roles) {
			w.restartServer(r.from, moment)
			w.restartAgent(r.from, moment, applies)
		}},
		{name: "the driver's pod dies, the time of the order is over", do: func(w *realWorld, r roles) {
			w.restartServer(r.from, moment)
			w.restartAgent(r.from, moment, restores)
		}},
		{name: "the driver's server dies", moves: true, then: restores, do: func(w *realWorld, r roles) {
			w.restartServer(r.from, moment)
		}},
		{name: "the candidate's server dies", moves: true, then: restores, do: func(w *realWorld, r roles) {
			w.restartServer(r.to, moment)
		}},
		{name: "the candidate's pod dies", moves: true, do: func(w *realWorld, r roles) {
			w.restartServer(r.to, moment)
			w.restartAgent(r.to, moment, repairs)
		}},
		{name: "the other's server dies", moves: true, do: func(w *realWorld, r roles) {
			w.restartServer(r.other, moment)
		}},
		{name: "the message is lost", moves: true, lost: true, then: restores},
	}
}

// handOver has the role handed over to one member, broken at one boundary. It
// answers the boundaries that were seen, in order, and whether it was broken.
func (w *realWorld) handOver(r roles, claim string, b realBreak, boundary string) (seen []string, broken bool) {
	w.t.Helper()
	var hit atomic.Bool
	at := func(actor int, what string) bool {
		name := r.named(actor, what)
		w.mu.Lock()
		if !slices.Contains(seen, name) {
			seen = append(seen, name)
		}
		w.mu.Unlock()
		if name == "from stopWrites before" {
			w.holdUp(r.to)
		}
		if name != boundary || !hit.CompareAndSwap(false, true) {
			return false
		}
		w.note("BREAK %s: %s", name, b.name)
		if b.do != nil {
			b.do(w, r)
		}
		return b.lost
	}
	w.order(r, claim, b.then, at, w.servers[r.to].Address())
	w.rest(fmt.Sprintf("%s at %q", b.name, boundary))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = nil
	return seen, hit.Load()
}

// order has the role handed over; at is told of each boundary.
func (w *realWorld) order(r roles, claim string, then realPhase, at func(actor int, what string) bool, eligible ...string) {
	w.t.Helper()
	a := w.agent(r.from)
	order := engines.Order{Kind: engines.Handoff, Claim: claim, NotAfter: time.Now().Add(3 * time.Minute), Eligible: eligible}
	undo, err := a.engine.PlanDrain(w.ctx, order)
	require.NoError(w.t, err)
	w.mu.Lock()
	w.at = at
	w.mu.Unlock()
	a.order(realJob{phase: applies, order: order, undo: undo, after: then})
}

// holdUp keeps a replica from applying for a moment, so that it has to catch up.
func (w *realWorld) holdUp(i int) {
	one, err := w.servers[i].Root().Conn(w.ctx)
	if err != nil {
		return // it is dead
	}
	if _, err = one.ExecContext(w.ctx, "LOCK TABLES app.numbers READ"); err != nil {
		_ = one.Close()
		return
	}
	engines.Sleep(w.ctx, 30*time.Millisecond) // the client goes on writing
	w.later(400*time.Millisecond, func() {
		_, _ = one.ExecContext(context.WithoutCancel(w.ctx), "UNLOCK TABLES")
		_ = one.Close()
	})
}

// sample returns one of the boundaries at which this can break, or all where those
// are wanted.
func sample(b realBreak, boundaries []string, n int) []string {
	fit := slices.DeleteFunc(slices.Clone(boundaries), func(name string) bool {
		return b.lost && !strings.Contains(name, " asks ")
	})
	if *allBreaks {
		return fit
	}
	return fit[n%len(fit):][:1]
}

// acknowledged: semi-synchronous replication that servers come back with.
func acknowledged(flavor mysqltest.Flavor) mysqltest.Options {
	half := "rpl_semi_sync_replica_enabled"
	if flavor == mysqltest.MariaDB {
		half = "rpl_semi_sync_slave_enabled"
	}
	return mysqltest.Options{SemiSync: true, Settings: map[string]string{half: "ON"}}
}

var onlyBreaks = flag.String("breaks.only", "", "real servers: try the breaks with this in their names")

// TestRealBreaks breaks handovers between real servers at each boundary: before and
// after each step that is asked of a member, and each change of a server. Without
// -breaks.all each kind of break is tried at one of them, with each flavor at
// another.
func TestRealBreaks(t *testing.T) {
	broadly(t, func(t *testing.T, flavor mysqltest.Flavor) {
		w := newRealWorld(t, flavor, acknowledged(flavor))
		primary, number := 0, 0
		try := func(b realBreak, boundary string) (seen []string, broken bool) {
			number++
			r := roles{from: primary, to: (primary + 1 + number%2) % 3, other: (primary + 2 - number%2) % 3}
			seen, broken = w.handOver(r, fmt.Sprintf("claim-%d", number), b, boundary)
			primary = w.writers()[0]
			if (b.moves || boundary == "") && primary == r.from {
				t.Fatalf("%s at %q: the role has not moved\n%s", b.name, boundary, strings.Join(w.told, "\n"))
			}
			return seen, broken
		}
		boundaries, _ := try(realBreak{name: "nothing breaks", then: restores}, "")
		gap := w.client.longest()
		// A candidate that has everything by then is not asked to wait for it.
		for _, want := range []string{
			"from asks to: intend before", "from stopWrites after", "from dropClients after", "to detach after",
			"to allowWrites after", "from asks to: promote after", "from follow before", "other follow after", "from asks other: forget after",
		} {
			require.Contains(t, boundaries, want)
		}
		began, tried, missed := time.Now(), 0, 0
		var longest time.Duration
		worst := ""
		for i, b := range realBreaks() {
			if !strings.Contains(b.name, *onlyBreaks) {
				continue
			}
			for _, boundary := range sample(b, boundaries, i*5+len(flavor)) {
				started := time.Now()
				_, broken := try(b, boundary)
				tried++
				t.Logf("%5s %s at %q", time.Since(started).Round(100*time.Millisecond), b.name, boundary)
				if !broken {
					missed++
					t.Logf("not reached: %s", boundary)
				}
				if gap := w.client.longest(); gap > longest {
					longest, worst = gap, fmt.Sprintf("%s at %q", b.name, boundary)
				}
			}
		}
		t.Logf("%d schedules of %d boundaries in %s, %d not reached; %d writes acknowledged, none lost; longest without one: %s unbroken, %s with %s",
			tried, len(boundaries), time.Since(began).Round(time.Second), missed, w.client.total(), gap.Round(time.Millisecond), longest.Round(time.Millisecond), worst)
		require.Less(t, missed*5, tried, "too many breaks did not happen")
	})
}
