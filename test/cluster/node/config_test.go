package node

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/test/cluster/pki"
	"github.com/rollcall-dev/rollcall/test/cluster/plan"
)

func twoNodes(t *testing.T) plan.Plan {
	p, err := plan.New(1, "x", "/data", 2)
	require.NoError(t, err)
	return p
}

func TestConfigurationsCanBeRead(t *testing.T) {
	p := twoNodes(t)
	a, err := pki.Open(t.TempDir(), time.Now)
	require.NoError(t, err)
	for _, n := range p.Nodes {
		var kubelet struct {
			Address, CgroupRoot, ContainerRuntimeEndpoint, ResolvConf, PodLogsDir string
			ClusterDNS                                                            []string
			FailCgroupV1                                                          *bool
		}
		require.NoError(t, yaml.Unmarshal(Kubelet(p, n, a), &kubelet))
		require.Equal(t, n.IP.String(), kubelet.Address)
		require.Equal(t, "/"+n.Cgroup, kubelet.CgroupRoot)
		require.Equal(t, "unix://"+n.Socket(), kubelet.ContainerRuntimeEndpoint)
		require.Equal(t, []string{p.BridgeIP().String()}, kubelet.ClusterDNS)
		require.False(t, *kubelet.FailCgroupV1)

		var proxy struct {
			Mode, HostnameOverride, ClusterCIDR string
			Conntrack                           struct{ MaxPerCore *int }
		}
		require.NoError(t, yaml.Unmarshal(Proxy(p, n), &proxy))
		require.Equal(t, n.Name, proxy.HostnameOverride, "else it waits for a node that never comes")
		require.Equal(t, p.PodNet().String(), proxy.ClusterCIDR)
		require.Zero(t, *proxy.Conntrack.MaxPerCore, "the machine's limits are not ours to set")

		var network struct {
			Plugins []struct {
				Type string
				IPAM struct {
					DataDir string
					Ranges  [][]struct{ Subnet string }
				}
			}
		}
		require.NoError(t, json.Unmarshal(Network(n), &network))
		require.Equal(t, "ptp", network.Plugins[0].Type)
		require.Equal(t, n.Pods.String(), network.Plugins[0].IPAM.Ranges[0][0].Subnet)
		require.True(t, strings.HasPrefix(network.Plugins[0].IPAM.DataDir, n.Dir))

		containerd := string(Containerd(n, "/cni", "overlayfs"))
		require.Contains(t, containerd, `address = "`+n.Socket()+`"`)
		require.Contains(t, containerd, `bin_dirs = ["/cni"]`)
		require.Contains(t, containerd, "netns_mounts_under_state_dir = true")
	}
}

func TestSpecsRunInTheNodesNamespace(t *testing.T) {
	p := twoNodes(t)
	bin := map[string]string{"containerd": "/rt/containerd", "kubelet": "/k/kubelet", "kube-proxy": "/k/kube-proxy"}
	seen := map[string]bool{}
	for _, n := range p.Nodes {
		specs := Specs(p, n, bin)
		require.Equal(t, n.Name+"/containerd", specs[0].Name, "the others need it")
		for _, s := range specs {
			require.False(t, seen[s.Name])
			seen[s.Name] = true
			require.Equal(t, n.NetnsPath(), s.Netns)
			require.True(t, strings.HasPrefix(s.Argv[0], "/"))
			require.Contains(t, s.Env[0], "PATH=/rt:", "containerd finds its shim there")
		}
	}
	require.Contains(t, Specs(p, p.Nodes[1], bin)[1].Argv, "--node-labels=topology.kubernetes.io/zone=z2,topology.kubernetes.io/region=local")
}

func TestMountsBelow(t *testing.T) {
	const mountinfo = `1 0 8:1 / / rw - ext4 /dev/a rw
2 1 0:1 / /data rw - tmpfs t rw
3 1 0:2 / /data/nodes/node1/a rw - tmpfs t rw
4 1 0:3 / /data/nodes/node1/a/b\040c rw - tmpfs t rw
5 1 0:4 / /data/nodes/node10/a rw - tmpfs t rw
6 1 0:5 / /data/nodes/node1 rw - tmpfs t rw
`
	got, err := mountsBelow(strings.NewReader(mountinfo), "/data/nodes/node1")
	require.NoError(t, err)
	require.Equal(t, []string{"/data/nodes/node1/a/b c", "/data/nodes/node1/a"}, got)
}

func TestAllKnown(t *testing.T) {
	known := map[string]string{"a:1": "file 1", "b:1": "file 1"}
	require.True(t, allKnown([]string{"a:1", "b:1"}, "file 1", known, []string{"b:1", "a:1", "c:1"}))
	require.False(t, allKnown([]string{"a:1"}, "file 2", known, []string{"a:1"}), "the file has changed")
	require.False(t, allKnown([]string{"a:1"}, "file 1", known, nil), "the image is gone")
	require.False(t, allKnown([]string{"c:1"}, "file 1", known, []string{"c:1"}), "loaded by somebody else")
}
