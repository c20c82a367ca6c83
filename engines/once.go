package engines

import (
	"context"
	"fmt"
	"sync"
)

// Once is work that is worth one attempt for each claim, like a flush before a restart. It is not
// repeated when it failed, or each Drain that asks whether the work of a claim still stands would
// wait for it again. The zero value is ready.
type Once struct {
	mu     sync.Mutex
	claim  string
	failed error
}

// Do works for a claim, unless that was tried before, and answers how that ended. An
// attempt that the caller broke off does not count.
func (o *Once) Do(ctx context.Context, claim string, work func(context.Context) error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.claim == claim {
		return o.failed
	}
	err := work(ctx)
	if ctx.Err() == nil {
		o.claim, o.failed = claim, err
	}
	return err
}

// Try is Do for an order, of work whose failure costs time later and nothing else: it
// returns the failure in words. Past the end of the order nothing is tried.
func (o *Once) Try(ctx context.Context, order Order, what string, work func(context.Context) error) string {
	if InTime(order.NotAfter) != nil {
		return ""
	}
	if err := o.Do(ctx, order.Claim, work); err != nil {
		return fmt.Sprintf("%s failed: %v", what, err)
	}
	return ""
}
