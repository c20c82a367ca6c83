package drain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/agenttest"
	"github.com/rollcall-dev/rollcall/agent/fence"
	"github.com/rollcall-dev/rollcall/agent/probe"
	"github.com/rollcall-dev/rollcall/agent/state"
	"github.com/rollcall-dev/rollcall/engines"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

const (
	none      = rollcallv1.Drain_DRAIN_NONE
	preparing = rollcallv1.Drain_DRAIN_DRAINING
	prepared  = rollcallv1.Drain_DRAIN_DRAINED
	refused   = rollcallv1.Drain_DRAIN_REFUSED
)

// testOptions are of a drainer whose peers are heard, and which keeps nothing.
func testOptions(engine engines.Engine) Options {
	return Options{
		Engine: slotOf(engine), OwnClaim: "stop-uid", Translate: func(p []string) []string { return p }, OnChange: func(probe.DrainStatus) {},
		Clock: state.SinceBoot, Fence: &fence.Fence{OnRaise: func(int64) {}}, PeersHeard: func() bool { return true }, Logger: slog.New(slog.DiscardHandler),
	}
}

func draining(t *testing.T, engine engines.Engine, body func(t *testing.T, d *Drainer)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		d := New(ctx, testOptions(engine))
		var tasks sync.WaitGroup
		tasks.Go(d.Run)
		body(t, d)
		cancel()
		tasks.Wait()
	})
}

func (d *Drainer) state() rollcallv1.Drain {
	synctest.Wait()
	j, _ := d.Status()
	return j.State
}

func handoff(claim string, epoch int64) Order {
	return Order{Claim: claim, Kind: engines.Handoff, Epoch: epoch, Undo: []byte("undo")}
}

func TestDrainIsRepeatedUntilDone(t *testing.T) {
	var calls atomic.Int32
	engine := &agenttest.Engine{OnDrain: func(_ context.Context, o engines.Order, undo []byte) (engines.Progress, error) {
		require.Equal(t, "c1", o.Claim)
		require.Equal(t, "undo", string(undo))
		switch n := calls.Add(1); {
		case n == 2:
			return engines.Progress{}, errors.New("connection reset")
		case n < 5:
			return engines.Progress{State: engines.ProgressRunning, Detail: "moving", Done: int(n), Total: 5}, nil
		}
		return engines.Progress{State: engines.ProgressDone, Done: 5, Total: 5}, nil
	}}
	draining(t, engine, func(t *testing.T, d *Drainer) {
		_, err := d.Drain(handoff("c1", 1))
		require.NoError(t, err)
		require.Equal(t, preparing, d.state())
		_, err = d.Drain(handoff("c1", 1)) // asked again: goes on, does not start again
		require.NoError(t, err)
		time.Sleep(10 * time.Second)
		require.Equal(t, prepared, d.state())
		require.EqualValues(t, 5, calls.Load())
		_, err = d.Drain(handoff("c1", 2)) // and again when it is done
		require.NoError(t, err)
		require.Equal(t, prepared, d.state())
		require.EqualValues(t, 5, calls.Load())
	})
}

// TestDrainedPodIsRechecked checks that a recheck finds a drain that did not last and repeats it,
// that a drain that is being checked is not begun again, and that nothing is written after its
// time.
func TestDrainedPodIsRechecked(t *testing.T) {
	var calls atomic.Int32
	var leads atomic.Bool
	engine := &agenttest.Engine{OnDrain: func(_ context.Context, _ engines.Order, undo []byte) (engines.Progress, error) {
		require.Equal(t, "undo", string(undo))
		if calls.Add(1); leads.Load() {
			return engines.Progress{State: engines.ProgressRunning, Detail: "still leads books/1"}, nil
		}
		return engines.Progress{State: engines.ProgressDone}, nil
	}}
	draining(t, engine, func(t *testing.T, d *Drainer) {
		_, err := d.Drain(handoff("c1", 1))
		require.NoError(t, err)
		require.Equal(t, prepared, d.state())
		leads.Store(true) // somebody gives it back
		_, err = d.Drain(handoff("c1", 1))
		require.NoError(t, err)
		require.Equal(t, prepared, d.state(), "what was true once")

		anew := handoff("c1", 1)
		anew.Recheck, anew.Undo, anew.NotAfter = true, nil, time.Now().Add(time.Minute)
		_, err = d.Drain(anew)
		require.NoError(t, err)
		require.Equal(t, preparing, d.state())
		before := calls.Load()
		_, err = d.Drain(anew)
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, before, calls.Load())
		leads.Store(false)
		time.Sleep(10 * time.Second)
		require.Equal(t, prepared, d.state())

		leads.Store(true)
		_, err = d.Drain(anew)
		require.NoError(t, err)
		time.Sleep(time.Minute)
		require.Equal(t, refused, d.state(), "it is not known to last")
	})
}

func TestOnlyOneWriterAtATime(t *testing.T) {
	var inside atomic.Int32
	enter := func() {
		if inside.Add(1) != 1 {
			panic("two at once")
		}
		time.Sleep(3 * time.Second)
		inside.Add(-1)
	}
	engine := &agenttest.Engine{
		OnPlanDrain: func(engines.Order) ([]byte, error) { enter(); return nil, nil },
		OnDrain: func(context.Context, engines.Order, []byte) (engines.Progress, error) {
			enter()
			return engines.Progress{State: engines.ProgressRunning}, nil
		},
		OnRestore: func([]byte) (engines.Progress, error) {
			enter()
			return engines.Progress{State: engines.ProgressDone}, nil
		},
		OnSweep: func([]string) error { enter(); return nil },
	}
	draining(t, engine, func(t *testing.T, d *Drainer) {
		var tasks sync.WaitGroup
		_, err := d.Drain(handoff("c1", 1))
		require.NoError(t, err)
		for i := range 4 {
			tasks.Go(func() { _, _, _ = d.Plan(t.Context(), handoff("c1", 1)) })
			tasks.Go(func() { _, _ = d.Restore(t.Context(), fmt.Sprint("other", i), 1, []byte("u")) })
			tasks.Go(func() { _ = d.Sweep(t.Context()) })
		}
		tasks.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		d.busy <- struct{}{}
		_, err = d.Restore(ctx, "x", 1, []byte("u"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		d.release()
	})
}

func TestWhichOrderTakesThePlace(t *testing.T) {
	running := func(context.Context, engines.Order, []byte) (engines.Progress, error) {
		return engines.Progress{State: engines.ProgressRunning}, nil
	}
	for name, c := range map[string]struct {
		open, next Order
		wait       time.Duration
		taken      bool
	}{
		"same claim":              {handoff("a", 1), handoff("a", 1), 0, true},
		"another claim":           {handoff("a", 1), handoff("b", 1), 0, false},
		"another of lower epoch":  {handoff("a", 2), handoff("b", 1), 0, false},
		"another of higher epoch": {handoff("a", 1), handoff("b", 2), 0, true},
		"the stop hook's own":     {handoff("", 0), handoff("b", 1), 0, true},
		"one whose time is over":  {timed("a", 1, 5*time.Second), handoff("b", 1), 10 * time.Second, true},
		"one with time left":      {timed("a", 1, time.Minute), handoff("b", 1), 10 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			draining(t, &agenttest.Engine{OnDrain: running}, func(t *testing.T, d *Drainer) {
				if !c.open.NotAfter.IsZero() { // virtual time has begun
					c.open.NotAfter = time.Now().Add(c.open.NotAfter.Sub(time.Unix(0, 0)))
				}
				_, err := d.Drain(c.open)
				require.NoError(t, err)
				time.Sleep(c.wait)
				_, planRefused, err := d.Plan(t.Context(), c.next)
				require.NoError(t, err)
				words, err := d.Drain(c.next)
				require.NoError(t, err)
				require.Equal(t, c.taken, words == "", words)
				require.Equal(t, c.taken, planRefused == "", planRefused)
				j, _ := d.Status()
				if c.taken {
					require.Equal(t, c.next.Claim, j.Claim)
				} else {
					require.Equal(t, c.open.Claim, j.Claim)
					require.Contains(t, words, "claim a is open")
				}
			})
		})
	}
}

func timed(claim string, epoch int64, limit time.Duration) Order {
	o := handoff(claim, epoch)
	o.NotAfter = time.Unix(0, 0).Add(limit)
	return o
}

func TestNothingIsWrittenPastNotAfter(t *testing.T) {
	var late atomic.Int32
	var limit time.Time
	engine := &agenttest.Engine{OnDrain: func(context.Context, engines.Order, []byte) (engines.Progress, error) {
		if time.Now().After(limit) {
			late.Add(1)
		}
		return engines.Progress{State: engines.ProgressRunning, Detail: "waiting"}, nil
	}, OnRestore: func([]byte) (engines.Progress, error) {
		panic("its coordinator decides about that")
	}}
	draining(t, engine, func(t *testing.T, d *Drainer) {
		limit = time.Now().Add(5 * time.Second)
		o := handoff("c", 1)
		o.NotAfter = limit
		_, err := d.Drain(o)
		require.NoError(t, err)
		time.Sleep(time.Minute)
		require.Equal(t, refused, d.state())
		j, _ := d.Status()
		require.Contains(t, j.Detail, "time for this order is over")
		require.Zero(t, late.Load())
	})
}

func TestRefusedIsTriedAgainLater(t *testing.T) {
	var calls atomic.Int32
	engine := &agenttest.Engine{OnDrain: func(context.Context, engines.Order, []byte) (engines.Progress, error) {
		if calls.Add(1) == 1 {
			return engines.Progress{State: engines.ProgressRefused, Detail: "no other node"}, nil
		}
		return engines.Progress{State: engines.ProgressDone}, nil
	}}
	draining(t, engine, func(t *testing.T, d *Drainer) {
		for _, c := range []struct {
			wait time.Duration
			want rollcallv1.Drain
		}{{0, refused}, {time.Second, refused}, {RetryRefused, prepared}} {
			time.Sleep(c.wait)
			_, err := d.Drain(handoff("c", 1))
			require.NoError(t, err)
			require.Equal(t, c.want, d.state())
		}
	})
}

func TestPlanOfAnOpenClaimAnswersItsUndo(t *testing.T) {
	var plans atomic.Int32
	engine := &agenttest.Engine{OnPlanDrain: func(engines.Order) ([]byte, error) { plans.Add(1); return []byte("later"), nil }}
	draining(t, engine, func(t *testing.T, d *Drainer) {
		_, err := d.Drain(handoff("c", 1))
		require.NoError(t, err)
		will, words, err := d.Plan(t.Context(), handoff("c", 1))
		require.NoError(t, err)
		require.Empty(t, words)
		require.Equal(t, "undo", string(will.Undo))
		require.Zero(t, plans.Load(), "the database already shows our own doing")
	})
}

func TestRestoreEndsItsClaimOnly(t *testing.T) {
	var undone []string
	fail := true
	engine := &agenttest.Engine{OnRestore: func(undo []byte) (engines.Progress, error) {
		undone = append(undone, string(undo))
		if fail {
			return engines.Progress{State: engines.ProgressRunning, Detail: "not yet"}, nil
		}
		return engines.Progress{State: engines.ProgressDone}, nil
	}}
	draining(t, engine, func(t *testing.T, d *Drainer) {
		_, err := d.Drain(handoff("mine", 1))
		require.NoError(t, err)
		require.Equal(t, prepared, d.state())

		_, err = d.Restore(t.Context(), "another pod's", 1, []byte("u"))
		require.NoError(t, err)
		require.Equal(t, prepared, d.state())

		p, err := d.Restore(t.Context(), "mine", 1, nil) // the agent still has the bytes
		require.NoError(t, err)
		require.Equal(t, engines.ProgressRunning, p.State)
		require.NotEqual(t, prepared, d.state(), "half undone is not drained")
		fail = false
		_, err = d.Restore(t.Context(), "mine", 1, []byte("given"))
		require.NoError(t, err)
		require.Equal(t, none, d.state())
		_, err = d.Restore(t.Context(), "mine", 1, []byte("given")) // once more
		require.NoError(t, err)
		require.Equal(t, []string{"u", "undo", "given", "given"}, undone)

		p, err = d.Restore(t.Context(), "empty", 1, nil)
		require.NoError(t, err)
		require.Equal(t, engines.ProgressDone, p.State)
	})
}

// TestDrainAfterAHalfRestore checks that a claim is drained again if the next coordinator orders it
// after a restore that did not finish.
func TestDrainAfterAHalfRestore(t *testing.T) {
	engine := &agenttest.Engine{OnRestore: func([]byte) (engines.Progress, error) { return engines.Progress{}, errors.New("down") }}
	draining(t, engine, func(t *testing.T, d *Drainer) {
		_, err := d.Drain(handoff("c", 1))
		require.NoError(t, err)
		require.Equal(t, prepared, d.state())
		_, err = d.Restore(t.Context(), "c", 1, nil)
		require.Error(t, err)
		require.Equal(t, preparing, d.state())
		words, err := d.Drain(handoff("c", 1))
		require.NoError(t, err)
		require.NotEmpty(t, words)
		_, err = d.Drain(handoff("c", 2))
		require.NoError(t, err)
		require.Equal(t, prepared, d.state())
	})
}

func TestTooMuchUndo(t *testing.T) {
	engine := &agenttest.Engine{OnPlanDrain: func(engines.Order) ([]byte, error) { return make([]byte, engines.MaxUndo+1), nil }}
	draining(t, engine, func(t *testing.T, d *Drainer) {
		_, _, err := d.Plan(t.Context(), handoff("c", 1))
		require.ErrorContains(t, err, "at most 4096")
	})
}

// TestRecheckContradictsNoReport checks that while the database has not answered yet whether a
// drain lasts, reports say what was true before; its answer is reported at once.
func TestRecheckContradictsNoReport(t *testing.T) {
	j := &Job{State: preparing, rechecks: true}
	require.Equal(t, prepared, j.reported())
	j.answered = true
	require.Equal(t, preparing, j.reported(), "it does not last")
	require.Equal(t, preparing, (&Job{State: preparing}).reported(), "it was never drained")
	require.Equal(t, refused, (&Job{State: refused, rechecks: true}).reported())
}

func slotOf(e engines.Engine) *probe.Slot {
	s := &probe.Slot{}
	_ = s.Set(e) // there is none to be closed
	return s
}
