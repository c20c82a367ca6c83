package kube

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
