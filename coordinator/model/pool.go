package model

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
	ManagementParallel     Management = "Parallel"
	ManagementOrderedReady Management = "OrderedReady"
)

// Strategy is a StatefulSet's update strategy. Default: OnDelete.
type Strategy string

// The update strategies of a StatefulSet.
const (
	StrategyOnDelete      Strategy = "OnDelete"
	StrategyRollingUpdate Strategy = "RollingUpdate"
)

// Operation is something that must finish before ordinary candidates go.
type Operation string

// The operations of a pool.
const (
	OperationNone      Operation = ""
	OperationScaleDown Operation = "ScaleDown"
	// OperationVolume is not gathered any more. Saved snapshots may have it.
	OperationVolume  Operation = "Volume"
	OperationRemoval Operation = "Removal"
)
