package plan

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInstancesShareNothing(t *testing.T) {
	seen := map[string]int{}
	claim := func(t *testing.T, instance int, what string) {
		t.Helper()
		other, taken := seen[what]
		require.False(t, taken, "instances %d and %d both use %s", other, instance, what)
		seen[what] = instance
	}
	var plans []Plan
	for i := range MaxInstances {
		p, err := New(i, "x", "/tmp/x", MaxNodes)
		require.NoError(t, err)
		claim(t, i, p.Bridge())
		ports := p.Ports()
		for _, port := range []int{ports.APIServer, ports.EtcdClient, ports.EtcdPeer, ports.ControllerManager, ports.Scheduler, ports.DNSHealth, ports.DNSReady} {
			claim(t, i, strings.Repeat("p", port))
		}
		for _, n := range p.Nodes {
			for _, name := range []string{n.Netns, n.Veth, n.IP.String(), n.Pods.String()} {
				claim(t, i, name)
			}
			require.LessOrEqual(t, len(n.Veth), 15, "the kernel's limit for names of interfaces")
			require.True(t, p.NodeNet().Contains(n.IP))
			require.True(t, p.PodNet().Overlaps(n.Pods))
		}
		for _, q := range plans {
			require.False(t, p.NodeNet().Overlaps(q.NodeNet()))
			require.False(t, p.PodNet().Overlaps(q.PodNet()))
			require.False(t, p.ServiceNet().Overlaps(q.ServiceNet()))
		}
		plans = append(plans, p)
	}
}

func TestFirstInstance(t *testing.T) {
	p, err := New(0, "demo", "/data/c", 4)
	require.NoError(t, err)
	require.Equal(t, "10.96.0.1", p.ServiceIP().String())
	require.Equal(t, "https://10.210.0.1:16400", p.Server())
	require.Equal(t, "/data/c/admin.kubeconfig", p.Kubeconfig())
	var zones []string
	for _, n := range p.Nodes {
		zones = append(zones, n.Zone)
	}
	require.Equal(t, []string{"z1", "z2", "z3", "z1"}, zones)

	n, err := p.Node("node2")
	require.NoError(t, err)
	require.Equal(t, "10.210.0.12", n.IP.String())
	require.Equal(t, "10.230.2.0/24", n.Pods.String())
	require.Equal(t, "/data/c/nodes/node2/run/containerd.sock", n.Socket())
	_, err = p.Node("node5")
	require.ErrorContains(t, err, `node "node5": this cluster has node1 to node4`)
}

func TestNewRefuses(t *testing.T) {
	for _, tc := range []struct {
		instance, nodes int
		name, dir, want string
	}{
		{-1, 3, "x", "/d", "instance: -1"},
		{MaxInstances, 3, "x", "/d", "instance: 10"},
		{0, -1, "x", "/d", "nodes: -1"},
		{0, MaxNodes + 1, "x", "/d", "nodes: 61"},
		{0, 3, "X_y", "/d", "name: \"X_y\""},
		{0, 3, "", "/d", "name: \"\""},
		{0, 3, "x", "d", "not an absolute path"},
		{0, 3, "x", "/" + strings.Repeat("d", 80), "too long for the sockets"},
	} {
		_, err := New(tc.instance, tc.name, tc.dir, tc.nodes)
		require.ErrorContains(t, err, tc.want)
	}
}

func TestEverythingLiesBelowTheFolder(t *testing.T) {
	p, err := New(3, "x", "/d", 2)
	require.NoError(t, err)
	for _, n := range p.Nodes {
		for _, f := range []string{n.Dir, n.Socket(), n.Path("kubelet"), p.Path("etcd")} {
			require.True(t, filepath.IsLocal(strings.TrimPrefix(f, "/d/")), f)
		}
	}
}
