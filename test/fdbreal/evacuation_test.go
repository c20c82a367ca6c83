package fdbreal

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// repeat calls an order until it is done, and returns what was said meanwhile.
func repeat(t *testing.T, limit time.Duration, f func(context.Context) (engines.Progress, error)) (said []string, last engines.Progress) {
	t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(time.Second) {
		ctx, cancel := context.WithTimeout(t.Context(), callTimeout)
		p, err := f(ctx)
		cancel()
		text := p.Detail
		if err != nil {
			text = "error: " + err.Error()
		}
		if len(said) == 0 || said[len(said)-1] != text {
			said = append(said, text)
			t.Log(clock(), p.State, text)
		}
		if last = p; err == nil && p.State != engines.ProgressRunning {
			break
		}
	}
	return said, last
}

// prepare plans and drains.
func prepare(t *testing.T, e engines.Engine, order engines.Order, limit time.Duration) (undo []byte, said []string, last engines.Progress) {
	t.Helper()
	var err error
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(time.Second) {
		if undo, err = e.PlanDrain(t.Context(), order); err == nil {
			break
		}
		if text := err.Error(); len(said) == 0 || said[len(said)-1] != text {
			said = append(said, text)
			t.Log(clock(), "plan:", text)
		}
	}
	if err != nil {
		return nil, said, engines.Progress{State: engines.ProgressRunning, Detail: err.Error()} // it waits
	}
	said2, last := repeat(t, limit, func(ctx context.Context) (engines.Progress, error) { return e.Drain(ctx, order, undo) })
	return undo, append(said, said2...), last
}

// TestEvacuation empties a storage pod and takes that back. When the adapter says that it is empty, no shard has a copy on it by
// the database's own map.
func TestEvacuation(t *testing.T) {
	c := Start(t, Options{Data: 50})
	r := NewRollcall(t, c)
	r.RequireAnybody(6 * time.Minute)
	writer := c.StartWriter(t)
	p := c.Holder()
	e := r.agents[p.Name].engine
	begun := time.Now()
	undo, _, last := prepare(t, e, engines.Order{Kind: engines.Evacuate, Claim: "evacuate"}, 6*time.Minute)
	require.Equal(t, engines.ProgressDone, last.State, last.Detail)
	require.Zero(t, c.onPod(t, p), "it is called empty, and shards are on it")
	t.Logf("empty after %s", time.Since(begun).Round(time.Second))
	c.Kill(p) // nothing is lost with it
	time.Sleep(5 * time.Second)
	copies, err := c.Copies(t.Context())
	require.NoError(t, err)
	require.GreaterOrEqual(t, copies.Least, 2)
	c.Run(p)

	begun = time.Now()
	_, last = repeat(t, 4*time.Minute, func(ctx context.Context) (engines.Progress, error) { return e.Restore(ctx, undo) })
	require.Equal(t, engines.ProgressDone, last.State, last.Detail)
	require.Empty(t, c.excluded(t))
	// Whether so few data are moved back is the database's affair.
	require.Eventually(t, func() bool {
		s, err := c.Admin.status(t.Context(), 20*time.Second)
		return err == nil && slices.Contains(s.roles(p.Name), "storage")
	}, 5*time.Minute, time.Second, "it can get data again")
	t.Logf("included and a storage server after %s", time.Since(begun).Round(time.Second))
	stats, lost, err := writer.Stop(t.Context())
	require.NoError(t, err)
	t.Logf("%s; %d lost", stats, len(lost))
	require.Empty(t, lost)
	require.Zero(t, stats.Failed)
}

// TestReplacement replaces a storage pod and a coordinator's as a person asks for it: emptied, gone, back on an empty folder, included.
func TestReplacement(t *testing.T) {
	for _, name := range []string{"fdb-0", "fdb-5"} {
		t.Run(name, func(t *testing.T) {
			c := Start(t, Options{Data: 50})
			r := NewRollcall(t, c)
			for pod := range r.revision {
				r.revision[pod] = after // nobody is outdated
			}
			seats := len(c.seats(t))
			watch, writer := c.StartWatch(t), c.StartWriter(t)
			r.replace[name] = time.Now()
			o := NewRollout(t.Context(), r)
			o.Wipes = true
			begun := time.Now()
			require.NoError(t, o.Run(15*time.Minute))
			took := time.Since(begun)
			c.AwaitWhole(3 * time.Minute)
			stats, lost, err := writer.Stop(t.Context())
			require.NoError(t, err)
			seen := watch.Stop()
			t.Logf("replaced in %s: %s; %d lost; %s; seats %v", took.Round(time.Second), stats, len(lost), seen, c.seats(t))
			require.Len(t, o.Went, 1)
			require.Equal(t, name, o.Went[0].Pod)
			require.Empty(t, lost)
			require.Zero(t, stats.Failed)
			require.GreaterOrEqual(t, seen.Least, 2, "it was empty before it went")
			require.Empty(t, c.excluded(t))
			require.Len(t, c.seats(t), seats)
		})
	}
}

// onPod counts the shards with a copy on the pod.
func (c *Cluster) onPod(t *testing.T, p *Pod) int {
	t.Helper()
	s, err := c.Admin.status(t.Context(), 20*time.Second)
	require.NoError(t, err)
	c.learn(s)
	shards, err := c.Admin.shards(t.Context(), 20*time.Second)
	require.NoError(t, err)
	n := 0
	for _, s := range shards {
		for _, id := range append(s.Src, s.Dest...) {
			if c.on[id] == p && !c.gone[id] {
				n++
			}
		}
	}
	return n
}

// excluded is the exclusion list, as fdbcli prints it.
func (c *Cluster) excluded(t testing.TB) []string {
	var out []string
	for line := range strings.Lines(c.Admin.must(t, "exclude")) {
		if target, is := strings.CutPrefix(line, "  "); is {
			out = append(out, strings.TrimSpace(target))
		}
	}
	return out
}

// seats are the coordinators by the names that the database keeps.
func (c *Cluster) seats(t testing.TB) []string {
	var seats []string
	require.Eventually(t, func() bool {
		s, err := c.Admin.status(t.Context(), 20*time.Second)
		seats = s.seats()
		return err == nil && len(seats) > 0
	}, time.Minute, time.Second)
	return seats
}
