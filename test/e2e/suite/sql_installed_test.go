package suite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/test/e2e/manifests"
	"github.com/rollcall-dev/rollcall/test/e2e/sqlchart"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
)

// installedTest rolls a database that is installed as a public chart installs it, while clients
// write through the chart's own Service.
type installedTest struct {
	bed     *testbed.Bed
	cluster *sqlchart.Cluster
	// name is the name of its DatabaseCluster.
	name string
}

func startInstalled(t *testing.T, chart sqlchart.Chart, name string) *installedTest {
	t.Helper()
	measured(t)
	b := bed(t, chart.Image)
	leaveNothing(t, b)
	cluster, err := sqlchart.Start(t.Context(), b, chart)
	require.NoError(t, err)
	return &installedTest{b, cluster, name}
}

// TestSQLGalera is a Galera Cluster behind one Service.
func TestSQLGalera(t *testing.T) {
	c := startInstalled(t, sqlchart.Galera, "galera")
	c.exec(t, "galera-0", "CREATE USER 'rollcall'@'127.0.0.1' IDENTIFIED BY 'agent-password'",
		"GRANT SELECT ON mysql.wsrep_cluster_members TO 'rollcall'@'127.0.0.1'", "GRANT PROCESS ON *.* TO 'rollcall'@'127.0.0.1'")
	c.enroll(t, "topology Galera")
	c.rollout(t, retries)
	c.days(t, retries)
	require.NoError(t, c.cluster.Delete(t.Context()))
}

// TestSQLGroup is a replication group whose write Service selects its primary by the role label.
func TestSQLGroup(t *testing.T) {
	c := startInstalled(t, sqlchart.Group, "group")
	c.enroll(t, "topology GroupReplication")
	out := c.rollout(t, retries)
	require.Equal(t, 1, out.Load.Writes.Changes(), "one switchover, as those who write saw it")
	c.days(t, retries)
	require.NoError(t, c.cluster.Delete(t.Context()))
}

// retries is how long a client of a Service repeats a write before it counts as failed.
const retries = 2 * time.Second

// exec runs statements on a pod's server, as an administrator.
func (c *installedTest) exec(t *testing.T, pod string, statements ...string) {
	t.Helper()
	require.NoError(t, c.cluster.Exec(t.Context(), pod, statements...))
}

// enroll puts the database under Rollcall as a person does who follows what is said, and waits until
// each pod has an agent. All of says is found in what the doctor and enroll say.
func (c *installedTest) enroll(t *testing.T, says ...string) (said string) {
	t.Helper()
	c.credentials(t)
	out, err := c.enrolls(t)
	require.NoError(t, err)
	for _, text := range says {
		require.Contains(t, out, text)
	}
	began := time.Now()
	require.NoError(t, c.adopt(t.Context()))
	c.adopted(t)
	t.Logf("adopted in %s", time.Since(began).Round(time.Second))
	return out
}

// credentials makes the Secret of the agents, with more in it if need be.
func (c *installedTest) credentials(t *testing.T, more ...string) {
	t.Helper()
	args := []string{"create", "secret", "generic", c.name + "-rollcall-credentials", "-n", sqlchart.Namespace,
		"--from-literal=username=rollcall", "--from-literal=password=agent-password"}
	_, err := c.bed.Kubectl(t.Context(), "", append(args, more...)...)
	require.NoError(t, err)
}

// enrolls runs enroll.
func (c *installedTest) enrolls(t *testing.T) (string, error) {
	t.Helper()
	args := append(append([]string{"enroll"}, c.cluster.Sets...), "--name", c.name, "-n", sqlchart.Namespace)
	out, err := c.bed.Rollcall(t.Context(), args...)
	t.Log(out, err)
	return out, err
}

// adopt puts the label into the pod templates, and approves one restart of each pod.
func (c *installedTest) adopt(ctx context.Context) error {
	if err := c.cluster.Edit(ctx, fmt.Sprintf(`{"spec":{"template":{"metadata":{"labels":{%q:%q}}}}}`, manifests.ClusterLabel, c.name)); err != nil {
		return err
	}
	_, err := c.bed.Rollcall(ctx, "approve", c.name, "-n", sqlchart.Namespace, "--what", "adopt", "--any-revision")
	return err
}

// adopted waits until each pod has an agent, and all is done.
func (c *installedTest) adopted(t *testing.T) {
	t.Helper()
	err := c.agents(t.Context(), c.cluster.Servers)
	if err == nil {
		_, err = c.bed.Rollcall(t.Context(), "status", c.name, "-n", sqlchart.Namespace, "--wait", "--timeout", "2m")
	}
	if err != nil {
		describe(t)
	}
	require.NoError(t, err)
}

// agents waits until so many pods are Ready with an agent.
func (c *installedTest) agents(ctx context.Context, want int) error {
	return c.bed.Eventually(ctx, fmt.Sprintf("%d pods to have agents", want), 4*time.Minute, func(ctx context.Context) error {
		var with []string
		for _, pod := range c.cluster.Pods.All() {
			if testbed.HasAgent(pod) && testbed.Ready(pod) {
				with = append(with, pod.Name)
			}
		}
		if len(with) != want {
			plan, err := c.bed.Rollcall(ctx, "plan", c.name, "-n", sqlchart.Namespace, "-o", "text")
			return errors.Join(err, fmt.Errorf("%s\n%s", strings.Join(with, ", "), plan))
		}
		return nil
	})
}

// rollout restarts all pods with Rollcall, each once.
func (c *installedTest) rollout(t *testing.T, patience time.Duration) sqlchart.Outcome {
	t.Helper()
	out := c.rehearse(t, "Rollcall", patience, "rollcall")
	require.NoError(t, c.cluster.RestartedOnce(out))
	require.NoError(t, c.cluster.Follows(t.Context(), time.Minute))
	return out
}

// rehearse restarts all pods while clients write.
func (c *installedTest) rehearse(t *testing.T, way string, patience time.Duration, change string) sqlchart.Outcome {
	t.Helper()
	out := c.during(t, way, patience, func(ctx context.Context) error { return c.cluster.Touch(ctx, change) },
		func(ctx context.Context) error { return c.cluster.Updated(ctx, 5*time.Minute) })
	if out.Load.Failed > 0 {
		describe(t)
	}
	require.Zero(t, out.Load.Failed, "failed writes and reads")
	return out
}

// during makes a change while clients write. Writes may fail; none that was acknowledged is lost.
func (c *installedTest) during(t *testing.T, way string, patience time.Duration, change, done func(ctx context.Context) error) sqlchart.Outcome {
	t.Helper()
	out, err := c.cluster.Rehearse(t.Context(), patience, change, done)
	t.Logf("%s: %s", way, out)
	for _, f := range out.Load.Failures {
		t.Log("failed:", f)
	}
	if err != nil {
		describe(t)
	}
	require.NoError(t, err)
	require.Greater(t, out.Load.Requests, 100, "the load did not run")
	require.Empty(t, out.Lost, "acknowledged rows that are not on every server")
	if c.cluster.Replication != sqlchart.GaleraMembers {
		require.Empty(t, out.Primaries.Two, "two servers could be written to at once")
	}
	return out
}

// announced requires an Event of the DatabaseCluster with the reason.
func (c *installedTest) announced(t *testing.T, reason string) {
	t.Helper()
	events, err := c.bed.Kube.EventsV1().Events(sqlchart.Namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=" + reason})
	require.NoError(t, err)
	require.NotEmpty(t, events.Items, "no Event %s", reason)
	t.Log(events.Items[0].Note)
}
