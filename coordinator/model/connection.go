package model

// Connection says how an agent reaches the database in its own pod. All of it
// is optional; an engine ignores what it has no use for.
type Connection struct {
	// host is the name or address to connect to. Default: the pod itself. Another one than
	// localhost or a loopback address must be named by the annotation rollcall.dev/allow-hosts
	// of the Secret with the credentials, as host:port unless the port is the usual one, or it
	// is not used.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Host string `json:"host,omitempty"`
	// port is the database's port. Default: the engine's usual one.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
	// adminPort is the port of the server's admin server, for engines that have one. It is
	// asked without TLS. Default: 8080.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	AdminPort int32 `json:"adminPort,omitempty"`
	// scheme is http or https, for engines that are spoken to over HTTP.
	// Default: https when tls is enabled, else http.
	// +optional
	// +kubebuilder:validation:Enum=http;https
	Scheme string `json:"scheme,omitempty"`
	// tls says how the database's certificate is verified.
	// +optional
	TLS ConnectionTLS `json:"tls,omitzero"`
	// credentialsSecret is the name of a Secret of type kubernetes.io/basic-auth
	// in the database's namespace. Its label rollcall.dev/cluster must be the name of this
	// DatabaseCluster, or it is not used.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	CredentialsSecret string `json:"credentialsSecret,omitempty"`
	// clusterFile is the path of the cluster file, for engines that have one.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ClusterFile string `json:"clusterFile,omitempty"`
	// client is the path of the database's own command line program, for engines
	// that are asked by one. Default: fdbcli, in the directory for clients.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Client string `json:"client,omitempty"`
	// failover says who moves the primary, for engines that have one: by default
	// the agents do; External: another manager does, and is waited for; a URL: that
	// manager is asked there, and waited for. The host of the URL needs the same
	// annotation as host does, with its port unless that is 80 or 443.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Failover string `json:"failover,omitempty"`
	// maxLagSeconds is how far a replica may be behind to count as a copy and as one
	// that can take over, for engines whose replicas lag. Default: 10.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxLagSeconds int64 `json:"maxLagSeconds,omitempty"`
}

// FailoverExternal: another manager than Rollcall's agents moves the primary.
const FailoverExternal = "External"

// ConnectionTLS says how a database's certificate is verified.
type ConnectionTLS struct {
	// enabled turns TLS on.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
	// caSecret is the name of a Secret with the key ca.crt. Its label rollcall.dev/cluster
	// must be the name of this DatabaseCluster.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	CASecret string `json:"caSecret,omitempty"`
	// clientSecret is the name of a Secret of type kubernetes.io/tls with the certificate that
	// agents show to a database that asks for one. Its label rollcall.dev/cluster must be the
	// name of this DatabaseCluster. FoundationDB's is in credentialsSecret.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ClientSecret string `json:"clientSecret,omitempty"`
	// insecureSkipVerify accepts any certificate.
	// +optional
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
	// serverName is the name that the certificate must carry. Default: host.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServerName string `json:"serverName,omitempty"`
}
