package coordinator

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	k8stesting "k8s.io/client-go/testing"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// late is a watch that says nothing for a while.
type late struct {
	watch.Interface
	out  chan watch.Event
	stop chan struct{}
	once sync.Once
}

func (l *late) ResultChan() <-chan watch.Event { return l.out }
func (l *late) Stop()                          { l.once.Do(func() { close(l.stop); l.Interface.Stop() }) }

// delayWatch makes some watches of a resource late by what behind answers.
func delayWatch(c *kubetest.Client, resource, selector string, behind func() time.Duration) {
	next := c.Kubernetes.WatchReactionChain[0]
	c.Kubernetes.PrependWatchReactor(resource, func(a k8stesting.Action) (bool, watch.Interface, error) {
		handled, w, err := next.React(a)
		wa, ok := a.(k8stesting.WatchAction)
		if err != nil || !ok || !strings.Contains(wa.GetWatchRestrictions().Labels.String(), selector) {
			return handled, w, err
		}
		l := &late{Interface: w, out: make(chan watch.Event), stop: make(chan struct{})}
		go func() {
			defer close(l.out)
			for e := range w.ResultChan() {
				if d := behind(); d > 0 {
					select {
					case <-time.After(d):
					case <-l.stop:
						return
					}
				}
				select {
				case l.out <- e:
				case <-l.stop:
					return
				}
			}
		}()
		return true, l, nil
	})
}

// Two StatefulSets are one database. Somebody deletes a pod of the second while one of the first
// is about to go, and the watch of the second is late by 3 s.
func TestNobodyGoesWhileAnotherPoolsWatchIsLate(t *testing.T) {
	for _, lag := range []time.Duration{0, 3 * time.Second} {
		t.Run(fmt.Sprint(lag), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				db := w.addPools("search", model.Solr, false, &pool{name: "search-a", replicas: 2}, &pool{name: "search-b", replicas: 2})
				var mu sync.Mutex
				var now time.Duration
				w.onClient = func(c *kubetest.Client) {
					delayWatch(c, "pods", "pool=search-b", func() time.Duration { mu.Lock(); defer mu.Unlock(); return now })
				}
				var first, second time.Time
				w.hangs = func(c kubetest.Call) bool {
					if c.Verb == "patch" && c.Resource == "pods" && c.Name == "search-a-1" && first.IsZero() {
						mu.Lock()
						now = lag
						mu.Unlock()
						first = time.Now()
						require.NoError(t, w.admin.Kubernetes.CoreV1().Pods(namespace).Delete(context.Background(), "search-b-1", metav1.DeleteOptions{}))
					}
					if c.Verb == "evict" && c.Name == "search-a-1" && second.IsZero() {
						second = time.Now()
						t.Logf("search-a-1 is evicted %s after search-b-1 was deleted; unavailable %d", second.Sub(first), db.unavailable())
						other, ok := w.server.Pod(namespace, "search-b-1")
						if ok && other.DeletionTimestamp != nil {
							t.Errorf("search-a-1 is evicted while search-b-1 is terminating, and maxUnavailable is 1")
						}
					}
					return false
				}
				p := w.start()
				defer p.end()
				time.Sleep(20 * time.Second)
				db.rollPool(db.pools[0], "v2")
				time.Sleep(time.Minute)
				require.Equal(t, []string{"search-b-1 v1", "search-a-1 v1", "search-a-0 v1"}, w.gone())
			})
		})
	}
}

// The same, while the guard of the first is about to be opened: that lets everybody take it.
func TestNoGuardIsOpenedWhileAnotherPoolsWatchIsLate(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.installGuard()
		db := w.addPools("search", model.Solr, false, &pool{name: "search-a", replicas: 2}, &pool{name: "search-b", replicas: 2})
		var lag atomic.Int64
		w.onClient = func(c *kubetest.Client) {
			delayWatch(c, "pods", "pool=search-b", func() time.Duration { return time.Duration(lag.Load()) })
		}
		w.hangs = func(c kubetest.Call) bool {
			if c.Verb == "get" && c.Resource == "pods" && c.Name == "search-a-1" && lag.Load() == 0 {
				lag.Store(int64(3 * time.Second))
				require.NoError(t, w.admin.Kubernetes.CoreV1().Pods(namespace).Delete(context.Background(), "search-b-1", metav1.DeleteOptions{}))
			}
			first, _ := w.server.Pod(namespace, "search-a-1")
			second, ok := w.server.Pod(namespace, "search-b-1")
			if away := !ok || second.DeletionTimestamp != nil; away && first != nil && first.DeletionTimestamp == nil && first.Labels[v1alpha1.LabelGuard] == v1alpha1.GuardOpen {
				t.Errorf("the guard of search-a-1 is open while search-b-1 is unavailable")
			}
			return false
		}
		p := w.start()
		defer p.end()
		time.Sleep(30 * time.Second)
		db.rollPool(db.pools[0], "v2")
		time.Sleep(time.Minute)
		require.NotZero(t, lag.Load())
		require.Equal(t, []string{"search-b-1 v1", "search-a-1 v1", "search-a-0 v1"}, w.gone())
	})
}

// A person scales a pool down while its last pod is about to be restarted, and the watch of StatefulSets is late by 3 s. The
// pod must be emptied before it goes for good.
func TestAPodIsEmptiedThoughTheWatchOfItsSetIsLate(t *testing.T) {
	for _, lag := range []time.Duration{0, 3 * time.Second} {
		t.Run(fmt.Sprint(lag), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				db := w.add("search", 4)
				var mu sync.Mutex
				var now time.Duration
				w.onClient = func(c *kubetest.Client) {
					delayWatch(c, "statefulsets", "", func() time.Duration { mu.Lock(); defer mu.Unlock(); return now })
				}
				scaled := false
				w.hangs = func(c kubetest.Call) bool {
					if c.Verb == "patch" && c.Resource == "pods" && c.Name == "search-3" && !scaled {
						scaled = true
						mu.Lock()
						now = lag
						mu.Unlock()
						sets := w.admin.Kubernetes.AppsV1().StatefulSets(namespace)
						set, err := sets.Get(context.Background(), "search", metav1.GetOptions{})
						if err == nil {
							set.Spec.Replicas, set.Generation = new(int32(3)), set.Generation+1
							set, err = sets.Update(context.Background(), set, metav1.UpdateOptions{})
						}
						if err == nil {
							set.Status.ObservedGeneration = set.Generation
							_, err = sets.UpdateStatus(context.Background(), set, metav1.UpdateOptions{})
						}
						if err != nil {
							t.Error(err)
						}
					}
					if c.Verb == "evict" && c.Name == "search-3" {
						w.mu.Lock()
						defer w.mu.Unlock()
						t.Logf("search-3 is evicted; emptied: %v", db.excluded["search-3"] != "")
						if db.excluded["search-3"] == "" {
							t.Errorf("search-3 goes for good with its data on it")
						}
						w.hangs = nil
					}
					return false
				}
				p := w.start()
				defer p.end()
				time.Sleep(20 * time.Second)
				db.roll("v2")
				time.Sleep(time.Minute)
				require.Contains(t, w.gone(), "search-3 v1")
			})
		})
	}
}
