package kube

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A list that takes so long that the API server has forgotten its beginning goes on where it
// was; any other error ends it.
func TestPagesGoOnWhenTheyHaveExpired(t *testing.T) {
	expired := apierrors.NewResourceExpired("too old")
	expired.ErrStatus.ListMeta.Continue = "again"
	var asked []string
	require.NoError(t, Pages(metav1.ListOptions{}, func(o metav1.ListOptions) (string, error) {
		require.Equal(t, int64(pageSize), o.Limit)
		switch asked = append(asked, o.Continue); o.Continue {
		case "":
			return "second", nil
		case "second":
			return "", fmt.Errorf("list: %w", expired)
		}
		return "", nil
	}))
	require.Equal(t, []string{"", "second", "again"}, asked)
	asked = nil
	require.ErrorIs(t, Pages(metav1.ListOptions{}, func(o metav1.ListOptions) (string, error) {
		asked = append(asked, o.Continue)
		return "", expired
	}), expired)
	require.Equal(t, []string{"", "again"}, asked, "no more than once")
	require.ErrorContains(t, Pages(metav1.ListOptions{}, func(metav1.ListOptions) (string, error) { return "x", errors.New("forbidden") }), "forbidden")
}
