package suite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/e2e/sqlchart"
	"github.com/rollcall-dev/rollcall/test/e2e/sqlpod"
)

// TestSQLSwitchable is a chart with one StatefulSet, whose write Service selects the first pod: a
// switchover would leave it behind, which enroll refuses. A person makes it follow the primary as is
// said, without a moment in which it has no endpoint; then the primary may move.
func TestSQLSwitchable(t *testing.T) {
	c := startInstalled(t, sqlchart.Switchable, "orders")
	ctx := t.Context()
	c.exec(t, "orders-0", "SET GLOBAL read_only = OFF")
	require.NoError(t, c.cluster.Follows(ctx, time.Minute))

	c.credentials(t, "--from-literal=replication-username=replica", "--from-literal=replication-password=replica-password")
	_, err := c.enrolls(t)
	require.Error(t, err)
	said := strings.Join(strings.Fields(err.Error()), " ")
	for _, text := range []string{"topology Switchable", "it selects orders-0 only", "select by rollcall.dev/role: primary", "nothing was written"} {
		require.Contains(t, said, text)
	}

	out := c.during(t, "adopted", retries, func(ctx context.Context) error {
		if err := c.byRole(ctx, "orders-0"); err != nil {
			return err
		}
		out, err := c.enrolls(t)
		if err != nil {
			return err
		}
		require.Contains(t, out, "topology Switchable")
		if err := c.adopt(ctx); err != nil {
			return err
		}
		if err := c.agents(ctx, 2); err != nil {
			return err
		}
		return c.moveByHand(ctx)
	}, func(context.Context) error { c.adopted(t); return nil })
	require.Equal(t, []string{"orders-0", "orders-2"}, out.Primaries.Turns)
	require.NoError(t, c.cluster.Follows(ctx, time.Minute))

	out = c.rollout(t, retries)
	require.Equal(t, 1, out.Primaries.Switchovers(), "one switchover")
	require.Equal(t, 1, out.Load.Writes.Changes(), "one switchover, as those who write saw it")
	t.Logf("writes paused for %s at most", out.Load.Writes.Longest)
	c.days(t, retries)
	require.NoError(t, c.cluster.Delete(ctx))
}

// byRole has the write Service select by the label of the role, as a person does before a coordinator
// keeps that label.
func (c *installedTest) byRole(ctx context.Context, primary string) error {
	_, err := c.bed.Kubectl(ctx, "", "label", "pod", primary, "-n", sqlchart.Namespace, "rollcall.dev/role=primary")
	if err == nil {
		_, err = c.bed.Kubectl(ctx, "", "patch", "service", c.cluster.Service, "-n", sqlchart.Namespace, "--type=merge", "-p",
			`{"spec":{"selector":{"statefulset.kubernetes.io/pod-name":null,"rollcall.dev/role":"primary"}}}`)
	}
	return err
}

// moveByHand moves the role from the pod without an agent, orders-0, to orders-2 by the statements of
// deploy/docs/mysql.md.
func (c *installedTest) moveByHand(ctx context.Context) error {
	from, err := c.cluster.Server("orders-0")
	if err != nil {
		return err
	}
	to, err := c.cluster.Server("orders-2")
	if err != nil {
		return err
	}
	if err := c.cluster.Exec(ctx, from.Pod, "SET SESSION lock_wait_timeout = 10", "SET GLOBAL read_only = ON"); err != nil {
		return err
	}
	db, there := sqlpod.Open(from.Address, sqlchart.Admin), sqlpod.Open(to.Address, sqlchart.Admin)
	defer func() { _, _ = db.Close(), there.Close() }()
	var position string
	if err := db.QueryRowContext(ctx, "SELECT @@gtid_binlog_pos").Scan(&position); err != nil {
		return err
	}
	var late int
	if err := there.QueryRowContext(ctx, fmt.Sprintf("SELECT MASTER_GTID_WAIT('%s', 60)", position)).Scan(&late); err != nil || late != 0 {
		return errors.Join(err, fmt.Errorf("orders-2 has not all of %s: %d", position, late))
	}
	const follow = "CHANGE MASTER TO MASTER_HOST = 'orders-2.orders-nodes', MASTER_PORT = 3306, MASTER_CONNECT_RETRY = 2, "
	return errors.Join(
		c.cluster.Exec(ctx, to.Pod, "STOP REPLICA", "RESET REPLICA ALL", "SET GLOBAL read_only = OFF"),
		c.cluster.Exec(ctx, "orders-1", "STOP REPLICA", follow+"MASTER_USE_GTID = slave_pos", "START REPLICA"),
		c.cluster.Exec(ctx, from.Pod, follow+"MASTER_USER = 'replica', MASTER_PASSWORD = 'replica-password', MASTER_USE_GTID = slave_pos, MASTER_DEMOTE_TO_SLAVE = 1", "START REPLICA"))
}
