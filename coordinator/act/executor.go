package act

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// Executor carries out the effects of one database cluster in one epoch, each in a goroutine of its
// own, so that a pod whose agent hangs delays no other.
type Executor struct {
	options Options
	pods    *Pods
	sets    *Sets
	volumes *Volumes
	log     *slog.Logger

	running sync.WaitGroup

	mu      sync.Mutex
	results []timedResult
}

type timedResult struct {
	at     time.Time
	result effect.Result
}

// New returns an Executor.
func New(options Options) (*Executor, error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	return &Executor{
		options: options,
		pods:    NewPods(options.Kubernetes, options.Namespace),
		sets:    NewSets(options.Kubernetes, options.Namespace),
		volumes: NewVolumes(options.Kubernetes, options.Namespace),
		log:     options.Logger.With("cluster", options.Namespace+"/"+options.Name, "epoch", options.Epoch),
	}, nil
}

// Start begins to carry effects out.
func (x *Executor) Start(ctx context.Context, effects []effect.Effect) {
	for _, next := range effects {
		x.running.Go(func() {
			result := x.carryOut(ctx, next)
			x.mu.Lock()
			x.results = append(x.results, timedResult{time.Now(), result})
			x.mu.Unlock()
			x.options.Notify()
		})
	}
}

// Results returns the results of effects that had ended at a time. Later results are left for the
// next step: the facts of this one may not contain them, and must not be decided on as if they did.
func (x *Executor) Results(until time.Time) []effect.Result {
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []effect.Result
	for len(x.results) > 0 && !x.results[0].at.After(until) {
		out = append(out, x.results[0].result)
		x.results = x.results[1:]
	}
	return out
}

// Wait returns when everything that was started has ended. End the context of Start first.
func (x *Executor) Wait() { x.running.Wait() }

func (x *Executor) carryOut(ctx context.Context, next effect.Effect) effect.Result {
	switch e := next.(type) {
	case effect.PlanDrain:
		return x.planDrain(ctx, e)
	case effect.Drain:
		return x.drain(ctx, e)
	case effect.HandoffOnBehalf:
		return x.handoffOnBehalf(ctx, e)
	case effect.Observe:
		return x.observe(ctx, e)
	case effect.OpenGuard:
		return x.openGuard(ctx, e)
	case effect.Evict:
		return x.evict(ctx, e)
	case effect.CloseGuard:
		return x.closeGuard(ctx, e)
	case effect.Restore:
		return x.restore(ctx, e)
	case effect.ConfirmGone:
		return x.confirmGone(ctx, e)
	case effect.FindSet:
		return x.findSet(ctx, e)
	case effect.FindVolumes:
		return x.findVolumes(ctx, e)
	case effect.DeleteVolumes:
		return x.deleteVolumes(ctx, e)
	case effect.AwaitVolumes:
		return x.awaitVolumes(ctx, e)
	case effect.MovePartition:
		return x.movePartition(ctx, e)
	case effect.RestoreSetting:
		return x.restoreSetting(ctx, e)
	case effect.RestorePending:
		return x.restorePending(ctx, e)
	case effect.DeleteByForce:
		return x.deleteByForce(ctx, e)
	case effect.LabelRoles:
		return x.labelRoles(ctx, e)
	}
	panic("act: no such effect: " + next.Kind())
}

// bound limits requests to the API server: in length, and to the leader's term.
func (x *Executor) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	bounded, cancelBound := x.options.Bound(ctx)
	return bounded, func() { cancelBound(); cancel() }
}
