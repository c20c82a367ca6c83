package act

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

const (
	// requestTimeout bounds one request to the API server.
	requestTimeout = 10 * time.Second
	// confirmFor is how long an observation waits for a drain that is not confirmed at once, and
	// confirmEvery how often it asks.
	confirmFor   = 5 * time.Second
	confirmEvery = 100 * time.Millisecond
)

// stamped returns an order as it is sent now.
func stamped(order effect.Order) effect.Order {
	order.NotAfter = time.Now().Add(effect.WriteAhead)
	return order
}

func (x *Executor) planDrain(ctx context.Context, e effect.PlanDrain) effect.Result {
	ctx, cancel := context.WithTimeout(ctx, effect.CallTimeout)
	defer cancel()
	undo, shared, err := x.options.Agents.PlanDrain(ctx, e.To, stamped(e.Order))
	return effect.DrainPlanned{Claim: e.Claim, Undo: undo, Setting: shared, Err: err}
}

func (x *Executor) drain(ctx context.Context, e effect.Drain) effect.Result {
	ctx, cancel := context.WithTimeout(ctx, effect.CallTimeout)
	defer cancel()
	res := effect.DrainAnswered{Claim: e.Claim, Began: time.Now(), Order: stamped(e.Order)}
	res.Progress, res.Err = x.options.Agents.Drain(ctx, e.To, res.Order, e.Undo)
	return res
}

// handoffOnBehalf asks one agent or, if there is none, the database itself.
func (x *Executor) handoffOnBehalf(ctx context.Context, e effect.HandoffOnBehalf) effect.Result {
	ctx, cancel := context.WithTimeout(ctx, effect.CallTimeout)
	defer cancel()
	res := effect.HandedOff{Claim: e.Claim, Began: time.Now(), By: "the coordinator"}
	if e.By == nil {
		if res.Progress, res.Err = x.options.Agents.HandoffWithoutAgents(ctx, e.Pod, stamped(e.Order)); res.Err != nil {
			res.Err = fmt.Errorf("hand over for it: %w", res.Err)
		}
		return res
	}
	res.By = e.By.Pod
	if res.Progress, res.Err = x.options.Agents.HandoffOnBehalf(ctx, *e.By, stamped(e.Order), e.Member); res.Err != nil {
		res.Err = fmt.Errorf("hand over for it through %s: %w", e.By.Pod, res.Err)
	}
	return res
}

// observe asks all that the barrier names for new reports, and then the agent to confirm the drain.
// If that takes a while all are asked once more, because what they saw may be older than what was
// done since.
func (x *Executor) observe(ctx context.Context, e effect.Observe) effect.Result {
	res := effect.Observed{Claim: e.Claim}
	if !e.Continues { // otherwise all are asked when it is confirmed
		if res.Missing = x.refresh(ctx, e.Barrier); res.Missing != "" {
			return res
		}
	}
	atOnce := true
	if e.Confirm != nil {
		order := stamped(e.Confirm.Order)
		res.Confirmed = &order
		res.Progress, atOnce, res.Err = x.confirm(ctx, *e.Confirm, order, !e.Continues)
		if res.Err != nil || res.Progress.State != model.DrainDone {
			return res
		}
	}
	if !atOnce || e.Continues {
		res.Missing = x.refresh(ctx, e.Barrier)
	}
	return res
}

// confirm asks the agent to confirm the drain as of now, or to continue confirming it. A database
// that is merely slow gets some time for that. atOnce is true if it needed none.
func (x *Executor) confirm(ctx context.Context, e effect.Drain, order effect.Order, anew bool) (progress effect.Progress, atOnce bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, effect.CallTimeout)
	defer cancel()
	order.Anew = anew
	deadline := time.Now().Add(confirmFor)
	for atOnce = anew; ; atOnce = false {
		progress, err = x.options.Agents.Drain(ctx, e.To, order, e.Undo)
		if err != nil || progress.State != model.DrainRunning || time.Now().After(deadline) {
			return progress, atOnce, err
		}
		order.Anew = false
		select {
		case <-ctx.Done():
			return progress, false, ctx.Err()
		case <-time.After(confirmEvery):
		}
	}
}

// refresh returns which of those that the barrier names has not reported. It is empty if all have.
func (x *Executor) refresh(ctx context.Context, b effect.Barrier) string {
	ctx, cancel := context.WithTimeout(ctx, effect.CallTimeout)
	defer cancel()
	what, _ := b.Missing(x.hear(ctx, b))
	return what
}

// stragglers is how long witnesses may still answer once enough have reported.
const stragglers = 300 * time.Millisecond

// hear asks all at once. It waits for all of them for a short time, and after that only until the
// barrier is complete.
func (x *Executor) hear(ctx context.Context, b effect.Barrier) map[string]bool {
	targets := b.Witnesses
	if b.Own != nil {
		targets = append([]effect.Target{*b.Own}, targets...)
	}
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	answers := make(chan string, len(targets))
	slots := make(chan struct{}, 16)
	for _, target := range targets {
		asking.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if err := x.options.Agents.Fresh(ctx, target); err != nil {
				answers <- ""
				return
			}
			answers <- target.Pod
		})
	}
	spoke := map[string]bool{}
	enough := time.NewTimer(stragglers)
	defer enough.Stop()
	late := false
	for heard := 0; heard < len(targets); {
		if _, missing := b.Missing(spoke); late && !missing {
			break
		}
		select {
		case pod := <-answers:
			heard++
			if pod != "" {
				spoke[pod] = true
			}
		case <-enough.C:
			late = true
		}
	}
	return spoke
}
