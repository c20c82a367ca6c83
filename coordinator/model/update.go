package model

// Update says when and by which means pods go.
type Update struct {
	// mode is Auto (acts) or Observe (decides and shows, never acts).
	// +optional
	// +kubebuilder:default=Auto
	Mode Mode `json:"mode,omitempty"`
	// method is how a pod is removed: Evict or Delete.
	// +optional
	// +kubebuilder:default=Evict
	Method Method `json:"method,omitempty"`
	// rollingUpdate says how pools with the RollingUpdate strategy are driven:
	// Guard or Partition.
	// +optional
	// +kubebuilder:default=Guard
	RollingUpdate RollingUpdate `json:"rollingUpdate,omitempty"`
	// schedule is Ordered (the greedy pass over the order) or Fast.
	// +optional
	// +kubebuilder:default=Ordered
	Schedule Schedule `json:"schedule,omitempty"`
	// nodeDrains treats nodes that are being left as a request to move their pods.
	// +optional
	NodeDrains NodeDrains `json:"nodeDrains,omitzero"`
	// adopt is Ask or Allow: whether pods that have no agent yet may be
	// restarted without a person's approval.
	// +optional
	// +kubebuilder:default=Ask
	Adopt Adopt `json:"adopt,omitempty"`
	// paused stops everything.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// windows are the times at which pods may go. None: always.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Windows []Window `json:"windows,omitempty"`
	// restartSchedule is a cron expression such as "0 3 * * 0", in UTC or, with
	// CRON_TZ=Europe/Oslo before it, in that zone. At each of its times all pods
	// that are older are restarted, under all rules.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	RestartSchedule string `json:"restartSchedule,omitempty"`
	// canary lets a few pods of a new revision go first.
	// +optional
	Canary Canary `json:"canary,omitzero"`
	// approveLeader waits for a person before the last pod.
	// +optional
	ApproveLeader bool `json:"approveLeader,omitempty"`
	// primary says what the primary of MySQL or MariaDB does before its pod goes:
	// Switchover hands its role to a replica. RestartInPlace keeps it: the primary
	// goes last, and nobody takes writes until it is back. Hold waits for a person.
	// Default: by the topology, Switchover where a replica may lead, else RestartInPlace.
	// +optional
	Primary Primary `json:"primary,omitempty"`
}

// Mode says whether Rollcall acts.
// +kubebuilder:validation:Enum=Auto;Observe
type Mode string

// The modes.
const (
	ModeAuto    Mode = "Auto"
	ModeObserve Mode = "Observe"
)

// Method is how a pod is removed.
// +kubebuilder:validation:Enum=Evict;Delete
type Method string

// The methods.
const (
	MethodEvict  Method = "Evict"
	MethodDelete Method = "Delete"
)

// RollingUpdate is how pools with the RollingUpdate strategy are driven.
// +kubebuilder:validation:Enum=Guard;Partition
type RollingUpdate string

// The ways to drive a RollingUpdate pool.
const (
	RollingUpdateByGuard     RollingUpdate = "Guard"
	RollingUpdateByPartition RollingUpdate = "Partition"
)

// Schedule is how candidates are sequenced.
// +kubebuilder:validation:Enum=Ordered;Fast
type Schedule string

// The schedules.
const (
	Ordered Schedule = "Ordered"
	Fast    Schedule = "Fast"
)

// Adopt says whether pods without an agent may be restarted unasked.
// +kubebuilder:validation:Enum=Ask;Allow
type Adopt string

// The ways to adopt.
const (
	AdoptAsk   Adopt = "Ask"
	AdoptAllow Adopt = "Allow"
)

// NodeDrains says which nodes are to be left.
type NodeDrains struct {
	// follow makes pods on cordoned nodes candidates.
	// +optional
	Follow bool `json:"follow,omitempty"`
	// taints are keys of node taints that mean the same as a cordon.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=317
	Taints []string `json:"taints,omitempty"`
}

// Window is a recurring time at which pods may go.
type Window struct {
	// schedule is the cron expression of the window's beginnings.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Schedule string `json:"schedule"`
	// duration is the window's length, such as 4h or 90m.
	// +kubebuilder:validation:Pattern=`^([0-9]+h)?([0-9]+m)?([0-9]+s)?$`
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=32
	Duration string `json:"duration"`
	// timeZone is a name such as Europe/Oslo. Default: UTC.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
}

// Canary lets a few pods of each pool's new revision go first.
type Canary struct {
	// pods is the number of pods of a pool that go first; 0 means no canary.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Pods int32 `json:"pods,omitempty"`
	// soakSeconds is how long the first pods must have been back before the others go.
	// +optional
	// +kubebuilder:validation:Minimum=0
	SoakSeconds int64 `json:"soakSeconds,omitempty"`
	// approve waits for a person before the others go.
	// +optional
	Approve bool `json:"approve,omitempty"`
}
