package api

import (
	"cmp"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
)

// Watch is what one process has seen of the server so far: each kind of object by
// a stream of its own, each behind by a lag of its own.
type Watch struct {
	server *Server
	// lag draws how long a change is under way.
	lag  func(Kind) time.Duration
	ends bool

	// Of each kind: how much of the history was seen, how much is on its way, and
	// when the last of that arrives. era changes when a stream begins anew.
	seen, sent [kinds]int
	arrives    [kinds]time.Duration
	era        [kinds]int

	mu          sync.Mutex
	view        [kinds]map[string]metav1.Object
	subscribers []func(kube.Key)
	// reduced is what was made of the view, as long as that has not changed.
	reduced *kube.ClusterObjects
}

// Watch makes a watch that begins with all objects as they were so many changes ago.
func (s *Server) Watch(lag func(Kind) time.Duration, behind int) *Watch {
	w := &Watch{server: s, lag: lag}
	for k := range kinds {
		w.begin(k, max(0, len(s.history)-behind))
	}
	s.watches = append(s.watches, w)
	return w
}

// Rewind has the stream of a kind begin anew from the objects as they were so
// many changes ago, as from an API server that is behind.
func (w *Watch) Rewind(kind Kind, behind int) {
	w.begin(kind, max(0, min(w.seen[kind], len(w.server.history)-behind)))
	w.changed()
}

func (w *Watch) begin(kind Kind, at int) {
	view := map[string]metav1.Object{}
	for _, c := range w.server.history[:at] {
		put(view, kind, c)
	}
	w.mu.Lock()
	w.view[kind], w.reduced = view, nil
	w.mu.Unlock()
	w.era[kind]++
	w.seen[kind], w.sent[kind], w.arrives[kind] = at, at, 0
	for n := at + 1; n <= len(w.server.history); n++ {
		w.send(kind, n)
	}
}

func put(view map[string]metav1.Object, kind Kind, c change) {
	switch {
	case c.kind != kind:
	case c.after == nil:
		delete(view, c.name)
	default:
		view[c.name] = c.after
	}
}

// follow sends what was written last.
func (w *Watch) follow(n int) {
	if w.ends {
		return
	}
	for k := range kinds {
		w.send(k, n)
	}
}

// send has the history up to n arrive, in order.
func (w *Watch) send(kind Kind, n int) {
	w.sent[kind] = n
	if w.server.history[n-1].kind != kind {
		return
	}
	loop := w.server.loop
	w.arrives[kind] = max(w.arrives[kind]+1, loop.Now()+w.lag(kind))
	era := w.era[kind]
	loop.In(w.arrives[kind]-loop.Now(), func() {
		if w.ends || w.era[kind] != era {
			return
		}
		w.mu.Lock()
		for _, c := range w.server.history[w.seen[kind]:n] {
			put(w.view[kind], kind, c)
		}
		w.reduced = nil
		w.mu.Unlock()
		w.seen[kind] = n
		w.changed()
	})
}

// End stops the watch.
func (w *Watch) End() {
	w.ends = true
	w.server.watches = slices.DeleteFunc(w.server.watches, func(o *Watch) bool { return o == w })
}

func (w *Watch) changed() {
	for _, key := range w.Clusters() {
		for _, f := range w.subscribers {
			f(key)
		}
	}
}

// Subscribe is called before anything is watched; see coordinator.Cache.
func (w *Watch) Subscribe(f func(kube.Key)) { w.subscribers = append(w.subscribers, f) }

// Clusters are the keys of all DatabaseClusters.
func (w *Watch) Clusters() []kube.Key {
	w.mu.Lock()
	defer w.mu.Unlock()
	var keys []kube.Key
	for _, cluster := range list[*v1alpha1.DatabaseCluster](w.view[Clusters]) {
		keys = append(keys, kube.Key{Namespace: cluster.Namespace, Name: cluster.Name})
	}
	return keys
}

// Claims counts the open claims.
func (w *Watch) Claims() map[kube.Key]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	counts := map[kube.Key]int{}
	for _, cluster := range list[*v1alpha1.DatabaseCluster](w.view[Clusters]) {
		counts[kube.Key{Namespace: cluster.Namespace, Name: cluster.Name}] = len(cluster.Status.Claims)
	}
	return counts
}

// Missing says nothing: what there is of a database cluster is shown at once.
func (w *Watch) Missing(kube.Key) string { return "" }

// Cluster is what is known of a database cluster.
func (w *Watch) Cluster(key kube.Key) (kube.ClusterObjects, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	cluster, _ := w.view[Clusters][key.Name].(*v1alpha1.DatabaseCluster)
	if cluster == nil {
		return kube.ClusterObjects{}, false
	}
	if w.reduced == nil {
		all := kube.Reduce(cluster, list[*appsv1.StatefulSet](w.view[Sets]), list[*corev1.Pod](w.view[Pods]), list[*corev1.Node](w.view[Nodes]))
		w.reduced = &all
	}
	objects := *w.reduced // whose lists the caller may change
	objects.Pools, objects.Pods = slices.Clone(objects.Pools), slices.Clone(objects.Pods)
	return objects, true
}

func list[T metav1.Object](view map[string]metav1.Object) []T {
	out := make([]T, 0, len(view))
	for _, object := range view {
		out = append(out, object.(T))
	}
	slices.SortFunc(out, func(a, b T) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return out
}
