package kube

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Entry is what the store of an informer holds of an object: enough to be keyed, and the facts. Of 10,000 pods a whole
// ObjectMeta each would be as much as all that is kept of them otherwise.
type Entry[T any] struct {
	namespace, name, resourceVersion string
	// Facts are nil of an object that is none of ours.
	Facts *T
}

// GetObjectMeta makes an Entry something that informers can key: a metav1.ObjectMetaAccessor.
func (e *Entry[T]) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: e.namespace, Name: e.name, ResourceVersion: e.resourceVersion}
}

// Namespace of the object.
func (e *Entry[T]) Namespace() string { return e.namespace }
