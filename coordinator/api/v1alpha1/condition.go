package v1alpha1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Condition has the fields of metav1.Condition, to which it can be converted.
// It is a type of its own because that one's schema refuses hyphens in a
// reason, and a reason here is the name of a rule, such as pod-budget.
type Condition struct {
	// type of the condition.
	// +kubebuilder:validation:MaxLength=316
	Type string `json:"type"`
	// status is True, False or Unknown.
	// +kubebuilder:validation:Enum=True;False;Unknown
	Status metav1.ConditionStatus `json:"status"`
	// observedGeneration is the generation of the spec that the condition is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// lastTransitionTime is when status changed last.
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
	// reason is the name of the rule that decides, or a word in CamelCase.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^[A-Za-z]([A-Za-z0-9_,:-]*[A-Za-z0-9_])?$`
	Reason string `json:"reason"`
	// message is for people.
	// +kubebuilder:validation:MaxLength=32768
	Message string `json:"message"`
}

// IsTrue says whether the condition of a type is there and true.
func IsTrue(conditions []Condition, kind string) bool {
	return slices.ContainsFunc(conditions, func(c Condition) bool { return c.Type == kind && c.Status == metav1.ConditionTrue })
}
