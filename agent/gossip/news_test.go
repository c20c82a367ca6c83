package gossip

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestNewsMissesNobodyInASmallRing checks that each of nine members tells all others, mostly at
// once. (A probe that carries the news before counts as one of its resends, so not always.) With
// six resends, it was chance who heard it.
func TestNewsMissesNobodyInASmallRing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size, news = 9, 20
		r := newRing(t, newNetwork(3))
		defer r.stop()
		for i := range size {
			r.add(i)
		}
		until(t, 20*time.Second, "all see all", r.whole())
		time.Sleep(30 * time.Second) // until the news of the start has been sent
		first := 0
		for i := range news {
			knows := r.members[i%size].tells()
			if until(t, 5*time.Second, "all know", r.everybody(knows)) <= gossipInterval+10*r.network.latency {
				first++
			}
			time.Sleep(3 * time.Second)
		}
		t.Logf("%d of %d within one interval", first, news)
		require.GreaterOrEqual(t, first, news/4)
	})
}
