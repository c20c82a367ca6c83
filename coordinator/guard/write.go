package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
)

// echo is how long a write may take to show in the watch. Until then it is not repeated.
const echo = 2 * time.Second

// writer is a Guard in the term of its leader.
type writer struct {
	*Guard
	bound Bound

	recently sync.Mutex
	// written is when, in the last moments, pods were labelled and the budget of a DatabaseCluster
	// was created, by their UIDs.
	written map[types.UID]time.Time
	// strays are since when pods with a guard have belonged to no cluster, by the DatabaseCluster
	// that the guard names.
	strays map[kube.Key]map[types.UID]time.Time
}

func newWriter(g *Guard, bound Bound) *writer {
	return &writer{Guard: g, bound: bound, written: map[types.UID]time.Time{}, strays: map[kube.Key]map[types.UID]time.Time{}}
}

func (w *writer) work(ctx context.Context, queue workqueue.TypedRateLimitingInterface[kube.Key]) {
	for {
		key, stop := queue.Get()
		if stop {
			return
		}
		err := w.reconcile(ctx, key)
		switch {
		case err == nil:
			queue.Forget(key)
		case ctx.Err() == nil:
			// A conflict is somebody else's write, which the watch will show.
			if !apierrors.IsConflict(err) {
				w.options.Logger.Warn("the guard could not be brought up to date", "cluster", key.String(), "error", err)
			}
			queue.AddRateLimited(key)
		}
		queue.Done(key)
	}
}

// reconcile updates labels and budget of one cluster.
func (w *writer) reconcile(ctx context.Context, key kube.Key) error {
	if err := w.rearm(ctx); err != nil {
		return err
	}
	facts, ok := w.facts(key)
	mayReturn := w.options.Cache.Exists(key) && (!ok || modeFor(facts) != Unguarded)
	if err := w.unlabel(ctx, key, mayReturn); err != nil {
		return err
	}
	if !ok {
		if !w.options.Cache.Exists(key) {
			w.forget(key)
		}
		return nil
	}
	decision := Decide(facts)
	w.note(key, decision.State)
	return errors.Join(w.budget(ctx, facts, decision), w.label(ctx, key, decision.Labels))
}

// Arm makes an expired guard of a cluster refuse again. The leader waits for it before the first
// claim.
func (g *Guard) Arm(ctx context.Context, bound Bound, key kube.Key) error {
	w := newWriter(g, bound)
	facts, ok := w.facts(key)
	if !ok {
		return nil
	}
	err := w.rearm(ctx)
	if decision := Decide(facts); decision.Own != nil && decision.Own.Expired {
		err = errors.Join(err, w.budget(ctx, facts, decision))
	}
	return err
}

func (w *writer) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	bounded, cancelBound := w.bound(ctx)
	return bounded, func() { cancelBound(); cancel() }
}

// rearm makes the admission policy refuse again after Expire. A binding that a person has relaxed
// stays as it is.
func (w *writer) rearm(ctx context.Context) error {
	b := w.watches.binding()
	if b == nil || !b.expired {
		return nil
	}
	ctx, cancel := w.bounded(ctx)
	defer cancel()
	err := setActions(ctx, w.options.Kubernetes, b.resourceVersion, admissionv1.Deny, nil)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // another has; the watch will show it
	}
	if err != nil {
		return fmt.Errorf("have the admission policy refuse again: %w", err)
	}
	w.options.Logger.Info("deletes are refused again", "binding", v1alpha1.GuardPolicy)
	return nil
}

// setActions writes what the binding does, and since when it has expired.
func setActions(ctx context.Context, client kubernetes.Interface, version string, action admissionv1.ValidationAction, since *string) error {
	patch := map[string]any{
		"metadata": map[string]any{"resourceVersion": version, "annotations": map[string]*string{v1alpha1.AnnotationGuardExpired: since}},
		"spec":     map[string]any{"validationActions": []admissionv1.ValidationAction{action}},
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().
		Patch(ctx, v1alpha1.GuardPolicy, types.MergePatchType, body, metav1.PatchOptions{})
	return err
}

func (w *writer) budget(ctx context.Context, f Facts, d Decision) error {
	cluster := f.Objects.Cluster
	ctx, cancel := w.bounded(ctx)
	defer cancel()
	budgets, name := w.options.Kubernetes.PolicyV1().PodDisruptionBudgets(cluster.Namespace), v1alpha1.DerivedName(cluster.Name)
	var err error
	switch d.Budget {
	case KeepBudget:
		return nil
	case CreateBudget:
		if w.justWritten(cluster.UID) {
			w.lookAfter(kube.Key{Namespace: cluster.Namespace, Name: cluster.Name}, echo)
			return nil
		}
		pdb := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: name}}
		makeClosed(pdb, cluster)
		_, err = budgets.Create(ctx, pdb, metav1.CreateOptions{})
	case UpdateBudget:
		err = w.updateBudget(ctx, cluster, name)
	case DeleteBudget:
		err = w.options.Kubernetes.PolicyV1().PodDisruptionBudgets(cluster.Namespace).
			Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &d.Own.UID}})
	}
	if apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
		return nil // the watch will show it
	}
	if err != nil {
		return fmt.Errorf("%s PodDisruptionBudget %s: %w", d.Budget, name, err)
	}
	return nil
}

// updateBudget makes our budget what it should be, unless that was done after the cache was
// updated.
func (w *writer) updateBudget(ctx context.Context, cluster *v1alpha1.DatabaseCluster, name string) error {
	budgets := w.options.Kubernetes.PolicyV1().PodDisruptionBudgets(cluster.Namespace)
	pdb, err := budgets.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	was := budgetOf(pdb)
	if !was.Ours || was.asMade(cluster.UID) {
		return nil
	}
	makeClosed(pdb, cluster)
	if _, err := budgets.Update(ctx, pdb, metav1.UpdateOptions{}); err != nil {
		return err
	}
	if was.Expired {
		w.options.Rearmed(kube.Key{Namespace: cluster.Namespace, Name: cluster.Name}, string(cluster.UID))
	}
	return nil
}

// label writes the labels of pods as they were seen. If a pod has changed since, the watch will
// trigger another look.
func (w *writer) label(ctx context.Context, key kube.Key, changes []LabelChange) error {
	for _, change := range changes {
		if err := w.set(ctx, key, change); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) set(ctx context.Context, key kube.Key, change LabelChange) error {
	if w.justWritten(change.UID) {
		w.lookAfter(key, echo)
		return nil
	}
	ctx, cancel := w.bounded(ctx)
	defer cancel()
	err := setLabels(ctx, w.options.Kubernetes, key.Namespace, change)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// justWritten reports whether the object was written a moment ago, and if not notes that it is now.
func (w *writer) justWritten(uid types.UID) bool {
	w.recently.Lock()
	defer w.recently.Unlock()
	now := time.Now()
	maps.DeleteFunc(w.written, func(_ types.UID, at time.Time) bool { return now.Sub(at) >= echo })
	if _, ok := w.written[uid]; ok {
		return true
	}
	w.written[uid] = now
	return false
}

// setLabels sends a merge patch with preconditions.
func setLabels(ctx context.Context, client kubernetes.Interface, namespace string, change LabelChange) error {
	labels := map[string]*string{v1alpha1.LabelGuard: nil, v1alpha1.LabelGuardCluster: nil}
	if change.Guard != "" {
		labels[v1alpha1.LabelGuard], labels[v1alpha1.LabelGuardCluster] = &change.Guard, &change.Cluster
	}
	metadata := map[string]any{"uid": change.UID, "labels": labels}
	if change.Guard == "" {
		// What a claim has noted together with the guard is removed with it.
		metadata["annotations"] = map[string]any{v1alpha1.AnnotationClaim: nil}
	}
	if change.ResourceVersion != "" {
		metadata["resourceVersion"] = change.ResourceVersion
	}
	body, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	if _, err := client.CoreV1().Pods(namespace).Patch(ctx, change.Pod, types.MergePatchType, body, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("label pod %s: %w", change.Pod, err)
	}
	return nil
}
