package sqlchart

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/test/e2e/load"
	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

// Outcome is what became of a change while clients wrote through the Service.
type Outcome struct {
	Took time.Duration
	Load load.Stats
	// Lost are acknowledged rows that are not on every server afterwards.
	Lost []load.Doc
	// Gone are the pods that were removed, in their order.
	Gone []string
	// Primaries is who could be written to, by the servers' own word.
	Primaries witness.Primaries
}

func (o Outcome) String() string {
	return fmt.Sprintf("%s; %d of %d requests failed (slowest %s); %s; pods removed: %s; %s; %d acknowledged rows lost",
		o.Took.Round(time.Second), o.Load.Failed, o.Load.Requests, o.Load.Slowest.Round(10*time.Millisecond), o.Load.Writes,
		strings.Join(o.Gone, ", "), o.Primaries, len(o.Lost))
}

// Rehearse makes a change while clients write, and waits until it is done.
func (c *Cluster) Rehearse(ctx context.Context, patience time.Duration, change, done func(ctx context.Context) error) (Outcome, error) {
	rows, err := c.Writers(ctx, patience)
	if err != nil {
		return Outcome{}, err
	}
	var out Outcome
	gone := make(chan string, 100)
	stop, err := c.Pods.Deleted(func(pod *corev1.Pod) { gone <- pod.Name })
	if err != nil {
		return out, err
	}
	primary := witness.NewPrimary(witness.PrimaryOptions{Servers: c.All, Login: Admin})
	runCtx, end := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { out.Load = rows.Run(runCtx) })
	wg.Go(func() { primary.Run(runCtx) })
	err = testbed.Pause(ctx, 3*time.Second)
	began := time.Now()
	if err == nil {
		err = change(ctx)
	}
	if err == nil {
		err = done(ctx)
	}
	out.Took = time.Since(began)
	if err == nil {
		err = testbed.Pause(ctx, 5*time.Second)
	}
	end()
	wg.Wait()
	stop()
	for len(gone) > 0 {
		out.Gone = append(out.Gone, <-gone)
	}
	out.Primaries = primary.Report()
	if err == nil {
		out.Lost, err = rehearsal.Gone(ctx, rows, load.Table)
	}
	return out, err
}

// RestartedOnce says which pods were not removed exactly once.
func (c *Cluster) RestartedOnce(o Outcome) error {
	gone := slices.Clone(o.Gone)
	slices.Sort(gone)
	if len(gone) != c.Servers || len(slices.Compact(gone)) != c.Servers {
		return fmt.Errorf("want each of %d pods removed once, got %v", c.Servers, o.Gone)
	}
	return nil
}
