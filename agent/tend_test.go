package agent

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// tending is a tender that is told of a look as often as every says.
type tending struct {
	*tender
	d     *drainer
	texts []string

	mu      sync.Mutex
	allowed bool
	started []time.Time
	answer  func(ctx context.Context, n int) (engines.Progress, error)
}

func tends(t *testing.T, every time.Duration, body func(t *testing.T, x *tending)) {
	x := &tending{allowed: true}
	x.answer = func(context.Context, int) (engines.Progress, error) {
		return engines.Progress{State: engines.Done}, nil
	}
	var writers atomic.Int32
	alone := func() func() {
		if writers.Add(1) != 1 {
			panic("two writers")
		}
		return func() { writers.Add(-1) }
	}
	engine := &fakePeered{
		fakeEngine: fakeEngine{
			apply: func(ctx context.Context, _ engines.Order, _ []byte) (engines.Progress, error) {
				defer alone()()
				time.Sleep(3 * time.Second)
				return engines.Progress{State: engines.Done}, nil
			},
			restore: func([]byte) (engines.Progress, error) {
				defer alone()()
				return engines.Progress{State: engines.Done}, nil
			},
		},
		step: func(context.Context, engines.Step) ([]byte, error) { defer alone()(); return nil, nil },
		tend: func(ctx context.Context) (engines.Progress, error) {
			defer alone()()
			x.mu.Lock()
			x.started = append(x.started, time.Now())
			n, answer := len(x.started), x.answer
			x.mu.Unlock()
			return answer(ctx, n)
		},
	}
	draining(t, engine, func(t *testing.T, d *drainer) {
		x.d = d
		x.tender = newTender(d, func() bool { x.mu.Lock(); defer x.mu.Unlock(); return x.allowed },
			func(text string) { x.texts = append(x.texts, text) }, testMetrics(), slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		var tasks sync.WaitGroup
		tasks.Go(func() { x.run(ctx) })
		tasks.Go(func() {
			for s := (sighting{}); ctx.Err() == nil; {
				s = s.follow(time.Now(), engines.Observation{Member: engines.Live}, nil)
				x.sighted(s)
				select {
				case <-ctx.Done():
				case <-time.After(every):
				}
			}
		})
		body(t, x)
		cancel()
		tasks.Wait()
	})
}

func (x *tending) rounds() int {
	synctest.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.started)
}

func (x *tending) counted(result string) int {
	return int(testutil.ToFloat64(x.metrics.tends.WithLabelValues(result)))
}

func TestTendsAfterLooks(t *testing.T) {
	for every, want := range map[time.Duration]int{10 * time.Millisecond: 10, time.Second: 10, 5 * time.Second: 2} {
		tends(t, every, func(t *testing.T, x *tending) {
			time.Sleep(10*time.Second - time.Millisecond)
			require.Equal(t, want, x.rounds(), every)
			require.Equal(t, want, x.counted(tendDone))
			for i := 1; i < want; i++ {
				require.GreaterOrEqual(t, x.started[i].Sub(x.started[i-1]), tendEvery)
			}
			require.Empty(t, x.texts, "nothing is owed")
			x.sighted(sighting{sequence: 1, err: errors.New("no answer")})
		})
	}
}

func TestTendsOnlyWhenItMay(t *testing.T) {
	tends(t, time.Second, func(t *testing.T, x *tending) {
		x.mu.Lock()
		x.allowed = false
		x.mu.Unlock()
		before := x.rounds()
		time.Sleep(time.Minute)
		require.Equal(t, before, x.rounds())
	})
}

// From the beginning of a job until its claim is restored nothing is tended.
func TestNeverTendsDuringAJob(t *testing.T) {
	for _, claim := range []string{"c", ""} { // a claim, the stop hook's own
		tends(t, time.Second, func(t *testing.T, x *tending) {
			time.Sleep(5 * time.Second)
			_, err := x.d.apply(handoff(claim, 1))
			require.NoError(t, err)
			before := x.rounds()
			time.Sleep(time.Second)
			require.Equal(t, preparing, x.d.state())
			time.Sleep(time.Minute)
			require.Equal(t, prepared, x.d.state())
			require.Equal(t, before, x.rounds())
			if claim == "" {
				x.d.drop()
			} else {
				_, err = x.d.restore(t.Context(), claim, 1, nil)
				require.NoError(t, err)
			}
			time.Sleep(5 * time.Second)
			require.Greater(t, x.rounds(), before)
		})
	}
}

// Whoever has to write does not wait for what is only tended.
func TestTendingGivesWay(t *testing.T) {
	tends(t, time.Second, func(t *testing.T, x *tending) {
		var inside atomic.Bool
		x.mu.Lock()
		x.answer = func(ctx context.Context, _ int) (engines.Progress, error) {
			inside.Store(true)
			<-ctx.Done() // as long as it may
			inside.Store(false)
			return engines.Progress{}, ctx.Err()
		}
		x.mu.Unlock()
		for name, write := range map[string]func() error{
			"step":    func() error { _, err := x.d.takeStep(t.Context(), engines.Step{Name: "follow"}); return err },
			"plan":    func() error { _, _, err := x.d.plan(t.Context(), handoff("p", 1)); return err },
			"restore": func() error { _, err := x.d.restore(t.Context(), "other", 1, []byte("u")); return err },
			"apply":   func() error { _, err := x.d.apply(handoff("c", 2)); return err },
		} {
			for !inside.Load() {
				time.Sleep(100 * time.Millisecond)
			}
			start := time.Now()
			require.NoError(t, write(), name)
			require.Zero(t, time.Since(start), name)
			if name == "apply" {
				time.Sleep(5 * time.Second)
				_, err := x.d.restore(t.Context(), "c", 2, nil)
				require.NoError(t, err)
			}
		}
		synctest.Wait()
		require.EqualValues(t, 4, x.counted(tendInterrupted))
		require.Zero(t, x.counted(tendFailed))
		require.Empty(t, x.texts, "that is no news")
	})
}

func TestTendingIsBoundedAndTold(t *testing.T) {
	tends(t, time.Second, func(t *testing.T, x *tending) {
		x.mu.Lock()
		x.answer = func(ctx context.Context, n int) (engines.Progress, error) {
			switch n {
			case 1, 2:
				return engines.Progress{State: engines.Running, Detail: "waits\nfor b"}, nil
			case 3:
				return engines.Progress{State: engines.Refused, Detail: "errant"}, nil
			case 4:
				return engines.Progress{}, errors.New("no way")
			case 5:
				<-ctx.Done()
				return engines.Progress{}, ctx.Err()
			}
			return engines.Progress{State: engines.Done}, nil
		}
		x.started = nil
		x.mu.Unlock()
		time.Sleep(tendTimeout + 10*time.Second)
		require.Greater(t, x.rounds(), 5)
		require.Equal(t, []string{"waits for b", "refused: errant", "failed: no way", "failed: context deadline exceeded", ""}, x.texts)
		require.Equal(t, tendTimeout, x.started[5].Sub(x.started[4]))
		require.Equal(t, []int{2, 1, 2}, []int{x.counted(tendRunning), x.counted(tendRefused), x.counted(tendFailed)})
	})
}

// A step waits for a short time only, and what has begun is ended though nobody
// waits for it any more.
func TestStepsOfPeers(t *testing.T) {
	var taken atomic.Int32
	engine := &fakePeered{step: func(ctx context.Context, s engines.Step) ([]byte, error) {
		deadline, ok := ctx.Deadline()
		require.True(t, ok)
		require.LessOrEqual(t, time.Until(deadline), peerTimeout)
		select {
		case <-time.After(3 * time.Second):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		taken.Add(1)
		return []byte("ok"), nil
	}}
	draining(t, engine, func(t *testing.T, d *drainer) {
		body, err := d.takeStep(t.Context(), engines.Step{Name: "a"})
		require.NoError(t, err)
		require.Equal(t, "ok", string(body))

		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		_, err = d.takeStep(ctx, engines.Step{Name: "b"})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		start := time.Now()
		_, err = d.takeStep(t.Context(), engines.Step{Name: "c", NotAfter: start.Add(time.Second)})
		require.ErrorIs(t, err, engines.ErrTooLate, "its turn came too late")
		require.Equal(t, 1500*time.Millisecond, time.Since(start))
		require.EqualValues(t, 2, taken.Load())

		d.busy <- struct{}{}
		_, err = d.takeStep(t.Context(), engines.Step{Name: "d"})
		require.ErrorIs(t, err, errBusy)
		require.Equal(t, 1500*time.Millisecond+stepWait, time.Since(start))
		d.release()
	})
}
