package model

// Hold is why a pod, or with an empty Pod the whole cluster, may not go.
type Hold struct {
	// +kubebuilder:validation:MaxLength=253
	Pod string `json:"pod"`
	// +kubebuilder:validation:MaxLength=64
	Rule Rule `json:"rule"`
	// Group is the redundancy group, where the rule is about one.
	// +kubebuilder:validation:MaxLength=2048
	Group string `json:"group"`
	// Reason says what fails, with numbers.
	// +kubebuilder:validation:MaxLength=8192
	Reason string `json:"reason"`
	// Unblocks says what would end it.
	// +kubebuilder:validation:MaxLength=8192
	Unblocks string `json:"unblocks"`
}
