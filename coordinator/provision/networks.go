package provision

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/coordinator/kube"
)

// maxNetworks bounds what agents are told of. More nodes than that many networks of them
// have only those in which pods are now.
const maxNetworks = 32

// gossip says from where agents take it.
type gossip struct {
	// only: from nowhere else. Somebody has said so, as what agents know on their own
	// cannot be trusted to be current.
	only []netip.Prefix
	// first: of strangers, those from there go first.
	first []netip.Prefix
	// why in words; empty while it is not known, and then what was said before stands.
	why string
}

// gossipFrom never excludes a network by what it finds out itself: agents get a new list minutes
// late, and none while no coordinator runs, and a pod on a new node must be heard anyway. A network
// that agents were told about before is kept, so that nothing is written each time a pod is
// elsewhere.
func gossipFrom(only []netip.Prefix, pods kube.Networks, before []netip.Prefix) gossip {
	switch {
	case len(only) > 0:
		return gossip{only: only, why: fmt.Sprintf("%s only, as agent.gossipCIDRs says", listed(only))}
	case pods.Elsewhere:
		return gossip{why: "anywhere; pods have other addresses than their nodes' podCIDRs, so these tell no network apart"}
	}
	first := slices.Clone(before)
	for _, p := range pods.Known {
		if !slices.Contains(first, p) {
			first = append(first, p)
		}
	}
	if len(first) > maxNetworks {
		first = slices.Clone(pods.Known[:min(len(pods.Known), maxNetworks)])
	}
	slices.SortFunc(first, netip.Prefix.Compare)
	if len(first) == 0 {
		return gossip{} // no pod has an address yet
	}
	return gossip{first: first, why: fmt.Sprintf("anywhere, and first from %s, as podCIDRs of the pods' nodes are there", listed(first))}
}

func listed(networks []netip.Prefix) string {
	var all []string
	for _, p := range networks {
		all = append(all, p.String())
	}
	return strings.Join(all, ", ")
}
