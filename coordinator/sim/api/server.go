// Package api is the API server of a simulated world: an apiserver.Server with the guard, behind a
// network on which requests take their time, and with watches that lag behind and may begin again
// in the past. It belongs to a clock.Loop: only the loop's goroutine may call a Server; Clients and
// Watches are for everybody.
package api

import (
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/sim/apiserver"
	"github.com/rollcall-dev/rollcall/coordinator/sim/clock"
)

type (
	Kind    = apiserver.Kind
	Object  = apiserver.Object
	Removal = apiserver.Removal
)

var Pods, Sets, Nodes, Clusters = apiserver.Pods, apiserver.Sets, apiserver.Nodes, apiserver.Clusters

// Namespace is where all objects are, but nodes.
const Namespace = "prod"

// Server holds the objects of one namespace, and the nodes.
type Server struct {
	*apiserver.Server
	loop *clock.Loop
	// Ours are the users whose removals no guard refuses.
	Ours func(user string) bool
	// Enforce is true if guards refuse the removals of others.
	Enforce bool
	// Foreign is a PodDisruptionBudget of somebody else that refuses evictions.
	Foreign bool
	// Refuse may fail any request; nil or a nil error lets it pass.
	Refuse func(user, verb string, write bool) error

	history []change
	watches []*Watch
}

// New returns an empty server.
func New(loop *clock.Loop) *Server {
	s := &Server{Server: apiserver.New(), loop: loop, Enforce: true, Ours: func(string) bool { return false }}
	s.Admit = s.guard
	s.Removing = func(Removal) {}
	s.Changed = append(s.Changed, s.record)
	return s
}

// Pod returns the pod of that name, or nil.
func (s *Server) Pod(name string) *corev1.Pod { return get[*corev1.Pod](s, Pods, name) }

// Set returns the StatefulSet of that name.
func (s *Server) Set(name string) *appsv1.StatefulSet { return get[*appsv1.StatefulSet](s, Sets, name) }

// Node returns the node of that name.
func (s *Server) Node(name string) *corev1.Node { return get[*corev1.Node](s, Nodes, name) }

// Cluster returns the DatabaseCluster of that name.
func (s *Server) Cluster(name string) *v1alpha1.DatabaseCluster {
	return get[*v1alpha1.DatabaseCluster](s, Clusters, name)
}

// Volume returns the volume claim of that name. Nobody watches them.
func (s *Server) Volume(name string) *corev1.PersistentVolumeClaim {
	return get[*corev1.PersistentVolumeClaim](s, apiserver.Volumes, name)
}

func get[T Object](s *Server, kind Kind, name string) T {
	return apiserver.Get[T](s.Server, kind, namespaceOf(kind), name)
}

func namespaceOf(kind Kind) string {
	if kind == Nodes {
		return ""
	}
	return Namespace
}

// Names of the objects of a kind, in order. The list does not change afterwards.
func (s *Server) Names(kind Kind) []string { return s.Server.Names(kind, namespaceOf(kind)) }

// Create stores a new object, which then belongs to the server.
func (s *Server) Create(kind Kind, object Object) error {
	object.SetNamespace(namespaceOf(kind))
	return s.Server.Create(kind, object)
}

// Put replaces an object by a changed copy of it. The loop's own writers, which
// read and write at one instant, need no condition.
func (s *Server) Put(kind Kind, object Object) {
	object.SetNamespace(namespaceOf(kind))
	s.Server.Put(kind, object)
}

// Drop removes an object for good.
func (s *Server) Drop(kind Kind, name string) { s.Server.Drop(kind, namespaceOf(kind), name) }

// Remove is a request to remove a pod.
func (s *Server) Remove(user, name string, options *metav1.DeleteOptions, evict bool) error {
	verb := "delete"
	if evict {
		verb = "evict"
	}
	_, err := s.Serve(apiserver.Call{User: user, Verb: verb, Kind: Pods, Namespace: Namespace, Name: name, Options: options})
	return err
}

// MakeVolume makes a volume claim.
func (s *Server) MakeVolume(name string) {
	_ = s.Create(apiserver.Volumes, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: name, Finalizers: []string{"kubernetes.io/pvc-protection"},
	}})
}

// EndVolume removes a volume claim that is being deleted, as Kubernetes does when
// no pod uses it any more.
func (s *Server) EndVolume(name string) {
	if v := s.Volume(name); v != nil && v.DeletionTimestamp != nil {
		s.Drop(apiserver.Volumes, name)
		s.loop.Log("volume", "%s is gone", name)
	}
}

// guard refuses the removal of closed pods to everybody but the coordinator, and their eviction to
// everybody, except that pods that have ended may go.
func (s *Server) guard(r Removal) error {
	ended := r.Pod.Status.Phase == corev1.PodFailed || r.Pod.Status.Phase == corev1.PodSucceeded
	closed := s.Enforce && r.Pod.Labels[v1alpha1.LabelGuard] == v1alpha1.GuardClosed && !ended
	switch {
	case r.Evict && (s.Foreign || closed):
		return apiserver.BudgetRefusal()
	case !r.Evict && closed && !s.Ours(r.User):
		return apierrors.NewForbidden(Pods.GroupResource(), r.Pod.Name, errors.New("rollcall guards this pod"))
	}
	return nil
}
