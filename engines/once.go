package engines

import (
	"context"
	"fmt"
	"sync"
)

// Once is work that is worth one attempt for each claim, like a flush before a restart. It is not
// repeated after a failure; otherwise each Drain that checks the work of a claim would wait for it
// again. The zero value is ready to use.
type Once struct {
	mu     sync.Mutex
	claim  string
	failed error
}

// Do runs work for a claim unless it was tried before, and returns how the attempt ended. An
// attempt that the caller cancelled does not count.
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

// Try is Do for an order and for work whose failure only costs time later. It returns the failure
// in words. It tries nothing after the end of the order.
func (o *Once) Try(ctx context.Context, order Order, what string, work func(context.Context) error) string {
	if InTime(order.NotAfter) != nil {
		return ""
	}
	if err := o.Do(ctx, order.Claim, work); err != nil {
		return fmt.Sprintf("%s failed: %v", what, err)
	}
	return ""
}
