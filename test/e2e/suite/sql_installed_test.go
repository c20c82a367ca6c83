package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
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

// probes is by how much a pause may differ by chance: a readiness probe comes every 2 s, and proxies
// learn of it within about a second.
const probes = 3 * time.Second

// TestSQLFixedPrimary is a chart with its primary in a StatefulSet of its own: it pauses writes once,
// for about as long as Kubernetes' own update of it does, and says so before.
func TestSQLFixedPrimary(t *testing.T) {
	c := startInstalled(t, sqlchart.Fixed, "db")
	plain := c.rehearse(t, "plain Kubernetes", time.Minute, "plain")
	require.NoError(t, plain.RestartedOnce())
	c.enroll(t, "topology FixedPrimary", "restarts in place, last, and nobody writes meanwhile")

	out := c.rehearse(t, "Rollcall", time.Minute, "rollcall")
	require.NoError(t, out.RestartedOnce())
	require.Equal(t, "db-primary-0", out.Gone[len(out.Gone)-1], "the primary goes last")
	require.Equal(t, 1, out.Load.Writes.Interruptions, "one pause")
	t.Logf("writes paused for %s, and for %s in Kubernetes' own update", out.Load.Writes.Longest, plain.Load.Writes.Longest)
	require.Less(t, out.Load.Writes.Longest, plain.Load.Writes.Longest+probes, "beside Kubernetes' own update")
	c.announced(t, "RestartsInPlace")
	require.NoError(t, c.cluster.Delete(t.Context()))
}

// TestSQLGalera is a Galera Cluster behind one Service.
func TestSQLGalera(t *testing.T) {
	c := startInstalled(t, sqlchart.Galera, "galera")
	c.exec(t, "galera-0", "CREATE USER 'rollcall'@'127.0.0.1' IDENTIFIED BY 'agent-password'",
		"GRANT SELECT ON mysql.wsrep_cluster_members TO 'rollcall'@'127.0.0.1'", "GRANT PROCESS ON *.* TO 'rollcall'@'127.0.0.1'")
	c.enroll(t, "topology Galera")
	out := c.rehearse(t, "Rollcall", retries, "rollcall")
	require.NoError(t, out.RestartedOnce())
	require.NoError(t, c.cluster.Delete(t.Context()))
}

// TestSQLGroup is a replication group whose write Service selects its primary by the role label.
func TestSQLGroup(t *testing.T) {
	c := startInstalled(t, sqlchart.Group, "group")
	c.enroll(t, "topology GroupReplication")
	out := c.rehearse(t, "Rollcall", retries, "rollcall")
	require.NoError(t, out.RestartedOnce())
	require.Equal(t, 1, out.Load.Writes.Changes(), "one switchover, as those who write saw it")
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
func (c *installedTest) enroll(t *testing.T, says ...string) {
	t.Helper()
	ctx := t.Context()
	_, err := c.bed.Kubectl(ctx, "", "create", "secret", "generic", c.name+"-rollcall-credentials", "-n", sqlchart.Namespace,
		"--from-literal=username=rollcall", "--from-literal=password=agent-password")
	require.NoError(t, err)
	args := append(append([]string{"enroll"}, c.cluster.Sets...), "--name", c.name, "-n", sqlchart.Namespace)
	out, err := c.bed.Rollcall(ctx, args...)
	t.Log(out)
	require.NoError(t, err)
	for _, text := range says {
		require.Contains(t, out, text)
	}
	require.NoError(t, c.cluster.Edit(ctx, fmt.Sprintf(`{"spec":{"template":{"metadata":{"labels":{%q:%q}}}}}`, manifests.ClusterLabel, c.name)))
	_, err = c.bed.Rollcall(ctx, "approve", c.name, "-n", sqlchart.Namespace, "--what", "adopt", "--any-revision")
	require.NoError(t, err)
	began := time.Now()
	err = c.bed.Eventually(ctx, "every pod to have an agent", 4*time.Minute, func(ctx context.Context) error {
		var without []string
		for _, pod := range c.cluster.Pods.All() {
			if !slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == v1alpha1.AgentContainer }) || !testbed.Ready(pod) {
				without = append(without, pod.Name)
			}
		}
		if len(without) > 0 {
			plan, err := c.bed.Rollcall(ctx, "plan", c.name, "-n", sqlchart.Namespace, "-o", "text")
			return errors.Join(err, fmt.Errorf("%s\n%s", strings.Join(without, ", "), plan))
		}
		return nil
	})
	if err != nil {
		describe(t)
	}
	require.NoError(t, err)
	t.Logf("adopted in %s", time.Since(began).Round(time.Second))
	_, err = c.bed.Rollcall(ctx, "status", c.name, "-n", sqlchart.Namespace, "--wait", "--timeout", "2m")
	require.NoError(t, err)
}

// rehearse restarts all pods while clients write.
func (c *installedTest) rehearse(t *testing.T, way string, patience time.Duration, change string) sqlchart.Outcome {
	t.Helper()
	out, err := c.cluster.Rehearse(t.Context(), patience, func(ctx context.Context) error { return c.cluster.Touch(ctx, change) },
		func(ctx context.Context) error { return c.cluster.Updated(ctx, 5*time.Minute) })
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

// announced requires an Event of the DatabaseCluster with the reason.
func (c *installedTest) announced(t *testing.T, reason string) {
	t.Helper()
	events, err := c.bed.Kube.EventsV1().Events(sqlchart.Namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=" + reason})
	require.NoError(t, err)
	require.NotEmpty(t, events.Items, "no Event %s", reason)
	t.Log(events.Items[0].Note)
}
