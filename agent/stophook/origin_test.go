package stophook

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/config"
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
func bridged(named ...string) Origins {
	o := NewOrigins(config.Identity{NodeIPs: addresses("192.0.2.7", "2001:db8::7")}, func() []netip.Prefix { return prefixes(named...) })
	o.gateways = func() []netip.Addr { return addresses("10.244.1.1", "fe80::1") }
	return o
}

func TestWhereTheStopHookWasCalledFrom(t *testing.T) {
	o := bridged("10.9.0.0/16", "fd00:9::/32")
	for remote, want := range map[string]string{
		"192.0.2.7:1":          FromNode,
		"[::ffff:192.0.2.7]:1": FromNode,
		"[2001:db8::7]:1":      FromNode,
		"10.244.1.1:1":         fromGateway,
		"[fe80::1%eth0]:1":     fromGateway,
		"127.0.0.1:1":          fromPod,
		"[::1]:1":              fromPod,
		"127.0.0.6:1":          FromElsewhere, // Istio, for anybody
		"10.9.3.3:1":           fromNamed,
		"[fd00:9::3]:1":        fromNamed,
		"192.0.2.8:1":          FromElsewhere,
		"10.244.1.9:1":         FromElsewhere,
		"":                     FromElsewhere,
		"pipe":                 FromElsewhere,
	} {
		require.Equal(t, want, o.Classify(remote), remote)
	}
}

// TestUnknownAddressesAreTaken checks that no kubelet is refused for an address that only its
// network knows. If networks are configured, others are refused, except by an agent that does not
// know its node's addresses.
func TestUnknownAddressesAreTaken(t *testing.T) {
	require.False(t, bridged().Refuses(FromElsewhere))
	strict := bridged("10.9.0.0/16")
	require.True(t, strict.Refuses(FromElsewhere))
	for _, from := range []string{FromNode, fromGateway, fromPod, fromNamed} {
		require.False(t, strict.Refuses(from), from)
	}
	strict.node = nil
	require.False(t, strict.Refuses(FromElsewhere))
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
