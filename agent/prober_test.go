package agent

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// probing runs a prober in virtual time, each look of which takes that long.
func probing(t *testing.T, interval, takes time.Duration, body func(t *testing.T, p *prober, seen func() []sighting)) {
	synctest.Test(t, func(t *testing.T) {
		var (
			mu    sync.Mutex
			all   []sighting
			inUse int
		)
		engine := &fakeEngine{observe: func(ctx context.Context) (engines.Observation, error) {
			mu.Lock()
			inUse++
			require.Equal(t, 1, inUse, "looks never overlap")
			mu.Unlock()
			defer func() { mu.Lock(); inUse--; mu.Unlock() }()
			select {
			case <-time.After(takes):
				return engines.Observation{Node: "n", Member: engines.Live}, nil
			case <-ctx.Done():
				return engines.Observation{}, ctx.Err()
			}
		}}
		p := newProber(slotOf(engine), interval, 10*time.Second, testMetrics(), func(s sighting) {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, s)
		})
		ctx, cancel := context.WithCancel(t.Context())
		var tasks sync.WaitGroup
		tasks.Go(func() { p.run(ctx) })
		body(t, p, func() []sighting { mu.Lock(); defer mu.Unlock(); return append([]sighting(nil), all...) })
		cancel()
		tasks.Wait()
	})
}

func TestLooksAtEveryInterval(t *testing.T) {
	probing(t, time.Second, 100*time.Millisecond, func(t *testing.T, p *prober, seen func() []sighting) {
		time.Sleep(10 * time.Second)
		synctest.Wait()
		got := seen()
		require.Len(t, got, 10)
		for i := 1; i < len(got); i++ {
			require.Equal(t, time.Second, got[i].started.Sub(got[i-1].started))
			require.Equal(t, got[i-1].sequence+1, got[i].sequence)
		}
	})
}

func TestFreshStartsAfterTheRequest(t *testing.T) {
	probing(t, time.Hour, 400*time.Millisecond, func(t *testing.T, p *prober, seen func() []sighting) {
		time.Sleep(200 * time.Millisecond) // in the middle of the first look
		asked := time.Now()
		var tasks sync.WaitGroup
		for range 20 {
			tasks.Go(func() {
				s, err := p.fresh(t.Context())
				require.NoError(t, err)
				require.False(t, s.started.Before(asked))
				require.EqualValues(t, 2, s.sequence, "all of them share one look")
			})
		}
		tasks.Wait()
		require.Equal(t, 600*time.Millisecond, time.Since(asked))
		require.Len(t, seen(), 2)
	})
}

func TestFreshRequestsAreNoLoad(t *testing.T) {
	probing(t, time.Hour, 0, func(t *testing.T, p *prober, seen func() []sighting) {
		for start := time.Now(); time.Since(start) < 5*time.Second; {
			_, err := p.fresh(t.Context())
			require.NoError(t, err)
		}
		require.LessOrEqual(t, len(seen()), int(5*time.Second/minGap)+2)
	})
}

func TestHungDatabase(t *testing.T) {
	probing(t, time.Second, time.Hour, func(t *testing.T, p *prober, seen func() []sighting) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := p.fresh(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		got := seen()
		require.Len(t, got, 3, "each look ends at its timeout")
		require.ErrorIs(t, got[0].err, context.DeadlineExceeded)
	})
}

func TestUnconfiguredProberSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last sighting
		ctx, cancel := context.WithCancel(t.Context())
		p := newProber(&slot{}, time.Second, time.Second, testMetrics(), func(s sighting) { last = s })
		var tasks sync.WaitGroup
		tasks.Go(func() { p.run(ctx) })
		_, err := p.fresh(t.Context())
		require.NoError(t, err)
		require.ErrorIs(t, last.err, errNoEngine)
		cancel()
		tasks.Wait()
	})
}

// TestALookThatLearnsNothingHasFailed: a database that answers, and not what it is asked,
// raises the same alert as one that does not answer.
func TestALookThatLearnsNothingHasFailed(t *testing.T) {
	for name, observe := range map[string]func(context.Context) (engines.Observation, error){
		"an error": func(context.Context) (engines.Observation, error) {
			return engines.Observation{}, errors.New("no answer")
		},
		"odd answers": func(context.Context) (engines.Observation, error) { return engines.Observation{Node: "n"}, nil },
		"not a member": func(context.Context) (engines.Observation, error) {
			return engines.Observation{Member: engines.NotLive}, nil
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := testMetrics()
			p := newProber(slotOf(&fakeEngine{observe: observe}), time.Second, time.Second, m, func(sighting) {})
			ctx, cancel := context.WithCancel(t.Context())
			var tasks sync.WaitGroup
			tasks.Go(func() { p.run(ctx) })
			time.Sleep(10*time.Second + time.Millisecond)
			cancel()
			tasks.Wait()
			result, other := resultFailed, resultOK
			if name == "not a member" {
				result, other = resultOK, resultFailed
			}
			require.Greater(t, testutil.ToFloat64(m.probes.WithLabelValues(result)), 5.0, name)
			require.Zero(t, testutil.ToFloat64(m.probes.WithLabelValues(other)), name)
		})
	}
}

func TestSightingsFollow(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	live := engines.Observation{Node: "n1", Member: engines.Live}
	settled := engines.Observation{Node: "n1", Member: engines.Live, Settled: true}
	away := engines.Observation{Member: engines.NotLive}
	lying := engines.Observation{Member: engines.NotLive, Settled: true}
	for name, c := range map[string]struct {
		looks             []any // an observation or an error, one a second
		notLive, settledS int   // seconds since start, -1 = zero
		node              string
	}{
		"first settled counts":       {[]any{live, settled, settled, settled}, -1, 1, "n1"},
		"a break starts anew":        {[]any{settled, live, settled}, -1, 2, "n1"},
		"unknown interrupts settled": {[]any{settled, errors.New("x"), settled}, -1, 2, "n1"},
		"away since":                 {[]any{settled, away, away}, 1, -1, "n1"},
		"unknown interrupts away":    {[]any{away, errors.New("x"), away}, 2, -1, ""},
		"an error is nothing":        {[]any{settled, errors.New("x")}, -1, -1, "n1"},
		"settled means live":         {[]any{lying}, 0, -1, ""},
	} {
		var s sighting
		for i, look := range c.looks {
			if err, ok := look.(error); ok {
				s = s.follow(at(i), engines.Observation{}, err)
			} else {
				s = s.follow(at(i), look.(engines.Observation), nil)
			}
		}
		require.EqualValues(t, len(c.looks), s.sequence, name)
		require.Equal(t, c.node, s.node, name)
		for want, got := range map[int]time.Time{c.notLive: s.notLiveSince, c.settledS: s.settledSince} {
			if c.notLive == c.settledS {
				require.Zero(t, s.notLiveSince, name)
				require.Zero(t, s.settledSince, name)
			} else if want < 0 {
				require.True(t, got.IsZero(), name)
			} else {
				require.Equal(t, at(want), got, name)
			}
		}
	}
}

// How long a member has not been live is evidence of a failure, so a blip, an unknown
// or a time in which nobody looked must never count.
func TestNotLiveHasNoGaps(t *testing.T) {
	const away, live, unknown, silent = engines.NotLive, engines.Live, engines.MembershipUnknown, engines.Membership(99)
	for name, c := range map[string]struct {
		looks []engines.Membership // one a second
		pause int                  // the look after which the process is stopped for two minutes
		want  time.Duration        // as of the last look
	}{
		"from the first look on":      {[]engines.Membership{away, away, away}, 0, 2 * time.Second},
		"one look is no time":         {[]engines.Membership{away}, 0, 0},
		"live begins anew":            {[]engines.Membership{away, away, live, away, away}, 0, time.Second},
		"unknown begins anew":         {[]engines.Membership{away, away, unknown, away, away}, 0, time.Second},
		"an error begins anew":        {[]engines.Membership{away, away, silent, away, away}, 0, time.Second},
		"nobody looked for long":      {[]engines.Membership{away, away, away, away}, 2, time.Second},
		"not away at the last look":   {[]engines.Membership{away, away, unknown}, 0, -1},
		"stopped in the midst of one": {[]engines.Membership{away, away, away}, 3, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				var last sighting
				n := 0
				engine := &fakeEngine{observe: func(ctx context.Context) (engines.Observation, error) {
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
				p := newProber(slotOf(engine), time.Second, 5*time.Second, testMetrics(), func(s sighting) {
					if last = s; n == len(c.looks) {
						cancel()
					}
				})
				p.run(ctx)
				later := time.Now().Add(time.Hour) // when somebody asks for it
				v := &view{identity: identity, sighting: last}
				got := v.report(later, false).GetNotLive()
				if c.want < 0 {
					require.Nil(t, got)
					return
				}
				require.NotNil(t, got)
				require.Equal(t, c.want, got.AsDuration())

				// Another agent of the same pod knows nothing of it.
				ctx, cancel = context.WithCancel(t.Context())
				first := newProber(slotOf(&fakeEngine{observe: func(context.Context) (engines.Observation, error) {
					return engines.Observation{Member: away}, nil
				}}), time.Second, 5*time.Second, testMetrics(), func(s sighting) { last = s; cancel() })
				first.run(ctx)
				v = &view{identity: identity, sighting: last}
				require.Zero(t, v.report(later, false).GetNotLive().AsDuration())
			})
		})
	}
}
