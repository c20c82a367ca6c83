package guard

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	clusterfake "github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1/fake"
)

// What ends the guards has 128 MiB. A tenant gives 1.5 MiB budgets of its own the label of
// Rollcall's; read all at once they are more than that, and evictions stay refused everywhere.
func TestWhoEndsTheGuardsReadsInPages(t *testing.T) {
	client := fake.NewClientset()
	lists := 0
	client.PrependReactor("list", "*", func(a k8stesting.Action) (bool, runtime.Object, error) {
		lists++
		require.NotZero(t, a.(k8stesting.ListActionImpl).ListOptions.Limit, a.GetResource().Resource)
		return false, nil, nil
	})
	_, err := ourBudgets(context.Background(), client)
	require.NoError(t, err)
	clusters := clusterfake.New()
	clusters.PrependReactor("list", "*", func(a k8stesting.Action) (bool, runtime.Object, error) {
		lists++
		require.NotZero(t, a.(k8stesting.ListActionImpl).ListOptions.Limit, a.GetResource().Resource)
		return false, nil, nil
	})
	_, err = free(context.Background(), clusters)
	require.NoError(t, err)
	require.Equal(t, 2, lists)
}
