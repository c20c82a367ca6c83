package agent

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/door"
)

func addresses(texts ...string) (out []netip.Addr) {
	for _, text := range texts {
		out = append(out, netip.MustParseAddr(text))
	}
	return out
}

func prefixes(texts ...string) (out []netip.Prefix) {
	for _, text := range texts {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

// bridged is a pod with two families on a bridge, whose node has two addresses.
func bridged(named ...string) origins {
	o := newOrigins(config.Identity{NodeIPs: addresses("192.0.2.7", "2001:db8::7")}, func() []netip.Prefix { return prefixes(named...) })
	o.gateways = func() []netip.Addr { return addresses("10.244.1.1", "fe80::1") }
	return o
}

func TestWhereTheStopHookWasCalledFrom(t *testing.T) {
	o := bridged("10.9.0.0/16", "fd00:9::/32")
	for remote, want := range map[string]string{
		"192.0.2.7:1":          fromNode,
		"[::ffff:192.0.2.7]:1": fromNode,
		"[2001:db8::7]:1":      fromNode,
		"10.244.1.1:1":         fromGateway,
		"[fe80::1%eth0]:1":     fromGateway,
		"127.0.0.1:1":          fromPod,
		"[::1]:1":              fromPod,
		"127.0.0.6:1":          fromElsewhere, // Istio, for anybody
		"10.9.3.3:1":           fromNamed,
		"[fd00:9::3]:1":        fromNamed,
		"192.0.2.8:1":          fromElsewhere,
		"10.244.1.9:1":         fromElsewhere,
		"":                     fromElsewhere,
		"pipe":                 fromElsewhere,
	} {
		require.Equal(t, want, o.of(remote), remote)
	}
}

// TestUnknownAddressesAreTaken: no kubelet is refused for an address that only its
// network knows. Who names networks has the others refused, but by an agent that
// does not know its node's addresses.
func TestUnknownAddressesAreTaken(t *testing.T) {
	require.False(t, bridged().refuses(fromElsewhere))
	strict := bridged("10.9.0.0/16")
	require.True(t, strict.refuses(fromElsewhere))
	for _, from := range []string{fromNode, fromGateway, fromPod, fromNamed} {
		require.False(t, strict.refuses(from), from)
	}
	strict.node = nil
	require.False(t, strict.refuses(fromElsewhere))
}

func TestDefaultGateways(t *testing.T) {
	require.Equal(t, addresses("10.244.1.1"), gateways4(strings.NewReader(
		"Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"+
			"eth0\t00000000\t0101F40A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"+
			"eth0\t0000F40A\t0201F40A\t0003\t0\t0\t0\t0000FFFF\t0\t0\t0\n"+
			"eth1\t00000000\t0301F40A\t0001\t0\t0\t0\t00000000\t0\t0\t0\n"+
			"eth2\t00000000\tnothex\t0003\t0\t0\t0\t00000000\t0\t0\t0\nshort\n")))
	const none = "00000000000000000000000000000000"
	require.Equal(t, addresses("fe80::1"), gateways6(strings.NewReader(
		none+" 00 "+none+" 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth0\n"+
			none+" 00 "+none+" 00 "+none+" ffffffff 00000001 00000000 00200200       lo\n"+
			"fd000000000000000000000000000000 40 "+none+" 00 fe800000000000000000000000000002 00000100 00000001 00000000 00000003 eth0\nshort\n")))
	for _, a := range defaultGateways() {
		require.True(t, a.IsValid())
	}
}

// TestStopCallsAreCounted: each call of the hook is counted by where it came from and
// what was made of it, and one that is refused says why.
func TestStopCallsAreCounted(t *testing.T) {
	m := newMetrics(prometheus.NewRegistry(), "test", func() time.Duration { return 0 })
	result := callTaken
	var log strings.Builder
	site := func(o origins) http.Handler {
		return (&web{
			token: "token", origins: o, calls: m.stopCalls, quiet: door.NewQuiet(), gatherer: prometheus.NewRegistry(),
			logger: slog.New(slog.NewTextHandler(&log, nil)),
			hook:   func(context.Context, string) answer { return answer{result, "line"} },
		}).server("").Handler
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
		return int(testutil.ToFloat64(m.stopCalls.WithLabelValues(from, result)))
	}

	open := site(bridged())
	for range 50 {
		code, _ := call(open, "192.0.2.9:1", "wrong")
		require.Equal(t, http.StatusForbidden, code)
	}
	require.Equal(t, 50, counted(fromElsewhere, callToken))
	require.Equal(t, 1, strings.Count(log.String(), "stop hook refused"))
	code, _ := call(open, "192.0.2.9:1", "token")
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, 1, counted(fromElsewhere, callTaken))
	require.Contains(t, log.String(), "not known to be the node's, and taken all the same")
	require.Contains(t, log.String(), "address=192.0.2.9:1")
	code, _ = call(open, "192.0.2.7:1", "token")
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, 1, counted(fromNode, callTaken))
	result = callHeld
	code, _ = call(open, "192.0.2.7:1", "token")
	require.Equal(t, http.StatusOK, code, "a hook that fails would only be an Event")
	require.Equal(t, 1, counted(fromNode, callHeld))

	code, body := call(site(bridged("10.9.0.0/16")), "192.0.2.9:1", "token")
	require.Equal(t, http.StatusForbidden, code)
	require.Contains(t, body, "agent.stopHookCIDRs")
	require.Equal(t, 1, counted(fromElsewhere, callAddress))
}
