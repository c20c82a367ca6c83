package enginetest

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// Run runs the suite. The cases run one after the other.
func Run(t *testing.T, h Harness) {
	if h.Patience == 0 {
		h.Patience = 5 * time.Second
	}
	if h.Eventually == 0 {
		h.Eventually = 10 * time.Second
	}
	for _, c := range cases {
		if c.evacuates && h.NoEvacuate || h.Quick && !slices.Contains(quick, c.name) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if h.Virtual {
				synctest.Test(t, func(t *testing.T) { runCase(t, h, c) })
			} else {
				runCase(t, h, c)
			}
		})
	}
}

type testCase struct {
	name      string
	evacuates bool
	run       func(*suite)
}

// suite is one case in progress.
type suite struct {
	*testing.T
	h       Harness
	db      Database
	engines []*watched
	claims  int
	// led is what each member led at first.
	led []int
}

func runCase(t *testing.T, h Harness, c testCase) {
	logs := captureLogs(t)
	labelled(t)
	before, _ := strays(t)
	s := &suite{T: t, h: h, db: h.Start(t)}
	if h.Alone {
		require.Len(t, s.db.Members, 1)
	} else {
		require.GreaterOrEqual(t, len(s.db.Members), 3, "the harness must start three members")
	}
	for i := range s.db.Members {
		s.led = append(s.led, s.db.Leads(i))
	}
	defer func() {
		for _, e := range s.engines {
			require.NoError(t, e.Close())
			require.NoError(t, e.Close(), "close twice")
			e.requireNoSecret(t, s.db.Secrets)
		}
		if s.db.Close != nil {
			s.db.Close()
		}
		for i, secret := range s.db.Secrets {
			require.NotContains(t, logs(), secret, "secret %d is in the log", i)
		}
		requireNoneLeft(t, before, s.db.Connections)
	}()
	c.run(s)
}

// captureLogs captures the default logger while the case runs.
func captureLogs(t *testing.T) func() string {
	var mu sync.Mutex
	var out bytes.Buffer
	old := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(writer(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return out.Write(p)
	}), &slog.HandlerOptions{Level: slog.LevelDebug})))
	t.Cleanup(func() { slog.SetDefault(old) })
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		return out.String()
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func (s *suite) engine(member int) *watched {
	e := &watched{Engine: s.db.Engine(member)}
	s.engines = append(s.engines, e)
	return e
}

func (s *suite) order(kind engines.Kind) engines.Order {
	s.claims++
	order := engines.Order{Kind: kind, Claim: fmt.Sprintf("claim-%d", s.claims)}
	if s.h.InPlace {
		order.Primary = engines.RestartInPlace
	}
	return order
}

// several skips a case that needs more than one member.
func (s *suite) several() {
	if s.h.Alone {
		s.Skip("there is one member")
	}
}

// requireDrained fails if member 0 still has what a drain takes from it.
func (s *suite) requireDrained() {
	s.Helper()
	if s.h.InPlace {
		require.Equal(s, s.led, s.leads(), "nobody else leads")
		return
	}
	require.Zero(s, s.db.Leads(0))
}

// within runs f and fails if it takes longer than the harness's patience.
func (s *suite) within(what string, f func(ctx context.Context)) {
	s.Helper()
	start := time.Now()
	f(s.Context())
	require.Less(s, time.Since(start), s.h.Patience, "%s took too long", what)
}

// try calls f once and gives it as much time as an agent would. Work that cannot be finished may go
// on until its context ends.
func (s *suite) try(f func(ctx context.Context) (engines.Progress, error)) (engines.Progress, error) {
	ctx, cancel := context.WithTimeout(s.Context(), s.h.Patience)
	defer cancel()
	return f(ctx)
}

func (s *suite) plan(e engines.Engine, order engines.Order) []byte {
	s.Helper()
	undo, err := e.PlanDrain(s.Context(), order)
	require.NoError(s, err)
	require.LessOrEqual(s, len(undo), engines.MaxUndo)
	return undo
}

// apply repeats Drain until Done.
func (s *suite) apply(e engines.Engine, order engines.Order, undo []byte) {
	s.Helper()
	s.repeat("apply", func() (engines.Progress, error) { return e.Drain(s.Context(), order, undo) })
}

func (s *suite) restore(e engines.Engine, undo []byte) {
	s.Helper()
	s.repeat("restore", func() (engines.Progress, error) { return e.Restore(s.Context(), undo) })
}

// prepared plans the order and drains until the drain is done.
func (s *suite) prepared(e engines.Engine, order engines.Order) (undo []byte) {
	s.Helper()
	undo = s.plan(e, order)
	s.apply(e, order, undo)
	return undo
}

// restoreCleanly restores until nothing of Rollcall's is left.
func (s *suite) restoreCleanly(e engines.Engine, undo []byte) {
	s.Helper()
	s.restore(e, undo)
	require.Empty(s, s.db.Leftovers())
}

func (s *suite) repeat(what string, f func() (engines.Progress, error)) {
	s.Helper()
	deadline := time.Now().Add(s.h.Eventually)
	for {
		progress, err := f()
		if err == nil && progress.State == engines.ProgressDone {
			return
		}
		require.NotEqual(s, engines.ProgressRefused, progress.State, "%s was refused: %s", what, progress.Detail)
		if err == nil {
			require.Equal(s, engines.ProgressRunning, progress.State)
			require.NotEmpty(s, progress.Detail, "a wait needs a reason")
		}
		require.True(s, time.Now().Before(deadline), "%s did not end: %+v %v", what, progress, err)
		time.Sleep(20 * time.Millisecond)
	}
}

// settled waits until the database is complete, as a member sees it.
func (s *suite) settled(e engines.Engine) engines.Observation {
	s.Helper()
	deadline := time.Now().Add(s.h.Eventually)
	for {
		o, err := e.Observe(s.Context())
		if err == nil && o.Settled && o.Health.Verdict == engines.VerdictGreen {
			return o
		}
		require.True(s, time.Now().Before(deadline), "not settled: %+v %v", o, err)
		time.Sleep(20 * time.Millisecond)
	}
}
