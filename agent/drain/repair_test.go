package drain

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/agenttest"
	"github.com/rollcall-dev/rollcall/agent/probe"
	"github.com/rollcall-dev/rollcall/engines"
)

// repairWorld is a repair loop that gets a look as often as every says.
type repairWorld struct {
	*RepairLoop
	d     *Drainer
	texts []string

	mu      sync.Mutex
	allowed bool
	started []time.Time
	answer  func(ctx context.Context, n int) (engines.Progress, error)
}

func inRepairWorld(t *testing.T, every time.Duration, body func(t *testing.T, x *repairWorld)) {
	x := &repairWorld{allowed: true}
	x.answer = func(context.Context, int) (engines.Progress, error) {
		return engines.Progress{State: engines.ProgressDone}, nil
	}
	var writers atomic.Int32
	alone := func() func() {
		if writers.Add(1) != 1 {
			panic("two writers")
		}
		return func() { writers.Add(-1) }
	}
	engine := &agenttest.Peered{
		Engine: agenttest.Engine{
			OnDrain: func(ctx context.Context, _ engines.Order, _ []byte) (engines.Progress, error) {
				defer alone()()
				time.Sleep(3 * time.Second)
				return engines.Progress{State: engines.ProgressDone}, nil
			},
			OnRestore: func([]byte) (engines.Progress, error) {
				defer alone()()
				return engines.Progress{State: engines.ProgressDone}, nil
			},
		},
		OnStep: func(context.Context, engines.Step) ([]byte, error) { defer alone()(); return nil, nil },
		OnRepair: func(ctx context.Context) (engines.Progress, error) {
			defer alone()()
			x.mu.Lock()
			x.started = append(x.started, time.Now())
			n, answer := len(x.started), x.answer
			x.mu.Unlock()
			return answer(ctx, n)
		},
	}
	draining(t, engine, func(t *testing.T, d *Drainer) {
		x.d = d
		x.RepairLoop = NewRepairLoop(RepairOptions{
			Drainer: d, Allowed: func() bool { x.mu.Lock(); defer x.mu.Unlock(); return x.allowed },
			OnChange: func(text string) { x.texts = append(x.texts, text) }, Rounds: NewRepairMetrics(prometheus.NewRegistry()),
			Logger: slog.New(slog.DiscardHandler),
		})
		ctx, cancel := context.WithCancel(t.Context())
		var tasks sync.WaitGroup
		tasks.Go(func() { x.Run(ctx) })
		tasks.Go(func() {
			for s := (probe.Result{}); ctx.Err() == nil; {
				s = s.Follow(time.Now(), engines.Observation{Member: engines.MembershipLive}, nil)
				x.OnResult(s)
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

func (x *repairWorld) rounds() int {
	synctest.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.started)
}

func (x *repairWorld) counted(result string) int {
	return int(testutil.ToFloat64(x.RepairLoop.Rounds.WithLabelValues(result)))
}

func TestRepairsAfterProbes(t *testing.T) {
	for every, want := range map[time.Duration]int{10 * time.Millisecond: 10, time.Second: 10, 5 * time.Second: 2} {
		inRepairWorld(t, every, func(t *testing.T, x *repairWorld) {
			time.Sleep(10*time.Second - time.Millisecond)
			require.Equal(t, want, x.rounds(), every)
			require.Equal(t, want, x.counted(repairDone))
			for i := 1; i < want; i++ {
				require.GreaterOrEqual(t, x.started[i].Sub(x.started[i-1]), repairInterval)
			}
			require.Empty(t, x.texts, "nothing is owed")
			x.OnResult(probe.Result{Sequence: 1, Err: errors.New("no answer")})
		})
	}
}

func TestRepairsOnlyWhenAllowed(t *testing.T) {
	inRepairWorld(t, time.Second, func(t *testing.T, x *repairWorld) {
		x.mu.Lock()
		x.allowed = false
		x.mu.Unlock()
		before := x.rounds()
		time.Sleep(time.Minute)
		require.Equal(t, before, x.rounds())
	})
}

// TestNeverRepairsDuringAJob checks that nothing is repaired from the beginning of a job until its
// claim is restored.
func TestNeverRepairsDuringAJob(t *testing.T) {
	for _, claim := range []string{"c", ""} { // a claim, the stop hook's own
		inRepairWorld(t, time.Second, func(t *testing.T, x *repairWorld) {
			time.Sleep(5 * time.Second)
			_, err := x.d.Drain(handoff(claim, 1))
			require.NoError(t, err)
			before := x.rounds()
			time.Sleep(time.Second)
			require.Equal(t, preparing, x.d.state())
			time.Sleep(time.Minute)
			require.Equal(t, prepared, x.d.state())
			require.Equal(t, before, x.rounds())
			if claim == "" {
				x.d.DropOwn()
			} else {
				_, err = x.d.Restore(t.Context(), claim, 1, nil)
				require.NoError(t, err)
			}
			time.Sleep(5 * time.Second)
			require.Greater(t, x.rounds(), before)
		})
	}
}

// TestRepairGivesWay checks that other writers do not wait for a repair.
func TestRepairGivesWay(t *testing.T) {
	inRepairWorld(t, time.Second, func(t *testing.T, x *repairWorld) {
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
			"step":    func() error { _, err := x.d.Step(t.Context(), engines.Step{Name: "follow"}); return err },
			"plan":    func() error { _, _, err := x.d.Plan(t.Context(), handoff("p", 1)); return err },
			"restore": func() error { _, err := x.d.Restore(t.Context(), "other", 1, []byte("u")); return err },
			"apply":   func() error { _, err := x.d.Drain(handoff("c", 2)); return err },
		} {
			for !inside.Load() {
				time.Sleep(100 * time.Millisecond)
			}
			start := time.Now()
			require.NoError(t, write(), name)
			require.Zero(t, time.Since(start), name)
			if name == "apply" {
				time.Sleep(5 * time.Second)
				_, err := x.d.Restore(t.Context(), "c", 2, nil)
				require.NoError(t, err)
			}
		}
		synctest.Wait()
		require.Equal(t, 4, x.counted(repairInterrupted))
		require.Zero(t, x.counted(repairFailed))
		require.Empty(t, x.texts, "that is no news")
	})
}

func TestRepairIsBoundedAndReported(t *testing.T) {
	inRepairWorld(t, time.Second, func(t *testing.T, x *repairWorld) {
		x.mu.Lock()
		x.answer = func(ctx context.Context, n int) (engines.Progress, error) {
			switch n {
			case 1, 2:
				return engines.Progress{State: engines.ProgressRunning, Detail: "waits\nfor b"}, nil
			case 3:
				return engines.Progress{State: engines.ProgressRefused, Detail: "errant"}, nil
			case 4:
				return engines.Progress{}, errors.New("no way")
			case 5:
				<-ctx.Done()
				return engines.Progress{}, ctx.Err()
			}
			return engines.Progress{State: engines.ProgressDone}, nil
		}
		x.started = nil
		x.mu.Unlock()
		time.Sleep(repairTimeout + 10*time.Second)
		require.Greater(t, x.rounds(), 5)
		require.Equal(t, []string{"waits for b", "refused: errant", "failed: no way", "failed: context deadline exceeded", ""}, x.texts)
		require.Equal(t, repairTimeout, x.started[5].Sub(x.started[4]))
		require.Equal(t, []int{2, 1, 2}, []int{x.counted(repairRunning), x.counted(repairRefused), x.counted(repairFailed)})
	})
}

// TestStepsOfPeers checks that a step waits only for a short time, and that a step that has begun
// is finished even if the caller no longer waits.
func TestStepsOfPeers(t *testing.T) {
	var taken atomic.Int32
	engine := &agenttest.Peered{OnStep: func(ctx context.Context, s engines.Step) ([]byte, error) {
		deadline, ok := ctx.Deadline()
		require.True(t, ok)
		require.LessOrEqual(t, time.Until(deadline), stepTimeout)
		select {
		case <-time.After(3 * time.Second):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		taken.Add(1)
		return []byte("ok"), nil
	}}
	draining(t, engine, func(t *testing.T, d *Drainer) {
		body, err := d.Step(t.Context(), engines.Step{Name: "a"})
		require.NoError(t, err)
		require.Equal(t, "ok", string(body))

		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		_, err = d.Step(ctx, engines.Step{Name: "b"})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		start := time.Now()
		_, err = d.Step(t.Context(), engines.Step{Name: "c", NotAfter: start.Add(time.Second)})
		require.ErrorIs(t, err, engines.ErrTooLate, "its turn came too late")
		require.Equal(t, 1500*time.Millisecond, time.Since(start))
		require.EqualValues(t, 2, taken.Load())

		d.busy <- struct{}{}
		_, err = d.Step(t.Context(), engines.Step{Name: "d"})
		require.ErrorIs(t, err, ErrBusy)
		require.Equal(t, 1500*time.Millisecond+stepWait, time.Since(start))
		d.release()
	})
}
