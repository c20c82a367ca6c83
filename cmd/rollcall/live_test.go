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
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

func TestPlanThroughTheAPIServer(t *testing.T) {
	d := rolling(t)
	w := newWorld(t, d)
	require.Equal(t, d.Plan.Text(), w.must("plan", "search"))

	var plan policy.Plan
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
	other := rolling(t, func(s *policy.Snapshot) { s.Cluster.Name = "other"; s.Pods[1].Name = "other-1" })
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
		"NAME    ENGINE  PHASE    UPDATED  READY  AWAY  FAILED  WAITING FOR\n"+
		"search  Solr    Rolling  0/3      3/3    0     0       pod-budget\n", w.must("get"))
	require.True(t, strings.HasPrefix(w.must("get", "-A"), "NAMESPACE  NAME"))
	require.Contains(t, w.must("get", "search", "-o", "yaml"), "phase: Rolling\n")
	require.Contains(t, w.must("get", "-o", "json"), `"clusters": [`)

	text := w.must("status", "search")
	for _, line := range []string{
		"cluster   prod/search (Solr)",
		"pods      0 of 3 updated, 3 ready, 0 away (at most 1)",
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
	w := newWorld(t, rolling(t, func(s *policy.Snapshot) { s.Pods[1].Guard = policy.GuardOpen }))
	require.Contains(t, w.must("status", "search"), "guards    1 of 3 open: search-1\n")
	require.Contains(t, w.must("status", "search", "-o", "json"), `"guard": "Open"`)
}

func TestObjectDoesWhereThereIsNoCoordinator(t *testing.T) {
	w := newWorld(t)
	w.objects[leasePath] = &coordinationv1.Lease{}
	w.object(&v1alpha1.DatabaseCluster{
		Spec: policy.Spec{Engine: policy.Solr},
		Status: v1alpha1.Status{
			Phase: policy.ClusterWaiting, Pods: v1alpha1.PodCounts{Desired: 3, Updated: 1, Ready: 2, Away: 1},
			Claims:     []policy.Claim{{ID: "k", Pod: "search-2", Action: policy.Restart, Prepare: policy.PrepareHandoff, Reason: policy.ReasonOutdated, Phase: policy.PhaseGone, StartedAt: policy.At(time.Now())}},
			Holds:      []policy.Hold{{Pod: "search-1", Rule: policy.PodsAway, Reason: "one pod is away"}},
			Conditions: []v1alpha1.Condition{{Type: v1alpha1.ConditionWithheld, Status: metav1.ConditionTrue, Message: "label the Secret"}},
		},
	})
	code, stdout, stderr := w.run("status", "search")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "withheld  label the Secret\n")
	require.Contains(t, stderr, "no coordinator is elected: nobody holds Lease rollcall-system/rollcall-coordinator")
	require.Contains(t, stderr, "showing what the DatabaseCluster says")
	require.Contains(t, stdout, "1 of 3 updated, 2 ready, 1 away")
	require.Regexp(t, `search-2  \S+ +Gone +Restart after Handoff`, stdout)
	require.Contains(t, stdout, "search-1  pod-budget  one pod is away")
	require.Contains(t, stdout, "the coordinator was not asked")

	code, stdout, _ = w.run("get")
	require.Zero(t, code)
	require.Contains(t, stdout, "search  Solr    Waiting  1/3      2/3    1     0       search-2 (Gone)")

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
	require.Contains(t, stderr, "error: the coordinator asked is not the elected one; that is 10.0.0.2:7950 (--coordinator)")
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

// Waiting survives the election of another coordinator: in between it reads
// the object, and says so once.
// A rollout that has not begun does not look like one that is over.
// Nor does one for which somebody has asked a moment ago.
func TestWatchAddsLines(t *testing.T) {
	w := newWorld(t, rolling(t))
	ctx, interrupt := context.WithCancel(t.Context())
	r := w.start(ctx, "watch", "search")
	r.says("go     search-2 Restart after Handoff (Outdated)\n")
	w.board.Publish(rolling(t, finished))
	r.says("phase  Done: 3 of 3 updated, 3 ready, 0 away, 0 failed\n")
	interrupt()
	require.Zero(t, r.end(), r.errOut.String())
	require.Equal(t, 1, strings.Count(r.out.String(), "go     search-2"), "what was there before is not written again")
	require.NotContains(t, r.out.String(), "\x1b")
}

func TestPauseAndResume(t *testing.T) {
	w := newWorld(t)
	w.object(&v1alpha1.DatabaseCluster{})
	require.Equal(t, "databasecluster/search paused\n", w.must("pause", "search"))
	require.JSONEq(t, `{"metadata":{"annotations":{"rollcall.dev/paused":"true"}}}`, w.patched[objectPath])
	require.Equal(t, "databasecluster/search resumed\n", w.must("resume", "search"))
	require.JSONEq(t, `{"metadata":{"annotations":{"rollcall.dev/paused":null}}}`, w.patched[objectPath])

	w.object(&v1alpha1.DatabaseCluster{Spec: policy.Spec{Update: policy.Update{Paused: true}}})
	_, _, stderr := w.run("resume", "search")
	require.Contains(t, stderr, "paused all the same, by spec.update.paused")
}

func TestReplace(t *testing.T) {
	const podPath = "/api/v1/namespaces/prod/pods/fdb-3"
	w := newWorld(t)
	_, _, stderr := w.run("replace", "fdb-3")
	require.Contains(t, stderr, "there is no pod fdb-3 in namespace prod")

	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "fdb-3", UID: "u3"}}
	w.objects[podPath] = pod
	_, _, stderr = w.run("replace", "fdb-3")
	require.Contains(t, stderr, "belongs to no DatabaseCluster")
	require.Empty(t, w.patched)

	pod.Labels = map[string]string{v1alpha1.LabelCluster: "fdb"}
	require.Equal(t, "pod/fdb-3 is to be replaced\n", w.must("replace", "fdb-3"))
	var written corev1.Pod
	require.NoError(t, json.Unmarshal([]byte(w.patched[podPath]), &written))
	require.Equal(t, pod.UID, written.UID, "no other pod of that name is marked")
	at, err := time.Parse(time.RFC3339, written.Annotations[v1alpha1.AnnotationReplace])
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), at, time.Minute)

	require.Equal(t, "pod/fdb-3 is not asked to be replaced any more\n", w.must("replace", "fdb-3", "--cancel"))
	require.JSONEq(t, `{"metadata":{"uid":"u3","annotations":{"rollcall.dev/replace":null}}}`, w.patched[podPath])
	require.Equal(t, "pod/fdb-3 is not replaced because it fails\n", w.must("replace", "fdb-3", "--never"))
	require.JSONEq(t, `{"metadata":{"uid":"u3","annotations":{"rollcall.dev/replace":"never"}}}`, w.patched[podPath])
	_, _, stderr = w.run("replace", "fdb-3", "--never", "--cancel")
	require.Contains(t, stderr, "none of the others can be")
}

func TestRestart(t *testing.T) {
	const podPath = "/api/v1/namespaces/prod/pods/search-3"
	w := newWorld(t)
	w.object(&v1alpha1.DatabaseCluster{})
	require.Contains(t, w.must("restart", "search"), "databasecluster/search: all pods that are older than now are to be restarted")
	var written v1alpha1.DatabaseCluster
	require.NoError(t, json.Unmarshal([]byte(w.patched[objectPath]), &written))
	at, err := time.Parse(time.RFC3339, written.Annotations[v1alpha1.AnnotationRestart])
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), at, time.Minute)
	w.must("restart", "search", "--cancel")
	require.JSONEq(t, `{"metadata":{"annotations":{"rollcall.dev/restart":null}}}`, w.patched[objectPath])

	_, _, stderr := w.run("restart", "search", "--pod", "search-3")
	require.Contains(t, stderr, "there is no pod search-3 in namespace prod")
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "search-3", UID: "u3"}}
	w.objects[podPath] = pod
	_, _, stderr = w.run("restart", "search", "--pod", "search-3")
	require.Contains(t, stderr, `pod search-3 does not belong to search: its label rollcall.dev/cluster is ""`)
	pod.Labels = map[string]string{v1alpha1.LabelCluster: "search"}
	_, _, stderr = w.run("restart", "search", "--pod", "search-3,search-4")
	require.Contains(t, stderr, "there is no pod search-4")
	require.NotContains(t, w.patched, podPath, "all or none")
	require.Equal(t, "pod/search-3 is to be restarted\n", w.must("restart", "search", "--pod", "search-3"))
	var marked corev1.Pod
	require.NoError(t, json.Unmarshal([]byte(w.patched[podPath]), &marked))
	require.Equal(t, pod.UID, marked.UID)
	require.NotEmpty(t, marked.Annotations[v1alpha1.AnnotationRestart])
	require.Equal(t, "pod/search-3 is not asked to be restarted any more\n", w.must("restart", "search", "--pod", "search-3", "--cancel"))
	require.JSONEq(t, `{"metadata":{"uid":"u3","annotations":{"rollcall.dev/restart":null}}}`, w.patched[podPath])
}

func TestDrain(t *testing.T) {
	const nodePath, podsPath = "/api/v1/nodes/node-7", "/api/v1/pods"
	w := newWorld(t, rolling(t, func(s *policy.Snapshot) { s.Cluster.Paused = true }))
	_, _, stderr := w.run("drain", "node-7")
	require.Contains(t, stderr, "there is no node node-7")

	on := func(node, name string, labels map[string]string) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name, Labels: labels}, Spec: corev1.PodSpec{NodeName: node}}
	}
	ours := map[string]string{v1alpha1.LabelCluster: "search"}
	list := func(pods ...corev1.Pod) *corev1.PodList {
		return &corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: pods}
	}
	cluster := &v1alpha1.DatabaseCluster{}
	w.object(cluster)
	w.set(nodePath, &corev1.Node{TypeMeta: metav1.TypeMeta{Kind: "Node", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Name: "node-7"}})
	w.set(podsPath, list(on("node-7", "search-1", ours), on("node-7", "web-1", nil), on("node-8", "search-0", ours)))
	_, _, stderr = w.run("drain", "node-7")
	require.Contains(t, stderr, "databasecluster prod/search: spec.update.nodeDrains.follow is false, so search-1 would stay on node-7; nothing was changed")
	require.Empty(t, w.patched)
	_, _, stderr = w.run("drain", "node-7", "--timeout", "0s")
	require.Contains(t, stderr, "--timeout is 0s: more than 0 is wanted")

	cluster.Spec.Update.NodeDrains.Follow = true
	w.object(cluster)
	code, stdout, stderr := w.run("drain", "node-7", "--timeout", "1s")
	require.Equal(t, 3, code)
	require.JSONEq(t, `{"spec":{"unschedulable":true}}`, w.patched[nodePath])
	require.Contains(t, stdout, "node/node-7 cordoned\n")
	require.Contains(t, stdout, "1 pod is left: prod/search-1 (paused: ")
	require.Contains(t, stderr, "node node-7 is cordoned, and after 1s not empty: 1 pod is left: prod/search-1 (paused: ")

	r := w.start(t.Context(), "drain", "node-7")
	r.says("1 pod is left")
	w.set(podsPath, list(on("node-7", "web-1", nil), on("node-8", "search-0", ours)))
	require.Zero(t, r.end(), r.errOut.String())
	require.Contains(t, r.out.String(), "node/node-7 has no pod of a database\n")
}

func TestOverride(t *testing.T) {
	w := newWorld(t)
	w.objects[setsPath] = &appsv1.StatefulSetList{
		TypeMeta: metav1.TypeMeta{Kind: "StatefulSetList", APIVersion: "apps/v1"},
		Items:    []appsv1.StatefulSet{{ObjectMeta: metav1.ObjectMeta{Name: "search"}}},
	}
	now := time.Now().Truncate(time.Second)
	another := policy.Override{Rule: policy.Settling, Pods: []string{"search-1", "search-2"}, Reason: "CHG-1", Expires: policy.At(now.Add(time.Hour))}
	expired := policy.Override{Rule: policy.Busy, Pods: []string{"*"}, Reason: "CHG-0", Expires: policy.At(now.Add(-time.Hour))}
	w.object(&v1alpha1.DatabaseCluster{Spec: policy.Spec{Overrides: []policy.Override{expired, another}}})
	written := func() []policy.Override {
		var d v1alpha1.DatabaseCluster
		require.NoError(t, json.Unmarshal([]byte(w.patched[objectPath]), &d))
		return d.Spec.Overrides
	}

	for _, tt := range []struct{ args, want string }{
		{"--rule settling --pod search-3", `--reason is empty: say why`},
		{"--rule sook --pod search-3 --reason r", `--rule is "sook": no rule has this name`},
		{"--rule bad-input --pod search-3 --reason r", `--rule is bad-input, which cannot be overridden`},
		{"--rule settling --reason r", `--pod is empty: names of pods`},
		{"--rule sole-copy --pod * --reason r", `--pod is "*", which the rule sole-copy refuses`},
		{"--rule settling --pod serach-3 --reason r", `--pod is "serach-3": no StatefulSet in namespace prod with the label rollcall.dev/cluster=search`},
		{"--rule settling --pod search --reason r", `--pod is "search": no StatefulSet`},
		{"--rule settling --pod search-3 --reason r --for 0s", `--for is 0s: at least 1s`},
		{"--rule settling --pod search-3 --reason r --for 169h", `--for is 169h0m0s: at least 1s and at most 168h`},
		{"--rule settling --pod search-3 --reason r --remove", `--remove goes with --rule and --pod only`},
		{"--pod search-3 --reason r", `"rule" not set`},
	} {
		code, _, stderr := w.run(append([]string{"override", "search"}, strings.Fields(tt.args)...)...)
		require.Equal(t, 1, code, tt.args)
		require.Contains(t, stderr, tt.want, tt.args)
	}
	require.Empty(t, w.patched, "what is refused writes nothing")

	out := w.must("override", "search", "--rule", "settling", "--pod", "search-2,search-3", "--reason", "a fix has to be out", "--for", "30m")
	require.Contains(t, out, "databasecluster/search: settling does not hold for search-2, search-3 until 20")
	got := written()
	require.Len(t, got, 2, "what has expired is gone")
	require.Equal(t, []string{"search-1"}, got[0].Pods)
	require.Equal(t, []string{"search-2", "search-3"}, got[1].Pods)
	require.Equal(t, "a fix has to be out (ada)", got[1].Reason)
	require.WithinDuration(t, now.Add(30*time.Minute), got[1].Expires.Time, time.Minute)

	w.object(&v1alpha1.DatabaseCluster{Spec: policy.Spec{Overrides: got}})
	require.Equal(t, "databasecluster/search: settling holds for search-3 again\n", w.must("override", "search", "--rule", "settling", "--pod", "search-3", "--remove"))
	require.Equal(t, []string{"search-2"}, written()[1].Pods)
	require.Equal(t, "databasecluster/search: settling holds for all pods again\n", w.must("override", "search", "--rule", "settling", "--remove"))
	require.Empty(t, written())
	delete(w.patched, objectPath)
	require.Equal(t, "databasecluster/search: busy was not overridden for all pods\n", w.must("override", "search", "--rule", "busy", "--remove"))
	require.Empty(t, w.patched)
}

func TestApprove(t *testing.T) {
	w := newWorld(t)
	w.object(&v1alpha1.DatabaseCluster{})
	_, _, stderr := w.run("approve", "search", "--what", "adopt")
	require.Contains(t, stderr, "no StatefulSet in namespace prod has the label rollcall.dev/cluster=search")

	w.objects[setsPath] = &appsv1.StatefulSetList{
		TypeMeta: metav1.TypeMeta{Kind: "StatefulSetList", APIVersion: "apps/v1"},
		Items:    []appsv1.StatefulSet{{ObjectMeta: metav1.ObjectMeta{Name: "search"}, Status: appsv1.StatefulSetStatus{UpdateRevision: "search-6f"}}},
	}
	require.Equal(t, "databasecluster/search: adopt approved for search-6f\n", w.must("approve", "search", "--what", "adopt"))
	var written v1alpha1.DatabaseCluster
	require.NoError(t, json.Unmarshal([]byte(w.patched[objectPath+"/status"]), &written))
	require.Len(t, written.Status.Approvals, 1)
	a := written.Status.Approvals[0]
	require.Equal(t, "ada", a.By)
	require.Equal(t, policy.ApprovedAdopt, a.What)
	require.Equal(t, "search-6f", a.Revision)
	require.WithinDuration(t, time.Now(), a.At.Time, time.Minute)

	w.object(&written)
	require.Equal(t, "databasecluster/search: adopt was approved before for search-6f\n", w.must("approve", "search", "--what", "adopt"))
	require.Equal(t, "databasecluster/search: leader approved for any revision\n", w.must("approve", "search", "--what", "leader", "--any-revision"))
}
