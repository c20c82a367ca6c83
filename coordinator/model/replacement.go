package model

// Replacement is for engines whose pods are replaced rather than restarted.
type Replacement struct {
	// enabled turns on the automatic replacement of failed pods.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
	// failureDetectionSeconds is how long a pod must have been failing. Default: 7200.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:default=7200
	FailureDetectionSeconds int64 `json:"failureDetectionSeconds,omitempty"`
	// maxConcurrentFailed is how many replacements may be in flight (marked and
	// not yet excluded, whatever the cause) when another failed pod is taken; 0 replaces none that failed. Default: 1.
	// +optional
	// +nullable
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:default=1
	MaxConcurrentFailed *int32 `json:"maxConcurrentFailed,omitempty"`
	// maxConcurrentMisconfigured is the same for pods that a change needs replaced. Left out: no limit.
	// +optional
	// +nullable
	// +kubebuilder:validation:Minimum=1
	MaxConcurrentMisconfigured *int32 `json:"maxConcurrentMisconfigured,omitempty"`
	// taintReplacementSeconds is how long the mark of a tainted node must have stood. Default: 1800.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:default=1800
	TaintReplacementSeconds int64 `json:"taintReplacementSeconds,omitempty"`
	// taints are the node taints that lead to a replacement; the key "*" stands
	// for all that are not named.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Taints []ReplacementTaint `json:"taints,omitempty"`
	// updateStrategy says which updates replace pods instead of deleting them:
	// none (Delete), those of pods without a role storage or general
	// (ReplaceTransactionSystem), or all (Replace).
	// +optional
	// +kubebuilder:default=Delete
	UpdateStrategy UpdateStrategy `json:"updateStrategy,omitempty"`
	// onResourceIncrease replaces pods whose resources grow.
	// +optional
	OnResourceIncrease bool `json:"onResourceIncrease,omitempty"`
	// onSecurityContextChange replaces pods whose file ownership changes.
	// +optional
	OnSecurityContextChange bool `json:"onSecurityContextChange,omitempty"`
	// faultDomainBased makes maxConcurrentFailed a number of zones instead of pods.
	// +optional
	FaultDomainBased bool `json:"faultDomainBased,omitempty"`
}

// ReplacementTaint is a node taint that leads to a replacement.
type ReplacementTaint struct {
	// key is the taint's key, or "*".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key"`
	// durationSeconds is how long the taint must have stood; with more than ten
	// years the key leads to nothing. Left out: this option is switched off.
	// +optional
	// +nullable
	// +kubebuilder:validation:Minimum=0
	DurationSeconds *int64 `json:"durationSeconds,omitempty"`
}

// UpdateStrategy says which updates are replacements.
// +kubebuilder:validation:Enum=Delete;ReplaceTransactionSystem;Replace
type UpdateStrategy string

// The update strategies.
const (
	UpdateDelete                   UpdateStrategy = "Delete"
	UpdateReplaceTransactionSystem UpdateStrategy = "ReplaceTransactionSystem"
	UpdateReplace                  UpdateStrategy = "Replace"
)
