package probe

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/agenttest"
	"github.com/rollcall-dev/rollcall/engines"
)

// The coordinator waits 10 s for a fresh look. One of a slow database takes most of that,
// and another is under way most of the time.
func TestFreshLookAtASlowDatabase(t *testing.T) {
	for _, takes := range []time.Duration{2 * time.Second, 6 * time.Second, 8 * time.Second, 9400 * time.Millisecond} {
		probing(t, 2*time.Second, takes, func(t *testing.T, p *Prober, seen func() []Result) {
			for i := range 100 {
				time.Sleep(time.Duration(i*377%8000) * time.Millisecond)
				asked := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				look, err := p.Fresh(ctx)
				cancel()
				require.NoError(t, err, "a look of %s, asked for the %d. time", takes, i)
				require.False(t, look.Started.Before(asked))
			}
			for _, look := range seen() {
				require.True(t, look.Live(), "one that was broken off tells nothing")
			}
		})
	}
}

// Requests that come all the time must not keep each other, or the reports, from any look.
func TestAskedLooksAreNotBrokenOff(t *testing.T) {
	probing(t, 2*time.Second, 4*time.Second, func(t *testing.T, p *Prober, seen func() []Result) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var tasks sync.WaitGroup
		for i := range 10 {
			tasks.Go(func() {
				for time.Sleep(time.Duration(i) * 317 * time.Millisecond); ctx.Err() == nil; time.Sleep(time.Second) {
					bounded, stop := context.WithTimeout(ctx, 10*time.Second)
					_, err := p.Fresh(bounded)
					require.True(t, err == nil || ctx.Err() != nil)
					stop()
				}
			})
		}
		tasks.Wait()
		require.GreaterOrEqual(t, len(seen()), 13, "one look after the other")
	})
}

// How long a member has not been live, or has been settled, does not begin again because somebody
// asks; and what was not looked at is no evidence of a failure.
func TestDurationsOfASlowDatabase(t *testing.T) {
	for _, c := range []struct {
		seen engines.Observation
		asks int // looks that were broken off for it
	}{
		{engines.Observation{Member: engines.MembershipNotLive}, 0},
		{engines.Observation{Member: engines.MembershipLive, Settled: true}, 4},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			brokenOff := 0
			engine := &agenttest.Engine{OnObserve: func(ctx context.Context) (engines.Observation, error) {
				select {
				case <-time.After(8 * time.Second):
				case <-ctx.Done():
					brokenOff++
					// An adapter may take a connection that was broken off for a database that is
					// unavailable.
					return engines.Observation{Member: engines.MembershipNotLive}, nil
				}
				return c.seen, nil
			}}
			var first, last Result
			p := newTestProber(slotOf(engine), 2*time.Second, 10*time.Second, func(s Result) {
				if first.Sequence == 0 {
					first = s
				}
				last = s
			})
			var tasks sync.WaitGroup
			tasks.Go(func() { p.Run(ctx) })
			time.Sleep(4 * time.Second)
			for range 4 {
				time.Sleep(7 * time.Second)
				_, err := p.Fresh(ctx)
				require.NoError(t, err)
			}
			require.Equal(t, c.asks, brokenOff)
			require.Equal(t, c.seen, last.Observation)
			since := last.NotLiveSince
			if c.seen.Settled {
				since = last.settledSince
			}
			require.Equal(t, first.Started, since)
			cancel()
			tasks.Wait()
		})
	}
}
