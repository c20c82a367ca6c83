package siege

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// How many there are of each; StatefulSets without pods cost whoever makes them nothing.
const (
	hostileSets    = 200
	manySets       = 3000
	hostileBudgets = 60
)

// manyValues is a selector of about 0.9 MB.
func manyValues() *metav1.LabelSelector {
	var values []string
	for i := range hostileBytes / 7 {
		values = append(values, fmt.Sprintf("%05x", i))
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpIn, Values: values}}}
}

// hostileSet is one of a DatabaseCluster of a tenant, without pods.
func hostileSet(number int, cluster string) *appsv1.StatefulSet {
	none := int32(0)
	labels := map[string]string{"a": fmt.Sprintf("%05x", number)}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("set-%d", number), Namespace: hostileNamespace, Labels: map[string]string{v1alpha1.LabelCluster: cluster}},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &none, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			},
		},
	}
}

// sets makes StatefulSets of one DatabaseCluster, and removes them when the test has ended.
func (w *world) sets(t *testing.T, count int, with func(*appsv1.StatefulSet)) {
	t.Helper()
	w.namespace(t, hostileNamespace)
	_, err := w.hostile(t, 0, map[string]any{"engine": "Solr"})
	require.NoError(t, err)
	client := w.admin.AppsV1().StatefulSets(hostileNamespace)
	t.Cleanup(func() {
		ctx := context.Background()
		clusters := w.clusters(hostileNamespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		if err := client.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil || clusters != nil {
			t.Logf("remove StatefulSets and DatabaseClusters: %v, %v", err, clusters)
		}
	})
	made := 0
	for begin := time.Now(); made < count && time.Since(begin) < patience; made++ {
		object := hostileSet(made, "db-0")
		with(object)
		_, err := client.Create(t.Context(), object, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	t.Logf("%d StatefulSets", made)
}

// longSelectors are StatefulSets whose pods nobody can ask for.
func longSelectors(t *testing.T, w *world) {
	w.sets(t, hostileSets, func(s *appsv1.StatefulSet) { s.Spec.Selector = manyValues() })
}

// largeSets are large elsewhere.
func largeSets(t *testing.T, w *world) {
	w.sets(t, hostileSets, func(s *appsv1.StatefulSet) {
		s.Annotations = map[string]string{v1alpha1.AnnotationUnit: strings.Repeat("u", 200<<10)}
		s.Spec.Template.Spec.Containers[0].Image = strings.Repeat("i", hostileBytes)
	})
}

// thousandsOfSets are more than a database has.
func thousandsOfSets(t *testing.T, w *world) {
	w.sets(t, manySets, func(*appsv1.StatefulSet) {})
}

// budgets are large, and say that they are Rollcall's or that they are not.
func budgets(t *testing.T, w *world) {
	w.namespace(t, hostileNamespace)
	client := w.admin.PolicyV1().PodDisruptionBudgets(hostileNamespace)
	t.Cleanup(func() {
		if err := client.DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			t.Logf("remove PodDisruptionBudgets: %v", err)
		}
	})
	for i := range hostileBudgets {
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("budget-%d", i), Namespace: hostileNamespace}}
		if i%2 == 0 {
			budget.Labels = map[string]string{"app.kubernetes.io/part-of": "rollcall"}
		}
		budget.Spec.Selector = manyValues()
		_, err := client.Create(t.Context(), budget, metav1.CreateOptions{})
		require.NoError(t, err)
	}
}

// metadataOfClusters is what the definition of DatabaseCluster has no word about.
func metadataOfClusters(t *testing.T, w *world) {
	w.namespace(t, hostileNamespace)
	clusters := w.clusters(hostileNamespace)
	t.Cleanup(func() {
		if err := clusters.DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			t.Logf("remove DatabaseClusters: %v", err)
		}
	})
	labels := map[string]string{}
	for i := range hostileBytes / 190 {
		labels[fmt.Sprintf("%060d/%063d", i, i)] = fmt.Sprintf("%063d", i)
	}
	made := 0
	for begin := time.Now(); made < hostileClusters && time.Since(begin) < patience; made++ {
		object := hostileObject(made, map[string]any{"engine": "Solr"})
		object.SetLabels(labels)
		_, err := clusters.Create(t.Context(), object, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	t.Logf("%d DatabaseClusters with %d labels each", made, len(labels))
}
