// Package plan says where everything of a local cluster is: names, addresses, ports and files. It is pure: the same
// instance number, directory and number of nodes always give the same plan, which is what makes a second `up` find
// what the first one made.
package plan

import (
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"regexp"
	"strconv"
)

const (
	// MaxInstances is how many clusters can stand side by side; each has its own tenth of the address space below.
	MaxInstances = 10
	// MaxNodes keeps node addresses inside one /24.
	MaxNodes = 60
	// Zones is how many zones the nodes are spread over, round robin.
	Zones = 3
	// VolumesPerNode is how many local volumes each node offers.
	VolumesPerNode = 8

	// maxSocketPath is what the kernel takes for the path of a unix socket, less the closing zero.
	maxSocketPath = 107
	longestSocket = "nodes/node10/kubelet/pod-resources/kubelet.sock"

	firstPort        = 16400
	portsPerInstance = 20
)

var nameForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)

// Plan describes one cluster. Make it with New.
type Plan struct {
	Instance int
	Name     string
	Dir      string
	Nodes    []Node
}

// Node is one machine of the cluster: a network namespace with its own containerd, kubelet and kube-proxy.
type Node struct {
	Number int
	Name   string
	Zone   string
	Dir    string
	Netns  string // name of the network namespace
	Veth   string // the end that sits on the bridge
	Cgroup string // cgroup root, relative to each hierarchy
	IP     netip.Addr
	Pods   netip.Prefix
}

// New makes the plan, or says which of its inputs will not do.
func New(instance int, name, dir string, nodes int) (Plan, error) {
	switch {
	case instance < 0 || instance >= MaxInstances:
		return Plan{}, fmt.Errorf("instance: %d is not between 0 and %d", instance, MaxInstances-1)
	case !nameForm.MatchString(name):
		return Plan{}, fmt.Errorf("name: %q must be lower-case letters, digits and dashes, at most 32", name)
	case !filepath.IsAbs(dir):
		return Plan{}, fmt.Errorf("dir: %q is not an absolute path", dir)
	case nodes < 0 || nodes > MaxNodes:
		return Plan{}, fmt.Errorf("nodes: %d is not between 0 and %d", nodes, MaxNodes)
	}
	if n := len(filepath.Join(dir, longestSocket)); n > maxSocketPath {
		return Plan{}, fmt.Errorf("dir: %q is %d characters too long for the sockets inside it", dir, n-maxSocketPath)
	}
	p := Plan{Instance: instance, Name: name, Dir: dir}
	for n := 1; n <= nodes; n++ {
		p.Nodes = append(p.Nodes, p.node(n))
	}
	return p, nil
}

func (p Plan) node(n int) Node {
	name := fmt.Sprintf("node%d", n)
	return Node{
		Number: n,
		Name:   name,
		Zone:   fmt.Sprintf("z%d", (n-1)%Zones+1),
		Dir:    filepath.Join(p.Dir, "nodes", name),
		Netns:  fmt.Sprintf("rollcall%d-%s", p.Instance, name),
		Veth:   fmt.Sprintf("rollcall%dn%d", p.Instance, n),
		Cgroup: fmt.Sprintf("rollcall%d-%s", p.Instance, name),
		IP:     netip.AddrFrom4([4]byte{10, p.nodeOctet(), 0, byte(10 + n)}),
		Pods:   netip.PrefixFrom(netip.AddrFrom4([4]byte{10, p.podOctet(), byte(n), 0}), 24),
	}
}

func (p Plan) nodeOctet() byte    { return byte(210 + p.Instance) }
func (p Plan) podOctet() byte     { return byte(230 + p.Instance) }
func (p Plan) serviceOctet() byte { return byte(96 + p.Instance) }

// Node finds a node by name.
func (p Plan) Node(name string) (Node, error) {
	for _, n := range p.Nodes {
		if n.Name == name {
			return n, nil
		}
	}
	return Node{}, fmt.Errorf("node %q: this cluster has node1 to node%d", name, len(p.Nodes))
}

// Bridge is the name of the bridge that joins the nodes and the host.
func (p Plan) Bridge() string { return fmt.Sprintf("rollcall%d", p.Instance) }

// BridgeIP is the host's address on the bridge; the API server and the cluster DNS listen there.
func (p Plan) BridgeIP() netip.Addr { return netip.AddrFrom4([4]byte{10, p.nodeOctet(), 0, 1}) }

// NodeNet holds the bridge and all nodes.
func (p Plan) NodeNet() netip.Prefix { return netip.PrefixFrom(p.BridgeIP(), 24).Masked() }

// PodNet holds the pods of all nodes.
func (p Plan) PodNet() netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, p.podOctet(), 0, 0}), 16)
}

// ServiceNet is where ClusterIPs come from.
func (p Plan) ServiceNet() netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, p.serviceOctet(), 0, 0}), 16)
}

// ServiceIP is the ClusterIP of the API server itself.
func (p Plan) ServiceIP() netip.Addr { return p.ServiceNet().Addr().Next() }

// Ports are the TCP ports that the control plane takes on the host.
type Ports struct{ APIServer, EtcdClient, EtcdPeer, ControllerManager, Scheduler, DNSHealth, DNSReady int }

// Ports gives the ports of this instance.
func (p Plan) Ports() Ports {
	b := firstPort + p.Instance*portsPerInstance
	return Ports{b, b + 1, b + 2, b + 3, b + 4, b + 5, b + 6}
}

// Server is the URL of the API server, as seen from the host, the nodes and the pods alike.
func (p Plan) Server() string {
	return "https://" + net.JoinHostPort(p.BridgeIP().String(), strconv.Itoa(p.Ports().APIServer))
}

// Path is a file or directory of this cluster.
func (p Plan) Path(elem ...string) string {
	return filepath.Join(append([]string{p.Dir}, elem...)...)
}

// Kubeconfig is the administrator's kubeconfig.
func (p Plan) Kubeconfig() string { return p.Path("admin.kubeconfig") }

// Path is a file or directory of this node.
func (n Node) Path(elem ...string) string {
	return filepath.Join(append([]string{n.Dir}, elem...)...)
}

// Socket is where the node's containerd listens.
func (n Node) Socket() string { return n.Path("run", "containerd.sock") }

// NetnsPath is the file that pins the node's network namespace.
func (n Node) NetnsPath() string { return "/run/netns/" + n.Netns }
