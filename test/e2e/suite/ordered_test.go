package suite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/sqlcluster"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

// TestOrderedReady corrects a database whose pods Kubernetes makes one after the
// other, as it does by default: it makes no pod before the one in front is Ready, and
// replaces none while one is not. No correction gets through there without help.
func TestOrderedReady(t *testing.T) {
	b := bed(t, sqlcluster.MariaDB.Name)
	leaveNothing(t, b)
	s := &sqlTest{bed: b, flavor: sqlcluster.MariaDB, life: t.Context()}
	walk(t, []step{
		{"BrokenImageThenCorrection", s.brokenImage},
	}, []step{
		{"FirstInstallWithABrokenImage", func(t *testing.T) { s.firstInstall(t, sqlcluster.RollingUpdate(0)) }},
		{"BrokenImageInAQuietDatabase", s.brokenQuietly},
		{"FirstInstallOnDelete", func(t *testing.T) { s.firstInstall(t, sqlcluster.OnDelete) }},
	})
	require.NoError(t, s.cluster.Delete(t.Context()), "a namespace with Rollcall in it can be deleted")
}

// ordered is how Kubernetes manages pods by default.
func ordered(set *appsv1.StatefulSet) {
	set.Spec.PodManagementPolicy = appsv1.OrderedReadyPodManagement
}

// firstInstall: the very first template has an image that cannot start. There is one
// pod, there is nobody to ask, and the second template gets through all the same.
func (s *sqlTest) firstInstall(t *testing.T, strategy func(*appsv1.StatefulSet)) {
	ctx := t.Context()
	if s.cluster != nil {
		require.NoError(t, s.cluster.Delete(ctx))
		s.cluster = nil
	}
	s.apply(t)
	cluster, err := sqlcluster.Start(s.life, s.bed, s.flavor, sqlcluster.Labelled, ordered, strategy, s.flavor.Tagged(sqlcluster.BrokenTag))
	require.NoError(t, err)
	s.cluster = cluster
	first := s.flavor.Name + "-0"
	require.NoError(t, s.bed.Eventually(ctx, first+" to be broken", 4*time.Minute, func(context.Context) error {
		pod := cluster.Pod(first)
		if pod == nil {
			return errors.New("it is not there")
		}
		for _, c := range pod.Status.ContainerStatuses {
			if c.Name == s.flavor.Name && c.RestartCount > 1 {
				return nil
			}
		}
		return errors.New("it has not ended twice")
	}))
	require.Len(t, cluster.Pods.All(), 1, "none is made before the one in front is Ready")
	start := time.Now()
	require.NoError(t, cluster.SetImage(ctx, sqlcluster.OldTag))
	if err := cluster.Ready(ctx); err != nil {
		s.describe(t)
		require.NoError(t, err)
	}
	t.Logf("corrected, and it serves, after %s", time.Since(start).Round(time.Second))
	s.approve(t)
}

// brokenImage: the first pod of a rollout does not start, and the line stops with
// all others there. The corrected template goes through, that pod first.
func (s *sqlTest) brokenImage(t *testing.T) {
	s.ordered(t)
	broken := ""
	out := s.roll(t, "Rollcall, OrderedReady, a broken image and its correction", 1, rehearsal.Rehearsal{
		Change: func(ctx context.Context) error { return s.cluster.SetImage(ctx, sqlcluster.BrokenTag) },
		During: func(ctx context.Context, w *witness.Witness) error {
			if err := s.stopped(ctx); err != nil {
				return err
			}
			went := w.Report().Restarts
			if len(went) != 1 {
				return fmt.Errorf("%d pods were taken before the rollout halted", len(went))
			}
			broken = went[0].Pod
			return s.cluster.SetImage(ctx, sqlcluster.NewTag)
		},
	})
	require.LessOrEqual(t, out.Witness.MaxPodsAway, 1)
	counts := out.Witness.RestartCounts()
	require.Len(t, counts, sqlcluster.Servers, "every pod restarts")
	require.Equal(t, broken, out.Witness.Restarts[1].Pod, "the broken one is corrected before another goes")
	for pod, n := range counts {
		require.Equal(t, map[bool]int{true: 2, false: 1}[pod == broken], n, "restarts of %s", pod)
	}
}

// ordered is a database whose pods Kubernetes makes one after the other, and replaces.
func (s *sqlTest) ordered(t *testing.T) {
	t.Helper()
	if s.cluster == nil {
		s.apply(t)
		cluster, err := sqlcluster.Deploy(s.life, s.bed, s.flavor, sqlcluster.Labelled, ordered)
		require.NoError(t, err)
		s.cluster = cluster
		s.approve(t)
	}
	s.strategy(t, "null", sqlcluster.RollingUpdate(0))
}

// stopped waits until the line is, and then long enough for somebody who would go to go.
func (s *sqlTest) stopped(ctx context.Context) error {
	if err := s.bed.Eventually(ctx, "the rollout to halt", 4*time.Minute, func(ctx context.Context) error {
		plan, err := s.plan(ctx)
		if err == nil && !strings.Contains(plan, "rollout-halted") {
			err = fmt.Errorf("not stopped:\n%s", plan)
		}
		return err
	}); err != nil {
		return err
	}
	return testbed.Pause(ctx, 10*time.Second)
}

// brokenQuietly is brokenImage where nobody writes. A primary that sends nothing keeps
// the connection of a replica that has gone, and says that it is there; without
// semi-synchronous replication it expects no answer on it either.
func (s *sqlTest) brokenQuietly(t *testing.T) {
	ctx := t.Context()
	s.ordered(t)
	primary, replicas, err := s.replicas(ctx)
	require.NoError(t, err)
	for _, replica := range replicas {
		require.NoError(t, s.cluster.Exec(ctx, replica, "STOP SLAVE", "SET GLOBAL rpl_semi_sync_slave_enabled = OFF", "START SLAVE"))
	}
	require.NoError(t, s.cluster.Exec(ctx, primary, "SET GLOBAL rpl_semi_sync_master_enabled = OFF"))
	require.NoError(t, s.guarded(ctx))
	require.NoError(t, s.cluster.SetImage(ctx, sqlcluster.BrokenTag))
	require.NoError(t, s.stopped(ctx))
	listed, err := s.cluster.Ask(ctx, primary, "SELECT COUNT(*) FROM information_schema.processlist WHERE command = 'Binlog Dump'")
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint(len(replicas)), listed, "the primary still lists the replica that has gone")
	require.NoError(t, s.cluster.SetImage(ctx, sqlcluster.OldTag))
	if err := s.cluster.RolledOut(ctx, 5*time.Minute); err != nil {
		s.describe(t)
		require.NoError(t, err)
	}
}
