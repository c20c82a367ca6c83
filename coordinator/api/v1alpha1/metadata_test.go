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
