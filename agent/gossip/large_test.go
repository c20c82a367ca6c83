package gossip

import (
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// TestTwoHundred prints how fast news travels among 200 real members; all times
// are virtual. It takes a while, so it runs where benchmarks do.
func TestTwoHundred(t *testing.T) {
	if os.Getenv("ROLLCALL_BENCH") == "" {
		t.Skip("set ROLLCALL_BENCH=1")
	}
	const size = 200
	for _, loss := range []float64{0, 0.1} {
		synctest.Test(t, func(t *testing.T) {
			n := newNetwork(11)
			n.loss = loss
			r := newRing(t, n)
			defer r.stop()
			for i := range size {
				r.add(i)
			}
			cold := until(t, time.Minute, "all see all", r.everybody(func(m *member) bool { return m.alive() == size }))
			time.Sleep(time.Minute)
			before := n.bytes.Load()
			const span = 2 * time.Minute
			time.Sleep(span)
			idle := float64(n.bytes.Load()-before) / span.Seconds() / size

			var most, all []time.Duration
			for i := range 3 {
				r.members[i*17].say(func(h *rollcallv1.Headline) { h.Member = rollcallv1.Membership_MEMBERSHIP_NOT_LIVE })
				name := r.members[i*17].delegate.self
				knows := func(m *member) bool {
					m.table.mu.Lock()
					defer m.table.mu.Unlock()
					return m.table.entries[name].Headline.Member == rollcallv1.Membership_MEMBERSHIP_NOT_LIVE
				}
				start := time.Now()
				until(t, 10*time.Second, "99 % know", func() bool { return r.count(knows) >= size*99/100 })
				most = append(most, time.Since(start))
				until(t, 10*time.Second, "all know", func() bool { return r.count(knows) == size })
				all = append(all, time.Since(start))
				time.Sleep(5 * time.Second)
			}
			t.Logf("%d members, loss %v: cold start %v; bad news to 99 %% / all, worst of 3: %v / %v; idle %.0f bytes/s each",
				size, loss, cold, slices.Max(most), slices.Max(all), idle)
			require.LessOrEqual(t, cold, 20*time.Second)
		})
	}
}
