package v1alpha1

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// NewInformer watches the DatabaseClusters of one namespace, or of all with
// the empty name. Its objects are of type *DatabaseCluster and must not be
// changed.
func NewInformer(clients Clients, namespace string, resync time.Duration) cache.SharedIndexInformer {
	clusters := clients.DatabaseClusters(namespace)
	return cache.NewSharedIndexInformer(
		cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
				return clusters.List(ctx, opts)
			},
			WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
				return clusters.Watch(ctx, opts)
			},
		}, clients),
		&DatabaseCluster{},
		resync,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
	)
}
