package guard

import (
	"context"
	"errors"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/pki"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

// secondLook is how long to wait for a missing or old Lease to be written: the leader writes it
// every few seconds. Somebody may just have deleted it, and its age is by the clock of another
// node, which may be wrong.
const secondLook = 20 * time.Second

// ExpireOptions are the options of Expire.
type ExpireOptions struct {
	Client   kubernetes.Interface
	Clusters v1alpha1.Clients
	// Namespace and Lease are those of the coordinators.
	Namespace, Lease string
	// After is for how long no coordinator may have led. 0 means that a person wants the guard to
	// end, and the Lease is not read twice.
	After time.Duration
	// Reporter is the name of this pod, which writes Events.
	Reporter string
}

// Expired is what Expire found and did.
type Expired struct {
	// Silent is for how long no coordinator has led.
	Silent time.Duration
	// Binding is true if deletes are no longer refused. Budgets are the names of the relaxed
	// budgets, as namespace/name.
	Binding bool
	Budgets []string
	// Freed is the number of DatabaseClusters whose finalizer was removed.
	Freed int
}

// Expire ends the guard if no coordinator has led for too long, because none could open a pod any
// more. Labels stay, so that a coordinator that comes back only has to write the binding and the
// budgets. A failure does not prevent the other steps. It is safe to call it again.
func Expire(ctx context.Context, o ExpireOptions) (Expired, error) {
	var done Expired
	var err error
	if done.Silent, err = silence(ctx, o); err != nil {
		return done, err
	}
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

// silence returns for how long no coordinator has led. Without a Lease none has since the binding
// was created.
func silence(ctx context.Context, o ExpireOptions) (time.Duration, error) {
	first, err := readLease(ctx, o)
	if err != nil {
		return 0, err
	}
	if first != nil && (o.After == 0 || age(first) < o.After) {
		return age(first), nil
	}
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(secondLook):
	}
	second, err := readLease(ctx, o)
	switch {
	case err != nil:
		return 0, err
	case second == nil:
		return sinceGuarded(ctx, o)
	case first == nil || !first.Spec.RenewTime.Equal(second.Spec.RenewTime):
		return 0, nil // a coordinator leads, whatever its clock says
	}
	return age(second), nil
}

// readLease returns the Lease of the coordinators, or nil if there is none.
func readLease(ctx context.Context, o ExpireOptions) (*coordinationv1.Lease, error) {
	lease, err := o.Client.CoordinationV1().Leases(o.Namespace).Get(ctx, o.Lease, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read Lease %s/%s: %w", o.Namespace, o.Lease, err)
	}
	return lease, nil
}

// age returns the age of a Lease by the local clock. It is never negative.
func age(lease *coordinationv1.Lease) time.Duration {
	last := lease.CreationTimestamp.Time
	if lease.Spec.RenewTime != nil {
		last = lease.Spec.RenewTime.Time
	}
	return max(0, time.Since(last))
}

// sinceGuarded returns the age of the binding. It is unlimited if there is none.
func sinceGuarded(ctx context.Context, o ExpireOptions) (time.Duration, error) {
	b, err := o.Client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Get(ctx, v1alpha1.GuardPolicy, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return time.Since(time.Time{}), nil
	} else if err != nil {
		return 0, fmt.Errorf("read ValidatingAdmissionPolicyBinding %s: %w", v1alpha1.GuardPolicy, err)
	}
	return time.Since(b.CreationTimestamp.Time), nil
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
	var errs []error
	err := ourBudgets(ctx, o.Client, func(pdb *policyv1.PodDisruptionBudget, b *Budget) {
		if b.Expired {
			return
		}
		one := intstr.FromInt32(1)
		pdb.Spec.MinAvailable, pdb.Spec.MaxUnavailable = nil, &one
		if pdb.Annotations == nil {
			pdb.Annotations = map[string]string{}
		}
		pdb.Annotations[v1alpha1.AnnotationGuardExpired] = since
		if _, err := o.Client.PolicyV1().PodDisruptionBudgets(pdb.Namespace).Update(ctx, pdb, metav1.UpdateOptions{}); err != nil {
			errs = append(errs, fmt.Errorf("relax PodDisruptionBudget %s/%s: %w", pdb.Namespace, pdb.Name, err))
			return
		}
		done.Budgets = append(done.Budgets, pdb.Namespace+"/"+pdb.Name)
		if err := tell(ctx, o, pdb, done.Silent); err != nil {
			errs = append(errs, err)
		}
	})
	return errors.Join(append(errs, err)...)
}

// ourBudgets calls each with each of Rollcall's budgets and its reduced form. Other budgets may
// have the same label and be large, so few are read at a time.
func ourBudgets(ctx context.Context, client kubernetes.Interface, each func(*policyv1.PodDisruptionBudget, *Budget)) error {
	labelled := metav1.ListOptions{LabelSelector: pki.LabelPartOf + "=" + pki.PartOf}
	return kube.Pages(labelled, func(o metav1.ListOptions) (string, error) {
		list, err := client.PolicyV1().PodDisruptionBudgets(metav1.NamespaceAll).List(ctx, o)
		if err != nil {
			return "", fmt.Errorf("list PodDisruptionBudgets: %w", err)
		}
		for i := range list.Items {
			if b := budgetOf(&list.Items[i]); b.Ours {
				each(&list.Items[i], b)
			}
		}
		return list.Continue, nil
	})
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
		Action:              status.EventGuardExpired,
		Reason:              status.EventGuardExpired,
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
