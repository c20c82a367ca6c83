package probe

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/agenttest"
	"github.com/rollcall-dev/rollcall/engines"
)

func newTestProber(s *Slot, interval, timeout time.Duration, seen func(Result)) *Prober {
	return NewProber(Options{Engine: s, Interval: interval, Timeout: timeout, Metrics: testProbeMetrics(), OnResult: seen})
}

// probing runs a prober in virtual time, each look of which takes that long.
func probing(t *testing.T, interval, takes time.Duration, body func(t *testing.T, p *Prober, seen func() []Result)) {
	synctest.Test(t, func(t *testing.T) {
		var (
			mu    sync.Mutex
			all   []Result
			inUse int
		)
		engine := &agenttest.Engine{OnObserve: func(ctx context.Context) (engines.Observation, error) {
			mu.Lock()
			inUse++
			require.Equal(t, 1, inUse, "looks never overlap")
			mu.Unlock()
			defer func() { mu.Lock(); inUse--; mu.Unlock() }()
			select {
			case <-time.After(takes):
				return engines.Observation{Node: "n", Member: engines.MembershipLive}, nil
			case <-ctx.Done():
				return engines.Observation{}, ctx.Err()
			}
		}}
		p := newTestProber(slotOf(engine), interval, 10*time.Second, func(s Result) {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, s)
		})
		ctx, cancel := context.WithCancel(t.Context())
		var tasks sync.WaitGroup
		tasks.Go(func() { p.Run(ctx) })
		body(t, p, func() []Result { mu.Lock(); defer mu.Unlock(); return append([]Result(nil), all...) })
		cancel()
		tasks.Wait()
	})
}

func TestLooksAtEveryInterval(t *testing.T) {
	probing(t, time.Second, 100*time.Millisecond, func(t *testing.T, p *Prober, seen func() []Result) {
		time.Sleep(10 * time.Second)
		synctest.Wait()
		got := seen()
		require.Len(t, got, 10)
		for i := 1; i < len(got); i++ {
			require.Equal(t, time.Second, got[i].Started.Sub(got[i-1].Started))
			require.Equal(t, got[i-1].Sequence+1, got[i].Sequence)
		}
	})
}

func TestFreshStartsAfterTheRequest(t *testing.T) {
	probing(t, time.Hour, 400*time.Millisecond, func(t *testing.T, p *Prober, seen func() []Result) {
		time.Sleep(200 * time.Millisecond) // in the middle of the first look
		asked := time.Now()
		var tasks sync.WaitGroup
		for range 20 {
			tasks.Go(func() {
				s, err := p.Fresh(t.Context())
				require.NoError(t, err)
				require.False(t, s.Started.Before(asked))
				require.EqualValues(t, 2, s.Sequence, "all of them share one look")
			})
		}
		tasks.Wait()
		require.Equal(t, 600*time.Millisecond, time.Since(asked))
		require.Len(t, seen(), 2)
	})
}

func TestFreshRequestsAreNoLoad(t *testing.T) {
	probing(t, time.Hour, 0, func(t *testing.T, p *Prober, seen func() []Result) {
		for start := time.Now(); time.Since(start) < 5*time.Second; {
			_, err := p.Fresh(t.Context())
			require.NoError(t, err)
		}
		require.LessOrEqual(t, len(seen()), int(5*time.Second/minGap)+2)
	})
}

func TestHungDatabase(t *testing.T) {
	probing(t, time.Second, time.Hour, func(t *testing.T, p *Prober, seen func() []Result) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := p.Fresh(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		got := seen()
		require.Len(t, got, 3, "each look ends at its timeout")
		require.ErrorIs(t, got[0].Err, context.DeadlineExceeded)
	})
}

func TestUnconfiguredProberSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last Result
		ctx, cancel := context.WithCancel(t.Context())
		p := newTestProber(&Slot{}, time.Second, time.Second, func(s Result) { last = s })
		var tasks sync.WaitGroup
		tasks.Go(func() { p.Run(ctx) })
		_, err := p.Fresh(t.Context())
		require.NoError(t, err)
		require.ErrorIs(t, last.Err, ErrNoEngine)
		cancel()
		tasks.Wait()
	})
}

// TestALookThatLearnsNothingHasFailed checks that a database that answers, and not what it is
// asked, raises the same alert as one that does not answer.
func TestALookThatLearnsNothingHasFailed(t *testing.T) {
	for name, observe := range map[string]func(context.Context) (engines.Observation, error){
		"an error": func(context.Context) (engines.Observation, error) {
			return engines.Observation{}, errors.New("no answer")
		},
		"odd answers": func(context.Context) (engines.Observation, error) { return engines.Observation{Node: "n"}, nil },
		"not a member": func(context.Context) (engines.Observation, error) {
			return engines.Observation{Member: engines.MembershipNotLive}, nil
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newTestProber(slotOf(&agenttest.Engine{OnObserve: observe}), time.Second, time.Second, func(Result) {})
			m := p.Metrics
			ctx, cancel := context.WithCancel(t.Context())
			var tasks sync.WaitGroup
			tasks.Go(func() { p.Run(ctx) })
			time.Sleep(10*time.Second + time.Millisecond)
			cancel()
			tasks.Wait()
			result, other := probeFailed, probeOK
			if name == "not a member" {
				result, other = probeOK, probeFailed
			}
			require.Greater(t, testutil.ToFloat64(m.probes.WithLabelValues(result)), 5.0, name)
			require.Zero(t, testutil.ToFloat64(m.probes.WithLabelValues(other)), name)
		})
	}
}

func TestSightingsFollow(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	live := engines.Observation{Node: "n1", Member: engines.MembershipLive}
	settled := engines.Observation{Node: "n1", Member: engines.MembershipLive, Settled: true}
	away := engines.Observation{Member: engines.MembershipNotLive}
	lying := engines.Observation{Member: engines.MembershipNotLive, Settled: true}
	for name, c := range map[string]struct {
		looks             []any // an observation or an error, one a second
		notLive, settledS int   // seconds since start, -1 = zero
		node              string
	}{
		"first settled counts":           {[]any{live, settled, settled, settled}, -1, 1, "n1"},
		"a break starts again":           {[]any{settled, live, settled}, -1, 2, "n1"},
		"unknown interrupts settled":     {[]any{settled, errors.New("x"), settled}, -1, 2, "n1"},
		"unavailable since":              {[]any{settled, away, away}, 1, -1, "n1"},
		"unknown interrupts unavailable": {[]any{away, errors.New("x"), away}, 2, -1, ""},
		"an error is nothing":            {[]any{settled, errors.New("x")}, -1, -1, "n1"},
		"settled means live":             {[]any{lying}, 0, -1, ""},
	} {
		var s Result
		for i, look := range c.looks {
			if err, ok := look.(error); ok {
				s = s.Follow(at(i), engines.Observation{}, err)
			} else {
				s = s.Follow(at(i), look.(engines.Observation), nil)
			}
		}
		require.EqualValues(t, len(c.looks), s.Sequence, name)
		require.Equal(t, c.node, s.Node, name)
		for want, got := range map[int]time.Time{c.notLive: s.NotLiveSince, c.settledS: s.settledSince} {
			if c.notLive == c.settledS {
				require.Zero(t, s.NotLiveSince, name)
				require.Zero(t, s.settledSince, name)
			} else if want < 0 {
				require.True(t, got.IsZero(), name)
			} else {
				require.Equal(t, at(want), got, name)
			}
		}
	}
}

// TestNotLiveHasNoGaps checks that a blip, an unknown or a time without probes never counts as not
// live, because that duration is evidence of a failure.
func TestNotLiveHasNoGaps(t *testing.T) {
	const away, live, unknown, silent = engines.MembershipNotLive, engines.MembershipLive, engines.MembershipUnknown, engines.Membership(99)
	for name, c := range map[string]struct {
		looks []engines.Membership // one a second
		pause int                  // the look after which the process is stopped for two minutes
		want  time.Duration        // as of the last look
	}{
		"from the first look on":           {[]engines.Membership{away, away, away}, 0, 2 * time.Second},
		"one look is no time":              {[]engines.Membership{away}, 0, 0},
		"live begins again":                {[]engines.Membership{away, away, live, away, away}, 0, time.Second},
		"unknown begins again":             {[]engines.Membership{away, away, unknown, away, away}, 0, time.Second},
		"an error begins again":            {[]engines.Membership{away, away, silent, away, away}, 0, time.Second},
		"nobody looked for long":           {[]engines.Membership{away, away, away, away}, 2, time.Second},
		"not unavailable at the last look": {[]engines.Membership{away, away, unknown}, 0, -1},
		"stopped in the midst of one":      {[]engines.Membership{away, away, away}, 3, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				var last Result
				n := 0
				engine := &agenttest.Engine{OnObserve: func(ctx context.Context) (engines.Observation, error) {
					if n == len(c.looks) {
						<-ctx.Done()
						return engines.Observation{}, ctx.Err()
					}
					member := c.looks[n]
					if n++; n == c.pause {
						time.Sleep(2 * time.Minute) // its deadline has passed by the time it answers
					}
					if member == silent {
						return engines.Observation{}, errors.New("no answer")
					}
					return engines.Observation{Member: member}, nil
				}}
				p := newTestProber(slotOf(engine), time.Second, 5*time.Second, func(s Result) {
					if last = s; n == len(c.looks) {
						cancel()
					}
				})
				p.Run(ctx)
				later := time.Now().Add(time.Hour) // when somebody asks for it
				v := &Snapshot{Identity: identity, Result: last}
				got := v.Report(later, false).GetNotLive()
				if c.want < 0 {
					require.Nil(t, got)
					return
				}
				require.NotNil(t, got)
				require.Equal(t, c.want, got.AsDuration())

				// Another agent of the same pod does not know it.
				ctx, cancel = context.WithCancel(t.Context())
				first := newTestProber(slotOf(&agenttest.Engine{OnObserve: func(context.Context) (engines.Observation, error) {
					return engines.Observation{Member: away}, nil
				}}), time.Second, 5*time.Second, func(s Result) { last = s; cancel() })
				first.Run(ctx)
				v = &Snapshot{Identity: identity, Result: last}
				require.Zero(t, v.Report(later, false).GetNotLive().AsDuration())
			})
		})
	}
}
