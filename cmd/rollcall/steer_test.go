package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

func TestPauseAndResume(t *testing.T) {
	w := newWorld(t)
	w.object(&v1alpha1.DatabaseCluster{})
	require.Equal(t, "databasecluster/search paused\n", w.must("pause", "search"))
	require.JSONEq(t, `{"metadata":{"annotations":{"rollcall.dev/paused":"true"}}}`, w.patched[objectPath])
	require.Equal(t, "databasecluster/search resumed\n", w.must("resume", "search"))
	require.JSONEq(t, `{"metadata":{"annotations":{"rollcall.dev/paused":null}}}`, w.patched[objectPath])

	w.object(&v1alpha1.DatabaseCluster{Spec: model.Spec{Update: model.Update{Paused: true}}})
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
	w := newWorld(t, rolling(t, func(s *model.Snapshot) { s.Cluster.Paused = true }))
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
	require.Contains(t, stderr, "--timeout is 0s: must be more than 0")

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
	another := model.Override{Rule: model.RuleFailureDetection, Pods: []string{"search-1", "search-2"}, Reason: "CHG-1", Expires: model.At(now.Add(time.Hour))}
	expired := model.Override{Rule: model.RuleBusy, Pods: []string{"*"}, Reason: "CHG-0", Expires: model.At(now.Add(-time.Hour))}
	w.object(&v1alpha1.DatabaseCluster{Spec: model.Spec{Overrides: []model.Override{expired, another}}})
	written := func() []model.Override {
		var d v1alpha1.DatabaseCluster
		require.NoError(t, json.Unmarshal([]byte(w.patched[objectPath]), &d))
		return d.Spec.Overrides
	}

	for _, tt := range []struct{ args, want string }{
		{"--rule failure-detection --pod search-3", `--reason is empty: say why`},
		{"--rule sook --pod search-3 --reason r", `--rule is "sook": no rule has this name`},
		{"--rule bad-input --pod search-3 --reason r", `--rule is bad-input, which cannot be overridden`},
		{"--rule failure-detection --reason r", `--pod is empty: must be names of pods`},
		{"--rule sole-copy --pod * --reason r", `--pod is "*", which the rule sole-copy refuses`},
		{"--rule failure-detection --pod serach-3 --reason r", `--pod is "serach-3": no StatefulSet in namespace prod with the label rollcall.dev/cluster=search`},
		{"--rule failure-detection --pod search --reason r", `--pod is "search": no StatefulSet`},
		{"--rule failure-detection --pod search-3 --reason r --for 0s", `--for is 0s: must be at least 1s`},
		{"--rule failure-detection --pod search-3 --reason r --for 169h", `--for is 169h0m0s: must be at least 1s and at most 168h`},
		{"--rule failure-detection --pod search-3 --reason r --remove", `--remove goes with --rule and --pod only`},
		{"--pod search-3 --reason r", `"rule" not set`},
	} {
		code, _, stderr := w.run(append([]string{"override", "search"}, strings.Fields(tt.args)...)...)
		require.Equal(t, 1, code, tt.args)
		require.Contains(t, stderr, tt.want, tt.args)
	}
	require.Empty(t, w.patched, "what is refused writes nothing")

	out := w.must("override", "search", "--rule", "failure-detection", "--pod", "search-2,search-3", "--reason", "a fix has to be out", "--for", "30m")
	require.Contains(t, out, "databasecluster/search: failure-detection does not hold for search-2, search-3 until 20")
	got := written()
	require.Len(t, got, 2, "what has expired is gone")
	require.Equal(t, []string{"search-1"}, got[0].Pods)
	require.Equal(t, []string{"search-2", "search-3"}, got[1].Pods)
	require.Equal(t, "a fix has to be out (ada)", got[1].Reason)
	require.WithinDuration(t, now.Add(30*time.Minute), got[1].Expires.Time, time.Minute)

	w.object(&v1alpha1.DatabaseCluster{Spec: model.Spec{Overrides: got}})
	require.Equal(t, "databasecluster/search: failure-detection holds for search-3 again\n", w.must("override", "search", "--rule", "failure-detection", "--pod", "search-3", "--remove"))
	require.Equal(t, []string{"search-2"}, written()[1].Pods)
	require.Equal(t, "databasecluster/search: failure-detection holds for all pods again\n", w.must("override", "search", "--rule", "failure-detection", "--remove"))
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
	require.Equal(t, model.ApprovedAdopt, a.What)
	require.Equal(t, "search-6f", a.Revision)
	require.WithinDuration(t, time.Now(), a.At.Time, time.Minute)

	w.object(&written)
	require.Equal(t, "databasecluster/search: adopt was approved before for search-6f\n", w.must("approve", "search", "--what", "adopt"))
	require.Equal(t, "databasecluster/search: leader approved for any revision\n", w.must("approve", "search", "--what", "leader", "--any-revision"))
}
