package solrcloud

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/test/e2e/load"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

// Outcome of a change that was rolled under load and under witness.
type Outcome struct {
	Took    time.Duration  `json:"took"`
	Load    load.Stats     `json:"load"`
	Witness witness.Report `json:"witness"`
	// Lost are acknowledged documents that are not there afterwards, by collection.
	Lost map[string]int `json:"lost"`
	// Gone says which these are, and which copies have them.
	Gone []string `json:"gone,omitempty"`
}

// String is one line for people.
func (o Outcome) String() string {
	shard, away := o.Witness.WorstShard()
	lost := 0
	for _, n := range o.Lost {
		lost += n
	}
	return fmt.Sprintf("%s; %d of %d requests failed (%d retried, slowest %s); %d acknowledged documents lost; at most %d pods away together; at most %d replicas of one shard away (%s)",
		o.Took.Round(time.Second), o.Load.Failed, o.Load.Requests, o.Load.Retried, o.Load.Slowest.Round(10*time.Millisecond), lost, o.Witness.MaxPodsAway, away, shard)
}

// Rehearsal runs a change under load.
type Rehearsal struct {
	Cloud *Cloud
	// Change starts the rollout; Done waits until it has ended.
	Change func(ctx context.Context) error
	Done   func(ctx context.Context) error
	// During, when set, runs between the two: what goes wrong in mid-rollout.
	During func(ctx context.Context, w *witness.Witness) error
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
	client, err := load.New(load.Options{Targets: r.Cloud.Pods.URLs, Collections: Names()})
	if err != nil {
		return Outcome{}, err
	}
	set, err := r.Cloud.StatefulSet(ctx)
	if err != nil {
		return Outcome{}, err
	}
	w := witness.New(witness.Options{Pods: r.Cloud.WitnessPods, Desired: int(*set.Spec.Replicas)})
	if r.Live != nil {
		r.Live(client, w)
	}

	runCtx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	var stats load.Stats
	wg.Go(func() { stats = client.Run(runCtx) })
	wg.Go(func() { w.Run(runCtx) })

	var out Outcome
	err = testbed.Pause(ctx, r.Before)
	if err == nil {
		start := time.Now()
		err = r.Change(ctx)
		if err == nil && r.During != nil {
			err = r.During(ctx, w)
		}
		if err == nil {
			err = r.Done(ctx)
		}
		out.Took = time.Since(start)
	}
	if err == nil {
		err = testbed.Pause(ctx, r.After)
	}
	stop()
	wg.Wait()
	out.Load, out.Witness = stats, w.Report()
	if err != nil {
		return out, err
	}
	out.Lost, out.Gone, err = r.Cloud.lost(ctx, client)
	return out, err
}

// Explain writes the failures of an outcome.
func (o Outcome) Explain(w io.Writer) {
	for _, f := range o.Load.Failures {
		_, _ = fmt.Fprintln(w, "  failed:", f)
	}
	for _, shard := range slices.Sorted(maps.Keys(o.Witness.Together)) {
		for _, note := range o.Witness.Together[shard] {
			_, _ = fmt.Fprintf(w, "  away together: %s: %s\n", shard, note)
		}
	}
	for _, g := range o.Gone {
		_, _ = fmt.Fprintln(w, "  gone:", g)
	}
	for i, x := range o.Witness.Restarts {
		_, _ = fmt.Fprintf(w, "  restart %d: %s at %s overseer=%t\n", i+1, x.Pod, x.At.Format("15:04:05"), x.Overseer)
	}
}
