package suite

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/e2e/sqlchart"
)

// Where nobody can take over, writes pause while the one server restarts. What Rollcall may not do is
// make that longer than Kubernetes' own update of the same chart.

// restarts is how often the server is restarted each way.
const restarts = 5

// TestSQLFixedPrimary is a chart with its primary in a StatefulSet of its own: it pauses writes once,
// no longer than Kubernetes' own update of it does, and says so before.
func TestSQLFixedPrimary(t *testing.T) {
	c := startInstalled(t, sqlchart.Fixed, "db")
	require.NoError(t, c.cluster.RestartedOnce(c.rehearse(t, "plain Kubernetes", time.Minute, "plain")))
	plain := c.pauses(t, "plain Kubernetes")
	c.enroll(t, "topology FixedPrimary", "restarts in place, last, and nobody writes meanwhile")

	out := c.rollout(t, time.Minute)
	require.Equal(t, "db-primary-0", out.Gone[len(out.Gone)-1], "the primary goes last")
	require.Equal(t, 1, out.Load.Writes.Interruptions, "one pause")
	c.announced(t, "RestartsInPlace")
	rollcall := c.pauses(t, "Rollcall")
	c.days(t, time.Minute)
	require.NoError(t, c.cluster.Delete(t.Context()))
	notLonger(t, plain, rollcall)
}

// TestSQLSingle is one server: nothing is asked of its configuration, and its restart is announced.
func TestSQLSingle(t *testing.T) {
	c := startInstalled(t, sqlchart.Single, "blog")
	plain := c.pauses(t, "plain Kubernetes")
	c.exec(t, "blog-0", "CREATE USER 'rollcall'@'127.0.0.1' IDENTIFIED BY 'agent-password'",
		"GRANT REPLICATION CLIENT, REPLICATION SLAVE, PROCESS ON *.* TO 'rollcall'@'127.0.0.1'",
		"GRANT SELECT ON performance_schema.* TO 'rollcall'@'127.0.0.1'")
	out := c.enroll(t, "topology SingleServer", "it restarts in place, and nobody reads or writes meanwhile")
	require.NotContains(t, out, "read_only", "it may be written to as it starts")
	require.NotContains(t, out, "gtid", "and replicates nothing")

	require.Equal(t, 1, c.rollout(t, time.Minute).Load.Writes.Interruptions, "one pause")
	c.announced(t, "RestartsInPlace")
	rollcall := c.pauses(t, "Rollcall")
	c.days(t, time.Minute)
	require.NoError(t, c.cluster.Delete(t.Context()))
	notLonger(t, plain, rollcall)
}

// pauses restarts the server that clients write to several times, and returns how long they could not
// write each time, the shortest first.
func (c *installedTest) pauses(t *testing.T, way string) (all []time.Duration) {
	t.Helper()
	set := c.cluster.Sets[0]
	for i := range restarts {
		out := c.during(t, way, time.Minute, func(ctx context.Context) error { return c.cluster.TouchSet(ctx, set, fmt.Sprint(way, i)) },
			func(ctx context.Context) error { return c.cluster.Updated(ctx, 3*time.Minute) })
		require.Equal(t, []string{set + "-0"}, out.Gone)
		require.Equal(t, 1, out.Load.Writes.Interruptions, "one pause")
		require.Zero(t, out.Load.Failed, "failed writes and reads")
		all = append(all, out.Load.Writes.Longest)
	}
	t.Logf("%s: pauses of %v", way, all)
	slices.Sort(all)
	return all
}

// chance is by how much the medians of equal restarts may differ: by one period of the readiness probe.
// A server that is up just after a probe waits for the next one, so that a pause is one period longer
// as soon as its server starts a little later. The kubelet makes the agent's container before that of
// the database, and ends it after it, which takes about half a second and so may cost a probe.
const chance = 2 * time.Second

func notLonger(t *testing.T, plain, rollcall []time.Duration) {
	t.Helper()
	t.Logf("writes paused for %s (%v), in Kubernetes' own update for %s (%v)", median(rollcall), rollcall, median(plain), plain)
	require.LessOrEqual(t, median(rollcall), median(plain)+chance, "longer than Kubernetes' own update")
}

func median(sorted []time.Duration) time.Duration { return sorted[len(sorted)/2] }
