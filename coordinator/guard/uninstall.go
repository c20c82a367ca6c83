package guard

import (
	"context"
	"errors"
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
)

// guardBindings are the bindings of the policy.
var guardBindings = []string{v1alpha1.GuardPolicy, v1alpha1.GuardPolicy + "-audit"}

// Uninstalled counts what Uninstall removed.
type Uninstalled struct {
	// Stopped is how many coordinators there should have been.
	Stopped              int
	Budgets, Pods, Freed int
	// Held are StatefulSets, namespace/name, that roll out no change before somebody lowers the
	// partition that Rollcall has set.
	Held []string
}

// Uninstall stops the coordinators of a namespace and removes everything that refuses or marks:
// first the bindings and the policy, after which a coordinator that still runs cannot refuse
// anything; then budgets, labels and finalizers. Databases keep running. It is safe to call it
// again.
func Uninstall(ctx context.Context, client kubernetes.Interface, clusters v1alpha1.Clients, namespace string) (Uninstalled, error) {
	var done Uninstalled
	var errs []error
	note := func(what string, err error) bool {
		if err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
		}
		return err == nil
	}
	stopped, err := stop(ctx, client, namespace)
	note("stop the coordinators of namespace "+namespace, err)
	done.Stopped = stopped
	admission := client.AdmissionregistrationV1()
	for _, name := range guardBindings {
		note("delete ValidatingAdmissionPolicyBinding "+name, admission.ValidatingAdmissionPolicyBindings().Delete(ctx, name, metav1.DeleteOptions{}))
	}
	note("delete ValidatingAdmissionPolicy "+v1alpha1.GuardPolicy,
		admission.ValidatingAdmissionPolicies().Delete(ctx, v1alpha1.GuardPolicy, metav1.DeleteOptions{}))

	note("budgets", ourBudgets(ctx, client, func(pdb *policyv1.PodDisruptionBudget, _ *Budget) {
		err := client.PolicyV1().PodDisruptionBudgets(pdb.Namespace).
			Delete(ctx, pdb.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pdb.UID}})
		if note("delete PodDisruptionBudget "+pdb.Namespace+"/"+pdb.Name, err) {
			done.Budgets++
		}
	}))
	freed, err := free(ctx, clusters)
	note("finalizers", err)
	done.Freed = freed
	done.Held, err = held(ctx, client)
	note("list StatefulSets", err)
	note("list pods with a guard", kube.Pages(metav1.ListOptions{LabelSelector: v1alpha1.LabelGuard}, func(o metav1.ListOptions) (string, error) {
		pods, err := client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, o)
		if err != nil {
			return "", err
		}
		for i := range pods.Items {
			pod := &pods.Items[i]
			if note("pod "+pod.Namespace, setLabels(ctx, client, pod.Namespace, LabelChange{Pod: pod.Name, UID: pod.UID})) {
				done.Pods++
			}
		}
		return pods.Continue, nil
	}))
	return done, errors.Join(errs...)
}
