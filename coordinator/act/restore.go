package act

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// restore asks agents to undo a drain. Each gets its share of the time, so that one that hangs
// leaves some to the others.
func (x *Executor) restore(ctx context.Context, e effect.Restore) effect.Result {
	res := effect.Restored{Claim: e.Claim, Err: errors.New("no agent is there to undo the drain")}
	for _, target := range e.Targets {
		bounded, cancel := context.WithTimeout(ctx, effect.CallTimeout/time.Duration(len(e.Targets)))
		done, err := x.options.Agents.Restore(bounded, target, e.Claim, x.options.Epoch, e.Undo)
		cancel()
		if err != nil {
			res.Err = fmt.Errorf("undo the drain through %s: %w", target.Pod, err)
			continue
		}
		return effect.Restored{Claim: e.Claim, Answered: true, Done: done}
	}
	if e.FindAgents {
		switch hidden, err := x.attended(ctx); {
		case err != nil:
			res.Err = err
		case len(hidden) > 0:
			res.Err = fmt.Errorf("no StatefulSet with the label %s: %s shows the pods that have an agent (%s)", v1alpha1.LabelCluster, x.options.Name, effect.ListPods(hidden))
		default:
			res.Nobody = true
		}
	}
	return res
}

// confirmGone asks the API server itself whether the claimed pod is gone: a cache may be behind,
// start from an old state, or not show the pod because it has no label.
func (x *Executor) confirmGone(ctx context.Context, e effect.ConfirmGone) effect.Result {
	ctx, cancel := x.bound(ctx)
	defer cancel()
	res := effect.GoneConfirmed{Claim: e.Claim}
	_, err := x.pods.read(ctx, e.Pod.Pod, e.Pod.UID)
	if err == nil && e.SetHidden {
		res.Why, err = x.findMissing(ctx, model.SetOf(e.Pod.Pod))
	}
	res.Gone = errors.Is(err, effect.ErrGone)
	if !res.Gone {
		res.Err = err
	}
	return res
}

func (x *Executor) restoreSetting(ctx context.Context, e effect.RestoreSetting) effect.Result {
	res := effect.SettingRestored{Name: e.Setting.Name}
	notAfter := time.Now().Add(effect.CallTimeout)
	res.Done, res.Err = x.askOne(ctx, e.Expected, fmt.Sprintf("put %s back", e.Setting.Name), e.Targets, func(ctx context.Context, target effect.Target) (bool, error) {
		if e.ByCoordinator {
			return x.options.Agents.RestoreSettingWithoutAgents(ctx, target, e.Setting, notAfter)
		}
		return x.options.Agents.RestoreSetting(ctx, target, e.Setting, x.options.Epoch, notAfter)
	})
	res.Ended = time.Now()
	return res
}

func (x *Executor) restorePending(ctx context.Context, e effect.RestorePending) effect.Result {
	res := effect.PendingRestored{Pending: e.Pending}
	res.Done, res.Err = x.askOne(ctx, e.Expected, "undo it", e.Targets, func(ctx context.Context, target effect.Target) (bool, error) {
		return x.options.Agents.Restore(ctx, target, e.Pending.Claim, x.options.Epoch, e.Pending.Undo)
	})
	return res
}

// askOne asks one pod after the other to try something, until one has answered. Each gets its share
// of the time. A former leader asks none.
func (x *Executor) askOne(ctx context.Context, e effect.Expected, what string, targets []effect.Target, try func(context.Context, effect.Target) (bool, error)) (done bool, err error) {
	bounded, cancel := x.bound(ctx)
	err = x.unchanged(bounded, e)
	cancel()
	if err != nil && !errors.Is(err, effect.ErrChanged) {
		return false, err
	}
	err = errors.New("no agent is there to " + what)
	for _, target := range targets {
		bounded, cancel := context.WithTimeout(ctx, effect.CallTimeout/time.Duration(len(targets)))
		done, err = try(bounded, target)
		cancel()
		if err == nil {
			return done, nil
		}
		err = fmt.Errorf("%s through %s: %w", what, target.Pod, err)
		if errors.Is(err, effect.ErrStaleEpoch) {
			return false, err
		}
	}
	return false, err
}
