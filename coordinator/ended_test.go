package coordinator

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
)

// However slow the API server is, nothing that a leader has begun outlives its term.
func TestAllHasEndedWhenLeadReturns(t *testing.T) {
	for term := 20 * time.Second; term < 60*time.Second; term += 1700 * time.Millisecond {
		inWorld(t, func(t *testing.T, w *world) {
			var inFlight atomic.Int32
			w.hangs = func(kubetest.Call) bool {
				inFlight.Add(1)
				defer inFlight.Add(-1)
				time.Sleep(2 * time.Second)
				return false
			}
			db := w.add("search", 3)
			p := w.start()
			time.Sleep(15 * time.Second)
			db.roll("v2")
			time.Sleep(term - 15*time.Second)
			p.end()
			require.Zero(t, inFlight.Load(), "after %s", term)
			writes := p.total()
			time.Sleep(time.Hour)
			require.Equal(t, writes, p.total(), "after %s", term)
		})
	}
}
