// Package api is an API server that is honest about what Rollcall's safety rests
// on: resourceVersions, preconditions, conflicts, and watches that lag behind and
// may begin anew in the past. It belongs to a clock.Loop: only the loop's
// goroutine may call a Server; Clients and Watches are for everybody.
//
// Stored objects are never changed, so they are handed out as they are.
package api

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/sim/clock"
)

// Kind of an object.
type Kind uint8

const (
	Pods Kind = iota
	Sets
	Nodes
	Clusters
	kinds
)

func (k Kind) String() string { return [...]string{"pod", "set", "node", "cluster"}[k] }

// Removal is a request to remove a pod that was accepted.
type Removal struct {
	User  string
	Pod   *corev1.Pod // as it was
	Evict bool
	// Preconditions of the request; nil without any.
	Preconditions *metav1.Preconditions
}

// Server holds the objects of one namespace.
type Server struct {
	loop *clock.Loop
	// Ours are the users whose removals no guard refuses.
	Ours func(user string) bool
	// Enforce: guards refuse the removals of others.
	Enforce bool
	// Foreign is a PodDisruptionBudget of somebody else that refuses evictions.
	Foreign bool
	// Refuse may fail any request; nil or a nil error lets it pass.
	Refuse func(user, verb string, write bool) error

	// Changed is told of every change, with the objects before and after.
	Changed []func(kind Kind, before, after metav1.Object)
	// Removing is told of every removal that is accepted, before it takes effect.
	Removing func(Removal)
	// Discarding is told of every deletion of a volume claim that is accepted.
	Discarding func(*corev1.PersistentVolumeClaim)

	version int64
	volumes map[string]*corev1.PersistentVolumeClaim
	objects [kinds]map[string]metav1.Object
	// names of the objects, in order, as long as there are no others; else nil.
	names   [kinds][]string
	history []change
	watches []*Watch
}

// change is one write; after is nil when the object was removed.
type change struct {
	kind  Kind
	name  string
	after metav1.Object
}

// New makes an empty server.
func New(loop *clock.Loop) *Server {
	s := &Server{loop: loop, version: 1000, volumes: map[string]*corev1.PersistentVolumeClaim{}, Enforce: true, Ours: func(string) bool { return false }}
	for k := range s.objects {
		s.objects[k] = map[string]metav1.Object{}
	}
	return s
}

// Pod is the pod of that name, nil when there is none.
func (s *Server) Pod(name string) *corev1.Pod { return get[*corev1.Pod](s, Pods, name) }

// Set is the StatefulSet of that name.
func (s *Server) Set(name string) *appsv1.StatefulSet { return get[*appsv1.StatefulSet](s, Sets, name) }

// Node is the node of that name.
func (s *Server) Node(name string) *corev1.Node { return get[*corev1.Node](s, Nodes, name) }

// Cluster is the DatabaseCluster of that name.
func (s *Server) Cluster(name string) *v1alpha1.DatabaseCluster {
	return get[*v1alpha1.DatabaseCluster](s, Clusters, name)
}

func get[T metav1.Object](s *Server, kind Kind, name string) T {
	object, _ := s.objects[kind][name].(T)
	return object
}

// Names of the objects of a kind, in order. The list does not change afterwards.
func (s *Server) Names(kind Kind) []string {
	if s.names[kind] == nil {
		s.names[kind] = slices.Sorted(maps.Keys(s.objects[kind]))
	}
	return s.names[kind]
}

// Create stores a new object, which then belongs to the server.
func (s *Server) Create(kind Kind, object metav1.Object) error {
	if s.objects[kind][object.GetName()] != nil {
		return apierrors.NewAlreadyExists(resources[kind], object.GetName())
	}
	if object.GetUID() == "" {
		object.SetUID(types.UID(fmt.Sprintf("%s-uid%d", object.GetName(), s.version+1)))
	}
	s.commit(kind, object)
	return nil
}

// Put replaces an object by a changed copy of it. The loop's own writers, which
// read and write at one instant, need no condition.
func (s *Server) Put(kind Kind, object metav1.Object) { s.commit(kind, object) }

func (s *Server) commit(kind Kind, object metav1.Object) {
	s.version++
	object.SetResourceVersion(strconv.FormatInt(s.version, 10))
	before := s.objects[kind][object.GetName()]
	if before == nil {
		s.names[kind] = nil
	}
	s.objects[kind][object.GetName()] = object
	s.record(change{kind, object.GetName(), object}, before)
}

// Drop removes an object for good.
func (s *Server) Drop(kind Kind, name string) {
	before := s.objects[kind][name]
	if before == nil {
		return
	}
	s.version++
	delete(s.objects[kind], name)
	s.names[kind] = nil
	s.record(change{kind, name, nil}, before)
}

func (s *Server) record(c change, before metav1.Object) {
	s.history = append(s.history, c)
	for _, w := range s.watches {
		w.follow(len(s.history))
	}
	for _, f := range s.Changed {
		f(c.kind, before, c.after)
	}
}

var resources = [kinds]schema.GroupResource{
	{Resource: "pods"}, {Group: "apps", Resource: "statefulsets"}, {Resource: "nodes"}, v1alpha1.GroupVersionResource.GroupResource(),
}

func (s *Server) find(kind Kind, name string) (metav1.Object, error) {
	if object := s.objects[kind][name]; object != nil {
		return object, nil
	}
	return nil, apierrors.NewNotFound(resources[kind], name)
}

func conflict(kind Kind, name, why string) error {
	return apierrors.NewConflict(resources[kind], name, fmt.Errorf("%s", why))
}

// conditions checks what a request says of the object that it means.
func conditions(kind Kind, have metav1.Object, uid types.UID, version string) error {
	switch {
	case uid != "" && uid != have.GetUID():
		return conflict(kind, have.GetName(), "the UID in the precondition differs")
	case version != "" && version != have.GetResourceVersion():
		return conflict(kind, have.GetName(), "the object has been modified")
	}
	return nil
}
