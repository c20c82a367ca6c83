package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// part is something that runs for as long as the program.
type part struct {
	name string
	// run blocks until ctx ends and everything that it started has ended.
	run func(ctx context.Context) error
}

// partTimeout is how long a part may take to end before it is abandoned.
const partTimeout = 15 * time.Second

// runParts starts the parts in order, waits until ctx ends or one of them does,
// and ends them in reverse order, each before the one that it relies on.
func runParts(ctx context.Context, log *slog.Logger, parts []part) error {
	type ending struct {
		name string
		err  error
	}
	endings := make(chan ending, len(parts))
	stops := make([]context.CancelFunc, len(parts))
	ended := make([]chan struct{}, len(parts))
	for i, p := range parts {
		// Not ended by ctx itself, which would end all at once.
		own, stop := context.WithCancel(context.WithoutCancel(ctx))
		stops[i], ended[i] = stop, make(chan struct{})
		go func() {
			defer close(ended[i])
			endings <- ending{p.name, p.run(own)}
		}()
	}
	var first error
	select {
	case <-ctx.Done():
		log.Info("stopping")
	case e := <-endings:
		first = fmt.Errorf("%s: %w", e.name, errors.Join(errNoPart, e.err))
		log.Error("stopping because a part has ended", "part", e.name, "error", e.err)
	}
	for i, part := range slices.Backward(parts) {
		stops[i]()
		timer := time.NewTimer(partTimeout)
		select {
		case <-ended[i]:
		case <-timer.C:
			log.Warn("a part did not end in time", "part", part.name)
		}
		timer.Stop()
	}
	return first
}
