package kube

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// While a watch begins, whole objects are in memory, so not all begin at once. A watch that makes
// no progress makes room after a while.
const (
	startTogether = 8
	startPatience = 2 * time.Second
)

// podWatch is the watch of one pool's pods.
type podWatch struct {
	pool     Pool
	cluster  Key
	informer cache.SharedIndexInformer
	// synced also means that subscribers have been notified of all pods.
	synced cache.InformerSynced
	cancel context.CancelFunc
	ended  chan struct{}
	began  time.Time
	// problem is why the watch ended last, failing since when it has been failing.
	problem string
	failing time.Time
}

// followPools starts a watch for each pool of an existing DatabaseCluster, and stops those of pools
// that no longer exist or cannot be followed.
func (c *Cache) followPools(ctx context.Context) {
	want := map[types.UID]Pool{}
	all := c.mayFollow()
	crowded := c.crowd(all)
	for _, pool := range all {
		if crowded[pool.UID] == "" {
			want[pool.UID] = pool
		}
	}
	c.mu.Lock()
	var stopped []*podWatch
	for uid, watch := range c.pods {
		if pool, ok := want[uid]; !ok || pool.selector != watch.pool.selector || pool.Cluster != watch.cluster.Name {
			delete(c.pods, uid)
			stopped = append(stopped, watch)
		}
	}
	c.mu.Unlock()
	for _, watch := range stopped {
		watch.stop()
	}
	for uid, pool := range want {
		c.mu.Lock()
		_, running := c.pods[uid]
		c.mu.Unlock()
		if !running {
			c.startPods(ctx, pool)
		}
	}
}

func (c *Cache) startPods(ctx context.Context, pool Pool) {
	ctx, cancel := context.WithCancel(ctx)
	w := &podWatch{
		pool: pool, cluster: Key{Namespace: pool.Namespace, Name: pool.Cluster},
		informer: watchPods(c.client, pool), cancel: cancel, ended: make(chan struct{}), began: time.Now(),
	}
	onWatchError(w.informer, c.log, "pods of "+pool.Namespace+"/"+pool.Name, func(problem string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if w.problem = problem; w.failing.IsZero() {
			w.failing = time.Now()
		}
	})
	handler, err := OnChange(w.informer, func(p *Pod) { p.ResourceVersion = "" }, func(*Pod) { c.changed(w.cluster) })
	if err != nil {
		panic(fmt.Sprintf("handler of an informer that has not started: %v", err))
	}
	w.synced = handler.HasSynced
	c.mu.Lock()
	c.pods[pool.UID] = w
	c.mu.Unlock()
	go func() {
		defer close(w.ended)
		select {
		case c.starting <- struct{}{}:
		case <-ctx.Done():
			return
		}
		leave := sync.OnceFunc(func() { <-c.starting })
		late := time.AfterFunc(startPatience, leave)
		defer func() {
			late.Stop()
			leave()
		}()
		var told sync.WaitGroup
		told.Go(func() {
			if cache.WaitForCacheSync(ctx.Done(), w.synced) {
				leave()
				c.changed(w.cluster)
			}
		})
		w.informer.RunWithContext(ctx)
		told.Wait()
	}()
}

func (w *podWatch) stop() {
	w.cancel()
	<-w.ended
}

func (c *Cache) stopPods() {
	c.mu.Lock()
	watches := c.pods
	c.pods = map[types.UID]*podWatch{}
	c.mu.Unlock()
	for _, watch := range watches {
		watch.stop()
	}
}
