package fake

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

func cluster(namespace, name string) *v1alpha1.DatabaseCluster {
	return &v1alpha1.DatabaseCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       policy.Spec{Engine: policy.Solr},
	}
}

func TestClients(t *testing.T) {
	ctx := t.Context()
	clients := New(cluster("prod", "a"), cluster("test", "b"))
	list, err := clients.DatabaseClusters("").List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 2)
	list, err = clients.DatabaseClusters("prod").List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)

	a, err := clients.DatabaseClusters("prod").Get(ctx, "a", metav1.GetOptions{})
	require.NoError(t, err)
	a.Status.Epoch = 3
	_, err = clients.DatabaseClusters("prod").UpdateStatus(ctx, a, metav1.UpdateOptions{})
	require.NoError(t, err)
	a, err = clients.DatabaseClusters("prod").Get(ctx, "a", metav1.GetOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 3, a.Status.Epoch)

	_, err = clients.DatabaseClusters("prod").Get(ctx, "b", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))
}

func TestInformerFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clients := New(cluster("prod", "a"))
		informer := v1alpha1.NewInformer(clients, "", 0)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			informer.RunWithContext(ctx)
		}()
		require.True(t, cache.WaitForCacheSync(ctx.Done(), informer.HasSynced))
		require.Len(t, informer.GetStore().ListKeys(), 1)
		synctest.Wait() // what comes between a fake's list and its watch is lost

		_, err := clients.DatabaseClusters("test").Create(ctx, cluster("test", "b"), metav1.CreateOptions{})
		require.NoError(t, err)
		synctest.Wait()
		keys, err := informer.GetIndexer().IndexKeys(cache.NamespaceIndex, "test")
		require.NoError(t, err)
		require.Equal(t, []string{"test/b"}, keys)
		cancel()
		<-ended
	})
}

// TestManagedFieldsAreNotKept: nobody asks for them, and they may be larger than all else.
func TestManagedFieldsAreNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		large := cluster("prod", "a")
		large.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: metav1.NewFieldsV1(strings.Repeat(" ", 900_000))}}
		informer := v1alpha1.NewInformer(New(large), "", 0)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			informer.RunWithContext(ctx)
		}()
		require.True(t, cache.WaitForCacheSync(ctx.Done(), informer.HasSynced))
		kept, there, err := informer.GetStore().GetByKey("prod/a")
		require.NoError(t, err)
		require.True(t, there)
		require.Empty(t, kept.(*v1alpha1.DatabaseCluster).ManagedFields)
		require.Equal(t, policy.Solr, kept.(*v1alpha1.DatabaseCluster).Spec.Engine)
		cancel()
		<-ended
	})
}
