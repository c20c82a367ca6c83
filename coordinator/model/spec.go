package model

// Spec is what a user asks of Rollcall for one database cluster. Fields that
// are left out take the defaults named here; WithDefaults fills them in.
type Spec struct {
	// engine is the kind of database.
	// +kubebuilder:validation:Enum=Solr;OpenSearch;MySQL;MariaDB;FoundationDB;Galera;ZooKeeper
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
	// policy says how much may be unavailable, and what a pod must show when it is back.
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

// Guard says whether Kubernetes refuses to remove pods.
// +kubebuilder:validation:Enum=Enforce;Audit;Off
type Guard string

// The guards.
const (
	GuardEnforce Guard = "Enforce"
	GuardAudit   Guard = "Audit"
	GuardOff     Guard = "Off"
)

// Policy says how much may be unavailable, and what a pod must show when it is back.
type Policy struct {
	// unit is what goes together: Pod, Zone or All. Default: Pod; for FoundationDB Zone.
	// +optional
	Unit Unit `json:"unit,omitempty"`
	// maxUnavailable is how many pods of the database cluster may be unavailable, a
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
	// maxZonesUnavailable is how many zones may have an unavailable pod, a count or a
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
	// maxFailed is the number of failed new pods that halt the rollout: they are broken, or not Ready in startSeconds. Default: 1.
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
	PermissionAllow Permission = "Allow"
	PermissionHold  Permission = "Hold"
)
