package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// ClusterObjects is what Kubernetes says about one database cluster. All of it is shared and must
// not be changed.
type ClusterObjects struct {
	Cluster *v1alpha1.DatabaseCluster
	// Pools are in the order of their names.
	Pools []Pool
	// Pods are those that the pools own, by pool and ordinal.
	Pods []Pod
	// Nodes are the existing ones on which the pods run.
	Nodes map[string]Node
}

// Cache keeps what Kubernetes says current. It is safe for concurrent use.
type Cache struct {
	client kubernetes.Interface
	log    *slog.Logger

	clusters cache.SharedIndexInformer
	pools    cache.SharedIndexInformer
	nodes    cache.SharedIndexInformer

	subscribers []func(Key)
	// poolsChanged asks Run to compare the pod watches with the pools.
	poolsChanged chan struct{}

	// starting has a slot for each watch of pods that may begin at once.
	starting chan struct{}

	mu   sync.Mutex
	pods map[types.UID]*podWatch
	// crowded are the pools that select the pods of too many others, and why they are not watched.
	crowded map[types.UID]string
	begun   time.Time // since when all pools are known
}

// New makes a cache that is empty until Run.
func New(opts Options) (*Cache, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	c := &Cache{
		client:       opts.Kubernetes,
		log:          opts.Logger,
		pools:        watchPools(opts.Kubernetes),
		nodes:        watchNodes(opts.Kubernetes),
		clusters:     v1alpha1.NewInformer(opts.Clusters, metav1.NamespaceAll, 0),
		poolsChanged: make(chan struct{}, 1),
		starting:     make(chan struct{}, startTogether),
		pods:         map[types.UID]*podWatch{},
	}
	nobody := func(string) {} // without these there are no subscribers
	onWatchError(c.clusters, c.log, "databaseclusters", nobody)
	onWatchError(c.pools, c.log, "statefulsets", nobody)
	onWatchError(c.nodes, c.log, "nodes", nobody)

	_, err1 := c.clusters.AddEventHandler(clusterHandler(func(k Key) { c.checkPools(); c.changed(k) }))
	_, err2 := OnChange(c.pools, func(p *Pool) { p.ResourceVersion = "" }, func(p *Pool) {
		c.checkPools()
		c.changed(Key{Namespace: p.Namespace, Name: p.Cluster})
	})
	_, err3 := OnChange(c.nodes, func(*Node) {}, c.nodeChanged)
	return c, errors.Join(err1, err2, err3)
}

// Subscribe calls f with the key of each cluster of which anything has changed, possibly many times
// and concurrently. f must return at once. Subscribe must be called before Run.
func (c *Cache) Subscribe(f func(Key)) { c.subscribers = append(c.subscribers, f) }

// Run keeps the cache current until ctx ends, and returns when everything it
// started has ended.
func (c *Cache) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	for _, informer := range []cache.SharedIndexInformer{c.clusters, c.pools, c.nodes} {
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	if !cache.WaitForCacheSync(ctx.Done(), c.clusters.HasSynced, c.pools.HasSynced, c.nodes.HasSynced) {
		return nil
	}
	defer c.stopPods()
	c.begin()
	for {
		c.followPools(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-c.poolsChanged:
		}
	}
}

// KnowsClusters reports whether the cache knows all clusters, pools and nodes.
func (c *Cache) KnowsClusters() bool {
	return c.clusters.HasSynced() && c.pools.HasSynced() && c.nodes.HasSynced()
}

// Clusters returns the keys of all DatabaseClusters, in order.
func (c *Cache) Clusters() []Key {
	var keys []Key
	for _, object := range c.clusters.GetStore().List() {
		d := object.(*v1alpha1.DatabaseCluster)
		keys = append(keys, Key{Namespace: d.Namespace, Name: d.Name})
	}
	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return keys
}

// Claims counts the open claims of all DatabaseClusters.
func (c *Cache) Claims() map[Key]int {
	counts := map[Key]int{}
	for _, object := range c.clusters.GetStore().List() {
		d := object.(*v1alpha1.DatabaseCluster)
		counts[Key{Namespace: d.Namespace, Name: d.Name}] = len(d.Status.Claims)
	}
	return counts
}

// Cluster returns what Kubernetes says about one cluster. It returns false while that is not
// completely known, and for a DatabaseCluster that does not exist.
func (c *Cache) Cluster(key Key) (ClusterObjects, bool) {
	if !c.KnowsClusters() {
		return ClusterObjects{}, false
	}
	object, exists, err := c.clusters.GetStore().GetByKey(key.String())
	if err != nil || !exists {
		return ClusterObjects{}, false
	}
	if c.tooMany(key) > 0 {
		return ClusterObjects{}, false
	}
	o := ClusterObjects{Cluster: object.(*v1alpha1.DatabaseCluster), Pools: c.poolsOf(key), Nodes: map[string]Node{}}
	var known bool
	if o.Pods, known = c.podsOf(o.Pools); !known || missing(o.Pools, o.Pods) > MaxMissing {
		return ClusterObjects{}, false
	}
	sortPods(o.Pods)
	for _, pod := range o.Pods {
		if object, exists, _ := c.nodes.GetStore().GetByKey(pod.Node); exists {
			o.Nodes[pod.Node] = *object.(*Entry[Node]).Facts
		}
	}
	return o, true
}

// podsOf returns the pods of pools. It returns false while not all are known.
func (c *Cache) podsOf(pools []Pool) (pods []Pod, known bool) {
	for _, pool := range pools {
		watch := c.watchOf(pool)
		if watch == nil || !watch.synced() {
			return nil, false
		}
		for _, object := range watch.informer.GetStore().List() {
			if p := object.(*Entry[Pod]).Facts; p != nil {
				pods = append(pods, *p)
			}
		}
	}
	return pods, true
}

func (c *Cache) setsOf(key Key) []any {
	objects, err := c.pools.GetIndexer().ByIndex(byCluster, key.String())
	if err != nil {
		panic(fmt.Sprintf("index of pools: %v", err))
	}
	return objects
}

// tooMany returns how many pools a DatabaseCluster has if these are more than are followed.
func (c *Cache) tooMany(key Key) int {
	if n := len(c.setsOf(key)); n > MaxPools {
		return n
	}
	return 0
}

func (c *Cache) poolsOf(key Key) []Pool {
	objects := c.setsOf(key)
	pools := make([]Pool, 0, len(objects))
	for _, object := range objects {
		pools = append(pools, *object.(*Entry[Pool]).Facts)
	}
	slices.SortFunc(pools, func(a, b Pool) int { return cmp.Compare(a.Name, b.Name) })
	return pools
}

// DatabaseCluster returns the object alone, as it is known, even if its pods are not.
func (c *Cache) DatabaseCluster(key Key) (*v1alpha1.DatabaseCluster, bool) {
	object, exists, _ := c.clusters.GetStore().GetByKey(key.String())
	if !c.KnowsClusters() || !exists {
		return nil, false
	}
	return object.(*v1alpha1.DatabaseCluster), true
}

// Exists reports whether there is such a DatabaseCluster. It must not be called before
// KnowsClusters is true.
func (c *Cache) Exists(key Key) bool {
	_, exists, _ := c.clusters.GetStore().GetByKey(key.String())
	return exists
}

// Pool returns the StatefulSet of a name, if it belongs to a database cluster.
func (c *Cache) Pool(namespace, name string) (Pool, bool) {
	object, exists, _ := c.pools.GetStore().GetByKey(Key{Namespace: namespace, Name: name}.String())
	if !exists {
		return Pool{}, false
	}
	return *object.(*Entry[Pool]).Facts, true
}

func (c *Cache) checkPools() {
	select {
	case c.poolsChanged <- struct{}{}:
	default:
	}
}

func (c *Cache) changed(key Key) {
	for _, f := range c.subscribers {
		f(key)
	}
}

// nodeChanged notifies every cluster that has a pod on the node.
func (c *Cache) nodeChanged(node *Node) {
	c.mu.Lock()
	watches := make([]*podWatch, 0, len(c.pods))
	for _, watch := range c.pods {
		watches = append(watches, watch)
	}
	c.mu.Unlock()
	for _, watch := range watches {
		for _, object := range watch.informer.GetStore().List() {
			if p := object.(*Entry[Pod]).Facts; p != nil && p.Node == node.Name {
				c.changed(watch.cluster)
				break
			}
		}
	}
}
