// Package node configures and runs the nodes: containerd, kubelet and kube-proxy inside one network namespace each,
// with everything that they write below the node's own folder.
package node

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"

	"github.com/rollcall-dev/rollcall/test/cluster/pki"
	"github.com/rollcall-dev/rollcall/test/cluster/plan"
	"github.com/rollcall-dev/rollcall/test/cluster/process"
)

// PauseImage holds each pod's namespaces; it is built and loaded by `up` itself.
const PauseImage = "docker.io/rollcall-test/pause:1"

// Certificates are what a node needs to be known, as kubelet, to the API server and by it.
func Certificates(n plan.Node) pki.Request {
	return pki.Request{
		Name: "kubelet-" + n.Name, User: "system:node:" + n.Name, Groups: []string{"system:nodes"},
		Hosts: []string{n.Name}, IPs: []netip.Addr{n.IP},
	}
}

// Containerd configures the container runtime.
func Containerd(n plan.Node, cniBin, snapshotter string) []byte {
	return fmt.Appendf(nil, `version = 3
root = %q
state = %q

[grpc]
  address = %q

[plugins."io.containerd.cri.v1.images"]
  snapshotter = %q
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = %q

[plugins."io.containerd.cri.v1.runtime"]
  # Where the capability to lower a process's OOM score is missing, containers start all the same.
  restrict_oom_score_adj = true
  # Network namespaces of pods lie below this folder too, so that their mounts can be told from everybody else's.
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = [%q]
    conf_dir = %q
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
      # As kubelet does: groups below the node's own, whether or not the host runs systemd.
      SystemdCgroup = false
`, n.Path("containerd"), n.Path("state"), n.Socket(), snapshotter, PauseImage, cniBin, n.Path("cni"))
}

// Network configures the pods' network. Each pod is routed to by itself (ptp), not bridged: so the node's packet filter
// sees traffic between two pods of one node too, and service addresses work there without br_netfilter.
func Network(n plan.Node) []byte {
	return fmt.Appendf(nil, `{
  "cniVersion": "1.0.0",
  "name": "pods",
  "plugins": [
    {
      "type": "ptp",
      "ipMasq": false,
      "ipam": {
        "type": "host-local",
        "dataDir": %q,
        "ranges": [[{"subnet": %q}]],
        "routes": [{"dst": "0.0.0.0/0"}]
      }
    },
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
`, n.Path("ipam"), n.Pods)
}

// Kubelet configures kubelet.
func Kubelet(p plan.Plan, n plan.Node, a *pki.Authority) []byte {
	return fmt.Appendf(nil, `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: %[1]s
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: %[2]s}
authorization: {mode: Webhook}
tlsCertFile: %[3]s
tlsPrivateKeyFile: %[4]s
containerRuntimeEndpoint: unix://%[5]s
clusterDNS: [%[6]s]
clusterDomain: cluster.local
resolvConf: %[7]s
cgroupDriver: cgroupfs
cgroupRoot: /%[8]s
cgroupsPerQOS: true
enforceNodeAllocatable: []
failCgroupV1: false
failSwapOn: false
oomScoreAdj: 0
podLogsDir: %[9]s
volumePluginDir: %[10]s
# The machine is shared and images cannot be pulled again, so nothing is thrown away before the disk is all but full.
imageGCHighThresholdPercent: 100
evictionHard: {imagefs.available: 1%%, nodefs.available: 1%%, memory.available: 100Mi}
syncFrequency: 5s
`, n.IP, a.Path("ca.crt"), a.Path(Certificates(n).Name+".crt"), a.Path(Certificates(n).Name+".key"),
		n.Socket(), p.BridgeIP(), p.Path("config", "resolv.conf"), n.Cgroup, n.Path("pods"), n.Path("plugins"))
}

// Proxy configures kube-proxy. The limits of the connection table belong to the whole machine and stay as they are.
func Proxy(p plan.Plan, n plan.Node) []byte {
	return fmt.Appendf(nil, `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
hostnameOverride: %s
clusterCIDR: %s
detectLocalMode: ClusterCIDR
clientConnection: {kubeconfig: %s}
healthzBindAddress: 127.0.0.1:10256
metricsBindAddress: 127.0.0.1:10249
oomScoreAdj: 0
iptables: {minSyncPeriod: 100ms, syncPeriod: 30s}
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
`, n.Name, p.PodNet(), p.Path("config", "proxy.kubeconfig"))
}

// Specs are the node's processes, in the order in which they start.
func Specs(p plan.Plan, n plan.Node, bin map[string]string) []process.Spec {
	// containerd looks for its shim in PATH.
	path := "PATH=" + filepath.Dir(bin["containerd"]) + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	spec := func(program string, inputs []string, args ...string) process.Spec {
		return process.Spec{
			Name:   n.Name + "/" + program,
			Argv:   append([]string{bin[program]}, args...),
			Env:    []string{path},
			Netns:  n.NetnsPath(),
			Log:    p.Path("log", n.Name+"-"+program+".log"),
			Inputs: inputs,
		}
	}
	labels := strings.Join([]string{"topology.kubernetes.io/zone=" + n.Zone, "topology.kubernetes.io/region=local"}, ",")
	return []process.Spec{
		spec("containerd", []string{n.Path("containerd.toml")}, "--config="+n.Path("containerd.toml"), "--log-level=warn"),
		spec("kubelet",
			[]string{n.Path("kubelet.yaml"), n.Path("kubeconfig"), n.Path("containerd.toml")},
			"--config="+n.Path("kubelet.yaml"),
			"--kubeconfig="+n.Path("kubeconfig"),
			"--root-dir="+n.Path("kubelet"),
			"--cert-dir="+n.Path("pki"),
			"--hostname-override="+n.Name,
			"--node-ip="+n.IP.String(),
			"--node-labels="+labels),
		spec("kube-proxy", []string{n.Path("proxy.yaml"), p.Path("config", "proxy.kubeconfig")},
			"--config="+n.Path("proxy.yaml")),
	}
}
