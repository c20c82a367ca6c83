package fake

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

func cluster(namespace, name string) *v1alpha1.DatabaseCluster {
	return &v1alpha1.DatabaseCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       model.Spec{Engine: model.Solr},
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

// Nobody asks for them, and they may be larger than all else.
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
		require.Equal(t, model.Solr, kept.(*v1alpha1.DatabaseCluster).Spec.Engine)
		cancel()
		<-ended
	})
}

// What was stored before the schema had bounds is made short when it is read, and says the same but
// for the length of its texts.
func TestTextsBeyondBoundsAreNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		large := cluster("prod", "a")
		large.Spec.Connection.Failover = strings.Repeat("f", 900_000)
		large.Spec.Policy.ZoneKey = "zone"
		large.Spec.Overrides = []model.Override{{Rule: "soak", Pods: []string{"a-0"}, Reason: strings.Repeat("r", 900_000)}}
		clients := v1alpha1.NewReduced(New(large))
		informer := v1alpha1.NewInformer(clients, "", 0)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			informer.RunWithContext(ctx)
		}()
		require.True(t, cache.WaitForCacheSync(ctx.Done(), informer.HasSynced))
		kept, _, err := informer.GetStore().GetByKey("prod/a")
		require.NoError(t, err)
		spec := kept.(*v1alpha1.DatabaseCluster).Spec
		require.Len(t, spec.Overrides[0].Reason, v1alpha1.MaxReason)
		require.Len(t, spec.Connection.Failover, v1alpha1.MaxSpecText)
		require.Equal(t, "zone", spec.Policy.ZoneKey)
		require.EqualValues(t, "soak", spec.Overrides[0].Rule)
		require.Equal(t, []string{"a-0"}, spec.Overrides[0].Pods)

		read, err := clients.DatabaseClusters("prod").Get(ctx, "a", metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, spec, read.Spec, "what is read by name is the same")
		cancel()
		<-ended
	})
}

// slowClusters notes how many are asked for at a time.
type slowClusters struct {
	v1alpha1.DatabaseClusters
	now, most *atomic.Int64
}

type slowClients struct{ slowClusters }

func (s slowClients) DatabaseClusters(string) v1alpha1.DatabaseClusters { return s.slowClusters }

func (s slowClusters) Get(ctx context.Context, name string, _ metav1.GetOptions) (*v1alpha1.DatabaseCluster, error) {
	now := s.now.Add(1)
	defer s.now.Add(-1)
	s.most.Store(max(s.most.Load(), now))
	time.Sleep(time.Second)
	c := cluster("prod", name)
	if name != "small" {
		c.ManagedFields = []metav1.ManagedFieldsEntry{{FieldsV1: metav1.NewFieldsV1(strings.Repeat(" ", 900_000))}}
	}
	return c, nil
}

// Large DatabaseClusters take turns, and those that are not large do not wait for them.
func TestFewLargeOnesAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := slowClients{slowClusters{now: new(atomic.Int64), most: new(atomic.Int64)}}
		clients := v1alpha1.NewReduced(slow).DatabaseClusters("prod")
		round := func() {
			var all sync.WaitGroup
			for i := range 40 {
				all.Go(func() {
					_, err := clients.Get(t.Context(), fmt.Sprint(i), metav1.GetOptions{})
					assert.NoError(t, err)
				})
			}
			time.Sleep(time.Second / 2)
			begin := time.Now()
			_, err := clients.Get(t.Context(), "small", metav1.GetOptions{})
			assert.NoError(t, err)
			assert.Equal(t, time.Second, time.Since(begin))
			all.Wait()
		}
		round() // by which it is known who is large
		slow.most.Store(0)
		round()
		require.EqualValues(t, 8+1, slow.most.Load())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		for i := range 8 {
			go func() { _, _ = clients.Get(t.Context(), fmt.Sprint(i), metav1.GetOptions{}) }()
		}
		synctest.Wait()
		_, err := clients.Get(ctx, "9", metav1.GetOptions{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(time.Second)
	})
}
