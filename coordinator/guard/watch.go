package guard

import (
	"context"
	"fmt"
	"reflect"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
)

// Indexes of the informers.
const (
	byNamespace = "namespace"
	byCluster   = "cluster"
)

// watches are what the guard knows, in memory.
type watches struct {
	budgets  cache.SharedIndexInformer
	pods     cache.SharedIndexInformer
	policies cache.SharedIndexInformer
	bindings cache.SharedIndexInformer
}

func newWatches(client kubernetes.Interface) *watches {
	budgets, pods := client.PolicyV1().PodDisruptionBudgets(metav1.NamespaceAll), client.CoreV1().Pods(metav1.NamespaceAll)
	policies := client.AdmissionregistrationV1().ValidatingAdmissionPolicies()
	bindings := client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	ours := func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("metadata.name", v1alpha1.GuardPolicy).String()
	}
	return &watches{
		budgets: informerOf(client, &policyv1.PodDisruptionBudget{}, func(*metav1.ListOptions) {},
			func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return budgets.List(ctx, o) }, budgets.Watch,
			func(pdb *policyv1.PodDisruptionBudget) any { return kube.Keyed(&pdb.ObjectMeta, budgetOf(pdb)) },
			cache.Indexers{byNamespace: func(o any) ([]string, error) { return []string{o.(*kube.Entry[Budget]).Namespace()}, nil }}),
		pods: informerOf(client, &corev1.Pod{}, func(o *metav1.ListOptions) { o.LabelSelector = v1alpha1.LabelGuard },
			func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return pods.List(ctx, o) }, pods.Watch,
			func(pod *corev1.Pod) any { return kube.Keyed(&pod.ObjectMeta, labelledOf(pod)) },
			cache.Indexers{byCluster: func(o any) ([]string, error) {
				if l := o.(*kube.Entry[labelled]).Facts; l != nil {
					return []string{l.key().String()}, nil
				}
				return nil, nil
			}}),
		policies: informerOf(client, &admissionv1.ValidatingAdmissionPolicy{}, ours,
			func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return policies.List(ctx, o) }, policies.Watch,
			func(p *admissionv1.ValidatingAdmissionPolicy) any {
				return kube.Keyed(&p.ObjectMeta, &admissionPolicy{leaving: p.DeletionTimestamp != nil})
			}, nil),
		bindings: informerOf(client, &admissionv1.ValidatingAdmissionPolicyBinding{}, ours,
			func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return bindings.List(ctx, o) }, bindings.Watch,
			func(b *admissionv1.ValidatingAdmissionPolicyBinding) any {
				return kube.Keyed(&b.ObjectMeta, bindingOf(b))
			}, nil),
	}
}

func (w *watches) all() []cache.SharedIndexInformer {
	return []cache.SharedIndexInformer{w.budgets, w.pods, w.policies, w.bindings}
}

func (w *watches) synced() bool {
	for _, informer := range w.all() {
		if !informer.HasSynced() {
			return false
		}
	}
	return true
}

// admissionPolicy and binding are what is kept of those.
type admissionPolicy struct{ leaving bool }

type binding struct {
	resourceVersion string
	denies          bool
	expired         bool
}

// bindingOf is nil for a binding of another policy, or one that is going.
func bindingOf(b *admissionv1.ValidatingAdmissionPolicyBinding) *binding {
	if b.Spec.PolicyName != v1alpha1.GuardPolicy || b.DeletionTimestamp != nil {
		return nil
	}
	found := &binding{resourceVersion: b.ResourceVersion, expired: b.Annotations[v1alpha1.AnnotationGuardExpired] != ""}
	for _, action := range b.Spec.ValidationActions {
		found.denies = found.denies || action == admissionv1.Deny
	}
	return found
}

// binding is the one that refuses, as it is known; nil = none.
func (w *watches) binding() *binding {
	if object, ok, _ := w.bindings.GetStore().GetByKey(v1alpha1.GuardPolicy); ok {
		return object.(*kube.Entry[binding]).Facts
	}
	return nil
}

func (w *watches) admission() Admission {
	var a Admission
	if object, ok, _ := w.policies.GetStore().GetByKey(v1alpha1.GuardPolicy); ok {
		a.Policy = !object.(*kube.Entry[admissionPolicy]).Facts.leaving
	}
	if b := w.binding(); b != nil {
		a.Binding, a.Denies, a.Expired = true, b.denies, b.expired
	}
	return a
}

// budgetsIn are all budgets of a namespace.
func (w *watches) budgetsIn(namespace string) []Budget {
	return collect[Budget](w.budgets, byNamespace, namespace)
}

// labelledOf are the pods whose guard says that it is of a cluster.
func (w *watches) labelledOf(cluster string) []labelled {
	return collect[labelled](w.pods, byCluster, cluster)
}

func collect[T any](informer cache.SharedIndexInformer, index, value string) []T {
	objects, err := informer.GetIndexer().ByIndex(index, value)
	if err != nil {
		panic(fmt.Sprintf("index of an informer: %v", err))
	}
	found := make([]T, 0, len(objects))
	for _, object := range objects {
		if facts := object.(*kube.Entry[T]).Facts; facts != nil {
			found = append(found, *facts)
		}
	}
	return found
}

// informerOf wires one list and watch that keeps only what reduce leaves.
func informerOf[T runtime.Object](
	client any, example T, narrow func(*metav1.ListOptions),
	list cache.ListWithContextFunc, watching func(context.Context, metav1.ListOptions) (watch.Interface, error),
	reduce func(T) any, indexers cache.Indexers,
) cache.SharedIndexInformer {
	informer := cache.NewSharedIndexInformerWithOptions(
		cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				narrow(&o)
				return list(ctx, o)
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				narrow(&o)
				return watching(ctx, o)
			},
		}, client),
		example,
		cache.SharedIndexInformerOptions{Indexers: indexers},
	)
	err := informer.SetTransform(func(object any) (any, error) {
		if whole, ok := object.(T); ok {
			return reduce(whole), nil
		}
		return object, nil // reduced already
	})
	if err != nil {
		panic(fmt.Sprintf("transform of an informer that has not started: %v", err))
	}
	return informer
}

// onChange calls changed with the facts before and after; nil = none.
func onChange[T any](informer cache.SharedIndexInformer, changed func(*T)) error {
	call := func(object any) {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if e, ok := object.(*kube.Entry[T]); ok && e.Facts != nil {
			changed(e.Facts)
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    call,
		DeleteFunc: call,
		UpdateFunc: func(before, after any) {
			b, _ := before.(*kube.Entry[T])
			a, _ := after.(*kube.Entry[T])
			if b == nil || a == nil || !reflect.DeepEqual(b.Facts, a.Facts) {
				call(before)
				call(after)
			}
		},
	})
	return err
}
