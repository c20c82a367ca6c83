// Package kubetest is the API server of unit tests: an apiserver.Server behind the fake clientset, so that
// whatever a clientset can ask for is there, and with watches for informers. Anybody may use it at any time.
package kubetest

import (
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
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
}

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
	after := s.after
	s.after = nil
	s.mu.Unlock()
	for _, f := range after {
		f()
	}
	if err != nil {
		return nil, err
	}
	return object.DeepCopyObject(), nil
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
		if w.kind == kind && (w.namespace == "" || w.namespace == namespace) {
			w.Action(event.Type, event.Object.DeepCopyObject())
		}
	}
}

func (s *Server) watch(kind apiserver.Kind, namespace string) watch.Interface {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &watcher{watch.NewRaceFreeFake(), kind, namespace}
	s.watches = append(s.watches, w)
	return w
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
