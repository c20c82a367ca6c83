package v1alpha1

import (
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// MaxHolds is the number of holds that a status shows; the rest is counted.
const MaxHolds = 50

// MaxPodConditions is the number of conditions that a status has room for.
const MaxPodConditions = 1000

// Types of conditions. Their reason is the name of a rule where one applies.
const (
	ConditionReady         = "Ready"
	ConditionReconciling   = "Reconciling"
	ConditionStalled       = "Stalled"
	ConditionAvailable     = "Available"
	ConditionInitialized   = "Initialized" // the database was healthy once
	ConditionForeignBudget = "ForeignBudget"
	// ConditionPartitionReset: somebody keeps resetting the partition of a StatefulSet.
	ConditionPartitionReset = "PartitionReset"
	// ConditionWithheld: the DatabaseCluster names a Secret or a host that those who may
	// write the Secret have not allowed, so it is not used. Not there until that happens.
	ConditionWithheld = "Withheld"
)

// Status is what Rollcall sees and does. All that a coordinator must know of
// what its predecessor began is here; nothing is remembered elsewhere.
type Status struct {
	// observedGeneration is the generation of the spec that was decided on last.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// phase is what the database cluster as a whole is doing.
	// +optional
	Phase model.ClusterPhase `json:"phase,omitempty"`
	// conditions follow the kstatus convention.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=100
	Conditions []Condition `json:"conditions,omitempty"`
	// epoch only grows. An order with a lower one than an agent has seen is refused.
	// +optional
	Epoch int64 `json:"epoch,omitempty"`
	// claims are the written intents to disrupt a pod. Each reserves budget until it is removed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	Claims []model.Claim `json:"claims,omitempty"`
	// approvals are what people consented to.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=200
	Approvals []model.Approval `json:"approvals,omitempty"`
	// clusterSettings are settings of the whole database that claims have changed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	ClusterSettings []model.ClusterSetting `json:"clusterSettings,omitempty"`
	// pendingRestores are what drains have changed whose claims are over, and that nobody
	// was there to undo. The first agent that is there undoes them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	PendingRestores []model.PendingRestore `json:"pendingRestores,omitempty"`
	// podConditions are what has been wrong with pods for a while and leads to their
	// replacement, with since when, where spec.replacement.enabled asks for that.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	PodConditions []PodCondition `json:"podConditions,omitempty"`
	// lastFinished is what each pool last finished rolling out.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	LastFinished []FinishedRollout `json:"lastFinished,omitempty"`
	// topology is how the members share the role of primary, where the engine has one: Switchable,
	// FixedPrimary, Galera, GroupReplication or SingleServer. Unknown until the agents agree.
	// +optional
	Topology model.Topology `json:"topology,omitempty"`
	// pods counts pods.
	// +optional
	Pods model.PodCounts `json:"pods,omitzero"`
	// lastTransition is when phase changed last.
	// +optional
	LastTransition model.Time `json:"lastTransition,omitzero"`
	// lastProgress is when a claim changed its phase or a pod became better.
	// +optional
	LastProgress model.Time `json:"lastProgress,omitzero"`
	// lastDeparture is when a pod went away last, whoever caused it.
	// +optional
	LastDeparture model.Time `json:"lastDeparture,omitzero"`
	// estimateSeconds is how long a restarted pod is expected to be unavailable.
	// +optional
	EstimateSeconds int64 `json:"estimateSeconds,omitempty"`
	// poolEstimateSeconds is the same by pool, for those that exist and of
	// which a pod has been unavailable.
	// +optional
	// +kubebuilder:validation:MaxProperties=1000
	PoolEstimateSeconds map[string]int64 `json:"poolEstimateSeconds,omitempty"`
	// restartSchedule is the schedule that is followed, and since when.
	// +optional
	RestartSchedule *RestartSchedule `json:"restartSchedule,omitempty"`
	// updateRevisions maps each pool to the revision that is being rolled out.
	// +optional
	// +kubebuilder:validation:MaxProperties=1000
	UpdateRevisions map[string]string `json:"updateRevisions,omitempty"`
	// holds say why pods wait; those of the whole cluster first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Holds []model.Hold `json:"holds,omitempty"`
	// moreHolds is the number of holds that are not shown.
	// +optional
	MoreHolds int32 `json:"moreHolds,omitempty"`
}

// RestartSchedule notes since when a schedule is followed: its times before
// that restart nothing.
type RestartSchedule struct {
	// schedule is spec.update.restartSchedule.
	// +kubebuilder:validation:MaxLength=256
	Schedule string `json:"schedule"`
	// since is when it was first seen.
	Since model.Time `json:"since"`
}

// PodCondition is a condition of one pod, or of the place of one that is missing.
type PodCondition struct {
	// pod is its name.
	// +kubebuilder:validation:MaxLength=253
	Pod string `json:"pod"`
	// type is MissingProcesses, PodFailing, MissingPod, MissingPVC, PodPending,
	// ProcessIsMarkedAsExcluded or NodeTaintDetected.
	// +kubebuilder:validation:MaxLength=64
	Type string `json:"type"`
	// key of the taint that NodeTaintDetected is about.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key,omitempty"`
	// since is when it was first seen.
	Since model.Time `json:"since"`
}

// FinishedRollout is what a pool last finished rolling out.
type FinishedRollout struct {
	// pool is the name of the StatefulSet.
	// +kubebuilder:validation:MaxLength=253
	Pool string `json:"pool"`
	// revision is its revision.
	// +kubebuilder:validation:MaxLength=253
	Revision string `json:"revision"`
	// version is the engine version, where it is known.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Version string `json:"version,omitempty"`
}
