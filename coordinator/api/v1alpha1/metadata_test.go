package v1alpha1

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The schema has no word about metadata: labels and owners have no bound but that of the
// whole object. Nobody here asks for them, so they are not kept, and count as large.
func TestMetadataIsNotKept(t *testing.T) {
	c := &DatabaseCluster{}
	c.Labels = map[string]string{}
	c.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": strings.Repeat("a", 200<<10)}
	for i := range 4000 {
		c.Labels[fmt.Sprintf("%060d/%063d", i, i)] = fmt.Sprintf("%063d", i)
		c.OwnerReferences = append(c.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: strings.Repeat("n", 50), UID: types.UID(fmt.Sprint(i))})
	}
	size := c.reduce()
	require.Greater(t, size, largeText, "it is read beside any number of others as large")
	require.Empty(t, len(c.Labels)+len(c.OwnerReferences)+len(c.Annotations))
}

// What a coordinator reads or writes of the metadata stays: finalizers, which are written
// all at once, and requests of people.
func TestMetadataThatIsReadIsKept(t *testing.T) {
	c := &DatabaseCluster{}
	c.Finalizers = []string{"other.example/f", Finalizer}
	c.Annotations = map[string]string{AnnotationPaused: "true", AnnotationRestart: "2026-01-02T03:04:05Z", "other.example/a": "x"}
	c.Status.UpdateRevisions = map[string]string{"a": strings.Repeat("r", largeText), "b": "v2"}
	require.Greater(t, c.reduce(), largeText)
	require.Equal(t, []string{"other.example/f", Finalizer}, c.Finalizers)
	require.Equal(t, map[string]string{AnnotationPaused: "true", AnnotationRestart: "2026-01-02T03:04:05Z"}, c.Annotations)
	require.Len(t, c.Status.UpdateRevisions["a"], maxStatusText)
	require.Equal(t, "v2", c.Status.UpdateRevisions["b"])
	c = &DatabaseCluster{}
	c.Annotations = map[string]string{AnnotationRestart: strings.Repeat("a", largeText)}
	c.reduce()
	require.Len(t, c.Annotations[AnnotationRestart], MaxReason)
}
