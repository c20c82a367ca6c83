package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// DatabaseCluster is one running database: the StatefulSets of its namespace
// that carry the label rollcall.dev/cluster with its name.
//
// Removing the chart keeps the definition, and with it every DatabaseCluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:metadata:annotations="helm.sh/resource-policy=keep"
// +kubebuilder:resource:path=databaseclusters,singular=databasecluster,shortName=dbc,categories=all
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Engine",type=string,JSONPath=`.spec.engine`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Updated",type=integer,JSONPath=`.status.pods.updated`
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.status.pods.desired`
// +kubebuilder:printcolumn:name="Unavailable",type=integer,JSONPath=`.status.pods.unavailable`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must be lower-case letters, digits and hyphens, beginning with a letter, since a Service is named after it"
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 54",message="metadata.name must have at most 54 characters, so that the names derived from it are valid"
type DatabaseCluster struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what is asked of Rollcall.
	Spec model.Spec `json:"spec"`
	// status is what Rollcall sees and does.
	// +optional
	Status Status `json:"status,omitzero"`
}

// DatabaseClusterList is a list of DatabaseClusters.
//
// +kubebuilder:object:root=true
type DatabaseClusterList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitzero"`

	Items []DatabaseCluster `json:"items"`
}
