package stophook

import (
	"bufio"
	"encoding/hex"
	"io"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/rollcall-dev/rollcall/agent/config"
)

// Where a call of the stop hook came from, in the label from.
const (
	FromNode      = "node"      // an address of the pod's node
	fromGateway   = "gateway"   // the next hop of the pod's default route, which bridges give to the node
	fromPod       = "pod"       // the loopback address: a hook of the kind exec
	fromNamed     = "named"     // a network that the configuration names
	FromElsewhere = "elsewhere" // anything else that the network lets through, maybe a kubelet
)

// Origins classifies the addresses that call the stop hook.
//
// A kubelet calls from an address of its node that the network chooses: one in the
// Node object, the bridge's, or one that only the network knows. So a call from
// elsewhere may be the kubelet's, and is taken unless somebody has named networks.
type Origins struct {
	node     []netip.Addr // none: unknown, as in pods that were injected by earlier versions
	named    func() []netip.Prefix
	gateways func() []netip.Addr
}

// Classify classifies a remote address as the HTTP server gives it.
func (o Origins) Classify(remote string) string {
	parsed, err := netip.ParseAddrPort(remote)
	if err != nil {
		return FromElsewhere
	}
	address := plain(parsed.Addr())
	switch {
	case slices.Contains(o.node, address):
		return FromNode
	case slices.ContainsFunc(o.named(), func(p netip.Prefix) bool { return p.Contains(address) }):
		return fromNamed
	case address == loopback4 || address == loopback6:
		// Not all of 127.0.0.0/8: Istio forwards what others send from 127.0.0.6.
		return fromPod
	case slices.Contains(o.gateways(), address):
		return fromGateway
	}
	return FromElsewhere
}

// Refuses reports whether nobody may call from there. If the node's own addresses
// are unknown, that would refuse its kubelet too.
func (o Origins) Refuses(from string) bool {
	return from == FromElsewhere && len(o.named()) > 0 && len(o.node) > 0
}

var (
	loopback4 = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	loopback6 = netip.IPv6Loopback()
)

// plain is the address as it is compared: without an IPv4 prefix or a zone.
func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// defaultGateways reads the routes again: one may be added after the agent starts.
func defaultGateways() []netip.Addr {
	var found []netip.Addr
	for file, parse := range map[string]func(io.Reader) []netip.Addr{
		"/proc/net/route": gateways4, "/proc/net/ipv6_route": gateways6,
	} {
		f, err := os.Open(file)
		if err != nil {
			continue // no such network here
		}
		found = append(found, parse(f)...)
		_ = f.Close()
	}
	return found
}

const routeIsUp, routeHasGateway = 0x1, 0x2

// gateways4 returns those of the default routes in /proc/net/route: interface,
// destination, gateway and flags, numbers in hexadecimal, addresses little-endian.
func gateways4(table io.Reader) []netip.Addr {
	var found []netip.Addr
	for fields := range rows(table) {
		if len(fields) < 8 || fields[1] != "00000000" || fields[7] != "00000000" || !leads(fields[3]) {
			continue
		}
		raw, err := hex.DecodeString(fields[2])
		if err == nil && len(raw) == 4 {
			slices.Reverse(raw)
			found = append(found, netip.AddrFrom4([4]byte(raw)))
		}
	}
	return found
}

// gateways6 returns those of the default routes in /proc/net/ipv6_route: destination
// and length, source and length, gateway, metric, two counters, flags and interface.
func gateways6(table io.Reader) []netip.Addr {
	var found []netip.Addr
	for fields := range rows(table) {
		if len(fields) < 10 || strings.Trim(fields[0], "0") != "" || fields[1] != "00" || !leads(fields[8]) {
			continue
		}
		raw, err := hex.DecodeString(fields[4])
		if err == nil && len(raw) == 16 {
			found = append(found, netip.AddrFrom16([16]byte(raw)))
		}
	}
	return found
}

func leads(flags string) bool {
	n, err := strconv.ParseUint(flags, 16, 32)
	return err == nil && n&(routeIsUp|routeHasGateway) == routeIsUp|routeHasGateway
}

// rows returns the lines of a table from the kernel, in fields.
func rows(table io.Reader) func(func([]string) bool) {
	return func(yield func([]string) bool) {
		lines := bufio.NewScanner(io.LimitReader(table, 1<<20))
		for lines.Scan() {
			if !yield(strings.Fields(lines.Text())) {
				return
			}
		}
	}
}

func NewOrigins(id config.Identity, named func() []netip.Prefix) Origins {
	o := Origins{named: named, gateways: defaultGateways}
	for _, a := range id.NodeIPs {
		o.node = append(o.node, plain(a))
	}
	return o
}
