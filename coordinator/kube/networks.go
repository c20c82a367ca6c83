package kube

import (
	"net/netip"
	"slices"
)

// Networks from which podCIDRs are cut mostly have no longer prefixes: most installers use a /16,
// and Kubernetes' own controller cuts nothing longer than a /64 from a /48.
const (
	networkBits4 = 16
	networkBits6 = 48
)

// Networks are those in which the pods of a database have their addresses.
type Networks struct {
	// Known are the networks around the podCIDRs of the nodes. It is empty while no pod has an
	// address.
	Known []netip.Prefix
	// Elsewhere is true if a pod's address is in none of its node's podCIDRs. Then the network
	// plugin uses other addresses, or the pod has its node's address, so podCIDRs say nothing.
	Elsewhere bool
}

// PodNetworks returns the networks by the nodes' podCIDRs, if the pods' addresses are in these.
// Each is widened to the network from which Kubernetes cuts podCIDRs, so that it mostly contains
// the next node, too. Its users must not depend on the exact bounds.
func (o *ClusterObjects) PodNetworks() Networks {
	var n Networks
	for i := range o.Pods {
		ip, err := netip.ParseAddr(o.Pods[i].IP)
		node, ok := o.Nodes[o.Pods[i].Node]
		if err != nil || !ok {
			continue // without an address, or on a node that is gone
		}
		in := slices.IndexFunc(node.PodCIDRs, func(p netip.Prefix) bool { return p.Contains(ip) })
		if in < 0 {
			return Networks{Elsewhere: true}
		}
		if p := widened(node.PodCIDRs[in]); !slices.Contains(n.Known, p) {
			n.Known = append(n.Known, p)
		}
	}
	slices.SortFunc(n.Known, netip.Prefix.Compare)
	return n
}

func widened(p netip.Prefix) netip.Prefix {
	bits := networkBits4
	if p.Addr().Is6() {
		bits = networkBits6
	}
	return netip.PrefixFrom(p.Addr(), min(p.Bits(), bits)).Masked()
}
