package cli

import (
	"context"
	"time"
)

// PollEvery is how often objects are read that a command waits for.
const PollEvery = 2 * time.Second

// Sleep returns after that long, or with the error of ctx when that ends before.
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

// Over says whether an error was to be expected because the time is up. Some
// clients give up a little before their deadline; then this waits for it.
func Over(ctx context.Context) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < 200*time.Millisecond {
		<-ctx.Done()
	}
	return ctx.Err() != nil
}
