package model

// Version is that of the snapshot and plan formats.
const Version = 1

// Snapshot is everything that a decision depends on, as one value.
//
// In JSON, a field that is left out has the default named here. In Go, the
// zero value of every fact means that nothing is known about it, which never
// permits anything.
type Snapshot struct {
	// Version is 1.
	Version int `json:"version"`
	// Now is the time of the decision.
	Now     Time    `json:"now"`
	Cluster Cluster `json:"cluster"`
	Pools   []Pool  `json:"pools"`
	// Pods has one entry per desired ordinal and per existing pod beyond. A
	// desired ordinal without an entry counts as Missing.
	Pods   []Pod   `json:"pods"`
	Nodes  []Node  `json:"nodes"`
	Health Health  `json:"health"`
	Groups []Group `json:"groups"`
	Fleet  Fleet   `json:"fleet"`
}

// Cluster is the DatabaseCluster and what is known about it as a whole.
type Cluster struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	Spec      Spec   `json:"spec"`
	Status    Status `json:"status"`
	// Paused is any pause: spec, annotation, fleet switch.
	Paused bool `json:"paused"`
	// GuardEnforcing: Kubernetes refuses to remove closed pods right now. Default: true.
	GuardEnforcing bool        `json:"guardEnforcing"`
	Window         WindowState `json:"window"`
	// Topology is how the members share the role of primary, by fresh reports that agree. Left
	// out: the engine has no primary in this sense.
	Topology Topology `json:"topology,omitempty"`
	// TopologyWhy says why the topology is Unknown.
	TopologyWhy string      `json:"topologyWhy,omitempty"`
	Engine      EngineFacts `json:"engine"`
}

// Status is the part of the DatabaseCluster's status that decisions depend on.
type Status struct {
	Epoch     int64      `json:"epoch"`
	Claims    []Claim    `json:"claims"`
	Approvals []Approval `json:"approvals"`
	// Initialized: the cluster was healthy once. Default: true.
	Initialized bool `json:"initialized"`
	// LastProgress is when a claim changed its phase or a pod became better.
	LastProgress *Time `json:"lastProgress"`
	// LastDeparture is when a pod went away last, whoever caused it.
	LastDeparture *Time `json:"lastDeparture"`
}

// WindowState is what the update windows mean now. Cron expressions are
// evaluated outside of the policy.
type WindowState struct {
	// Open: pods may go. Default: true.
	Open bool `json:"open"`
	// NextChange is when Open will differ; null means never.
	NextChange *Time `json:"nextChange"`
}

// Fleet is what goes on across all clusters.
type Fleet struct {
	// Restarts in flight across all clusters.
	Restarts int `json:"restarts"`
	// Max restarts; 0 = no limit.
	Max int `json:"max"`
}
