package kube

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func nodeWith(name string, cidrs ...string) Node {
	return *nodeOf(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{PodCIDRs: cidrs}})
}

// PodCIDRs say where pods are only where each pod's address is of its own node's.
func TestPodNetworks(t *testing.T) {
	nodes := map[string]Node{
		"a": nodeWith("a", "10.244.0.0/24", "fd00:10:244::/64"), "b": nodeWith("b", "10.244.7.0/24"), "far": nodeWith("far", "10.9.1.0/26"),
		"wide": nodeWith("wide", "100.64.0.0/10"), "none": nodeWith("none"), "wrong": nodeWith("wrong", "10.244.0.0"),
		"old": *nodeOf(&corev1.Node{Spec: corev1.NodeSpec{PodCIDR: "10.7.0.0/24"}}),
	}
	for name, c := range map[string]struct {
		pods []Pod
		want string
	}{
		"nobody":                    {nil, ""},
		"one network":               {[]Pod{{Node: "a", IP: "10.244.0.3"}, {Node: "b", IP: "10.244.7.9"}}, "10.244.0.0/16 "},
		"two":                       {[]Pod{{Node: "far", IP: "10.9.1.3"}, {Node: "a", IP: "10.244.0.3"}}, "10.9.0.0/16 10.244.0.0/16 "},
		"IPv6":                      {[]Pod{{Node: "a", IP: "fd00:10:244::7"}}, "fd00:10:244::/48 "},
		"wider than the others":     {[]Pod{{Node: "wide", IP: "100.65.0.1"}}, "100.64.0.0/10 "},
		"one podCIDR":               {[]Pod{{Node: "old", IP: "10.7.0.1"}}, "10.7.0.0/16 "},
		"no address yet":            {[]Pod{{Node: "a"}, {IP: ""}}, ""},
		"one has none yet":          {[]Pod{{Node: "a", IP: "10.244.0.3"}, {Node: "none"}}, "10.244.0.0/16 "},
		"a node that is gone":       {[]Pod{{Node: "a", IP: "10.244.0.3"}, {Node: "gone", IP: "10.1.1.1"}}, "10.244.0.0/16 "},
		"a network of the plugin's": {[]Pod{{Node: "a", IP: "10.0.3.7"}}, "elsewhere"},
		"of another node":           {[]Pod{{Node: "a", IP: "10.244.7.3"}}, "elsewhere"},
		"only one is elsewhere":     {[]Pod{{Node: "a", IP: "10.244.0.3"}, {Node: "b", IP: "192.168.1.2"}}, "elsewhere"},
		"a node without":            {[]Pod{{Node: "none", IP: "10.0.3.7"}}, "elsewhere"},
		"a node with nonsense":      {[]Pod{{Node: "wrong", IP: "10.0.3.7"}}, "elsewhere"},
	} {
		n := (&ClusterObjects{Pods: c.pods, Nodes: nodes}).PodNetworks()
		got := ""
		for _, p := range n.Known {
			got += p.String() + " "
		}
		if n.Elsewhere {
			got += "elsewhere"
		}
		require.Equal(t, c.want, got, name)
	}
	require.Equal(t, []netip.Prefix{netip.MustParsePrefix("10.244.0.0/24"), netip.MustParsePrefix("fd00:10:244::/64")}, nodes["a"].PodCIDRs)
}
