package model

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
	DataKeep DataFate = "Keep"
	DataLose DataFate = "Lose"
)

// OnTimeout says what to do when a drain takes too long.
// +kubebuilder:validation:Enum=Hold;Proceed
type OnTimeout string

// What to do on a timeout.
const (
	TimeoutHold    OnTimeout = "Hold"
	TimeoutProceed OnTimeout = "Proceed"
)
