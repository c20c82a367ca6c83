package provision

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
)

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

func (w *world) said() string { return w.service().Annotations[v1alpha1.AnnotationGossipFrom] }

// Agents are told of new networks, forget none that they were told of, and the same pods cost no
// write. The Service says what is in force.
func TestGossipNetworksFollowThePods(t *testing.T) {
	w := newWorld(t)
	w.ensure()
	require.Empty(t, w.file().PodNetworks, "no pod has an address")
	require.Empty(t, w.said())

	w.pods.Known = prefixes("10.244.0.0/16")
	require.Equal(t, 2, w.ensure().Writes)
	require.Equal(t, w.pods.Known, w.file().PodNetworks)
	require.Empty(t, w.file().GossipCIDRs, "nobody is shut out")
	require.Equal(t, "anywhere, and first from 10.244.0.0/16, as podCIDRs of the pods' nodes are there", w.said())

	// A pod on a node with podCIDRs of another network; then all of them are there.
	w.pods.Known = prefixes("10.9.0.0/16", "10.244.0.0/16")
	require.Equal(t, 2, w.ensure().Writes)
	require.Equal(t, w.pods.Known, w.file().PodNetworks)
	for _, pods := range []kube.Networks{{Known: prefixes("10.9.0.0/16")}, {}, {Known: prefixes("10.244.0.0/16")}} {
		w.pods = pods
		require.Zero(t, w.ensure().Writes, "where a pod was one may be again")
	}
	require.Equal(t, prefixes("10.9.0.0/16", "10.244.0.0/16"), w.file().PodNetworks)

	// However many: those in which pods are now.
	for i := range maxNetworks {
		w.pods.Known = append(w.pods.Known, netip.PrefixFrom(netip.AddrFrom4([4]byte{11, byte(i)}), 16))
	}
	w.ensure()
	require.Len(t, w.file().PodNetworks, maxNetworks)
	w.pods.Known = prefixes("10.7.0.0/16")
	w.ensure()
	require.Equal(t, w.pods.Known, w.file().PodNetworks)

	// The network plugin takes addresses from elsewhere.
	w.pods = kube.Networks{Elsewhere: true}
	require.Equal(t, 2, w.ensure().Writes)
	require.Empty(t, w.file().PodNetworks)
	require.Empty(t, w.file().GossipCIDRs)
	require.Equal(t, "anywhere; pods have other addresses than their nodes' podCIDRs, so these tell no network apart", w.said())
	w.pods = kube.Networks{}
	require.Zero(t, w.ensure().Writes, "a pod that has no address for a while changes nothing")
}

// What a person has said is all that counts, whatever the pods' networks are.
func TestGossipCIDRsWin(t *testing.T) {
	w := newWorld(t)
	w.pods.Known = prefixes("10.244.0.0/16")
	w.ensure()
	w.p.opts.GossipCIDRs = prefixes("10.0.0.0/8", "fd00::/48")
	for _, pods := range []kube.Networks{w.pods, {Elsewhere: true}, {}} {
		w.pods = pods
		w.ensure()
		require.Equal(t, w.p.opts.GossipCIDRs, w.file().GossipCIDRs)
		require.Empty(t, w.file().PodNetworks)
		require.Equal(t, "10.0.0.0/8, fd00::/48 only, as agent.gossipCIDRs says", w.said())
	}
	w.p.opts.GossipCIDRs, w.pods.Known = nil, prefixes("10.244.0.0/16")
	w.ensure()
	require.Empty(t, w.file().GossipCIDRs)
	require.Equal(t, w.pods.Known, w.file().PodNetworks)
}

// A pod starts in a network that the agents were not told of, and no coordinator tells them. By the
// list that they have it is heard, and comes behind others only where strangers are too many; the
// next coordinator tells of its network.
func TestNewNodeWhileNobodyLeads(t *testing.T) {
	w := newWorld(t)
	w.pods.Known = prefixes("10.244.0.0/16")
	w.ensure()
	before, late := w.file(), netip.MustParseAddr("10.9.1.3")
	require.True(t, before.GossipFrom(late))
	require.False(t, before.NearPods(late))

	again, err := New(w.p.opts) // another process, which remembers nothing
	require.NoError(t, err)
	w.p, w.pods.Known = again, prefixes("10.9.0.0/16")
	w.ensure()
	after := w.file()
	require.True(t, after.NearPods(late))
	require.True(t, after.NearPods(netip.MustParseAddr("10.244.7.7")))
	require.Equal(t, config.File{}.GossipCIDRs, after.GossipCIDRs)
}
