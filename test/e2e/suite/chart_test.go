package suite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/test/e2e/sqlcluster"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

// chartTest is Rollcall's own life as a Helm release, with a MariaDB whose clients notice nothing of it.
type chartTest struct{ *sqlTest }

// TestChart installs Rollcall by Helm in an older version, upgrades it and removes
// it, both in mid-rollout: the database runs on, and can be deleted afterwards.
func TestChart(t *testing.T) {
	b := bed(t, sqlcluster.MariaDB.Name)
	measured(t)
	leaveNothing(t, b)
	c := &chartTest{&sqlTest{bed: b, flavor: sqlcluster.MariaDB, life: t.Context()}}
	c.withoutManifests(t)
	defer func() {
		require.NoError(t, b.Install(context.WithoutCancel(t.Context())), "the manifests again, for other tests")
	}()

	walk(t, []step{
		{"Install", c.install},
		{"UpgradeInMidRollout", c.upgraded},
		{"UninstallInMidRollout", c.uninstalled},
		{"DatabaseDeleted", c.deleted},
	}, nil)
}

// withoutManifests takes away, in the documented way, what the other tests use.
func (c *chartTest) withoutManifests(t *testing.T) {
	ctx := t.Context()
	_, err := c.bed.Rollcall(ctx, "guard-remove")
	require.NoError(t, err)
	manifests, err := c.bed.Rollcall(ctx, "uninstall", "--crd")
	require.NoError(t, err)
	_, err = c.bed.Kubectl(ctx, manifests, "delete", "--ignore-not-found", "--timeout=120s", "-f", "-")
	require.NoError(t, err)
	_, err = c.bed.Kubectl(ctx, "", "get", "namespace", testbed.InstallNamespace)
	require.ErrorContains(t, err, "not found", "nothing of it is left")
}

// older is the chart as an earlier version might have been: another version, and a
// definition of DatabaseCluster that lacks a field of today's.
func (c *chartTest) older(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "rollcall")
	require.NoError(t, os.CopyFS(dir, os.DirFS(c.bed.Path("deploy", "chart"))))
	crd := filepath.Join(dir, "files", "rollcall.dev_databaseclusters.yaml")
	text, err := os.ReadFile(crd)
	require.NoError(t, err)
	require.Contains(t, string(text), "\n                  maxFailed:\n")
	text = []byte(strings.ReplaceAll(string(text), "\n                  maxFailed:\n", "\n                  maxFailedAsItWas:\n"))
	require.NoError(t, os.WriteFile(crd, text, 0o600))
	return dir
}

func (c *chartTest) release(ctx context.Context, chart string, set ...string) error {
	args := []string{"upgrade", "--install", "rollcall", chart, "--namespace", testbed.InstallNamespace, "--create-namespace", "--wait", "--timeout", "3m",
		"--set", "image.tag=dev", "--set", "agent.image.tag=dev"}
	for _, s := range set {
		args = append(args, "--set", s)
	}
	return c.bed.Helm(ctx, args...)
}

func (c *chartTest) definition(ctx context.Context) (string, error) {
	return c.bed.Kubectl(ctx, "", "get", "crd", "databaseclusters.rollcall.dev", "-o", "yaml")
}

func (c *chartTest) install(t *testing.T) {
	ctx := t.Context()
	require.NoError(t, c.release(ctx, c.older(t), "replicas=1"))
	crd, err := c.definition(ctx)
	require.NoError(t, err)
	require.Contains(t, crd, "maxFailedAsItWas:")
	c.strategy(t, "null", sqlcluster.OnDelete)
}

// upgraded: the coordinator, its definitions and its policies are replaced while pods go.
func (c *chartTest) upgraded(t *testing.T) {
	r := c.touch("upgraded")
	r.During = func(ctx context.Context, w *witness.Witness) error {
		if err := restarted(ctx, c.bed, w, 1); err != nil {
			return err
		}
		return c.release(ctx, c.bed.Path("deploy", "chart"), "replicas=2", "logLevel=debug", "podAnnotations.upgraded=yes")
	}
	out := c.roll(t, "Rollcall, upgraded in mid-rollout", 1, r)
	c.eachOnce(t, out)
	crd, err := c.definition(t.Context())
	require.NoError(t, err)
	require.NotContains(t, crd, "maxFailedAsItWas:")
	_, err = c.bed.Rollcall(t.Context(), "status", c.flavor.Name, "-n", sqlcluster.Namespace, "--wait", "--timeout", "2m")
	require.NoError(t, err)
	require.NoError(t, c.guarded(t.Context()))
}

// uninstalled without any preparation: the pods that have not gone stay, and
// nothing refuses their deletion any more.
func (c *chartTest) uninstalled(t *testing.T) {
	gone := 0
	r := c.touch("uninstalled")
	r.During = func(ctx context.Context, w *witness.Witness) error {
		if err := restarted(ctx, c.bed, w, 1); err != nil {
			return err
		}
		err := c.bed.Helm(ctx, "uninstall", "rollcall", "--namespace", testbed.InstallNamespace, "--wait", "--timeout", "3m")
		gone = len(w.Report().Restarts)
		return err
	}
	r.Done = func(ctx context.Context) error {
		if err := c.cluster.Whole(ctx, 2*time.Minute); err != nil {
			return err
		}
		return testbed.Pause(ctx, 20*time.Second)
	}
	out := c.roll(t, "Rollcall, uninstalled in mid-rollout", 1, r)
	require.LessOrEqual(t, len(out.Witness.Restarts), gone+1, "pods go though nobody rolls: %v", out.Witness.Restarts)

	ctx := t.Context()
	left, err := c.bed.Kubectl(ctx, "", "get", "clusterroles,clusterrolebindings,mutatingwebhookconfigurations,validatingadmissionpolicies,validatingadmissionpolicybindings",
		"-l", "app.kubernetes.io/name=rollcall", "-o", "name")
	require.NoError(t, err)
	require.Empty(t, left, "of the installation")
	for _, pod := range c.cluster.Pods.All() {
		require.NoError(t, c.bed.Kube.CoreV1().Pods(sqlcluster.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}), "%s may be deleted", pod.Name)
	}
}

// deleted: nothing that Rollcall has left behind holds the database's objects.
func (c *chartTest) deleted(t *testing.T) {
	ctx := t.Context()
	_, err := c.bed.Kubectl(ctx, "", "delete", "databasecluster", c.flavor.Name, "-n", sqlcluster.Namespace, "--timeout=60s")
	require.NoError(t, err, "the DatabaseCluster can be deleted, though nobody is there who takes off a finalizer")
	require.NoError(t, c.cluster.Delete(ctx))
	out, err := c.bed.Kubectl(ctx, "", "delete", "namespace", testbed.InstallNamespace, "--ignore-not-found", "--timeout=120s")
	require.NoError(t, err, fmt.Sprint(out))
	_, err = c.bed.Kubectl(ctx, "", "delete", "crd", "databaseclusters.rollcall.dev", "--timeout=60s")
	require.NoError(t, err)
}
