// Package controlplane configures etcd, the API server, its two controllers and the cluster DNS, which all run on the
// host. Everything but etcd, which listens on loopback, speaks TLS with certificates of the cluster's own authority.
package controlplane

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/rollcall-dev/rollcall/test/cluster/host"
	"github.com/rollcall-dev/rollcall/test/cluster/pki"
	"github.com/rollcall-dev/rollcall/test/cluster/plan"
	"github.com/rollcall-dev/rollcall/test/cluster/process"
)

// Identities of the programs that talk to the API server; the API server's default roles are bound to these names.
var clients = []pki.Request{
	{Name: "admin", User: "admin", Groups: []string{"system:masters"}},
	{Name: "controller-manager", User: "system:kube-controller-manager"},
	{Name: "scheduler", User: "system:kube-scheduler"},
	{Name: "proxy", User: "system:kube-proxy"},
	{Name: "dns", User: DNSUser},
	{Name: "apiserver-kubelet", User: "kube-apiserver", Groups: []string{"system:masters"}},
}

// DNSUser is the name that the cluster DNS has at the API server.
const DNSUser = "rollcall:cluster-dns"

const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// Prepare writes certificates, kubeconfigs and configuration files, and returns the authority.
func Prepare(p plan.Plan, a *pki.Authority) error {
	for _, c := range clients {
		if err := a.Ensure(c); err != nil {
			return err
		}
	}
	if err := a.EnsureKey("service-accounts"); err != nil {
		return err
	}
	server := pki.Request{
		Name: "apiserver", User: "kube-apiserver",
		Hosts: []string{
			"kubernetes", "kubernetes.default", "kubernetes.default.svc",
			"kubernetes.default.svc.cluster.local", "localhost",
		},
		IPs: []netip.Addr{p.ServiceIP(), p.BridgeIP(), netip.AddrFrom4([4]byte{127, 0, 0, 1})},
	}
	if err := a.Ensure(server); err != nil {
		return err
	}
	for _, c := range clients {
		k, err := a.Kubeconfig("rollcall-"+p.Name, p.Server(), c.Name)
		if err != nil {
			return err
		}
		file := p.Path("config", c.Name+".kubeconfig")
		if c.Name == "admin" {
			file = p.Kubeconfig()
		}
		if err := host.WriteFile(file, k, 0o600); err != nil {
			return err
		}
	}
	if err := host.WriteFile(p.Path("config", "audit.yaml"), []byte(auditPolicy), 0o644); err != nil {
		return err
	}
	return host.WriteFile(p.Path("config", "Corefile"), Corefile(p), 0o644)
}

// Corefile configures the cluster DNS. Names live for two seconds: pods come and go all the time here, and a name
// that points at a pod's predecessor looks like a fault of the database.
func Corefile(p plan.Plan) []byte {
	return fmt.Appendf(nil, `.:53 {
    bind %s
    errors
    health 127.0.0.1:%d
    ready 127.0.0.1:%d
    cache 2
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        kubeconfig %s rollcall-%s
        pods insecure
        ttl 2
    }
    template ANY ANY {
        rcode NXDOMAIN
    }
}
`, p.BridgeIP(), p.Ports().DNSHealth, p.Ports().DNSReady, p.Path("config", "dns.kubeconfig"), p.Name)
}

// Etcd is the store. It does not wait for the disk: its data must outlive its own crash, not the machine's.
func Etcd(p plan.Plan, bin map[string]string) process.Spec {
	client := fmt.Sprintf("http://127.0.0.1:%d", p.Ports().EtcdClient)
	peer := fmt.Sprintf("http://127.0.0.1:%d", p.Ports().EtcdPeer)
	return process.Spec{
		Name: "etcd",
		Log:  p.Path("log", "etcd.log"),
		Argv: []string{
			bin["etcd"],
			"--name=rollcall",
			"--data-dir=" + p.Path("etcd"),
			"--listen-client-urls=" + client,
			"--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer,
			"--initial-advertise-peer-urls=" + peer,
			"--initial-cluster=rollcall=" + peer,
			"--unsafe-no-fsync",
			"--log-level=warn",
		},
	}
}

// APIServer listens on the bridge: reachable from host, nodes and pods, and from nowhere else.
func APIServer(p plan.Plan, bin map[string]string, a *pki.Authority) process.Spec {
	return process.Spec{
		Name: "kube-apiserver",
		Log:  p.Path("log", "kube-apiserver.log"),
		Argv: []string{
			bin["kube-apiserver"],
			fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", p.Ports().EtcdClient),
			"--bind-address=" + p.BridgeIP().String(),
			"--advertise-address=" + p.BridgeIP().String(),
			"--secure-port=" + strconv.Itoa(p.Ports().APIServer),
			"--service-cluster-ip-range=" + p.ServiceNet().String(),
			"--authorization-mode=Node,RBAC",
			"--enable-admission-plugins=NodeRestriction",
			"--allow-privileged=true",
			"--enable-aggregator-routing=true", // webhooks by pod address: the host has no service addresses
			"--client-ca-file=" + a.Path("ca.crt"),
			"--tls-cert-file=" + a.Path("apiserver.crt"),
			"--tls-private-key-file=" + a.Path("apiserver.key"),
			"--kubelet-certificate-authority=" + a.Path("ca.crt"),
			"--kubelet-client-certificate=" + a.Path("apiserver-kubelet.crt"),
			"--kubelet-client-key=" + a.Path("apiserver-kubelet.key"),
			"--kubelet-preferred-address-types=InternalIP",
			"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
			"--service-account-key-file=" + a.Path("service-accounts.pub"),
			"--service-account-signing-key-file=" + a.Path("service-accounts.key"),
			"--audit-policy-file=" + p.Path("config", "audit.yaml"),
			"--audit-log-path=" + p.Path("log", "audit.log"),
			"--audit-log-maxsize=256",
			"--audit-log-maxbackup=2",
			"--profiling=false",
		},
		Inputs: []string{
			a.Path("ca.crt"), a.Path("apiserver.crt"), a.Path("apiserver-kubelet.crt"),
			a.Path("service-accounts.pub"), p.Path("config", "audit.yaml"),
		},
	}
}

// Controllers are the controller manager, the scheduler and the cluster DNS.
func Controllers(p plan.Plan, bin map[string]string, a *pki.Authority) []process.Spec {
	conf := func(name string) string { return p.Path("config", name+".kubeconfig") }
	specs := []process.Spec{
		{
			Name: "kube-controller-manager",
			Log:  p.Path("log", "kube-controller-manager.log"),
			Argv: []string{
				bin["kube-controller-manager"],
				"--kubeconfig=" + conf("controller-manager"),
				"--bind-address=127.0.0.1",
				"--secure-port=" + strconv.Itoa(p.Ports().ControllerManager),
				"--leader-elect=false",
				"--use-service-account-credentials=true",
				"--service-account-private-key-file=" + a.Path("service-accounts.key"),
				"--root-ca-file=" + a.Path("ca.crt"),
				"--cluster-signing-cert-file=" + a.Path("ca.crt"),
				"--cluster-signing-key-file=" + a.Path("ca.key"),
				"--profiling=false",
			},
			Inputs: []string{conf("controller-manager"), a.Path("ca.crt"), a.Path("service-accounts.key")},
		},
		{
			Name: "kube-scheduler",
			Log:  p.Path("log", "kube-scheduler.log"),
			Argv: []string{
				bin["kube-scheduler"],
				"--kubeconfig=" + conf("scheduler"),
				"--bind-address=127.0.0.1",
				"--secure-port=" + strconv.Itoa(p.Ports().Scheduler),
				"--leader-elect=false",
				"--profiling=false",
			},
			Inputs: []string{conf("scheduler")},
		},
		{
			Name:   "coredns",
			Log:    p.Path("log", "coredns.log"),
			Argv:   []string{bin["coredns"], "-conf", p.Path("config", "Corefile")},
			Inputs: []string{p.Path("config", "Corefile"), conf("dns")},
		},
	}
	if len(p.Nodes) == 0 {
		// Thousands of simulated pods are made at once; at the usual 20 requests a second that takes half an hour.
		for i := range specs[:2] {
			specs[i].Argv = append(specs[i].Argv, "--kube-api-qps=400", "--kube-api-burst=800")
		}
	}
	return specs
}
