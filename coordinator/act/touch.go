package act

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// Bound gives one request a deadline of its own.
type Bound func(context.Context) (context.Context, context.CancelFunc)

const (
	// touchesAtOnce is how many claims are taken over in parallel.
	touchesAtOnce = 16
	// touchTries is how often a request without a timely answer is sent.
	touchTries = 3
)

// toucher changes what claims are about, so that late writes of the former leader fail.
type toucher struct {
	pods  *Pods
	sets  *Sets
	epoch int64
	bound Bound
}

// touchAll takes over the claims, and returns the UIDs of the pods that still exist. The first
// failure ends it.
func (t toucher) touchAll(ctx context.Context, claims []model.Claim) (standing map[string]bool, err error) {
	standing = map[string]bool{}
	var mu sync.Mutex
	touches, ctx := errgroup.WithContext(ctx)
	touches.SetLimit(touchesAtOnce)
	for _, claim := range claims {
		touches.Go(func() error {
			stands, err := t.touch(ctx, claim)
			if err != nil {
				return fmt.Errorf("take over claim %s: %w", claim.ID, err)
			}
			mu.Lock()
			standing[claim.UID] = stands
			mu.Unlock()
			return nil
		})
	}
	return standing, touches.Wait()
}

// touch takes one claim over, and reports whether its pod still exists.
func (t toucher) touch(ctx context.Context, claim model.Claim) (stands bool, err error) {
	var pod effect.PodSeen
	err = t.try(ctx, func(ctx context.Context) (err error) {
		pod, err = t.pods.touch(ctx, claim.Pod, claim.UID, t.epoch)
		return err
	})
	switch {
	case err == nil:
		stands = !pod.Terminating
		if pod.Guard == v1alpha1.GuardOpen && stands {
			// A pod that has changed, or whose state is not known, is left to the leader's first
			// look.
			bounded, cancel := t.bound(ctx)
			_, _ = t.pods.closeGuard(bounded, pod)
			cancel()
		}
	case !errors.Is(err, effect.ErrGone) && !errors.Is(err, effect.ErrConflict):
		return false, err
	}
	if claim.Action != model.ActionLowerPartition {
		return stands, nil
	}
	// A late write must not move the partition that this claim waits for.
	err = t.try(ctx, func(ctx context.Context) error {
		_, err := t.sets.touch(ctx, model.SetOf(claim.Pod), t.epoch)
		return err
	})
	if err != nil && !errors.Is(err, effect.ErrSetChanged) {
		return false, err
	}
	return stands, nil
}

// try sends a request that may be repeated, and sends it again if it had no timely answer.
func (t toucher) try(ctx context.Context, request func(context.Context) error) (err error) {
	for range touchTries {
		bounded, cancel := t.bound(ctx)
		err = request(bounded)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return err
		}
	}
	return err
}
