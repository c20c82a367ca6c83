// Package fake holds DatabaseClusters in memory, for tests.
//
// Like other fakes that are built on an object tracker it does not look at
// resourceVersions or preconditions; a test that is about them adds a reactor.
package fake

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/testing"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// Clients implements v1alpha1.Clients.
type Clients struct {
	testing.Fake
	tracker testing.ObjectTracker
}

var _ v1alpha1.Clients = (*Clients)(nil)

// New starts with these DatabaseClusters.
func New(objects ...*v1alpha1.DatabaseCluster) *Clients {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		panic(err)
	}
	c := &Clients{tracker: testing.NewObjectTracker(scheme, serializer.NewCodecFactory(scheme).UniversalDecoder())}
	for _, object := range objects {
		if err := c.tracker.Add(object); err != nil {
			panic(err)
		}
	}
	c.AddReactor("*", "*", testing.ObjectReaction(c.tracker))
	c.AddWatchReactor("*", func(action testing.Action) (bool, watch.Interface, error) {
		w, err := c.tracker.Watch(action.GetResource(), action.GetNamespace())
		return true, w, err
	})
	return c
}

// IsWatchListSemanticsUnSupported tells reflectors to list first: the tracker's
// watch begins without the present objects.
func (c *Clients) IsWatchListSemanticsUnSupported() bool { return true }

// Tracker is where the objects are.
func (c *Clients) Tracker() testing.ObjectTracker { return c.tracker }

// DatabaseClusters implements v1alpha1.Clients.
func (c *Clients) DatabaseClusters(namespace string) v1alpha1.DatabaseClusters {
	return gentype.NewFakeClientWithList(
		&c.Fake, namespace, v1alpha1.GroupVersionResource, v1alpha1.GroupVersionKind,
		func() *v1alpha1.DatabaseCluster { return &v1alpha1.DatabaseCluster{} },
		func() *v1alpha1.DatabaseClusterList { return &v1alpha1.DatabaseClusterList{} },
		func(dst, src *v1alpha1.DatabaseClusterList) { dst.ListMeta = src.ListMeta },
		func(list *v1alpha1.DatabaseClusterList) []*v1alpha1.DatabaseCluster {
			return gentype.ToPointerSlice(list.Items)
		},
		func(list *v1alpha1.DatabaseClusterList, items []*v1alpha1.DatabaseCluster) {
			list.Items = gentype.FromPointerSlice(items)
		},
	)
}
