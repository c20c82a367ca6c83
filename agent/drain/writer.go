package drain

import (
	"context"
	"fmt"
)

// take waits until nobody writes. A repair is cancelled for it.
func (d *Drainer) take(ctx context.Context) error {
	select {
	case d.busy <- struct{}{}:
		return nil
	default:
	}
	d.mu.Lock()
	if d.interrupt != nil {
		d.interrupt()
	}
	d.mu.Unlock()
	select {
	case d.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("another order is being carried out: %w", ctx.Err())
	}
}

func (d *Drainer) release() { <-d.busy }
