package policy

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
	Engine         EngineFacts `json:"engine"`
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

// EngineFacts are facts of the adapter.
type EngineFacts struct {
	// SettleSeconds is how long the database may take to notice that a pod went away.
	SettleSeconds float64 `json:"settleSeconds"`
	// MinSourceVersion is the oldest version from which the new one can be reached; empty = any.
	MinSourceVersion string `json:"minSourceVersion"`
	// MaxMajorStep is how many major versions one update may climb; 0 = none. Default: 1.
	MaxMajorStep int `json:"maxMajorStep"`
	// SameMinor: members of versions that differ in the major or minor number do not
	// talk to each other, so that only a restart of all at once leads to another.
	SameMinor bool `json:"sameMinor"`
}

// Pool is one StatefulSet of the database cluster.
type Pool struct {
	Name string `json:"name"`
	// Replicas is the desired number of pods.
	Replicas int32 `json:"replicas"`
	// Start is the first ordinal.
	Start int32 `json:"start"`
	// Revision is the update revision; empty = unknown, nothing is out of date.
	Revision string `json:"revision"`
	// Version is the engine version of the new template where the image tag tells it.
	Version string `json:"version"`
	// Observed: the status is of this generation. Default: true.
	Observed   bool       `json:"observed"`
	Management Management `json:"management"`
	Strategy   Strategy   `json:"strategy"`
	// Partition of a RollingUpdate pool: lower ordinals come back on the old revision.
	Partition int32 `json:"partition"`
	// Force is the force annotation.
	Force bool `json:"force"`
	// AllowShutdown is the annotation that means a scale to 0.
	AllowShutdown bool `json:"allowShutdown"`
	// Operation is ScaleDown, Volume or Removal while one has begun and is not finished.
	Operation Operation `json:"operation"`
	// Ordered is a partition that a person set.
	Ordered *int32 `json:"ordered"`
	// RunningVersion is the oldest that runs in the database now; empty = unknown.
	RunningVersion string `json:"runningVersion"`
	// ScalingTo is the number of replicas wanted while a scale-down is in progress.
	ScalingTo *int32 `json:"scalingTo"`
	// Agents: pods that are made from its template get an agent. Where they do
	// not, a restart would bring none, so it is no reason to go. Default: true.
	Agents bool `json:"agents"`
	// FinishedRevision is the last one that all of the pool's pods ran; empty = unknown.
	FinishedRevision string `json:"finishedRevision,omitempty"`
	// Refused is why whoever acts can do nothing about this pool; empty = it can.
	Refused string `json:"refused,omitempty"`
}

// Management is a StatefulSet's pod management policy. Default: Parallel.
type Management string

// The pod management policies.
const (
	Parallel     Management = "Parallel"
	OrderedReady Management = "OrderedReady"
)

// Strategy is a StatefulSet's update strategy. Default: OnDelete.
type Strategy string

// The update strategies of a StatefulSet.
const (
	OnDelete              Strategy = "OnDelete"
	RollingUpdateStrategy Strategy = "RollingUpdate"
)

// Operation is something that must finish before ordinary candidates go.
type Operation string

// The operations of a pool.
const (
	NoOperation        Operation = ""
	OperationScaleDown Operation = "ScaleDown"
	OperationVolume    Operation = "Volume"
	OperationRemoval   Operation = "Removal"
)

// Pod is one pod, or the place of one that is missing.
type Pod struct {
	Name    string `json:"name"`
	UID     string `json:"uid"`
	Pool    string `json:"pool"`
	Ordinal int32  `json:"ordinal"`
	Node    string `json:"node"`
	// Zone is empty when unknown; then it is that of the node.
	Zone string `json:"zone"`
	// Unit narrows the unit Zone; optional.
	Unit     string   `json:"unit"`
	Revision string   `json:"revision"`
	Phase    PodPhase `json:"phase"`
	// Since is when the phase began; absent means long ago.
	Since   Time    `json:"since"`
	Problem Problem `json:"problem"`
	// Restart: a person or a schedule asked for it although the revision is current.
	Restart bool `json:"restart"`
	// Remove: a victim of a scale-down or a removal.
	Remove bool `json:"remove"`
	// Agent: an agent container is in this pod. Default: true.
	Agent bool       `json:"agent"`
	Guard GuardLabel `json:"guard"`
	// Refused is a rule found while acting, or by looking at budgets: foreign-budget,
	// unstable, or veto
	// when nobody could empty a pod that is to be replaced.
	Refused Rule `json:"refused"`
	// RefusedBy names the budgets of somebody else, where it is known which.
	RefusedBy string `json:"refusedBy,omitempty"`
	// MustReplace lists what changed that only a replacement can bring; larger
	// resources and another security context only where the spec asks for it.
	MustReplace []string       `json:"mustReplace"`
	Conditions  []PodCondition `json:"conditions"`
	// Tolerates lists those taints of its node, by their keys, that the pod tolerates without end.
	Tolerates []string `json:"tolerates,omitempty"`
	// Exempt: never replaced because it fails; somebody makes it fail on purpose.
	Exempt  bool    `json:"exempt"`
	Removal Removal `json:"removal"`
	// EstimateSeconds is the expected time away. Default: 60.
	EstimateSeconds float64 `json:"estimateSeconds"`
	// Report is null when there is none.
	Report *Report `json:"report"`
}

// PodPhase is how far a pod has come. Default: Ready.
type PodPhase string

// The phases of a pod. NotStarted means that its database container has never
// started; Started that it runs and is not Ready; Failed that it started and
// then failed, or is killed again and again.
const (
	Missing     PodPhase = "Missing"
	Pending     PodPhase = "Pending"
	NotStarted  PodPhase = "NotStarted"
	Started     PodPhase = "Started"
	Ready       PodPhase = "Ready"
	Terminating PodPhase = "Terminating"
	Failed      PodPhase = "Failed"
)

// Problem names what is wrong with a pod. Other values than these are shown as
// they are, and are no evidence of anything.
type Problem string

// The problems that decisions know.
const (
	NoProblem     Problem = ""
	CrashLoop     Problem = "CrashLoop"
	StartupProbe  Problem = "StartupProbe"
	ImagePull     Problem = "ImagePull"
	BadConfig     Problem = "Config"
	Unschedulable Problem = "Unschedulable"
	InitFailed    Problem = "Init"
	SidecarFailed Problem = "Sidecar"
	VolumeStuck   Problem = "Volume"
	NodeGone      Problem = "NodeGone"
	StuckEnding   Problem = "StuckTerminating"
	Ended         Problem = "Ended"
)

// GuardLabel is a pod's guard. Default: Closed.
type GuardLabel string

// The states of a pod's guard.
const (
	GuardClosed GuardLabel = "Closed"
	GuardOpen   GuardLabel = "Open"
	GuardNone   GuardLabel = "None"
)

// PodCondition is a condition that can lead to a replacement.
type PodCondition struct {
	Type string `json:"type"`
	// Key of the taint that NodeTaintDetected is about.
	Key string `json:"key,omitempty"`
	// Since is when it began, without which its age cannot be told.
	Since Time `json:"since"`
}

// Removal is a replacement in flight.
type Removal struct {
	// Marked is when the pod was marked; null means it is not.
	Marked *Time `json:"marked"`
	// Excluded: the database says that nothing is left on it.
	Excluded bool `json:"excluded"`
}

// Node is a node on which pods of the cluster run.
type Node struct {
	Name     string  `json:"name"`
	Zone     string  `json:"zone"`
	Cordoned bool    `json:"cordoned"`
	Gone     bool    `json:"gone"`
	Taints   []Taint `json:"taints"`
}

// Taint is a taint of a node.
type Taint struct {
	Key   string `json:"key"`
	Since Time   `json:"since"`
}

// Health is the verdict about the database as a whole.
type Health struct {
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason"`
	// Disagree says in which way the witnesses contradict each other; empty = they do not.
	Disagree string `json:"disagree"`
}

// Verdict is a verdict about the database. Default: Green.
type Verdict string

// The verdicts. Recoverable means that copies are missing only for reasons
// that a node's return or upgrade ends.
const (
	Green         Verdict = "Green"
	Recoverable   Verdict = "Recoverable"
	Yellow        Verdict = "Yellow"
	Red           Verdict = "Red"
	UnknownHealth Verdict = "Unknown"
)

// Group is a redundancy group: copies of which only so many may be missing at once.
type Group struct {
	ID   string    `json:"id"`
	Kind GroupKind `json:"kind"`
	// MinAvailable is set by the engine for Quorum, Acks and Role. For a Shard it is
	// the least that the limits may leave; null = the limits alone decide. Where
	// members have a domain, domains are counted.
	MinAvailable *int32 `json:"minAvailable"`
	// NeedsLeader: one of its members must lead. Default: true for Shard, else false.
	NeedsLeader bool `json:"needsLeader"`
	// Moving: copies of this group are being moved.
	Moving  bool     `json:"moving"`
	Members []Member `json:"members"`
}

// GroupKind is what a group's members are to each other. Default: Shard.
type GroupKind string

// The kinds of groups.
const (
	Shard  GroupKind = "Shard"
	Quorum GroupKind = "Quorum"
	Acks   GroupKind = "Acks"
	Role   GroupKind = "Role"
)

// Member is one copy, vote or holder.
type Member struct {
	ID string `json:"id"`
	// Pod is empty when the member is hosted elsewhere.
	Pod   string      `json:"pod"`
	State MemberState `json:"state"`
	// Domain in which it fails together with others of the group: however many of a
	// domain are missing, they count once; of a Role a domain is there while any of its
	// members is. Empty = it fails by itself.
	Domain string `json:"domain,omitempty"`
	Leader bool   `json:"leader"`
	// Eligible: may lead; of a Shard by its kind, whatever its state. Default: true.
	Eligible bool `json:"eligible"`
	// Progress of a recovery, 0 to 1; null = unknown.
	Progress *float64 `json:"progress,omitempty"`
}

// MemberState is the state of a member. Default: Active.
type MemberState string

// The states of a member.
const (
	Active       MemberState = "Active"
	Recovering   MemberState = "Recovering"
	Moving       MemberState = "Moving"
	Down         MemberState = "Down"
	UnknownState MemberState = "Unknown"
)

// Fleet is what goes on across all clusters.
type Fleet struct {
	// Restarts in flight across all clusters.
	Restarts int `json:"restarts"`
	// Max restarts; 0 = no limit.
	Max int `json:"max"`
}
