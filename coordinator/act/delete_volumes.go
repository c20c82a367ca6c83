package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// findVolumes finds the pod's own volume claims before anything is moved: if they may not be
// deleted, nothing is begun.
func (x *Executor) findVolumes(ctx context.Context, e effect.FindVolumes) effect.Result {
	ctx, cancel := x.bound(ctx)
	defer cancel()
	res := effect.VolumesFound{Claim: e.Claim}
	seen, err := x.pods.read(ctx, e.Pod.Pod, e.Pod.UID)
	if err == nil {
		res.Volumes, err = x.volumes.find(ctx, seen)
	}
	res.Err = err
	return res
}

// deleteVolumes deletes the claimed volumes, which are recorded as empty. Once they are being
// deleted no pod starts on them, so a pod that does not exist after that cannot use them.
func (x *Executor) deleteVolumes(ctx context.Context, e effect.DeleteVolumes) effect.Result {
	ctx, cancel := x.bound(ctx)
	defer cancel()
	err := x.deleteOwn(ctx, e)
	return effect.VolumesDeleted{Claim: e.Claim.ID, PodGone: e.PodGone, Err: err, Unanswered: unanswered(err)}
}

func (x *Executor) deleteOwn(ctx context.Context, e effect.DeleteVolumes) error {
	if !e.PodGone {
		switch seen, err := x.pods.read(ctx, e.Claim.Pod, e.Claim.UID); {
		case err != nil:
			return err
		case seen.Terminating:
			return effect.ErrGone
		}
	}
	if err := x.unchanged(ctx, e.Expected); err != nil {
		return err
	}
	for _, volume := range e.Claim.Volumes {
		// Others are not deleted, whatever a claim says: more people may write a status than may
		// delete volume claims.
		if !slices.Contains(e.Own, volume.Name) {
			if err := x.leaveVolume(ctx, e, volume); err != nil {
				return err
			}
			continue // it does not exist any more
		}
		if err := x.volumes.discard(ctx, volume); err != nil {
			return err
		}
		x.log.Info("volume claim deleted", "pod", e.Claim.Pod, "volume", volume.Name, "uid", volume.UID)
	}
	if !e.PodGone {
		return nil
	}
	switch _, err := x.pods.find(ctx, e.Claim.Pod); {
	case err == nil:
		return fmt.Errorf("there is a pod %s again", e.Claim.Pod)
	case errors.Is(err, effect.ErrGone):
		return nil
	default:
		return err
	}
}

// leaveVolume says what a person has to do about a volume claim that is not the pod's by its name.
// It returns nil if it is gone, or another one now.
func (x *Executor) leaveVolume(ctx context.Context, e effect.DeleteVolumes, volume model.VolumeClaim) error {
	seen, err := x.volumes.read(ctx, volume.Name)
	if err != nil || seen.UID != volume.UID || seen.Leaving {
		return err
	}
	set := model.SetOf(e.Claim.Pod)
	why := fmt.Sprintf("StatefulSet %s has no template of that name any more", set)
	if !e.SetShown {
		why = fmt.Sprintf("there is no StatefulSet %s with templates of volume claims in this database", set)
	}
	if !strings.HasSuffix(volume.Name, "-"+e.Claim.Pod) {
		why = fmt.Sprintf("it is not named after pod %s, so no coordinator has written this claim", e.Claim.Pod)
	}
	return fmt.Errorf("%w: %s of claim %s: %s; whoever knows that it is this pod's and empty deletes it, or else takes claim %s out of the DatabaseCluster's status",
		effect.ErrVolumeKept, volume.Name, e.Claim.ID, why, e.Claim.ID)
}

// awaitVolumes finds out whether the recreated pod has volumes of its own.
func (x *Executor) awaitVolumes(ctx context.Context, e effect.AwaitVolumes) effect.Result {
	ctx, cancel := x.bound(ctx)
	defer cancel()
	res := effect.VolumesAwaited{Claim: e.Claim}
	successor, err := x.pods.find(ctx, e.Pod)
	if err == nil {
		var h heritage
		h, err = x.volumes.inherits(ctx, e.Volumes, successor)
		res.Inherited, res.Missing = h.successor, h.missing
	}
	res.Successor, res.Err = successor, err
	return res
}
