package suite

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/e2e/sqlcluster"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
)

// brokenFromTheStart: the first template of all has an image that cannot start,
// in a StatefulSet that is to be rolled by its partition. Before the database has
// been healthy once no line is drawn, so the corrected one gets through.
func (s *sqlTest) brokenFromTheStart(t *testing.T) {
	ctx := t.Context()
	if s.cluster != nil {
		require.NoError(t, s.cluster.Delete(ctx))
		s.cluster = nil
	}
	s.apply(t)
	require.NoError(t, s.spec(ctx, `{"update":{"rollingUpdate":"Partition"}}`))
	cluster, err := sqlcluster.Start(s.life, s.bed, s.flavor, sqlcluster.Labelled, sqlcluster.RollingUpdate(0), s.flavor.Tagged(sqlcluster.BrokenTag))
	require.NoError(t, err)
	s.cluster = cluster
	require.NoError(t, s.bed.Eventually(ctx, "all pods to be broken", 4*time.Minute, func(ctx context.Context) error {
		broken := 0
		for _, pod := range cluster.Pods.All() {
			for _, c := range pod.Status.ContainerStatuses {
				if c.Name == s.flavor.Name && c.RestartCount > 0 {
					broken++
				}
			}
		}
		if broken < sqlcluster.Servers {
			return fmt.Errorf("%d of %d have ended", broken, sqlcluster.Servers)
		}
		return nil
	}))
	require.NoError(t, testbed.Pause(ctx, 20*time.Second))
	plan, err := s.plan(ctx)
	t.Log(plan, err)
	start := time.Now()
	require.NoError(t, cluster.SetImage(ctx, sqlcluster.OldTag))
	if err := cluster.Ready(ctx); err != nil {
		s.describe(t)
		require.NoError(t, err)
	}
	t.Logf("corrected on every pod, and it serves, after %s", time.Since(start).Round(time.Second))
	s.approve(t)
	require.NoError(t, s.atRest(ctx))
}

// firstPodBroken: the server of pod 0 cannot start, because of a file. Only a
// new template repairs that, and by ordinals pod 0 would be the last to get it.
// The guard lets it go first; a line cannot, which the policy's own tests have.
func (s *sqlTest) firstPodBroken(t *testing.T) {
	s.strategy(t, "null", sqlcluster.RollingUpdate(0))
	first := s.flavor.Name + "-0"
	s.primaryIs(t, first, false)
	ctx := t.Context()
	spoil, repair := s.flavor.Spoiled()
	_, err := s.bed.Kubectl(ctx, "", "exec", first, "-n", sqlcluster.Namespace, "-c", s.flavor.Name, "--", "/bin/sh", "-c", spoil)
	require.NoError(t, err)
	require.NoError(t, s.cluster.Kill(first))
	require.NoError(t, s.bed.Eventually(ctx, first+" to be broken", 4*time.Minute, func(context.Context) error {
		for _, c := range s.cluster.Pod(first).Status.ContainerStatuses {
			if c.Name == s.flavor.Name && c.RestartCount > 1 && !c.Ready {
				return nil
			}
		}
		return errors.New("it has not ended twice")
	}))
	r := s.touch("")
	r.Change = func(ctx context.Context) error { return s.cluster.Patch(ctx, repair) }
	out := s.measure(t, "Rollcall, guard, pod 0 broken and repaired", 1, r)
	require.Equal(t, first, out.Witness.Restarts[0].Pod, "the broken one goes first")
	require.LessOrEqual(t, out.Witness.MaxPodsAway, 1)
	s.eachOnce(t, out)
}
