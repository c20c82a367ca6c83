package guard

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
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
	admission, ours := client.AdmissionregistrationV1(), fields.OneTermEqualSelector(metav1.ObjectNameField, v1alpha1.GuardPolicy).String()
	return &watches{
		budgets: kube.Informer(client, client.PolicyV1().PodDisruptionBudgets(metav1.NamespaceAll), budgetOf, kube.Watched{
			What:     "PodDisruptionBudgets",
			Indexers: cache.Indexers{byNamespace: func(o any) ([]string, error) { return []string{o.(*kube.Entry[Budget]).Namespace()}, nil }},
		}),
		pods: kube.Informer(client, client.CoreV1().Pods(metav1.NamespaceAll), labelledOf, kube.Watched{
			What: "pods with a guard", Labels: v1alpha1.LabelGuard,
			Indexers: cache.Indexers{byCluster: func(o any) ([]string, error) {
				if l := o.(*kube.Entry[labelled]).Facts; l != nil {
					return []string{l.key().String()}, nil
				}
				return nil, nil
			}},
		}),
		policies: kube.Informer(client, admission.ValidatingAdmissionPolicies(), policyOf, kube.Watched{What: "the guard's policy", Fields: ours}),
		bindings: kube.Informer(client, admission.ValidatingAdmissionPolicyBindings(), bindingOf, kube.Watched{What: "the policy's binding", Fields: ours}),
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

func policyOf(p *admissionv1.ValidatingAdmissionPolicy) *admissionPolicy {
	return &admissionPolicy{leaving: p.DeletionTimestamp != nil}
}

type binding struct {
	resourceVersion string
	denies          bool
	expired         bool
}

// bindingOf returns nil for a binding of another policy, or one that is being deleted.
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

// binding returns the known binding that refuses, or nil.
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

// budgetsIn returns all budgets of a namespace.
func (w *watches) budgetsIn(namespace string) []Budget {
	return collect[Budget](w.budgets, byNamespace, namespace)
}

// labelledOf returns the pods whose guard names a cluster.
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

// onChange calls changed with the facts before and after.
func onChange[T any](informer cache.SharedIndexInformer, changed func(*T)) error {
	_, err := kube.OnChange(informer, func(*T) {}, changed)
	return err
}
