package mysql

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// TestAnotherManager checks that where another manager owns the topology, it is told once, and
// waited for; nothing is changed by us.
func TestAnotherManager(t *testing.T) {
	var calls atomic.Int64
	var call handoffCall
	manager := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_ = json.NewDecoder(r.Body).Decode(&call)
	}))
	defer manager.Close()
	w := newWorld(simSetup{flavor: replication.MySQL, members: 3}, false)
	e := w.agents[0].engine
	e.options.Failover = manager.URL + "/handoff"
	order := engines.Order{Kind: engines.Handoff, Claim: "c", Eligible: []string{"db-1"}, NotAfter: time.Now().Add(time.Minute)}
	undo, err := e.PlanDrain(t.Context(), order)
	require.NoError(t, err)
	keeps := func() engines.Writes {
		order := order
		order.KeepWrites = true
		p, err := e.Drain(t.Context(), order, undo)
		require.NoError(t, err)
		return p.Writes
	}
	require.Equal(t, engines.WritesReady, keeps())
	require.Zero(t, calls.Load())
	for i := range 4 {
		p, err := e.Drain(t.Context(), order, undo)
		require.NoError(t, err)
		require.Equal(t, engines.ProgressRunning, p.State)
		if i == 0 {
			require.Contains(t, p.Detail, "could not be told")
		} else {
			require.Contains(t, p.Detail, "waiting until the manager")
		}
	}
	require.Equal(t, engines.WritesKept, keeps())
	require.EqualValues(t, 2, calls.Load(), "told again after a failure, and only then")
	require.Equal(t, handoffCall{Claim: "c", From: "db-0", Eligible: []string{"db-1"}}, call)
	p, err := e.Repair(t.Context())
	require.NoError(t, err)
	require.Equal(t, engines.ProgressDone, p.State)
	require.Equal(t, replication.Allowed, w.list[0].writes)

	w.list[0].writes, w.list[0].source, w.list[0].threads = replication.RefusedBySQL, "db-1", true
	p, err = e.Drain(t.Context(), order, undo)
	require.NoError(t, err)
	require.Equal(t, engines.ProgressDone, p.State)
}

func TestHookURL(t *testing.T) {
	for _, bad := range []string{"Externally", "ftp://a", "http://", "https://user:secret@a/", "https://a\x00"} {
		_, err := hookURL(bad)
		require.Error(t, err, bad)
		require.NotContains(t, err.Error(), "secret")
	}
	_, err := hookURL("https://manager.example:8443/handoff?x=1")
	require.NoError(t, err)
}
