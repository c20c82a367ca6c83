package suite

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/e2e/sqlchart"
)

// installedTest rolls a database that is installed as a public chart installs it, while clients write
// through the chart's own Service.
type installedTest struct {
	cluster *sqlchart.Cluster
}

// TestSQLFixedPrimary is a chart with its primary in a StatefulSet of its own.
func TestSQLFixedPrimary(t *testing.T) {
	b := bed(t, "mariadb")
	leaveNothing(t, b)
	cluster, err := sqlchart.Start(t.Context(), b, sqlchart.Fixed)
	require.NoError(t, err)
	c := &installedTest{cluster}
	plain := c.rehearse(t, "plain Kubernetes", time.Minute, func(ctx context.Context) error { return cluster.Touch(ctx, "plain") })
	require.NoError(t, plain.RestartedOnce())
	require.NoError(t, cluster.Delete(t.Context()))
}

func (c *installedTest) rehearse(t *testing.T, way string, patience time.Duration, change func(ctx context.Context) error) sqlchart.Outcome {
	t.Helper()
	out, err := c.cluster.Rehearse(t.Context(), patience, change, func(ctx context.Context) error { return c.cluster.Updated(ctx, rolloutLimit) })
	t.Logf("%s: %s", way, out)
	if err != nil || out.Load.Failed > 0 {
		describe(t)
	}
	for _, f := range out.Load.Failures {
		t.Log("failed:", f)
	}
	require.NoError(t, err)
	require.Greater(t, out.Load.Requests, 100, "the load did not run")
	require.Zero(t, out.Load.Failed, "failed writes and reads")
	require.Empty(t, out.Lost, "acknowledged rows that are not on every server")
	if !c.cluster.Multi {
		require.Empty(t, out.Primaries.Two, "two servers could be written to at once")
	}
	return out
}

// TestSQLGroup is a replication group whose write Service selects its primary by the role label.
func TestSQLGroup(t *testing.T) {
	b := bed(t, "mysql")
	leaveNothing(t, b)
	cluster, err := sqlchart.Start(t.Context(), b, sqlchart.Group)
	require.NoError(t, err)
	require.NoError(t, cluster.Delete(t.Context()))
}

// TestSQLGalera is a Galera Cluster behind one Service.
func TestSQLGalera(t *testing.T) {
	b := bed(t, "mariadb")
	leaveNothing(t, b)
	cluster, err := sqlchart.Start(t.Context(), b, sqlchart.Galera)
	require.NoError(t, err)
	c := &installedTest{cluster}
	plain := c.rehearse(t, "plain Kubernetes", time.Minute, func(ctx context.Context) error { return cluster.Touch(ctx, "plain") })
	require.NoError(t, plain.RestartedOnce())
	require.NoError(t, cluster.Delete(t.Context()))
}
