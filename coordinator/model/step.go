package model

// Step is one thing to do now.
type Step struct {
	Pod     string  `json:"pod"`
	UID     string  `json:"uid"`
	Unit    string  `json:"unit"`
	Action  Action  `json:"action"`
	Prepare Prepare `json:"prepare"`
	Reason  Reason  `json:"reason"`
	// OutsideBudget: the pod is broken by itself, and taking it takes nothing away.
	OutsideBudget bool `json:"outsideBudget"`
	// BeforeTurn: the order would have others go first, and nobody else can go.
	BeforeTurn bool `json:"beforeTurn,omitempty"`
	// Partition is the target of LowerPartition.
	Partition *int32 `json:"partition"`
	// Notes are overrides in force and groups that cannot be protected.
	Notes []string `json:"notes"`
}

// Action is what is done to a pod.
// +kubebuilder:validation:Enum=Restart;Handoff;Evacuate;Remove;Replace;Restore;LowerPartition
type Action string

// The actions. Restart deletes a pod that comes back; Handoff and Evacuate
// only drain; Remove deletes a pod that does not come back; Restore undoes
// a drain. LowerPartition moves the partition of a RollingUpdate pool to the
// pod, which then goes and comes back.
const (
	ActionRestart        Action = "Restart"
	ActionHandoff        Action = "Handoff"
	ActionEvacuate       Action = "Evacuate"
	ActionRemove         Action = "Remove"
	ActionReplace        Action = "Replace"
	ActionRestore        Action = "Restore"
	ActionLowerPartition Action = "LowerPartition"
)

// Prepare is what makes a pod safe to stop: the kind of its drain.
// +kubebuilder:validation:Enum=None;Handoff;Evacuate
type Prepare string

// The ways to drain.
const (
	PrepareNone     Prepare = "None"
	PrepareHandoff  Prepare = "Handoff"
	PrepareEvacuate Prepare = "Evacuate"
)

// Reason is why a pod should go.
// +kubebuilder:validation:Enum=Outdated;NeverStarted;Failed;RestartRequested;NodeDrain;ScaleDown;Replacement;Adopt
type Reason string

// The reasons.
const (
	ReasonOutdated         Reason = "Outdated"
	ReasonNeverStarted     Reason = "NeverStarted"
	ReasonFailed           Reason = "Failed"
	ReasonRestartRequested Reason = "RestartRequested"
	ReasonNodeDrain        Reason = "NodeDrain"
	ReasonScaleDown        Reason = "ScaleDown"
	ReasonReplacement      Reason = "Replacement"
	ReasonAdopt            Reason = "Adopt"
)
