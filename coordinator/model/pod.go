package model

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
	// conflict, or veto
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
	// EstimateSeconds is the expected time unavailable. Default: 60.
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
	PodPhaseMissing     PodPhase = "Missing"
	PodPhasePending     PodPhase = "Pending"
	PodPhaseNotStarted  PodPhase = "NotStarted"
	PodPhaseStarted     PodPhase = "Started"
	PodPhaseReady       PodPhase = "Ready"
	PodPhaseTerminating PodPhase = "Terminating"
	PodPhaseFailed      PodPhase = "Failed"
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

// The conditions of a pod after which it is replaced, when they have stood for
// long enough. Others lead to nothing.
const (
	ConditionMissingProcesses          = "MissingProcesses"
	ConditionPodFailing                = "PodFailing"
	ConditionMissingPod                = "MissingPod"
	ConditionMissingPVC                = "MissingPVC"
	ConditionMissingService            = "MissingService"
	ConditionPodPending                = "PodPending"
	ConditionNodeTaintDetected         = "NodeTaintDetected" // leads to NodeTaintReplacing
	ConditionNodeTaintReplacing        = "NodeTaintReplacing"
	ConditionProcessIsMarkedAsExcluded = "ProcessIsMarkedAsExcluded"
)

// Removal is a replacement in flight.
type Removal struct {
	// Marked is when the pod was marked; null means it is not.
	Marked *Time `json:"marked"`
	// Excluded: the database says that nothing is left on it.
	Excluded bool `json:"excluded"`
}
