package kube

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Entry is what the store of an informer holds of an object: its key and its facts. For 10,000 pods
// the whole ObjectMeta would take as much memory as everything else that is kept of them.
type Entry[T any] struct {
	namespace, name, resourceVersion string
	// Facts are nil for an object that is not ours.
	Facts *T
}

// GetObjectMeta implements metav1.ObjectMetaAccessor, so that informers can key an Entry.
func (e *Entry[T]) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: e.namespace, Name: e.name, ResourceVersion: e.resourceVersion}
}

// Namespace returns the object's namespace.
func (e *Entry[T]) Namespace() string { return e.namespace }
