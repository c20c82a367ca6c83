package opensearch

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

func TestFlushOncePerClaim(t *testing.T) {
	c := newFakeCluster(t, 3, "data", "cluster_manager")
	c.add("books/0", 1, 2)
	e := mustNew(t, testOptions(c.options(1)))
	for range 2 {
		do(t, e, handoffOf("c1"))
	}
	require.Equal(t, 1, c.asked("POST "+pathFlush))
	do(t, e, handoffOf("c2"))
	require.Equal(t, 2, c.asked("POST "+pathFlush))
	do(t, mustNew(t, testOptions(c.options(0))), handoffOf("c3"))
	require.Equal(t, 2, c.asked("POST "+pathFlush), "a node without copies has nothing to flush")
}

// The coordinator asks with each of its looks whether the handoff still stands, and
// waits for the answer for a few seconds only.
func TestSlowFlushIsPaidForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeCluster(t, 3, "data", "cluster_manager")
		c.add("books/0", 1, 2)
		served := c.servers[1].Handler
		c.servers[1].Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, pathFlush) {
				<-r.Context().Done()
				return
			}
			served.ServeHTTP(w, r)
		})
		e := mustNew(t, testOptions(c.options(1)))
		undo, err := e.PlanDrain(t.Context(), handoffOf("c1"))
		require.NoError(t, err)
		for _, most := range []time.Duration{flushTime, 0, 0} {
			asked := time.Now()
			p, err := e.Drain(t.Context(), handoffOf("c1"), undo)
			require.NoError(t, err)
			require.Equal(t, engines.ProgressDone, p.State)
			require.Contains(t, p.Detail, "flush failed", "it is said as long as the claim lasts")
			require.LessOrEqual(t, time.Since(asked), most+time.Second)
		}
	})
}
