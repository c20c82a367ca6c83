package suite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/e2e/load"
	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/searchcluster"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

// indexEverySecond: somebody makes a new index every second. Its replica waits while a node is
// unavailable, so there is always something that has one copy only. A node that goes just after it
// got such a copy takes it along, until it is back: how often is counted, and who asks for it
// meanwhile is told so.
func (s *search) indexEverySecond(t *testing.T) {
	made, err := load.New(s.cluster.Load())
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan struct{})
	out := roll(t, rehearsal.Rehearsal{
		On: s.cluster,
		Change: func(context.Context) error {
			go func() {
				defer close(ended)
				makeIndices(ctx, made)
			}()
			return s.cluster.Touch(ctx, "index-every-second")
		},
		Done: func(ctx context.Context) error {
			// New indices come all the time: that all copies serve is asked when they end.
			err := s.cluster.Updated(ctx, rolloutLimit)
			stop()
			<-ended
			return errors.Join(err, s.cluster.AllActive(ctx, rolloutLimit))
		},
	})
	stats := made.Stats()
	alone := map[string]bool{}
	for shard := range out.Witness.Leaderless {
		index, _, _ := strings.Cut(shard, "/")
		require.True(t, strings.HasPrefix(index, madePrefix), "%s was red", shard)
		alone[index] = true
	}
	t.Logf("%d indices were made by %d requests, %d failed; of %d indices the only copy was on a pod that went: %v",
		len(made.Written()), stats.Requests, stats.Failed, len(alone), slices.Sorted(maps.Keys(alone)))
	for _, f := range stats.Failures {
		require.True(t, alone[f.Collection], f.String())
	}
	for _, index := range made.Written() {
		gone, err := rehearsal.Gone(t.Context(), made, index)
		require.NoError(t, err)
		require.Empty(t, gone, "acknowledged documents of %s", index)
	}
	require.LessOrEqual(t, out.Witness.MaxPodsAway, 1, "pods unavailable at once")
	require.Len(t, out.Witness.RestartCounts(), searchPods(), "every pod restarts")
	require.NoError(t, s.cluster.DeleteIndices(t.Context(), madePrefix+"*"))
	s.leftAsBefore(t)
}

const madePrefix = "made-"

// makeIndices writes to an index that is not there yet, once a second.
func makeIndices(ctx context.Context, client *load.Client) {
	for n := 0; ctx.Err() == nil; n++ {
		index := fmt.Sprintf("%s%04d", madePrefix, n)
		for doc := range 3 {
			client.Put(index, fmt.Sprint(doc))
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// yellowRepaired: a node cannot start because of the change. What is missing
// then nobody can bring back but the corrected change, which must not wait for
// a database that is whole.
func (s *search) yellowRepaired(t *testing.T) {
	out := roll(t, rehearsal.Rehearsal{
		On: s.cluster,
		Change: func(ctx context.Context) error {
			return s.cluster.Patch(ctx, searchcluster.Data, searchcluster.Image(newSearch+"-broken"))
		},
		During: func(ctx context.Context, w *witness.Witness) error {
			plan, err := s.planSays(ctx, 4*time.Minute, "rollout-halted")
			if err != nil {
				return err
			}
			t.Log(plan)
			if n := len(w.Report().RestartCounts()); n != 1 {
				return fmt.Errorf("%d pods were taken before the rollout halted", n)
			}
			if w.State().AllActive() {
				return errors.New("nothing is missing")
			}
			return s.cluster.Patch(ctx, searchcluster.Data, searchcluster.ImageAndNote(newSearch, "corrected"))
		},
	})
	s.careful(t, out)
	require.LessOrEqual(t, out.Witness.MaxPodsAway, 1)
	require.Len(t, out.Witness.RestartCounts(), 4, "every pod with data restarts")
	s.leftAsBefore(t)
}

// redHolds: the only copy of a shard is lost. No rollout can bring it back, so
// it holds, and says what for, until somebody gives the index up.
func (s *search) redHolds(t *testing.T) {
	lone := searchcluster.Index{Name: "lone", Shards: 1}
	require.NoError(t, s.cluster.CreateIndex(t.Context(), lone))
	require.NoError(t, s.cluster.AllActive(t.Context(), time.Minute))
	require.NoError(t, s.loseCopy(t.Context(), lone.Name))
	out := roll(t, rehearsal.Rehearsal{
		On:     s.cluster,
		Change: func(ctx context.Context) error { return s.cluster.Touch(ctx, "red") },
		During: func(ctx context.Context, w *witness.Witness) error {
			plan, err := s.planSays(ctx, time.Minute, "health", lone.Name)
			if err != nil {
				return err
			}
			t.Log(plan)
			// Long enough for somebody who would go to go.
			if err := testbed.Pause(ctx, 20*time.Second); err != nil {
				return err
			}
			if n := len(w.Report().Restarts); n > 0 {
				return fmt.Errorf("%d pods went", n)
			}
			return s.cluster.DeleteIndices(ctx, lone.Name)
		},
	})
	s.wellBehaved(t, out)
}

// loseCopy removes the files of an index's only copy under the node that has
// it, and waits until everything else serves again.
func (s *search) loseCopy(ctx context.Context, index string) error {
	state, err := s.cluster.State(ctx)
	if err != nil {
		return err
	}
	shard := index + "/0"
	holder := state.Shards[shard].On[0]
	id, err := s.cluster.IndexID(ctx, index)
	if err != nil {
		return err
	}
	if _, err := s.bed.Kubectl(ctx, "", "exec", holder, "-n", searchcluster.Namespace, "-c", searchcluster.Container, "--", "rm", "-r", "/data/data/nodes/0/indices/"+id+"/0"); err != nil {
		return err
	}
	for _, pod := range s.cluster.Pods.Witnessed() {
		if pod.Name == holder {
			if _, err := s.bed.Kill(pod.UID, "java"); err != nil {
				return err
			}
		}
	}
	return s.bed.Eventually(ctx, "everything but "+index+" to serve", 4*time.Minute, func(ctx context.Context) error {
		state, err := s.cluster.State(ctx)
		if err != nil {
			return err
		}
		if n := len(s.cluster.Pods.URLs()); n < searchPods() {
			return fmt.Errorf("%d pods are Ready", n)
		}
		if state.Shards[shard].Leader {
			return fmt.Errorf("%s serves", index)
		}
		delete(state.Shards, shard)
		if !state.AllActive() {
			return errors.New(state.Missing())
		}
		return nil
	})
}
