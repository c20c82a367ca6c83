// Package suite holds the tests on a real Kubernetes with real databases.
//
// They run when ROLLCALL_E2E=1 (root, a few gigabytes of memory), one after the
// other on one cluster; where ROLLCALL_REQUIRE names "cluster" they fail instead
// of being skipped.
package suite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/solrcloud"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

const (
	oldVersion = "9.10.1"
	newVersion = "10.0.0"
	// rolloutLimit is how long one rollout of eight pods may take before the test
	// gives up; it is no bar of speed.
	rolloutLimit = 25 * time.Minute
)

var shared struct {
	once   sync.Once
	began  time.Time
	bed    *testbed.Bed
	err    error
	loaded []string
	// recorded ends the recording of metrics.
	recorded func() error
}

// bed is the cluster with Rollcall installed, brought up once, and with the images
// of the databases that a test needs.
func bed(t *testing.T, databases ...string) *testbed.Bed {
	t.Helper()
	if os.Getenv("ROLLCALL_E2E") != "1" {
		if strings.Contains(os.Getenv("ROLLCALL_REQUIRE"), "cluster") {
			t.Fatal("a real cluster is required here: set ROLLCALL_E2E=1")
		}
		t.Skip("needs root and a few minutes: set ROLLCALL_E2E=1")
	}
	shared.once.Do(func() {
		shared.bed, shared.err = up()
	})
	require.NoError(t, shared.err)
	for _, name := range databases {
		if !slices.Contains(shared.loaded, name) {
			require.NoError(t, shared.bed.LoadImages(t.Context(), name))
			shared.loaded = append(shared.loaded, name)
		}
	}
	return shared.bed
}

func up() (*testbed.Bed, error) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Minute)
	defer cancel()
	b, err := testbed.Up(ctx, testbed.Options{Root: root, Name: "test", Log: os.Stdout})
	if err != nil {
		return nil, err
	}
	if err := b.LoadImages(ctx, testbed.Images...); err != nil {
		return nil, err
	}
	// The database goes first: in mid-rollout it has a finalizer that a coordinator takes off.
	if err := b.RemoveInstall(ctx, solrcloud.Namespace, testbed.InstallNamespace); err != nil {
		return nil, err
	}
	shared.began = time.Now()
	if err := b.Install(ctx); err != nil {
		return nil, err
	}
	shared.recorded, err = record(b)
	return b, err
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.recorded != nil {
		if err := shared.recorded(); err != nil {
			fmt.Println("recording:", err)
			code = 1
		}
	}
	if shared.bed != nil && os.Getenv("ROLLCALL_E2E_KEEP") == "" {
		if err := shared.bed.Down(context.Background()); err != nil {
			fmt.Println("cluster down:", err)
			code = 1
		}
	}
	os.Exit(code)
}

func measuring() bool { return os.Getenv("ROLLCALL_E2E_MEASURE") == "1" }

// measured skips what `make measure` runs, and not every commit.
func measured(t *testing.T) {
	t.Helper()
	if !measuring() {
		t.Skip("make measure runs this")
	}
}

// fewer takes pods from a StatefulSet where nothing is measured: each of them is a Java
// process, and a rollout of some shows on every commit what one of all does nightly.
func fewer(set *appsv1.StatefulSet, name string, replicas int32) {
	if set.Name == name && !measuring() {
		set.Spec.Replicas = &replicas
	}
}

type step struct {
	name string
	run  func(*testing.T)
}

// walk runs steps in their order, and behind them those that measure, when
// ROLLCALL_E2E_MEASURE=1; or those of both that ROLLCALL_E2E_STEP names, with commas
// between them.
func walk(t *testing.T, steps, measure []step) {
	t.Helper()
	only := os.Getenv("ROLLCALL_E2E_STEP")
	if measuring() || only != "" {
		steps = append(steps, measure...)
	}
	for _, step := range steps {
		if only != "" && !slices.Contains(strings.Split(only, ","), step.name) {
			continue
		}
		if !t.Run(step.name, step.run) {
			t.FailNow()
		}
	}
}

// leaveNothing removes the database of a test that has failed, so that the next
// one starts from nothing; ROLLCALL_E2E_KEEP keeps it for a look.
func leaveNothing(t *testing.T, b *testbed.Bed) {
	t.Helper()
	t.Cleanup(func() {
		if !t.Failed() || os.Getenv("ROLLCALL_E2E_KEEP") != "" {
			return
		}
		cloud := &solrcloud.Cloud{Bed: b}
		if err := cloud.Delete(context.Background()); err != nil {
			t.Logf("the database stays: %v", err)
		}
	})
}

// coordinators scales the Deployment, and waits until nothing of it is left when it is to be 0.
func coordinators(ctx context.Context, b *testbed.Bed, n int) error {
	_, err := b.Kubectl(ctx, "", "scale", "deployment/rollcall-coordinator", "-n", testbed.InstallNamespace, fmt.Sprintf("--replicas=%d", n))
	if err == nil && n == 0 {
		_, err = b.Kubectl(ctx, "", "wait", "pod", "--for=delete", "-n", testbed.InstallNamespace, "-l", "app.kubernetes.io/name=rollcall", "--timeout=60s")
	}
	return err
}

// databaseCluster is Solr's manifest that a user writes, with changes.
func databaseCluster(t *testing.T, b *testbed.Bed, replace ...string) string {
	t.Helper()
	return manifest(t, b, "databasecluster.yaml", replace...)
}

// manifest is a file of test/e2e/manifests, with changes.
func manifest(t *testing.T, b *testbed.Bed, name string, replace ...string) string {
	t.Helper()
	text, err := os.ReadFile(b.Path("test", "e2e", "manifests", name))
	require.NoError(t, err)
	for i := 0; i+1 < len(replace); i += 2 {
		require.Contains(t, string(text), replace[i])
		text = []byte(strings.ReplaceAll(string(text), replace[i], replace[i+1]))
	}
	return string(text)
}

// roll runs a change under load and requires that no client noticed.
func roll(t *testing.T, r rehearsal.Rehearsal) rehearsal.Outcome {
	t.Helper()
	out := measure(t, r)
	if out.Load.Failed > 0 {
		describe(t)
	}
	require.Zero(t, out.Load.Failed, "failed requests")
	return out
}

// measure runs a change under load. Requests may fail, because of what is done
// to the database; nothing that was acknowledged may be lost.
func measure(t *testing.T, r rehearsal.Rehearsal) rehearsal.Outcome {
	t.Helper()
	out := unseen(t, r)
	require.Less(t, out.Witness.Misses*10, out.Witness.Looks, "the witness was blind")
	return out
}

// unseen is measure where for some time nobody can be asked.
func unseen(t *testing.T, r rehearsal.Rehearsal) rehearsal.Outcome {
	t.Helper()
	if r.Limit == 0 {
		r.Limit = rolloutLimit
	}
	out, err := r.Run(t.Context())
	t.Log(out)
	out.Explain(os.Stdout)
	if err != nil {
		describe(t)
	}
	require.NoError(t, err)
	require.Empty(t, out.Lost, "acknowledged documents that are gone")
	require.Greater(t, out.Load.Requests, 100, "the load did not run")
	return out
}

// describe prints what Rollcall says, for whoever reads a failed run.
func describe(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	b := shared.bed
	names, err := b.Kubectl(ctx, "", "get", "databaseclusters", "-n", solrcloud.Namespace, "-o", "jsonpath={.items[*].metadata.name}")
	if err != nil {
		t.Log(err)
	}
	for name := range strings.FieldsSeq(names) {
		for _, args := range [][]string{{"status", name, "-n", solrcloud.Namespace}, {"plan", name, "-n", solrcloud.Namespace, "-o", "text"}} {
			out, err := b.Rollcall(ctx, args...)
			t.Logf("rollcall %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	if out, err := b.Kubectl(ctx, "", "logs", "-n", testbed.InstallNamespace, "-l", "app.kubernetes.io/name=rollcall", "--tail=60", "--prefix"); err == nil {
		t.Log(out)
	}
}

// killLeader kills the coordinator that leads.
func killLeader(ctx context.Context, b *testbed.Bed) error {
	leader, err := b.Leader(ctx)
	if err != nil {
		return err
	}
	n, err := b.Kill(string(leader.UID), "rollcall-coordinator")
	b.Logf("killed %d process of the leader %s", n, leader.Name)
	return err
}

// restarted waits until n pods have been restarted.
func restarted(ctx context.Context, b *testbed.Bed, w *witness.Witness, n int) error {
	return b.Eventually(ctx, fmt.Sprintf("%d restarts", n), rolloutLimit, func(context.Context) error {
		if got := len(w.Report().Restarts); got < n {
			return fmt.Errorf("%d restarts so far", got)
		}
		return nil
	})
}
