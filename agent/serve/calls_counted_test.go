package serve

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/door"
	"github.com/rollcall-dev/rollcall/agent/stophook"
)

// onNode tells callers of a pod on the node 192.0.2.7 apart.
func onNode(named ...netip.Prefix) stophook.Origins {
	return stophook.NewOrigins(config.Identity{NodeIPs: []netip.Addr{netip.MustParseAddr("192.0.2.7")}}, func() []netip.Prefix { return named })
}

func TestStopCallsAreCounted(t *testing.T) {
	m := stophook.NewMetrics(prometheus.NewRegistry())
	result := stophook.CallTaken
	var log strings.Builder
	site := func(o stophook.Origins) http.Handler {
		return (&Web{
			Token: "token", Origins: o, Calls: m.Calls, Quiet: door.NewQuiet(), Gatherer: prometheus.NewRegistry(),
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Hook:   func(context.Context, string) stophook.Answer { return stophook.Answer{Result: result, Line: "line"} },
		}).Server("").Handler
	}
	call := func(h http.Handler, from, token string) (int, string) {
		r := httptest.NewRequest(http.MethodGet, config.StopPath, nil)
		r.RemoteAddr = from
		r.Header.Set(config.StopHeader, token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	counted := func(from, result string) int {
		return int(testutil.ToFloat64(m.Calls.WithLabelValues(from, result)))
	}

	open := site(onNode())
	for range 50 {
		code, _ := call(open, "192.0.2.9:1", "wrong")
		require.Equal(t, http.StatusForbidden, code)
	}
	require.Equal(t, 50, counted(stophook.FromElsewhere, stophook.CallToken))
	require.Equal(t, 1, strings.Count(log.String(), "stop hook refused"))
	code, _ := call(open, "192.0.2.9:1", "token")
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, 1, counted(stophook.FromElsewhere, stophook.CallTaken))
	require.Contains(t, log.String(), "not known to be the node's, and taken all the same")
	require.Contains(t, log.String(), "address=192.0.2.9:1")
	code, _ = call(open, "192.0.2.7:1", "token")
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, 1, counted(stophook.FromNode, stophook.CallTaken))
	result = stophook.CallHeld
	code, _ = call(open, "192.0.2.7:1", "token")
	require.Equal(t, http.StatusOK, code, "a hook that fails would only be an Event")
	require.Equal(t, 1, counted(stophook.FromNode, stophook.CallHeld))

	code, body := call(site(onNode(netip.MustParsePrefix("10.9.0.0/16"))), "192.0.2.9:1", "token")
	require.Equal(t, http.StatusForbidden, code)
	require.Contains(t, body, "agent.stopHookCIDRs")
	require.Equal(t, 1, counted(stophook.FromElsewhere, stophook.CallAddress))
}
