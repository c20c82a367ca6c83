package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

func TestPlanThroughTheAPIServer(t *testing.T) {
	d := rolling(t)
	w := newWorld(t, d)
	require.Equal(t, d.Plan.Text(), w.must("plan", "search"))

	var plan model.Plan
	require.NoError(t, json.Unmarshal([]byte(w.must("plan", "search", "-o", "json")), &plan))
	require.Equal(t, d.Plan.Order, plan.Order)
}

// A saved snapshot gives the plan that the coordinator made.
func TestSavedSnapshotReproducesThePlan(t *testing.T) {
	d := rolling(t)
	w := newWorld(t, d)
	for _, format := range []string{"json", "yaml"} {
		file := filepath.Join(t.TempDir(), "search."+format)
		w.must("snapshot", "search", "-f", file, "-o", format)
		require.Equal(t, d.Plan.Text(), w.must("plan", "--snapshot", file))
	}
	require.JSONEq(t, w.must("plan", "search", "-o", "json"), func() string {
		file := filepath.Join(t.TempDir(), "search")
		require.NoError(t, os.WriteFile(file, []byte(w.must("snapshot", "search")), 0o600))
		return w.must("plan", "--snapshot", file, "-o", "json")
	}())
}

func TestExplainFindsTheCluster(t *testing.T) {
	other := rolling(t, func(s *model.Snapshot) { s.Cluster.Name = "other"; s.Pods[1].Name = "other-1" })
	w := newWorld(t, rolling(t), other)
	require.Contains(t, w.must("explain", "search-1"), "search-1 Hold\n  hold   search-1 pod-budget: ")
	code, _, stderr := w.run("explain", "search-0")
	require.Equal(t, cli.ExitFailed, code)
	require.Contains(t, stderr, "several database clusters have a pod search-0: choose with --database-cluster one of other, search")
	require.Contains(t, w.must("explain", "search-0", "--database-cluster", "other"), "search-0 Hold")
	_, _, stderr = w.run("explain", "search-7")
	require.Contains(t, stderr, "search-7 is in none of the 2 database clusters of namespace prod")
	_, _, stderr = w.run("explain", "search-0", "-n", "empty")
	require.Contains(t, stderr, "knows no DatabaseCluster in namespace empty")
}

func TestGetAndStatus(t *testing.T) {
	w := newWorld(t, rolling(t))
	require.Equal(t, ""+
		"NAME    ENGINE  PHASE    UPDATED  READY  UNAVAIL  FAILED  WAITING FOR\n"+
		"search  Solr    Rolling  0/3      3/3    0        0       pod-budget\n", w.must("get"))
	require.True(t, strings.HasPrefix(w.must("get", "-A"), "NAMESPACE  NAME"))
	require.Contains(t, w.must("get", "search", "-o", "yaml"), "phase: Rolling\n")
	require.Contains(t, w.must("get", "-o", "json"), `"clusters": [`)

	text := w.must("status", "search")
	for _, line := range []string{
		"cluster   prod/search (Solr)",
		"pods      0 of 3 updated, 3 ready, 0 unavailable (at most 1)",
		"  search-2  -      next   Restart after Handoff (Outdated)",
		"  search-0  leader-last",
		"  search-0  z0    Ready  no       Live    500ms   overseer",
		"by the coordinator",
	} {
		require.Contains(t, text, line)
	}
	for _, line := range strings.Split(text, "\n") {
		require.LessOrEqual(t, len(line), 100)
	}
	require.Contains(t, w.must("status", "search", "-o", "json"), `"podLimit": 1`)
}

func TestStatusNamesOpenGuards(t *testing.T) {
	w := newWorld(t, rolling(t, func(s *model.Snapshot) { s.Pods[1].Guard = model.GuardOpen }))
	require.Contains(t, w.must("status", "search"), "guards    1 of 3 open: search-1\n")
	require.Contains(t, w.must("status", "search", "-o", "json"), `"guard": "Open"`)
}

func TestObjectDoesWhereThereIsNoCoordinator(t *testing.T) {
	w := newWorld(t)
	w.objects[leasePath] = &coordinationv1.Lease{}
	w.object(&v1alpha1.DatabaseCluster{
		Spec: model.Spec{Engine: model.Solr},
		Status: v1alpha1.Status{
			Phase: model.ClusterWaiting, Pods: model.PodCounts{Desired: 3, Updated: 1, Ready: 2, Away: 1},
			Claims:     []model.Claim{{ID: "k", Pod: "search-2", Action: model.ActionRestart, Prepare: model.PrepareHandoff, Reason: model.ReasonOutdated, Phase: model.PhaseGone, StartedAt: model.At(time.Now())}},
			Holds:      []model.Hold{{Pod: "search-1", Rule: model.RulePodBudget, Reason: "one pod is unavailable"}},
			Conditions: []v1alpha1.Condition{{Type: v1alpha1.ConditionWithheld, Status: metav1.ConditionTrue, Message: "label the Secret"}},
		},
	})
	code, stdout, stderr := w.run("status", "search")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "withheld  label the Secret\n")
	require.Contains(t, stderr, "no coordinator is elected: nobody holds Lease rollcall-system/rollcall-coordinator")
	require.Contains(t, stderr, "showing what the DatabaseCluster says")
	require.Contains(t, stdout, "1 of 3 updated, 2 ready, 1 unavailable")
	require.Regexp(t, `search-2  \S+ +Gone +Restart after Handoff`, stdout)
	require.Contains(t, stdout, "search-1  pod-budget  one pod is unavailable")
	require.Contains(t, stdout, "the coordinator was not asked")

	code, stdout, _ = w.run("get")
	require.Zero(t, code)
	require.Contains(t, stdout, "search  Solr    Waiting  1/3      2/3    1        0       search-2 (Gone)")

	// What only the coordinator knows is refused.
	code, _, stderr = w.run("plan", "search")
	require.Equal(t, cli.ExitFailed, code)
	require.Contains(t, stderr, "error: no coordinator is elected")
}

func TestErrorsSayWhatToDo(t *testing.T) {
	w := newWorld(t, rolling(t))
	w.object(&v1alpha1.DatabaseCluster{})

	_, _, stderr := w.run("plan", "nothing")
	require.Contains(t, stderr, "error: nothing has been decided about DatabaseCluster prod/nothing: there is none, or")
	_, _, stderr = w.run("status", "nothing")
	require.Contains(t, stderr, "error: there is no DatabaseCluster nothing in namespace prod")
	_, _, stderr = w.run("plan", "search", "--install-namespace", "elsewhere")
	require.Contains(t, stderr, "is Rollcall installed in another namespace (--install-namespace)?")

	w.forbid(secretPath)
	_, _, stderr = w.run("plan", "search")
	require.Contains(t, stderr, "not permitted to get Secret rollcall-system/rollcall-reader: ")
	require.Contains(t, stderr, "ada may not")
	w.forbid(leasePath)
	_, _, stderr = w.run("plan", "search")
	require.Contains(t, stderr, "not permitted to get Lease rollcall-system/rollcall-coordinator: ")
	w.forbid("/api/v1/namespaces/rollcall-system/pods")
	_, _, stderr = w.run("plan", "search")
	require.Contains(t, stderr, "port-forward to pod rollcall-system/rollcall-coordinator-7")
	require.Contains(t, stderr, "ada may not")
	w.forbid("/apis/rollcall.dev")
	_, _, stderr = w.run("pause", "search")
	require.Contains(t, stderr, "not permitted: DatabaseCluster search in namespace prod: ")

	w.mu.Lock()
	w.refuse = nil
	delete(w.objects, listPath)
	delete(w.objects, objectPath)
	w.mu.Unlock()
	_, _, stderr = w.run("pause", "search")
	require.Contains(t, stderr, "the API server does not know DatabaseClusters: Rollcall is not installed there")

	w.mu.Lock()
	w.ports["7950"] = "127.0.0.1:1"
	w.mu.Unlock()
	_, _, stderr = w.run("plan", "search")
	require.Contains(t, stderr, "the coordinator could not be reached: ")
	require.Contains(t, stderr, "nobody listens")
}

func TestStandbyIsSaid(t *testing.T) {
	w := newWorld(t, rolling(t))
	w.board.Follow("10.0.0.2:7950")
	_, _, stderr := w.run("plan", "search")
	require.Contains(t, stderr, "error: this coordinator is not the leader; the leader is 10.0.0.2:7950 (--coordinator)")
}

// The certificates of the Secret work without the API server too.
func TestDirectConnection(t *testing.T) {
	d := rolling(t)
	w := newWorld(t, d)
	secret := w.objects[secretPath].(*corev1.Secret)
	var flags []string
	for flag, key := range map[string]string{"--ca": "ca.crt", "--cert": "tls.crt", "--key": "tls.key"} {
		file := filepath.Join(w.dir, key)
		require.NoError(t, os.WriteFile(file, secret.Data[key], 0o600))
		flags = append(flags, flag, file)
	}
	address := w.ports["7950"]
	w.forbid("/") // nothing is asked of the API server
	require.Equal(t, d.Plan.Text(), w.must(append([]string{"plan", "search", "--coordinator", address}, flags...)...))
	require.Contains(t, w.must(append([]string{"get", "--coordinator", address}, flags...)...), "search")

	code, _, stderr := w.run("plan", "search", "--coordinator", address)
	require.Equal(t, cli.ExitFailed, code, "the coordinator does not answer those who are not encrypted")
	require.NotEmpty(t, stderr)
	code, _, stderr = w.run("plan", "search", "--coordinator", address, "--ca", filepath.Join(w.dir, "ca.crt"))
	require.Equal(t, cli.ExitFailed, code, "nor those who show no certificate")
	require.NotEmpty(t, stderr)
}

func TestWatchAddsLines(t *testing.T) {
	w := newWorld(t, rolling(t))
	ctx, interrupt := context.WithCancel(t.Context())
	r := w.start(ctx, "watch", "search")
	r.says("go     search-2 Restart after Handoff (Outdated)\n")
	w.board.Publish(rolling(t, finished))
	r.says("phase  Done: 3 of 3 updated, 3 ready, 0 unavailable, 0 failed\n")
	interrupt()
	require.Zero(t, r.end(), r.errOut.String())
	require.Equal(t, 1, strings.Count(r.out.String(), "go     search-2"), "what was there before is not written again")
	require.NotContains(t, r.out.String(), "\x1b")
}
