package act

import (
	"context"
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// remove asks the API server to remove exactly the pod that was seen: this UID at this
// resourceVersion. No other file may evict or delete a pod, or delete a volume claim.
func (p *Pods) remove(ctx context.Context, method model.Method, seen effect.PodSeen) error {
	return p.removeWith(ctx, method, seen, nil)
}

// removeByForce deletes a pod that is terminating where nobody can confirm that its containers have
// ended.
func (p *Pods) removeByForce(ctx context.Context, seen effect.PodSeen) error {
	if !seen.Terminating {
		return fmt.Errorf("delete pod %s by force: nobody has deleted it yet", seen.Name)
	}
	now := int64(0)
	return p.removeWith(ctx, model.MethodDelete, seen, &now)
}

func (p *Pods) removeWith(ctx context.Context, method model.Method, seen effect.PodSeen, grace *int64) error {
	if seen.UID == "" || seen.ResourceVersion == "" {
		return fmt.Errorf("remove pod %s: it was not read first", seen.Name)
	}
	uid := types.UID(seen.UID)
	options := metav1.DeleteOptions{GracePeriodSeconds: grace, Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &seen.ResourceVersion}}
	var err error
	switch method {
	case model.MethodEvict:
		err = p.client.PolicyV1().Evictions(p.namespace).Evict(ctx, &policyv1.Eviction{
			ObjectMeta:    metav1.ObjectMeta{Namespace: p.namespace, Name: seen.Name},
			DeleteOptions: &options,
		})
	case model.MethodDelete:
		err = p.client.CoreV1().Pods(p.namespace).Delete(ctx, seen.Name, options)
	default:
		return fmt.Errorf("remove pod %s: update.method is %q and must be Evict or Delete", seen.Name, method)
	}
	if err != nil {
		return p.judge("remove", seen.Name, err)
	}
	return nil
}

// discard deletes exactly the volume claim that was seen. Kubernetes keeps it until its pod is
// gone. A claim that is gone, or is another one now, needs nothing.
func (v *Volumes) discard(ctx context.Context, claim model.VolumeClaim) error {
	return v.discardWith(ctx, claim, metav1.DeleteOptions{})
}

// mayDiscard checks whether we may delete it, and deletes nothing.
func (v *Volumes) mayDiscard(ctx context.Context, claim model.VolumeClaim) error {
	return v.discardWith(ctx, claim, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
}

func (v *Volumes) discardWith(ctx context.Context, claim model.VolumeClaim, options metav1.DeleteOptions) error {
	if claim.UID == "" {
		return fmt.Errorf("delete volume claim %s: it was not read first", claim.Name)
	}
	uid := types.UID(claim.UID)
	options.Preconditions = &metav1.Preconditions{UID: &uid}
	err := v.client.CoreV1().PersistentVolumeClaims(v.namespace).Delete(ctx, claim.Name, options)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return v.judge("delete", claim.Name, err)
}
