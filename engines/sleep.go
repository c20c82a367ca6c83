package engines

import (
	"context"
	"time"
)

// Sleep returns false when the context has ended.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
