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

// Client uses a database until its context ends.
type Client interface {
	Run(ctx context.Context) load.Stats
	// Stats so far.
	Stats() load.Stats
	// Written are the collections with acknowledged documents, Gone those documents
	// of one that are not there.
	Written() []string
	Gone(collection string) ([]load.Doc, error)
}

// Database is one that runs in the testbed.
type Database interface {
	// Clients use it. alone, unless it is nil, uses what there is one copy of: that cannot be
	// served while the copy is unavailable, so it is counted apart.
	Clients() (all, alone Client, err error)
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
	Live func(Client, *witness.Witness)
	// Excused, when set, says of an acknowledged document that is gone that the database
	// loses it in what During does, whoever rolls it.
	Excused func(collection string, d load.Doc) bool
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
	client, alone, err := r.On.Clients()
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
	for _, c := range []Client{client, alone} {
		if c != nil {
			if err := r.lost(ctx, c, &out); err != nil {
				return out, err
			}
		}
	}
	return out, nil
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
