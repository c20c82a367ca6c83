package engines

import (
	"context"
	"time"
)

// Sleep waits for d. It returns false if the context ends first.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
