package policy

// Spec is what a user asks of Rollcall for one database cluster. Fields that
// are left out take the defaults named here; WithDefaults fills them in.
type Spec struct {
	// engine is the kind of database.
	// +kubebuilder:validation:Enum=Solr;OpenSearch;MySQL;MariaDB;FoundationDB
	Engine Engine `json:"engine"`
	// connection says how an agent reaches its own database.
	// +optional
	Connection Connection `json:"connection,omitzero"`
	// update says when and by which means pods go.
	// +optional
	// +kubebuilder:default={}
	Update Update `json:"update,omitzero"`
	// guard says whether Kubernetes itself refuses to remove pods that Rollcall
	// has not let go. Enforce refuses, Audit only records, Off does neither.
	// +optional
	// +kubebuilder:default=Enforce
	Guard Guard `json:"guard,omitempty"`
	// policy says how much may be away, and what a pod must show when it is back.
	// +optional
	// +kubebuilder:default={}
	Policy Policy `json:"policy,omitzero"`
	// drain says what becomes of a pod's data when it goes, and how long moving it may take.
	// +optional
	// +kubebuilder:default={}
	Drain Drain `json:"drain,omitzero"`
	// replacement is for engines whose pods are replaced rather than restarted.
	// +optional
	// +kubebuilder:default={}
	Replacement Replacement `json:"replacement,omitzero"`
	// overrides switch off one rule each, for named pods, with a reason and an end.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Overrides []Override `json:"overrides,omitempty"`
}

// Engine is a kind of database. The policy never looks at it.
type Engine string

// The engines.
const (
	Solr         Engine = "Solr"
	OpenSearch   Engine = "OpenSearch"
	MySQL        Engine = "MySQL"
	MariaDB      Engine = "MariaDB"
	FoundationDB Engine = "FoundationDB"
)

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
	// insecureSkipVerify accepts any certificate.
	// +optional
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
	// serverName is the name that the certificate must carry. Default: host.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServerName string `json:"serverName,omitempty"`
}

// Guard says whether Kubernetes refuses to remove pods.
// +kubebuilder:validation:Enum=Enforce;Audit;Off
type Guard string

// The guards.
const (
	GuardEnforce Guard = "Enforce"
	GuardAudit   Guard = "Audit"
	GuardOff     Guard = "Off"
)

// Policy says how much may be away, and what a pod must show when it is back.
type Policy struct {
	// unit is what goes together: Pod, Zone or All. Default: Pod; for FoundationDB Zone.
	// +optional
	Unit Unit `json:"unit,omitempty"`
	// maxUnavailable is how many pods of the database cluster may be away, a
	// count or a percentage of the desired pods of all pools. A percentage
	// rounds down and is at least 1. Default: 25%; for OpenSearch 1.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 : (self.matches('^[1-9][0-9]*%$') && size(self) <= 7)",message="maxUnavailable must be a count of at least 1 or a percentage of at least 1%"
	MaxUnavailable *IntOrPercent `json:"maxUnavailable,omitempty"`
	// maxShardUnavailable is how many members of one group of kind Shard may
	// be unavailable, a count or a percentage of that shard's members. Default: 1.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:default=1
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 : (self.matches('^[1-9][0-9]*%$') && size(self) <= 7)",message="maxShardUnavailable must be a count of at least 1 or a percentage of at least 1%"
	MaxShardUnavailable *IntOrPercent `json:"maxShardUnavailable,omitempty"`
	// maxZonesUnavailable is how many zones may have a pod away, a count or a
	// percentage of the zones in which there are pods. Left out: no limit.
	// +optional
	// +nullable
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 : (self.matches('^[1-9][0-9]*%$') && size(self) <= 7)",message="maxZonesUnavailable must be a count of at least 1 or a percentage of at least 1%"
	MaxZonesUnavailable *IntOrPercent `json:"maxZonesUnavailable,omitempty"`
	// zoneKey is the node label that names a node's zone.
	// +optional
	// +kubebuilder:default="topology.kubernetes.io/zone"
	// +kubebuilder:validation:MaxLength=317
	ZoneKey string `json:"zoneKey,omitempty"`
	// health is the least verdict about the database at which pods go:
	// Green, Recoverable or Any. An unknown verdict never suffices.
	// +optional
	// +kubebuilder:default=Recoverable
	Health LeastHealth `json:"health,omitempty"`
	// unprotected says what to do about a group that can never be protected,
	// such as a shard with one copy: Allow or Hold.
	// +optional
	// +kubebuilder:default=Allow
	Unprotected Permission `json:"unprotected,omitempty"`
	// soakSeconds is how long a returned pod must stay settled before it counts as back.
	// +optional
	// +kubebuilder:validation:Minimum=0
	SoakSeconds int64 `json:"soakSeconds,omitempty"`
	// startSeconds is the time within which a new pod must be Ready. Default: 600.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:default=600
	StartSeconds int64 `json:"startSeconds,omitempty"`
	// progressSeconds is the time without progress after which a rollout is stalled. Default: 600.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:default=600
	ProgressSeconds int64 `json:"progressSeconds,omitempty"`
	// maxFailed is the number of failed new pods that stop the line: they are broken, or not Ready in startSeconds. Default: 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:default=1
	MaxFailed int32 `json:"maxFailed,omitempty"`
	// downgrade says whether an older version than what runs may be rolled out: Allow or Hold.
	// +optional
	// +kubebuilder:default=Hold
	Downgrade Permission `json:"downgrade,omitempty"`
}

// Unit is what goes together.
// +kubebuilder:validation:Enum=Pod;Zone;All
type Unit string

// The units.
const (
	UnitPod  Unit = "Pod"
	UnitZone Unit = "Zone"
	UnitAll  Unit = "All"
)

// LeastHealth is a least acceptable verdict.
// +kubebuilder:validation:Enum=Green;Recoverable;Any
type LeastHealth string

// The least acceptable verdicts.
const (
	LeastGreen       LeastHealth = "Green"
	LeastRecoverable LeastHealth = "Recoverable"
	LeastAny         LeastHealth = "Any"
)

// Permission allows or holds.
// +kubebuilder:validation:Enum=Allow;Hold
type Permission string

// The permissions.
const (
	Allow      Permission = "Allow"
	HoldAlways Permission = "Hold"
)

// Drain says what becomes of a pod's data when it goes.
type Drain struct {
	// data says whether a pod's data survives.
	// +optional
	// +kubebuilder:default={}
	Data DrainData `json:"data,omitzero"`
	// timeoutSeconds is how long a handoff may take. Default: 300.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:default=300
	TimeoutSeconds int64 `json:"timeoutSeconds,omitempty"`
	// evacuateTimeoutSeconds is how long an evacuation may take. Default: 86400.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:default=86400
	EvacuateTimeoutSeconds int64 `json:"evacuateTimeoutSeconds,omitempty"`
	// onTimeout is Hold, or Proceed, which is refused where data would be lost.
	// +optional
	// +kubebuilder:default=Hold
	OnTimeout OnTimeout `json:"onTimeout,omitempty"`
}

// DrainData says whether a pod's data survives.
type DrainData struct {
	// restart is Keep (a volume survives: hand over duties) or Lose (emptyDir,
	// local disk: move the data off first).
	// +optional
	// +kubebuilder:default=Keep
	Restart DataFate `json:"restart,omitempty"`
	// nodeDrain is the same for a pod that must leave its node.
	// +optional
	// +kubebuilder:default=Lose
	NodeDrain DataFate `json:"nodeDrain,omitempty"`
}

// DataFate says whether data survives.
// +kubebuilder:validation:Enum=Keep;Lose
type DataFate string

// The fates of data.
const (
	Keep DataFate = "Keep"
	Lose DataFate = "Lose"
)

// OnTimeout says what to do when a prepare takes too long.
// +kubebuilder:validation:Enum=Hold;Proceed
type OnTimeout string

// What to do on a timeout.
const (
	TimeoutHold    OnTimeout = "Hold"
	TimeoutProceed OnTimeout = "Proceed"
)

// Replacement is for engines whose pods are replaced rather than restarted.
type Replacement struct {
	// enabled turns on the automatic replacement of failed pods.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
	// failureDetectionSeconds is how long a pod must have been failing. Default: 7200.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:default=7200
	FailureDetectionSeconds int64 `json:"failureDetectionSeconds,omitempty"`
	// maxConcurrentFailed is how many replacements may be in flight (marked and
	// not yet excluded, whatever the cause) when another failed pod is taken; 0 replaces none that failed. Default: 1.
	// +optional
	// +nullable
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=1
	MaxConcurrentFailed *int32 `json:"maxConcurrentFailed,omitempty"`
	// maxConcurrentMisconfigured is the same for pods that a change needs replaced. Left out: no limit.
	// +optional
	// +nullable
	// +kubebuilder:validation:Minimum=1
	MaxConcurrentMisconfigured *int32 `json:"maxConcurrentMisconfigured,omitempty"`
	// taintReplacementSeconds is how long the mark of a tainted node must have stood. Default: 1800.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:default=1800
	TaintReplacementSeconds int64 `json:"taintReplacementSeconds,omitempty"`
	// taints are the node taints that lead to a replacement; the key "*" stands
	// for all that are not named.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Taints []ReplacementTaint `json:"taints,omitempty"`
	// updateStrategy says which updates replace pods instead of deleting them:
	// none (Delete), those of pods without a role storage or general
	// (ReplaceTransactionSystem), or all (Replace).
	// +optional
	// +kubebuilder:default=Delete
	UpdateStrategy UpdateStrategy `json:"updateStrategy,omitempty"`
	// onResourceIncrease replaces pods whose resources grow.
	// +optional
	OnResourceIncrease bool `json:"onResourceIncrease,omitempty"`
	// onSecurityContextChange replaces pods whose file ownership changes.
	// +optional
	OnSecurityContextChange bool `json:"onSecurityContextChange,omitempty"`
	// faultDomainBased makes maxConcurrentFailed a number of zones instead of pods.
	// +optional
	FaultDomainBased bool `json:"faultDomainBased,omitempty"`
}

// ReplacementTaint is a node taint that leads to a replacement.
type ReplacementTaint struct {
	// key is the taint's key, or "*".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key"`
	// durationSeconds is how long the taint must have stood; with more than ten
	// years the key leads to nothing. Left out: this option is switched off.
	// +optional
	// +nullable
	// +kubebuilder:validation:Minimum=0
	DurationSeconds *int64 `json:"durationSeconds,omitempty"`
}

// UpdateStrategy says which updates are replacements.
// +kubebuilder:validation:Enum=Delete;ReplaceTransactionSystem;Replace
type UpdateStrategy string

// The update strategies.
const (
	UpdateDelete                   UpdateStrategy = "Delete"
	UpdateReplaceTransactionSystem UpdateStrategy = "ReplaceTransactionSystem"
	UpdateReplace                  UpdateStrategy = "Replace"
)

// Override switches off one rule for named pods until it expires.
type Override struct {
	// rule is the name of the rule.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Rule Rule `json:"rule"`
	// pods are names of pods, or "*" for all. The rules sole-copy, quorum and acks need names.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	// +listType=set
	// +kubebuilder:validation:items:MaxLength=253
	Pods []string `json:"pods"`
	// reason is why, for those who read it later.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason"`
	// expires is when the rule holds again.
	Expires Time `json:"expires"`
}
