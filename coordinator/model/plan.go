package model

// Plan is what to do now, and why not everything.
type Plan struct {
	Version int `json:"version"`
	// Cluster is namespace/name.
	Cluster string       `json:"cluster"`
	Phase   ClusterPhase `json:"phase"`
	Budget  Budget       `json:"budget"`
	// Order is every pod that should go, in the order in which it is considered.
	Order []string `json:"order"`
	// Steps are what to do now, in order.
	Steps []Step `json:"steps"`
	// Holds has every other pod of Order; those of the whole cluster come
	// first and have an empty pod.
	Holds []Hold `json:"holds"`
	// Lines are moves of partitions that take nothing away.
	Lines []Line `json:"lines,omitempty"`
	// RetryAfterSeconds is above 0 only when a clock, not an event, will change the answer.
	RetryAfterSeconds int64    `json:"retryAfterSeconds"`
	Forecast          Forecast `json:"forecast"`
}

// ClusterPhase is what the cluster as a whole is doing.
// +kubebuilder:validation:Enum=Idle;Rolling;Waiting;Paused;Stalled;Done
type ClusterPhase string

// The phases of a cluster. Done: every pod is on its pool's update revision
// and back. Idle: nothing should go, and yet not everything is up to date and
// back, or that is not known. Waiting: something should go and nothing can.
const (
	ClusterIdle    ClusterPhase = "Idle"
	ClusterRolling ClusterPhase = "Rolling"
	ClusterWaiting ClusterPhase = "Waiting"
	ClusterPaused  ClusterPhase = "Paused"
	ClusterStalled ClusterPhase = "Stalled"
	ClusterDone    ClusterPhase = "Done"
)

// Budget is what may be unavailable and what is, before the steps of the plan.
type Budget struct {
	Pods  PodBudget  `json:"pods"`
	Zones ZoneBudget `json:"zones"`
}

// PodBudget counts pods.
type PodBudget struct {
	// Limit of pods that may be unavailable.
	Limit int `json:"limit"`
	// Away counts every pod that is unavailable for whatever cause, claimed ones included.
	Away int `json:"away"`
	// Claimed counts those of Away that are claimed.
	Claimed int `json:"claimed"`
	// Room is Limit less Away; it is negative when more is unavailable than allowed.
	Room int `json:"room"`
}

// ZoneBudget counts zones that have an unavailable pod. A limit of 0 means that none is set.
type ZoneBudget struct {
	Limit int `json:"limit"`
	Away  int `json:"away"`
}

// Forecast is how long the rollout would take from here if all went as estimated.
type Forecast struct {
	// Waves is the number of passes when each waits for the one before.
	Waves int `json:"waves"`
	// Seconds is the time when each pod goes as soon as it may.
	Seconds int64 `json:"seconds"`
	// BoundSeconds is a time below which no sequence can come.
	BoundSeconds int64 `json:"boundSeconds"`
}
