// Package rehearsal makes a change of a database while clients use it and a
// witness looks on, and says what became of it.
package rehearsal

import (
	"context"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/test/e2e/load"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

// Database is one that runs in the testbed.
type Database interface {
	// Load is how clients use it: what is written and read, and through which pods.
	Load() load.Options
	// Alone are further collections, of which there is one copy. They cannot be
	// served while that is away, so their clients are counted apart.
	Alone() []string
	// Watched is how a witness looks at it.
	Watched(ctx context.Context) (witness.Options, error)
	// RolledOut waits until every pod is Ready on its new revision and no copy is missing.
	RolledOut(ctx context.Context, limit time.Duration) error
	// Holders says which copies of a collection have a document.
	Holders(ctx context.Context, collection, id string) string
}

// Rehearsal runs a change under load.
type Rehearsal struct {
	On Database
	// Change starts the rollout.
	Change func(ctx context.Context) error
	// During, when set, runs after it: what goes wrong in mid-rollout.
	During func(ctx context.Context, w *witness.Witness) error
	// Done waits until the rollout has ended, default On.RolledOut with Limit.
	Done  func(ctx context.Context) error
	Limit time.Duration
	// Before is how long the load runs before the change, After how long behind it; default 5 s each.
	Before, After time.Duration
	// Live, when set, receives the load and the witness once they run.
	Live func(*load.Client, *witness.Witness)
}

// Run starts load and witness, makes the change, waits, and judges.
func (r Rehearsal) Run(ctx context.Context) (Outcome, error) {
	if r.Before == 0 {
		r.Before = 5 * time.Second
	}
	if r.After == 0 {
		r.After = 5 * time.Second
	}
	if r.Done == nil {
		r.Done = func(ctx context.Context) error { return r.On.RolledOut(ctx, r.Limit) }
	}
	client, err := load.New(r.On.Load())
	if err != nil {
		return Outcome{}, err
	}
	alone, err := r.alone()
	if err != nil {
		return Outcome{}, err
	}
	watched, err := r.On.Watched(ctx)
	if err != nil {
		return Outcome{}, err
	}
	w := witness.New(watched)
	if r.Live != nil {
		r.Live(client, w)
	}

	var out Outcome
	runCtx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { out.Load = client.Run(runCtx) })
	wg.Go(func() { w.Run(runCtx) })
	if alone != nil {
		wg.Go(func() { out.Alone = alone.Run(runCtx) })
	}
	took, err := r.change(ctx, w)
	stop()
	wg.Wait()
	out.Took, out.Witness, out.Lost = took, w.Report(), map[string]int{}
	if err != nil {
		return out, err
	}
	for _, c := range []*load.Client{client, alone} {
		if c != nil {
			if err := r.lost(ctx, c, &out); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// alone is the client of the collections with one copy, nil when there are none.
func (r Rehearsal) alone() (*load.Client, error) {
	opts := r.On.Load()
	if opts.Collections = r.On.Alone(); len(opts.Collections) == 0 {
		return nil, nil
	}
	opts.Threads, opts.Timeout = 1, 3*time.Second
	return load.New(opts)
}

func (r Rehearsal) change(ctx context.Context, w *witness.Witness) (took time.Duration, err error) {
	if err := testbed.Pause(ctx, r.Before); err != nil {
		return 0, err
	}
	start := time.Now()
	err = r.Change(ctx)
	if err == nil && r.During != nil {
		err = r.During(ctx, w)
	}
	if err == nil {
		err = r.Done(ctx)
	}
	took = time.Since(start)
	if err == nil {
		err = testbed.Pause(ctx, r.After)
	}
	return took, err
}
