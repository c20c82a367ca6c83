package kube

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// Whoever may make StatefulSets in some namespace puts Rollcall's label on them. What each
// coordinator keeps of one has a bound: 150 of 1.5 MiB would be more than its memory.
func TestWhatIsKeptOfAStatefulSetIsBounded(t *testing.T) {
	values := []string{"x"}
	for i := range 20_000 {
		values = append(values, fmt.Sprintf("%063d", i))
	}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "tenant", Name: "s", Labels: map[string]string{v1alpha1.LabelCluster: "none"},
		Annotations: map[string]string{v1alpha1.AnnotationUnit: strings.Repeat("u", 200<<10)},
	}}
	set.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpIn, Values: values}}}
	set.Spec.Template.Labels = map[string]string{"a": "x"}
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: strings.Repeat("i", 1<<20)}}
	p := poolOf(set)
	kept := len(p.selector) + len(p.Image) + len(p.Unit) + len(p.PartitionNote) + len(p.Shape.NodeSelector) + len(p.Shape.Security) + len(p.Shape.Volumes)
	require.Less(t, kept, 64<<10)
}

// One DatabaseCluster and thousands of StatefulSets without pods are a few megabytes for the
// API server. A watch for each is far more for each coordinator.
func TestManyPoolsAreNotAWatchEach(t *testing.T) {
	w := start(t)
	w.addCluster(t, search)
	const many = 1500
	for i := range many {
		set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
			Namespace: search.Namespace, Name: fmt.Sprint("s", i), UID: types.UID(fmt.Sprint("u", i)), Labels: map[string]string{v1alpha1.LabelCluster: search.Name},
		}}
		set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": fmt.Sprint(i)}}
		_, err := w.kubernetes.AppsV1().StatefulSets(search.Namespace).Create(t.Context(), set, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	last := -1
	w.eventually(t, func() bool {
		before := last
		last = w.watching("pods")
		time.Sleep(200 * time.Millisecond)
		return last == before
	})
	require.LessOrEqual(t, last, 1000, "a DatabaseCluster has no 1000 StatefulSets")
}
