package v1alpha1

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// NewInformer watches the DatabaseClusters of one namespace, or of all with
// the empty name. Its objects are of type *DatabaseCluster, and must not be changed. Of
// their metadata nobody here asks for managed fields, labels, owners and most annotations,
// and they may be larger than all else, so these are taken off; an update of the status
// leaves them as they are. Texts of a spec that are longer than the schema allows, as it was
// stored before that, are cut.
func NewInformer(clients Clients, namespace string, resync time.Duration) cache.SharedIndexInformer {
	clusters := clients.DatabaseClusters(namespace)
	reduce := func(c *DatabaseCluster) { c.reduce() }
	if r, ok := clients.(*Reduced); ok {
		reduce, clients = r.reduce, r.Clients
	}
	informer := cache.NewSharedIndexInformer(
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
	err := informer.SetTransform(func(object any) (any, error) {
		if cluster, ok := object.(*DatabaseCluster); ok {
			reduce(cluster)
		}
		return object, nil
	})
	if err != nil {
		panic(fmt.Sprintf("transform of an informer that has not started: %v", err))
	}
	return informer
}
