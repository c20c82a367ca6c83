package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
)

// TestEnrollTriesAPod checks that nothing is written where Kubernetes would refuse the pods once they
// have an agent, and that its own words are shown.
func TestEnrollTriesAPod(t *testing.T) {
	const security = `violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "db")`
	refuses := func(is func(*corev1.Pod) bool, why string) func(*corev1.Pod) (*corev1.Pod, error) {
		return func(pod *corev1.Pod) (*corev1.Pod, error) {
			if is(pod) {
				return nil, errors.New(why)
			}
			return injected(pod)
		}
	}
	labelled := func(pod *corev1.Pod) bool { return pod.Labels[v1alpha1.LabelCluster] != "" }
	for name, tt := range map[string]struct {
		admits func(*corev1.Pod) (*corev1.Pod, error)
		want   []string
	}{
		"pod security": {refuses(func(*corev1.Pod) bool { return true }, security), []string{
			"error    admission  StatefulSet prod/search", "Kubernetes refuses its pods, also without an agent: one that restarts now does not", security, "the agent keeps to the level restricted",
		}},
		"a policy on the agent": {refuses(labelled, "ValidatingAdmissionPolicy 'one-container' with binding 'all' denied request: sidecars"), []string{
			"Kubernetes refuses its pods once they have an agent (tried by a dry run)", "denied request: sidecars", "have that policy let through the container rollcall-agent",
		}},
		"a LimitRange": {refuses(labelled, "minimum memory usage per Container is 256Mi, but request is 32Mi"), []string{"minimum memory usage per Container is 256Mi", "have the LimitRange allow"}},
		"OpenShift":    {refuses(labelled, "unable to validate against any security context constraint: runAsUser: Invalid value: 65532"), []string{"nonroot-v2 -z ACCOUNT"}},
		"something":    {refuses(labelled, "no such thing"), []string{"no such thing", "deploy/docs/doctor.md#what-kubernetes-may-refuse"}},
	} {
		e := newEnrollWorld(t, rolling(t), solr("search"))
		e.admits = tt.admits
		code, stdout, stderr := e.run("enroll", "search")
		require.Equal(t, cli.ExitFindings, code, name)
		require.Empty(t, stdout)
		require.Empty(t, e.writes, name)
		for _, want := range tt.want {
			require.Contains(t, strings.Join(strings.Fields(stderr), " "), strings.Join(strings.Fields(want), " "), name)
		}
	}
}

// TestEnrollGoesOnWithoutATry checks that a person who may not create pods is told so, and that a
// webhook which adds no agent is said.
func TestEnrollGoesOnWithoutATry(t *testing.T) {
	e := newEnrollWorld(t, rolling(t), solr("search"))
	e.forbidden = true
	code, _, stderr := e.run("enroll", "search")
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "warning: admission: whether Kubernetes admits pods with an agent was not tried: you may not create pods here")
	require.NotEmpty(t, e.writes)

	e = newEnrollWorld(t, rolling(t), solr("search"))
	var tried []*corev1.Pod
	e.admits = func(pod *corev1.Pod) (*corev1.Pod, error) { tried = append(tried, pod); return pod, nil }
	code, _, stderr = e.run("enroll", "search")
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "warning: admission: in a dry run the webhook added no agent to a pod with the label")
	require.Len(t, tried, 2)
	require.Equal(t, "search-3", tried[1].Name, "no pod that there is")
	require.True(t, kube.HasAgent(&tried[1].Spec))
	require.Equal(t, "search", tried[1].OwnerReferences[0].Name)
}

// TestEnrollLooksAtQuotas checks that quotas count what agents add, and not one more pod: the pod that
// is replaced has gone then.
func TestEnrollLooksAtQuotas(t *testing.T) {
	quota := func(used, hard string, scopes ...corev1.ResourceQuotaScope) corev1.ResourceQuotaList {
		q := corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "team"}, Spec: corev1.ResourceQuotaSpec{Scopes: scopes}}
		q.Status.Hard = corev1.ResourceList{"limits.memory": resource.MustParse(hard), "count/pods": resource.MustParse("3")}
		q.Status.Used = corev1.ResourceList{"limits.memory": resource.MustParse(used), "count/pods": resource.MustParse("3")}
		return corev1.ResourceQuotaList{Items: []corev1.ResourceQuota{q}}
	}
	full := func(*corev1.Pod) (*corev1.Pod, error) {
		return nil, errors.New("exceeded quota: team, requested: pods=1, used: pods=3, limited: pods=3")
	}
	for name, tt := range map[string]struct {
		quotas any
		admits func(*corev1.Pod) (*corev1.Pod, error)
		want   string // what is in the way
	}{
		"room for the agents, not for a pod": {quota("6Gi", "6528Mi"), full, ""},
		"no room for the last agent":         {quota("6Gi", "6500Mi"), full, "of limits.memory 6Gi of 6500Mi are used, and 3 agents take 128Mi each"},
		"room for a pod, not for the agents": {quota("6Gi", "6500Mi"), injected, "of limits.memory 6Gi of 6500Mi are used, and 3 agents take 128Mi each"},
		"of other pods":                      {quota("6Gi", "6Gi", corev1.ResourceQuotaScopeBestEffort), injected, ""},
	} {
		e := newEnrollWorld(t, rolling(t), solr("search", func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].Name = "solr" }))
		e.objects["/api/v1/namespaces/prod/resourcequotas"], e.admits = tt.quotas, tt.admits
		code, _, stderr := e.run("enroll", "search", "--dry-run")
		if tt.want == "" {
			require.Zero(t, code, name+stderr)
			require.NotContains(t, stderr, "admission", name)
			continue
		}
		require.Equal(t, cli.ExitFindings, code, name)
		require.Contains(t, stderr, "error    admission  ResourceQuota prod/team", name)
		require.Contains(t, strings.Join(strings.Fields(stderr), " "), tt.want, name)
	}
	e := newEnrollWorld(t, rolling(t), solr("search"))
	delete(e.objects, "/api/v1/namespaces/prod/resourcequotas")
	e.admits = full
	code, _, stderr := e.run("enroll", "search", "--dry-run")
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "warning: admission: in a dry run Kubernetes has no room for one more pod")
}

// TestEnrollRefusesWhatOperatorsRoll checks that the operator's section is named before anything else
// is asked.
func TestEnrollRefusesWhatOperatorsRoll(t *testing.T) {
	owned := solr("search", func(s *appsv1.StatefulSet) {
		s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "solr.apache.org/v1beta1", Kind: "SolrCloud", Name: "search", Controller: new(true)}}
		s.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
	})
	e := newEnrollWorld(t, rolling(t), owned)
	const path = "/apis/solr.apache.org/v1beta1/namespaces/prod/solrclouds/search"
	for _, method := range []string{"", "Managed"} { // it cannot be read, or says another
		if method != "" {
			e.objects[path] = map[string]any{"spec": map[string]any{"updateStrategy": map[string]any{"method": method}}}
		}
		code, stdout, stderr := e.run("enroll", "search")
		require.Equal(t, cli.ExitFindings, code, stderr)
		require.Empty(t, stdout)
		require.Empty(t, e.writes)
		require.Contains(t, stderr, "SolrCloud search of the Solr operator owns it, and rolls its pods by itself")
		require.Contains(t, stderr, "deploy/docs/coming-from.md#solr-operator")
	}
	e.objects[path] = map[string]any{"spec": map[string]any{"updateStrategy": map[string]any{"method": "Manual"}}}
	code, stdout, stderr := e.run("enroll", "search")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "        spec:\n          customSolrKubeOptions:\n            podOptions:\n              labels:\n                rollcall.dev/cluster: search\n")
}
