// Package config reads an agent's configuration: its identity from environment variables (the
// downward API), everything else from the files of one mounted Secret, which the coordinator keeps
// current and the agent reads again.
package config

import (
	"net/netip"
	"slices"
)

// Names of environment variables that injection sets on the agent's container.
const (
	EnvNamespace    = "ROLLCALL_NAMESPACE"     // metadata.namespace
	EnvCluster      = "ROLLCALL_CLUSTER"       // value of the label rollcall.dev/cluster
	EnvPod          = "ROLLCALL_POD"           // metadata.name
	EnvPodUID       = "ROLLCALL_POD_UID"       // metadata.uid
	EnvPodIP        = "ROLLCALL_POD_IP"        // status.podIP
	EnvNode         = "ROLLCALL_NODE"          // spec.nodeName
	EnvNodeIPs      = "ROLLCALL_NODE_IPS"      // status.hostIPs, with commas; pods that were injected earlier have none
	EnvZone         = "ROLLCALL_ZONE"          // label topology.kubernetes.io/zone of the pod, may be empty
	EnvStopToken    = "ROLLCALL_STOP_TOKEN"    // expected in the header StopHeader of the stop hook
	EnvGraceSeconds = "ROLLCALL_GRACE_SECONDS" // terminationGracePeriodSeconds of the pod

	// EnvCredentialsSecret is the name of the Secret that is mounted at CredentialsDir.
	EnvCredentialsSecret = "ROLLCALL_CREDENTIALS_SECRET"
)

// Where the two Secrets are mounted. Both mounts are optional: a pod starts
// without them and the agent waits.
const (
	Dir            = "/etc/rollcall"             // Secret <cluster>-rollcall
	CredentialsDir = "/etc/rollcall-credentials" // Secret connection.credentialsSecret: username, password
)

// StateDir is where the agent keeps what its own stop hook did, so that a restarted agent can undo
// it. It is an emptyDir, which lives as long as the pod. Optional; without it that knowledge ends
// with the agent's process.
const StateDir = "/var/lib/rollcall"

// ClientDir is where the database's own client program and its files are mounted, for engines that
// need one. Optional: the pod's volume of the name ClientVolume.
const (
	ClientDir    = "/opt/rollcall-client"
	ClientVolume = "rollcall-client"
)

// Keys of the Secret <cluster>-rollcall, and so names of files in Dir.
const (
	KeyGossip = "gossip.key" // 32 random bytes, raw; during a rotation up to MaxGossipKeys of them, the first is the one to send with
	KeyCert   = "tls.crt"    // certificate of the agents, for serving and for asking each other, PEM
	KeyKey    = "tls.key"
	KeyCA     = "ca.crt"     // CA of the clients (coordinator, readers) and of the other agents
	KeyConfig = "agent.json" // File, below

	// KeyClientKey is the key of Connection.TLS.Cert, PEM. It is not in the File, which may be shown.
	KeyClientKey = "database.key"
	// CopiedPrefix begins the names of the files that File.Copied is about: username, password, and those
	// for replication.
	CopiedPrefix = "database."
)

// Ports of the agent.
const (
	PortGossip = 7946 // TCP and UDP
	PortGRPC   = 7947
	PortHTTP   = 7948
)

// The stop hook: GET http://POD:7948/stop with this header.
const (
	StopPath   = "/stop"
	StopHeader = "Rollcall-Token"
)

// Roles of client certificates: the URI SAN is RolePrefix + role.
const (
	RolePrefix      = "rollcall://role/"
	RoleCoordinator = "coordinator"
	RoleReader      = "reader"
	// RoleAgent counts among the agents of one database cluster only: the same
	// certificate names it, by ServerName.
	RoleAgent = "agent"
)

// ServerName returns the DNS SAN of the agents' certificate of one database cluster. Clients of an
// agent verify it.
func ServerName(namespace, cluster string) string {
	return cluster + "." + namespace + ".agent.rollcall"
}

// File is agent.json.
type File struct {
	ClusterUID string `json:"clusterUID"`
	// Service resolves to the addresses of all agents of the cluster.
	Service string `json:"service"`
	// Engine is the engine as in DatabaseCluster.spec.engine.
	Engine     string     `json:"engine"`
	Connection Connection `json:"connection"`
	Drain      Drain      `json:"drain"`
	// Secrets are the Secrets with credentials that pods of the database mount, or will mount, by
	// name.
	Secrets map[string]Secret `json:"secrets,omitempty"`
	// Copied is the Secret whose credentials are in Dir, too, for pods that were made before it was
	// named. Empty means none.
	Copied string `json:"copied,omitempty"`
	// GossipCIDRs are the networks from which gossip is accepted; empty means any.
	GossipCIDRs []netip.Prefix `json:"gossipCIDRs,omitempty"`
	// StopHookCIDRs are networks from which kubelets call the stop hook, besides their nodes' own
	// addresses; empty means any.
	StopHookCIDRs []netip.Prefix `json:"stopHookCIDRs,omitempty"`
	// PodNetworks are the networks in which pods of the database have been. Connections from
	// elsewhere are accepted too, and are ended first if there are too many strangers: an old list
	// must not exclude a pod on a new node. Empty means that they are not known.
	PodNetworks []netip.Prefix `json:"podNetworks,omitempty"`
	// Observe means that the agent does nothing without an order.
	Observe bool `json:"observe,omitempty"`
}

// GossipFrom reports whether gossip from an address is accepted.
func (f *File) GossipFrom(ip netip.Addr) bool {
	return among(f.GossipCIDRs, ip)
}

// NearPods reports whether an address is in a network in which pods of the database have been. If
// these are not known, it returns true.
func (f *File) NearPods(ip netip.Addr) bool {
	return among(f.PodNetworks, ip)
}

func among(networks []netip.Prefix, ip netip.Addr) bool {
	return len(networks) == 0 || slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(ip.Unmap()) })
}

// Connection says how the agent reaches its own database.
type Connection struct {
	// Host is the host of the local database; empty means localhost.
	Host string `json:"host,omitempty"`
	// Port is the port of the local database; 0 means the engine's default.
	Port int           `json:"port,omitempty"`
	TLS  ConnectionTLS `json:"tls,omitzero"`
	// AdminPort is the port of ZooKeeper's admin server; 0 means 8080.
	AdminPort int `json:"adminPort,omitempty"`
	// ClusterFile and Client are paths of FoundationDB's cluster file and fdbcli.
	ClusterFile string `json:"clusterFile,omitempty"`
	Client      string `json:"client,omitempty"`
	// Failover says who moves the primary (MySQL, MariaDB): empty means the agents, External
	// another manager, a URL another manager that is asked there.
	Failover string `json:"failover,omitempty"`
	// MaxLagSeconds is how far behind a replica may be that counts (MySQL, MariaDB); 0 = the
	// engine's default.
	MaxLagSeconds int64 `json:"maxLagSeconds,omitempty"`
	// Primary says what the primary does before it stops (MySQL, MariaDB), as
	// DatabaseCluster.spec.update.primary; empty means by the topology.
	Primary string `json:"primary,omitempty"`
}

// ConnectionTLS is TLS between the agent and its database; verification is on
// unless InsecureSkipVerify says otherwise.
type ConnectionTLS struct {
	Enabled bool `json:"enabled,omitempty"`
	// CA is PEM; empty = the system's roots.
	CA                 string `json:"ca,omitempty"`
	ServerName         string `json:"serverName,omitempty"`
	InsecureSkipVerify bool   `json:"insecureSkipVerify,omitempty"`
	// Cert is what agents show to the database, PEM; empty = nothing. Its key is in KeyClientKey.
	Cert string `json:"cert,omitempty"`
}

// Drain is what the stop hook does if the pod is not drained.
type Drain struct {
	// Evacuate means that the data of a restarted pod is lost, so move it away first.
	Evacuate       bool `json:"evacuate,omitempty"`
	TimeoutSeconds int  `json:"timeoutSeconds,omitempty"`
}
