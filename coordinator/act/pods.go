package act

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// AnnotationEpoch is written to a pod with an open claim by a coordinator that
// takes the claim over, and when the guard is opened. It has no meaning of its
// own: the write changes the pod's resourceVersion, so that a late request of
// the former leader fails.
const AnnotationEpoch = "rollcall.dev/epoch"

func seenOf(pod *corev1.Pod) effect.PodSeen {
	return effect.PodSeen{
		Name: pod.Name, UID: string(pod.UID), ResourceVersion: pod.ResourceVersion,
		Terminating: pod.DeletionTimestamp != nil,
		Guard:       pod.Labels[v1alpha1.LabelGuard], Claim: pod.Annotations[v1alpha1.AnnotationClaim],
		Role:      pod.Labels[v1alpha1.LabelRole],
		Scheduled: pod.Spec.NodeName != "", Volumes: kube.OwnVolumes(pod),
	}
}

// Pods reads and writes the pods of one namespace. Every write names the UID of the pod.
type Pods struct {
	client    kubernetes.Interface
	namespace string
}

// NewPods returns the pods of a namespace.
func NewPods(client kubernetes.Interface, namespace string) *Pods {
	return &Pods{client: client, namespace: namespace}
}

// read asks the API server itself for the pod. It returns effect.ErrGone if there is none, or
// another of the same name.
func (p *Pods) read(ctx context.Context, name, uid string) (effect.PodSeen, error) {
	seen, err := p.find(ctx, name)
	if err == nil && seen.UID != uid {
		return effect.PodSeen{}, effect.ErrGone
	}
	return seen, err
}

// find is read for any pod of that name.
func (p *Pods) find(ctx context.Context, name string) (effect.PodSeen, error) {
	pod, err := p.client.CoreV1().Pods(p.namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return effect.PodSeen{}, effect.ErrGone
	case err != nil:
		return effect.PodSeen{}, fmt.Errorf("read pod %s: %w", name, err)
	}
	return seenOf(pod), nil
}

// open notes the claim on the pod and opens its guard, if it is closed, provided that the pod has
// not changed since it was seen. The pod has a new resourceVersion afterwards, even if it was open
// already: a cache that has that version has everything that happened before.
func (p *Pods) open(ctx context.Context, seen effect.PodSeen, claim string, epoch int64) (effect.PodSeen, error) {
	change := noteOf(seen, claim, epoch)
	if seen.Guard == v1alpha1.GuardClosed {
		change.Labels = map[string]*string{v1alpha1.LabelGuard: ptr(v1alpha1.GuardOpen)}
	}
	return p.patch(ctx, seen.Name, change)
}

// note notes the claim on the pod, which has a new resourceVersion afterwards, and leaves its guard
// closed.
func (p *Pods) note(ctx context.Context, seen effect.PodSeen, claim string, epoch int64) (effect.PodSeen, error) {
	return p.patch(ctx, seen.Name, noteOf(seen, claim, epoch))
}

func noteOf(seen effect.PodSeen, claim string, epoch int64) change {
	return change{UID: seen.UID, ResourceVersion: seen.ResourceVersion,
		Annotations: map[string]*string{v1alpha1.AnnotationClaim: &claim, AnnotationEpoch: ptr(stamp(epoch))}}
}

// closeGuard removes the claim from the pod and closes its guard again.
func (p *Pods) closeGuard(ctx context.Context, seen effect.PodSeen) (effect.PodSeen, error) {
	change := change{UID: seen.UID, ResourceVersion: seen.ResourceVersion,
		Annotations: map[string]*string{v1alpha1.AnnotationClaim: nil}}
	if seen.Guard == v1alpha1.GuardOpen {
		change.Labels = map[string]*string{v1alpha1.LabelGuard: ptr(v1alpha1.GuardClosed)}
	}
	return p.patch(ctx, seen.Name, change)
}

// touch changes the pod's resourceVersion and nothing that matters.
func (p *Pods) touch(ctx context.Context, name, uid string, epoch int64) (effect.PodSeen, error) {
	return p.patch(ctx, name, change{UID: uid,
		Annotations: map[string]*string{AnnotationEpoch: ptr(stamp(epoch))}})
}

// stamp returns a value that differs from every earlier one.
func stamp(epoch int64) string {
	return fmt.Sprintf("%d at %s", epoch, time.Now().UTC().Format(time.RFC3339Nano))
}

// change is a merge patch of a pod's metadata. A resourceVersion that differs
// from the object's makes the API server refuse it as a conflict, a UID as invalid.
type change struct {
	UID             string             `json:"uid"`
	ResourceVersion string             `json:"resourceVersion,omitempty"`
	Labels          map[string]*string `json:"labels,omitempty"`
	Annotations     map[string]*string `json:"annotations,omitempty"`
}

func (p *Pods) patch(ctx context.Context, name string, c change) (effect.PodSeen, error) {
	body, err := json.Marshal(map[string]any{"metadata": c})
	if err != nil {
		return effect.PodSeen{}, fmt.Errorf("patch pod %s: %w", name, err)
	}
	pod, err := p.client.CoreV1().Pods(p.namespace).Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{})
	if err != nil {
		return effect.PodSeen{}, p.judge("patch", name, err)
	}
	return seenOf(pod), nil
}

// judge distinguishes refusals that mean something from other failures.
func (p *Pods) judge(verb, name string, err error) error {
	var kind error
	switch {
	case apierrors.IsNotFound(err), isAnotherUID(err):
		kind = effect.ErrGone
	case apierrors.IsConflict(err):
		kind = effect.ErrConflict
	case refusedByBudget(err):
		kind = effect.ErrBudget
	default:
		return fmt.Errorf("%s pod %s: %w", verb, name, err)
	}
	return fmt.Errorf("%s pod %s: %w (%s)", verb, name, kind, apierrors.ReasonForError(err))
}

// isAnotherUID reports whether a patch failed because it names a UID that is not the object's: the
// API server says that it may not be changed.
func isAnotherUID(err error) bool {
	status := apierrors.APIStatus(nil)
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Field == "metadata.uid" })
}

// refusedByBudget distinguishes an eviction that a budget refuses from an API server that is merely
// busy. Both answer 429, but only the first names the cause. Two budgets on one pod answer 500
// without a reason; real failures have one.
func refusedByBudget(err error) bool {
	if _, found := apierrors.StatusCause(err, policyv1.DisruptionBudgetCause); found {
		return true
	}
	status := apierrors.APIStatus(nil)
	return errors.As(err, &status) && status.Status().Code == http.StatusInternalServerError && status.Status().Reason == ""
}

func ptr[T any](v T) *T { return &v }
