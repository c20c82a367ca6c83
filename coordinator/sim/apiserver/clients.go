package apiserver

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedapps "k8s.io/client-go/kubernetes/typed/apps/v1"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	typedpolicy "k8s.io/client-go/kubernetes/typed/policy/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// Ask carries a request to a Server, and the answer back. It is where requests wait, get lost or
// are refused. The fake clientset has no such place: its reactors are not told the context.
type Ask func(context.Context, Call) (runtime.Object, error)

// Kubernetes is a client for what a session asks for. All else is not there, and would panic.
func (a Ask) Kubernetes() kubernetes.Interface { return clientset{ask: a} }

// DatabaseClusters implements v1alpha1.Clients.
func (a Ask) DatabaseClusters(namespace string) v1alpha1.DatabaseClusters {
	return clusters{resource: resource[*v1alpha1.DatabaseCluster, v1alpha1.DatabaseClusterList]{a, Clusters, namespace}}
}

type clientset struct {
	kubernetes.Interface
	ask Ask
}

func (c clientset) AppsV1() typedapps.AppsV1Interface       { return apps{ask: c.ask} }
func (c clientset) CoreV1() typedcore.CoreV1Interface       { return core{ask: c.ask} }
func (c clientset) PolicyV1() typedpolicy.PolicyV1Interface { return policy{ask: c.ask} }

type apps struct {
	typedapps.AppsV1Interface
	ask Ask
}

func (c apps) StatefulSets(namespace string) typedapps.StatefulSetInterface {
	return sets{resource: resource[*appsv1.StatefulSet, appsv1.StatefulSetList]{c.ask, Sets, namespace}}
}

type core struct {
	typedcore.CoreV1Interface
	ask Ask
}

func (c core) Pods(namespace string) typedcore.PodInterface {
	return pods{resource: resource[*corev1.Pod, corev1.PodList]{c.ask, Pods, namespace}}
}

func (c core) PersistentVolumeClaims(namespace string) typedcore.PersistentVolumeClaimInterface {
	return volumes{resource: resource[*corev1.PersistentVolumeClaim, corev1.PersistentVolumeClaimList]{c.ask, Volumes, namespace}}
}

type policy struct {
	typedpolicy.PolicyV1Interface
	ask Ask
}

func (c policy) Evictions(namespace string) typedpolicy.EvictionInterface {
	return evictions{resource[*corev1.Pod, corev1.PodList]{c.ask, Pods, namespace}}
}

// The methods of a resource hide those of the interface, which lies deeper. What is left is not there.
type (
	pods struct {
		resource[*corev1.Pod, corev1.PodList]
		otherPods
	}
	sets struct {
		resource[*appsv1.StatefulSet, appsv1.StatefulSetList]
		otherSets
	}
	volumes struct {
		resource[*corev1.PersistentVolumeClaim, corev1.PersistentVolumeClaimList]
		otherVolumes
	}
	clusters struct {
		resource[*v1alpha1.DatabaseCluster, v1alpha1.DatabaseClusterList]
		otherClusters
	}
	otherPods    struct{ typedcore.PodInterface }
	otherSets    struct{ typedapps.StatefulSetInterface }
	otherVolumes struct {
		typedcore.PersistentVolumeClaimInterface
	}
	otherClusters struct{ v1alpha1.DatabaseClusters }
)

// resource is a client for one kind of objects, in one namespace.
type resource[T Object, L any] struct {
	ask       Ask
	kind      Kind
	namespace string
}

func (r resource[T, L]) send(ctx context.Context, c Call) (T, error) {
	c.Kind, c.Namespace, c.Resource = r.kind, r.namespace, r.kind.Resource+c.Resource
	answer, err := r.ask(ctx, c)
	object, _ := answer.(T)
	return object, err
}

func (r resource[T, L]) Get(ctx context.Context, name string, _ metav1.GetOptions) (T, error) {
	return r.send(ctx, Call{Verb: "get", Name: name})
}

// List returns what the server has, and no cache.
func (r resource[T, L]) List(ctx context.Context, o metav1.ListOptions) (*L, error) {
	into := new(L)
	answer, err := r.ask(ctx, Call{Verb: "list", Kind: r.kind, Resource: r.kind.Resource, Namespace: r.namespace,
		Selector: o.LabelSelector, Into: any(into).(runtime.Object)})
	list, _ := any(answer).(*L)
	return list, err
}

func (r resource[T, L]) UpdateStatus(ctx context.Context, object T, _ metav1.UpdateOptions) (T, error) {
	return r.send(ctx, Call{Verb: "update", Resource: "/status", Name: object.GetName(), Object: object})
}

func (r resource[T, L]) Patch(ctx context.Context, name string, _ types.PatchType, patch []byte, _ metav1.PatchOptions, _ ...string) (T, error) {
	return r.send(ctx, Call{Verb: "patch", Name: name, Patch: patch})
}

func (r resource[T, L]) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	_, err := r.send(ctx, Call{Verb: "delete", Name: name, Options: &o})
	return err
}

type evictions struct {
	pods resource[*corev1.Pod, corev1.PodList]
}

func (e evictions) Evict(ctx context.Context, eviction *policyv1.Eviction) error {
	_, err := e.pods.send(ctx, Call{Verb: "evict", Resource: "/eviction", Name: eviction.Name, Options: eviction.DeleteOptions})
	return err
}
