package api

import (
	"cmp"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
)

// watched are the kinds of objects that watches follow.
var watched = []Kind{Pods, Sets, Nodes, Clusters}

// change is one write; after is nil when the object was removed.
type change struct {
	kind  Kind
	name  string
	after Object
}

func (s *Server) record(kind Kind, before, after Object) {
	if !slices.Contains(watched, kind) {
		return
	}
	s.history = append(s.history, change{kind, cmp.Or(after, before).GetName(), after})
	for _, w := range s.watches {
		w.send(w.streams[kind], len(s.history))
	}
}

// Watch is what one process has seen of the server so far: each kind of object by
// a stream of its own, each behind by a lag of its own.
type Watch struct {
	server *Server
	// lag draws how long a change takes to arrive.
	lag     func() time.Duration
	ends    bool
	streams map[Kind]*stream

	mu          sync.Mutex // also for the views
	subscribers []func(kube.Key)
	// reduced is what was made of the views, as long as none has changed.
	reduced *kube.ClusterObjects
}

type stream struct {
	kind Kind
	view map[string]Object
	// seen is how much of the history was, and arrives when the last of what is on its way does.
	seen    int
	arrives time.Duration
	// era changes when the stream begins again.
	era int
}

// Watch returns a watch that begins with all objects as they were so many changes ago.
func (s *Server) Watch(lag func() time.Duration, behind int) *Watch {
	w := &Watch{server: s, lag: lag, streams: map[Kind]*stream{}}
	for _, kind := range watched {
		w.streams[kind] = &stream{kind: kind}
		w.begin(w.streams[kind], max(0, len(s.history)-behind))
	}
	s.watches = append(s.watches, w)
	return w
}

// Rewind makes one of the streams begin again from the objects as they were so many changes ago, as
// from an API server that is behind.
func (w *Watch) Rewind(pick uint64, behind int) {
	s := w.streams[watched[pick%uint64(len(watched))]]
	w.begin(s, max(0, min(s.seen, len(w.server.history)-behind)))
	w.changed()
}

func (w *Watch) begin(s *stream, at int) {
	w.mu.Lock()
	s.view, w.reduced = map[string]Object{}, nil
	s.show(w.server.history[:at])
	w.mu.Unlock()
	s.era++
	s.seen, s.arrives = at, 0
	for n := at + 1; n <= len(w.server.history); n++ {
		w.send(s, n)
	}
}

// show applies changes to the view.
func (s *stream) show(changes []change) {
	for _, c := range changes {
		switch {
		case c.kind != s.kind:
		case c.after == nil:
			delete(s.view, c.name)
		default:
			s.view[c.name] = c.after
		}
	}
}

// send delivers the history up to n, in order.
func (w *Watch) send(s *stream, n int) {
	if w.ends || w.server.history[n-1].kind != s.kind {
		return
	}
	loop := w.server.loop
	s.arrives = max(s.arrives+1, loop.Now()+w.lag())
	era := s.era
	loop.In(s.arrives-loop.Now(), func() {
		if w.ends || s.era != era {
			return
		}
		w.mu.Lock()
		s.show(w.server.history[s.seen:n])
		w.reduced = nil
		w.mu.Unlock()
		s.seen = n
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

// Clusters returns the keys of all DatabaseClusters.
func (w *Watch) Clusters() []kube.Key {
	w.mu.Lock()
	defer w.mu.Unlock()
	var keys []kube.Key
	for _, cluster := range list[*v1alpha1.DatabaseCluster](w, Clusters) {
		keys = append(keys, kube.Key{Namespace: cluster.Namespace, Name: cluster.Name})
	}
	return keys
}

// Claims counts the open claims.
func (w *Watch) Claims() map[kube.Key]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	counts := map[kube.Key]int{}
	for _, cluster := range list[*v1alpha1.DatabaseCluster](w, Clusters) {
		counts[kube.Key{Namespace: cluster.Namespace, Name: cluster.Name}] = len(cluster.Status.Claims)
	}
	return counts
}

// Missing is always empty: everything about a database cluster is shown at once.
func (w *Watch) Missing(kube.Key) string { return "" }

// Cluster returns what is known about a database cluster.
func (w *Watch) Cluster(key kube.Key) (kube.ClusterObjects, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	cluster, _ := w.streams[Clusters].view[key.Name].(*v1alpha1.DatabaseCluster)
	if cluster == nil {
		return kube.ClusterObjects{}, false
	}
	if w.reduced == nil {
		all := kube.Reduce(cluster, list[*appsv1.StatefulSet](w, Sets), list[*corev1.Pod](w, Pods), list[*corev1.Node](w, Nodes))
		w.reduced = &all
	}
	objects := *w.reduced // whose lists the caller may change
	objects.Pools, objects.Pods = slices.Clone(objects.Pools), slices.Clone(objects.Pods)
	return objects, true
}

func list[T Object](w *Watch, kind Kind) []T {
	view := w.streams[kind].view
	out := make([]T, 0, len(view))
	for _, object := range view {
		out = append(out, object.(T))
	}
	slices.SortFunc(out, func(a, b T) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return out
}
