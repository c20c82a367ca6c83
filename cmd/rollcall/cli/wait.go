package cli

import (
	"context"
	"time"
)

// PollEvery is the interval at which commands poll objects.
const PollEvery = 2 * time.Second

// Sleep waits for d, or returns the error of ctx when it ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Over says whether ctx has ended. Some clients give up shortly before their deadline; in
// that case it waits for the deadline.
func Over(ctx context.Context) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < 200*time.Millisecond {
		<-ctx.Done()
	}
	return ctx.Err() != nil
}
