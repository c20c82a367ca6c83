package model

// Approval is a person's consent.
type Approval struct {
	// revision is the update revision that was approved; empty means any.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Revision string `json:"revision,omitempty"`
	// what was approved: canary, leader, adopt or outage.
	What Approved `json:"what"`
	// by is who approved.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	By string `json:"by,omitempty"`
	// at is when.
	// +optional
	At Time `json:"at,omitzero"`
}

// Approved is what a person can consent to.
// +kubebuilder:validation:Enum=canary;leader;adopt;outage
type Approved string

// What can be approved.
const (
	ApprovedCanary Approved = "canary"
	ApprovedLeader Approved = "leader"
	ApprovedAdopt  Approved = "adopt"
	ApprovedOutage Approved = "outage"
)
