package guard

import (
	"context"
	"errors"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/pki"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

// secondLook is how long a Lease that is missing is given to come back: somebody
// may just have deleted it, and coordinators make it anew within seconds.
const secondLook = 20 * time.Second

// ExpireOptions are for Expire.
type ExpireOptions struct {
	Client   kubernetes.Interface
	Clusters v1alpha1.Clients
	// Namespace and Lease of the coordinators.
	Namespace, Lease string
	// After is how long nobody may have led.
	After time.Duration
	// Reporter is who writes Events: the name of this pod.
	Reporter string
}

// Expired is what Expire found and did.
type Expired struct {
	// Silent is how long nobody has led.
	Silent time.Duration
	// Binding: deletes are refused no longer. Budgets are the names of those that
	// were relaxed, as namespace/name.
	Binding bool
	Budgets []string
	// Freed is the number of DatabaseClusters whose finalizer was taken off.
	Freed int
}

// Expire ends the guard when no coordinator has led for too long: nobody could
// open a pod any more. Labels stay, so that a coordinator that comes back has
// only the binding and the budgets to write. What fails does not keep the rest
// from being done; calling it again is harmless.
func Expire(ctx context.Context, o ExpireOptions) (Expired, error) {
	var done Expired
	last, err := lastLed(ctx, o)
	if err != nil {
		return done, err
	}
	done.Silent = time.Since(last)
	if done.Silent < o.After {
		return done, nil
	}
	since := time.Now().UTC().Format(time.RFC3339)
	bindingErr := expireBinding(ctx, o.Client, since, &done)
	budgetErr := expireBudgets(ctx, o, since, &done)
	freed, freeErr := free(ctx, o.Clusters)
	done.Freed = freed
	return done, errors.Join(bindingErr, budgetErr, freeErr)
}

// lastLed is when a coordinator led last. Without a Lease none has led since the
// binding was made.
func lastLed(ctx context.Context, o ExpireOptions) (time.Time, error) {
	for attempt := 0; ; attempt++ {
		lease, err := o.Client.CoordinationV1().Leases(o.Namespace).Get(ctx, o.Lease, metav1.GetOptions{})
		switch {
		case err == nil && lease.Spec.RenewTime != nil:
			return lease.Spec.RenewTime.Time, nil
		case err == nil:
			return lease.CreationTimestamp.Time, nil
		case !apierrors.IsNotFound(err):
			return time.Time{}, fmt.Errorf("read Lease %s/%s: %w", o.Namespace, o.Lease, err)
		}
		if attempt > 0 {
			break
		}
		select {
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		case <-time.After(secondLook):
		}
	}
	b, err := o.Client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Get(ctx, v1alpha1.GuardPolicy, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return time.Time{}, nil
	} else if err != nil {
		return time.Time{}, fmt.Errorf("read ValidatingAdmissionPolicyBinding %s: %w", v1alpha1.GuardPolicy, err)
	}
	return b.CreationTimestamp.Time, nil
}

func expireBinding(ctx context.Context, client kubernetes.Interface, since string, done *Expired) error {
	b, err := client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Get(ctx, v1alpha1.GuardPolicy, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("read ValidatingAdmissionPolicyBinding %s: %w", v1alpha1.GuardPolicy, err)
	}
	if found := bindingOf(b); found == nil || !found.denies {
		return nil
	}
	if err := setActions(ctx, client, b.ResourceVersion, admissionv1.Audit, &since); err != nil {
		return fmt.Errorf("relax ValidatingAdmissionPolicyBinding %s: %w", v1alpha1.GuardPolicy, err)
	}
	done.Binding = true
	return nil
}

func expireBudgets(ctx context.Context, o ExpireOptions, since string, done *Expired) error {
	list, err := ourBudgets(ctx, o.Client)
	if err != nil {
		return err
	}
	var errs []error
	for i := range list {
		pdb := &list[i]
		if b := budgetOf(pdb); !b.Ours || b.Expired {
			continue
		}
		one := intstr.FromInt32(1)
		pdb.Spec.MinAvailable, pdb.Spec.MaxUnavailable = nil, &one
		if pdb.Annotations == nil {
			pdb.Annotations = map[string]string{}
		}
		pdb.Annotations[v1alpha1.AnnotationGuardExpired] = since
		if _, err := o.Client.PolicyV1().PodDisruptionBudgets(pdb.Namespace).Update(ctx, pdb, metav1.UpdateOptions{}); err != nil {
			errs = append(errs, fmt.Errorf("relax PodDisruptionBudget %s/%s: %w", pdb.Namespace, pdb.Name, err))
			continue
		}
		done.Budgets = append(done.Budgets, pdb.Namespace+"/"+pdb.Name)
		if err := tell(ctx, o, pdb, done.Silent); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func ourBudgets(ctx context.Context, client kubernetes.Interface) ([]policyv1.PodDisruptionBudget, error) {
	list, err := client.PolicyV1().PodDisruptionBudgets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: pki.LabelPartOf + "=" + pki.PartOf})
	if err != nil {
		return nil, fmt.Errorf("list PodDisruptionBudgets: %w", err)
	}
	return list.Items, nil
}

// tell writes an Event about the DatabaseCluster that owns the budget.
func tell(ctx context.Context, o ExpireOptions, pdb *policyv1.PodDisruptionBudget, silent time.Duration) error {
	owner := metav1.GetControllerOf(pdb)
	if owner == nil {
		return nil
	}
	_, err := o.Client.EventsV1().Events(pdb.Namespace).Create(ctx, &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{GenerateName: owner.Name + "-", Namespace: pdb.Namespace},
		EventTime:           metav1.NewMicroTime(time.Now()),
		ReportingController: status.Controller,
		ReportingInstance:   o.Reporter,
		Action:              status.GuardExpired,
		Reason:              status.GuardExpired,
		Regarding:           corev1.ObjectReference{APIVersion: owner.APIVersion, Kind: owner.Kind, Namespace: pdb.Namespace, Name: owner.Name, UID: owner.UID},
		Note: fmt.Sprintf("no coordinator has led for %s, so pods can be deleted, one at a time be evicted, and StatefulSets with RollingUpdate roll by themselves, "+
			"until one is there again", silent.Round(time.Second)),
		Type: corev1.EventTypeWarning,
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("event about %s/%s: %w", pdb.Namespace, owner.Name, err)
	}
	return nil
}
