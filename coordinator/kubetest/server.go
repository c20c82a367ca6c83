// Package kubetest is the API server of unit tests: an apiserver.Server behind the fake clientset, so that
// whatever a clientset can ask for is there, and with watches for informers. Anybody may use it at any time.
package kubetest

import (
	"slices"
	"strconv"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/sim/apiserver"
)

// Server holds the objects. Make clients of it with Client.
type Server struct {
	// Removed is called, with nothing locked, after the removal of a pod was
	// accepted. Nil: the pod is gone at once, and nothing follows.
	Removed func(pod *corev1.Pod)
	// Refuse may answer an eviction with an error, as a budget would.
	Refuse func(pod *corev1.Pod) error
	// Discarded is called, with nothing locked, after the deletion of a volume claim
	// was accepted.
	Discarded func(claim *corev1.PersistentVolumeClaim)

	mu      sync.Mutex
	server  *apiserver.Server
	after   []func() // what the request in hand has caused
	watches []*watcher
	// version is that of the last change. history are the last changes, for watches that begin after a
	// list of an earlier version.
	version int64
	history []change
}

// change is one change of an object, and the version that it made.
type change struct {
	version   int64
	kind      apiserver.Kind
	namespace string
	event     watch.Event
}

// remembered is how many changes a watch may be behind. It holds as many that nobody has read yet.
const remembered = 100

type watcher struct {
	*watch.RaceFreeFakeWatcher
	kind      apiserver.Kind
	namespace string
}

// New is an empty Server.
func New() *Server {
	s := &Server{server: apiserver.New()}
	s.server.Admit = func(r apiserver.Removal) error {
		if r.Evict && s.Refuse != nil {
			return s.Refuse(r.Pod)
		}
		return nil
	}
	s.server.Discarding = func(claim *corev1.PersistentVolumeClaim) {
		if s.Discarded != nil {
			s.after = append(s.after, func() { s.Discarded(claim) })
		}
	}
	s.server.Changed = append(s.server.Changed, s.changed)
	return s
}

// serve carries requests out one at a time.
func (s *Server) serve(c Call) (runtime.Object, error) {
	s.mu.Lock()
	s.server.Removing = nil
	if removed := s.Removed; removed != nil {
		s.server.Removing = func(r apiserver.Removal) { s.after = append(s.after, func() { removed(r.Pod) }) }
	}
	object, err := s.server.Serve(c)
	after, version := s.after, strconv.FormatInt(s.version, 10)
	s.after = nil
	s.mu.Unlock()
	for _, f := range after {
		f()
	}
	if err != nil {
		return nil, err
	}
	object = object.DeepCopyObject()
	if list, ok := object.(metav1.ListInterface); ok && c.Verb == "list" {
		list.SetResourceVersion(version)
	}
	return object, nil
}

// changed tells the watches. mu is held.
func (s *Server) changed(kind apiserver.Kind, before, after apiserver.Object) {
	event := watch.Event{Type: watch.Modified, Object: after}
	switch {
	case before == nil:
		event.Type = watch.Added
	case after == nil:
		event.Type, event.Object = watch.Deleted, before
	}
	namespace := event.Object.(apiserver.Object).GetNamespace()
	for _, w := range s.watches {
		w.tell(change{kind: kind, namespace: namespace, event: event})
	}
	if after == nil {
		s.version++ // as the server does
	} else if version, err := strconv.ParseInt(after.GetResourceVersion(), 10, 64); err == nil {
		s.version = max(s.version, version)
	}
	event.Object = event.Object.DeepCopyObject()
	s.history = append(s.history, change{s.version, kind, namespace, event})
	if more := len(s.history) - remembered; more > 0 {
		s.history = slices.Delete(s.history, 0, more)
	}
}

func (w *watcher) tell(c change) {
	if w.kind == c.kind && (w.namespace == "" || w.namespace == c.namespace) {
		w.Action(c.event.Type, c.event.Object.DeepCopyObject())
	}
}

// watch begins with what has changed since a version, if one is named. An API server does the same, or
// what changes between a list and the watch that follows would be lost.
func (s *Server) watch(kind apiserver.Kind, namespace, version string) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &watcher{watch.NewRaceFreeFake(), kind, namespace}
	if since, err := strconv.ParseInt(version, 10, 64); err == nil && since > 0 {
		if len(s.history) == remembered && s.history[0].version > since+1 {
			return nil, apierrors.NewResourceExpired("too old resource version: " + version)
		}
		for _, c := range s.history {
			if c.version > since {
				w.tell(c)
			}
		}
	}
	s.watches = append(s.watches, w)
	return w, nil
}

// Pod is a copy of the pod as it is now; false when there is none.
func (s *Server) Pod(namespace, name string) (*corev1.Pod, bool) {
	pod := get[*corev1.Pod](s, apiserver.Pods, namespace, name)
	return pod.DeepCopy(), pod != nil
}

// StatefulSet is the set as it is now; false when there is none.
func (s *Server) StatefulSet(namespace, name string) (*appsv1.StatefulSet, bool) {
	set := get[*appsv1.StatefulSet](s, apiserver.Sets, namespace, name)
	return set.DeepCopy(), set != nil
}

// Cluster is the DatabaseCluster as it is now; false when there is none.
func (s *Server) Cluster(namespace, name string) (*v1alpha1.DatabaseCluster, bool) {
	cluster := get[*v1alpha1.DatabaseCluster](s, apiserver.Clusters, namespace, name)
	return cluster.DeepCopy(), cluster != nil
}

// VolumeClaim is the PersistentVolumeClaim as it is now; false when there is none.
func (s *Server) VolumeClaim(namespace, name string) (*corev1.PersistentVolumeClaim, bool) {
	claim := get[*corev1.PersistentVolumeClaim](s, apiserver.Volumes, namespace, name)
	return claim.DeepCopy(), claim != nil
}

func get[T apiserver.Object](s *Server, kind apiserver.Kind, namespace, name string) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return apiserver.Get[T](s.server, kind, namespace, name)
}

// EndPod removes a pod's object, as the kubelet does when all has stopped.
func (s *Server) EndPod(namespace, name string, uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if pod := apiserver.Get[*corev1.Pod](s.server, apiserver.Pods, namespace, name); pod != nil && pod.UID == uid {
		s.server.Drop(apiserver.Pods, namespace, name)
	}
}

// EndVolumeClaim removes a volume claim that is being deleted, as Kubernetes does
// when no pod uses it any more.
func (s *Server) EndVolumeClaim(namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if claim := apiserver.Get[*corev1.PersistentVolumeClaim](s.server, apiserver.Volumes, namespace, name); claim != nil && claim.DeletionTimestamp != nil {
		s.server.Drop(apiserver.Volumes, namespace, name)
	}
}
