package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// Names under which the API server knows the resource.
const (
	Group    = "rollcall.dev"
	Version  = "v1alpha1"
	Kind     = "DatabaseCluster"
	Resource = "databaseclusters"
)

var (
	// GroupVersion of the resource.
	GroupVersion = schema.GroupVersion{Group: Group, Version: Version}
	// GroupVersionKind of one object.
	GroupVersionKind = GroupVersion.WithKind(Kind)
	// GroupVersionResource of the resource.
	GroupVersionResource = GroupVersion.WithResource(Resource)

	scheme         = newScheme()
	codecs         = serializer.NewCodecFactory(scheme)
	parameterCodec = runtime.NewParameterCodec(scheme)
)

// AddToScheme makes the types of this package known to s.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &DatabaseCluster{}, &DatabaseClusterList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := AddToScheme(s); err != nil {
		panic(err)
	}
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	return s
}
