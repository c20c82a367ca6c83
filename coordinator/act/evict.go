package act

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// openGuard reads the pod and, live, the DatabaseCluster, and opens the guard. In a pool whose
// controller would not wait for more, it only notes the claim on the pod. Each write depends on
// what was read just before it.
func (x *Executor) openGuard(ctx context.Context, e effect.OpenGuard) effect.Result {
	ctx, cancel := x.bound(ctx)
	defer cancel()
	opened, err := x.open(ctx, e)
	if err == nil && e.Lower != nil {
		_, err = x.move(ctx, *e.Lower, e.Expected)
	}
	return effect.GuardOpened{Claim: e.Claim, Pod: opened, Err: err, Unanswered: unanswered(err)}
}

func (x *Executor) open(ctx context.Context, e effect.OpenGuard) (effect.PodSeen, error) {
	seen, err := x.pods.read(ctx, e.Pod.Pod, e.Pod.UID)
	if err != nil {
		return effect.PodSeen{}, err
	}
	if seen.Terminating {
		return effect.PodSeen{}, effect.ErrGone
	}
	if err := x.unchanged(ctx, e.Expected); err != nil {
		return effect.PodSeen{}, err
	}
	if e.CheckOthers && seen.Guard == v1alpha1.GuardClosed {
		if err := x.stillThere(ctx, e.Expected); err != nil {
			return effect.PodSeen{}, err
		}
	}
	if e.NoteOnly {
		return x.pods.note(ctx, seen, e.Claim, x.options.Epoch)
	}
	return x.pods.open(ctx, seen, e.Claim, x.options.Epoch)
}

// evict removes the pod as it has been since its guard was opened, or since the claim was noted on
// it.
func (x *Executor) evict(ctx context.Context, e effect.Evict) effect.Result {
	ctx, cancel := x.bound(ctx)
	defer cancel()
	res := effect.Evicted{Claim: e.Claim}
	if res.Err = x.stillThere(ctx, e.Expected); res.Err == nil {
		if e.Release {
			res.Moved, res.Err = x.release(ctx, e)
		} else {
			res.Err = x.pods.remove(ctx, e.Method, e.Opened)
		}
	}
	res.Unanswered = unanswered(res.Err)
	return res
}

// release removes what keeps the pod's own controller from it, and removes the pod as it has been
// since the claim was noted on it. If the controller is first, that is the same removal.
func (x *Executor) release(ctx context.Context, e effect.Evict) (moved *effect.SetSeen, err error) {
	if e.Lower != nil {
		if moved, err = x.move(ctx, *e.Lower, e.Expected); err != nil {
			return nil, err
		}
	}
	seen := e.Opened
	if seen.Guard == v1alpha1.GuardClosed {
		if seen, err = x.pods.open(ctx, seen, e.Claim, x.options.Epoch); err != nil {
			return moved, x.unlessItGoes(ctx, e.Opened, err)
		}
	}
	if err := x.pods.remove(ctx, e.Method, seen); err != nil {
		return moved, x.unlessItGoes(ctx, e.Opened, err)
	}
	return moved, nil
}

// unlessItGoes finds out whether a pod that changed was removed by its controller.
func (x *Executor) unlessItGoes(ctx context.Context, pod effect.PodSeen, conflict error) error {
	if !errors.Is(conflict, effect.ErrConflict) {
		return conflict
	}
	switch seen, err := x.pods.read(ctx, pod.Name, pod.UID); {
	case errors.Is(err, effect.ErrGone), err == nil && seen.Terminating:
		return effect.ErrGone
	}
	return conflict
}

// closeGuard closes the guard of a pod that stays, or that has no new decision, and puts the
// partition above a pod without a guard. Only when the answer says that the pod is not terminating
// may the drain be undone. After a write without an answer it writes even a closed guard, because
// that write may be carried out later, and fails only on a new resourceVersion.
func (x *Executor) closeGuard(ctx context.Context, e effect.CloseGuard) effect.Result {
	ctx, cancel := x.bound(ctx)
	defer cancel()
	res := effect.GuardClosed{Claim: e.Claim}
	seen, err := x.pods.read(ctx, e.Pod.Pod, e.Pod.UID)
	if err == nil && !seen.Terminating && e.Raise != nil {
		if res.Moved, err = x.raise(ctx, *e.Raise, e); err == nil {
			seen, err = x.pods.read(ctx, e.Pod.Pod, e.Pod.UID)
		}
	}
	if err == nil && !seen.Terminating && (e.Rewrite || seen.Claim != "" || seen.Guard == v1alpha1.GuardOpen) {
		seen, err = x.pods.closeGuard(ctx, seen)
	}
	res.Pod, res.Err = seen, err
	return res
}

// deleteByForce deletes a pod that is terminating on a node that is gone.
func (x *Executor) deleteByForce(ctx context.Context, e effect.DeleteByForce) effect.Result {
	ctx, cancel := x.bound(ctx)
	defer cancel()
	seen, err := x.pods.read(ctx, e.Pod.Pod, e.Pod.UID)
	if err == nil {
		err = x.unchanged(ctx, e.Expected)
	}
	if err == nil {
		err = x.pods.removeByForce(ctx, seen)
	}
	return effect.DeletedByForce{Pod: e.Pod, Node: e.Node, Err: err}
}

// unanswered reports whether a request may still be carried out later. An error from a server that
// is too slow, or no answer, does not rule that out.
func unanswered(err error) bool {
	if err == nil {
		return false
	}
	for _, known := range []error{effect.ErrGone, effect.ErrConflict, effect.ErrBudget, effect.ErrSuperseded, effect.ErrChanged, effect.ErrSetChanged, effect.ErrVolumeKept} {
		if errors.Is(err, known) {
			return false
		}
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	code := status.Status().Code
	return code < http.StatusBadRequest || code >= http.StatusInternalServerError || code == http.StatusRequestTimeout
}

// unchanged asks the API server itself whether the claim still exists, in this epoch, and whether
// the desired state is what was decided on.
func (x *Executor) unchanged(ctx context.Context, e effect.Expected) error {
	live, err := x.options.Clusters.DatabaseClusters(x.options.Namespace).Get(ctx, x.options.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the DatabaseCluster: %w", err)
	}
	if string(live.UID) != x.options.UID || live.Status.Epoch != x.options.Epoch || e.Claim != nil && !holds(live.Status.Claims, *e.Claim) {
		return effect.ErrSuperseded
	}
	if live.Generation != e.Object.Generation || live.DeletionTimestamp != nil ||
		live.Annotations[v1alpha1.AnnotationPaused] != e.Object.Paused {
		return effect.ErrChanged
	}
	return nil
}

func holds(claims []model.Claim, claim model.Claim) bool {
	for _, c := range claims {
		if c.ID == claim.ID && c.UID == claim.UID && c.Epoch == claim.Epoch {
			return true
		}
	}
	return false
}
