package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiversion "k8s.io/apimachinery/pkg/version"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// TestDoctorOnACluster checks that what a namespace has is examined together with what the
// coordinator knows of its databases; what may not be read is said, and the rest is examined.
func TestDoctorOnACluster(t *testing.T) {
	w := newWorld(t, rolling(t, func(s *model.Snapshot) { s.Pods[0].Report = nil }))
	labels := map[string]string{v1alpha1.LabelCluster: "search"}
	set := appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "search", Namespace: "prod", UID: "s1", Labels: labels}}
	set.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
	set.Spec.Template.Labels = labels
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "solr"}}
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{}}
	w.objects[setsPath] = appsv1.StatefulSetList{Items: []appsv1.StatefulSet{set}}
	object := v1alpha1.DatabaseCluster{ObjectMeta: metav1.ObjectMeta{Name: "search", Namespace: "prod", UID: "c1"}, Spec: model.Spec{Engine: model.Solr}}
	w.objects[listPath] = v1alpha1.DatabaseClusterList{Items: []v1alpha1.DatabaseCluster{object}}
	w.objects["/version"] = apiversion.Info{GitVersion: "v1.29.4"}
	w.objects["/apis/policy/v1/namespaces/prod/poddisruptionbudgets"] = policyv1.PodDisruptionBudgetList{Items: []policyv1.PodDisruptionBudget{
		{ObjectMeta: metav1.ObjectMeta{Name: "of-the-chart", Namespace: "prod"}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}}},
	}}

	w.objects["/api/v1/namespaces/prod/services/search-rollcall"] = corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Name: "search-rollcall", Namespace: "prod", Annotations: map[string]string{v1alpha1.AnnotationGossipFrom: "anywhere; podCIDRs say nothing"},
	}}

	code, stdout, stderr := w.run("doctor", "search", "-o", "json")
	require.Equal(t, cli.ExitFindings, code, stderr)
	var got doctor.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	found := map[string]string{}
	for _, f := range got.Findings {
		found[f.Check] += f.Object + ": " + f.Found + "\n"
	}
	require.Contains(t, found["kubernetes-version"], "it is v1.29.4")
	require.Contains(t, found["reports"], "DatabaseCluster prod/search: the coordinator has no report of search-0")
	require.Contains(t, found["budget"], "PodDisruptionBudget of-the-chart selects its pods")
	require.Contains(t, found["readiness"], "container solr has no readiness probe")
	require.Equal(t, "DatabaseCluster prod/search: agents take gossip from anywhere; podCIDRs say nothing\n", found["gossip"])
	require.NotContains(t, found, "database-cluster")
	require.NotEmpty(t, got.Unread, "nodes, for one, were not to be had")
	require.Contains(t, stderr, "errors that Rollcall cannot work with")

	code, stdout, stderr = w.run("doctor")
	require.Equal(t, cli.ExitFindings, code)
	require.Contains(t, stdout, "error    kubernetes-version  Kubernetes\n")
	require.Contains(t, stderr, "note: not read, so not examined: nodes: ")

	code, _, stderr = w.run("doctor", "nobody")
	require.Equal(t, cli.ExitFailed, code)
	require.Contains(t, stderr, "error: namespace prod: no StatefulSet is named nobody or belongs to a DatabaseCluster nobody; there are search")

	delete(w.objects, setsPath)
	code, _, stderr = w.run("doctor")
	require.Equal(t, cli.ExitFailed, code)
	require.Contains(t, stderr, "list StatefulSets of namespace prod")
}
