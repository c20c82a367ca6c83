package suite

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/test/e2e/sqlcluster"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
)

type sqlTest struct {
	bed *testbed.Bed
	// life is the life of the whole test: what is begun in one step is used by the next.
	life    context.Context
	flavor  sqlcluster.Flavor
	cluster *sqlcluster.Cluster
	figures []sqlFigure
}

// deploy brings up the database under a DatabaseCluster with changes, unless it is there.
func (s *sqlTest) deploy(t *testing.T) {
	t.Helper()
	if s.cluster != nil {
		return
	}
	s.apply(t)
	cluster, err := sqlcluster.Deploy(s.life, s.bed, s.flavor, sqlcluster.Labelled)
	if err != nil {
		describe(t)
	}
	require.NoError(t, err)
	s.cluster = cluster
	s.approve(t)
}

// unaided brings up the database again, as a chart that knows nothing of Rollcall: pod 0 is made
// the primary by somebody faster than any such chart, until stop.
func (s *sqlTest) unaided(t *testing.T) (stop func()) {
	t.Helper()
	ctx := t.Context()
	if s.cluster != nil {
		require.NoError(t, s.cluster.Delete(ctx))
		s.cluster = nil
	}
	require.NoError(t, s.bed.Apply(ctx, "apiVersion: v1\nkind: Namespace\nmetadata: {name: demo}\n"))
	cluster, err := sqlcluster.Start(s.life, s.bed, s.flavor, sqlcluster.RollingUpdate(0))
	require.NoError(t, err)
	designating, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cluster.Designated(designating)
	}()
	stop = func() {
		cancel()
		<-ended
	}
	if err := cluster.Ready(ctx); err != nil {
		stop()
		require.NoError(t, err)
	}
	s.cluster = cluster
	return stop
}

// apply makes the namespace and the DatabaseCluster.
func (s *sqlTest) apply(t *testing.T, replace ...string) {
	t.Helper()
	require.NoError(t, s.bed.Apply(t.Context(), "apiVersion: v1\nkind: Namespace\nmetadata: {name: demo}\n"))
	require.NoError(t, s.bed.Apply(t.Context(), manifest(t, s.bed, s.flavor.Name+"-databasecluster.yaml", replace...)))
}

// approve: a pod that comes while no webhook answers has no agent; the next change adopts it.
func (s *sqlTest) approve(t *testing.T) {
	t.Helper()
	_, err := s.bed.Rollcall(t.Context(), "approve", s.flavor.Name, "-n", sqlcluster.Namespace, "--what", "adopt", "--any-revision")
	require.NoError(t, err)
}

// spec merges into the DatabaseCluster's spec.
func (s *sqlTest) spec(ctx context.Context, patch string) error {
	_, err := s.bed.Kubectl(ctx, "", "patch", "dbc", s.flavor.Name, "-n", sqlcluster.Namespace, "--type=merge", "-p", `{"spec":`+patch+`}`)
	return err
}

// strategy changes how the StatefulSet is updated, which restarts nothing.
func (s *sqlTest) strategy(t *testing.T, rolling string, edits ...func(*appsv1.StatefulSet)) {
	t.Helper()
	s.deploy(t)
	ctx := t.Context()
	require.NoError(t, s.cluster.RolledOut(ctx, rolloutLimit))
	require.NoError(t, s.spec(ctx, `{"guard":"Enforce","update":{"rollingUpdate":`+rolling+`}}`))
	require.NoError(t, s.cluster.Edit(ctx, edits...))
	if rolling == `"Partition"` {
		require.NoError(t, s.atRest(ctx))
		return
	}
	require.NoError(t, s.guarded(ctx))
}

// guarded waits until every pod's guard is closed.
func (s *sqlTest) guarded(ctx context.Context) error {
	return s.bed.Eventually(ctx, "guards to close", 3*time.Minute, func(ctx context.Context) error {
		out, err := s.bed.Kubectl(ctx, "", "get", "pods", "-n", sqlcluster.Namespace, "-l", "rollcall.dev/guard=closed", "-o", "name")
		if got := len(strings.Fields(out)); err == nil && got != sqlcluster.Servers {
			return fmt.Errorf("%d of %d are closed", got, sqlcluster.Servers)
		}
		return err
	})
}

// atRest waits until the line is where Rollcall lets it rest.
func (s *sqlTest) atRest(ctx context.Context) error {
	return s.bed.Eventually(ctx, "the partition to rest", 3*time.Minute, func(ctx context.Context) error {
		set, err := s.cluster.StatefulSet(ctx)
		if err != nil {
			return err
		}
		if u := set.Spec.UpdateStrategy.RollingUpdate; u == nil || u.Partition == nil || *u.Partition != model.FirstOrdinalNone {
			return fmt.Errorf("rollingUpdate: %v", u)
		}
		return nil
	})
}
