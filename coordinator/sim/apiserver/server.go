// Package apiserver is an API server in memory, for simulations, searches and tests. It is faithful
// in what Rollcall's safety depends on: resourceVersions, UIDs, conflicts, preconditions,
// subresources, finalizers and graceful deletion.
//
// A Server has no lock and no clock of its own, and does only what it is asked to: how requests
// reach it, when they are lost and what watches show is up to its users.
package apiserver

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// Kind of an object. A Server takes any; these are the ones that have a meaning here.
type Kind = schema.GroupVersionResource

var (
	Pods     = corev1.SchemeGroupVersion.WithResource("pods")
	Sets     = appsv1.SchemeGroupVersion.WithResource("statefulsets")
	Nodes    = corev1.SchemeGroupVersion.WithResource("nodes")
	Volumes  = corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")
	Clusters = v1alpha1.GroupVersionResource
)

// Object is anything that can be stored.
type Object interface {
	metav1.Object
	runtime.Object
}

// Removal is a request to remove a pod.
type Removal struct {
	User  string
	Pod   *corev1.Pod // as it was
	Evict bool
	// Preconditions of the request; nil without any.
	Preconditions *metav1.Preconditions
}

// Server holds the objects. It never changes an object that it holds, so they are handed out as they
// are, and nobody else may change them. Every write makes a new resourceVersion, except one
// to a volume claim that is there: nobody names theirs, and recorded simulations count without them.
type Server struct {
	// Admit may refuse a removal, as a guard or a budget does.
	Admit func(Removal) error
	// Removing is called for every removal that is accepted, before it takes effect. If it is nil,
	// there are no kubelets, and pods are gone at once.
	Removing func(Removal)
	// Discarding is called for every deletion of a volume claim that is accepted.
	Discarding func(*corev1.PersistentVolumeClaim)
	// Changed is called for every change, with the objects before and after.
	Changed []func(kind Kind, before, after Object)

	version int64
	shelves map[Kind]map[string]*shelf
}

// shelf is the objects of one kind in one namespace, by name.
type shelf struct {
	objects map[string]Object
	// names of the objects, in order, as long as there are no others; else nil.
	names []string
}

// New makes an empty server.
func New() *Server {
	return &Server{version: 1000, shelves: map[Kind]map[string]*shelf{}}
}

func (s *Server) shelf(kind Kind, namespace string) *shelf {
	at := s.shelves[kind][namespace]
	if at == nil {
		if s.shelves[kind] == nil {
			s.shelves[kind] = map[string]*shelf{}
		}
		at = &shelf{objects: map[string]Object{}}
		s.shelves[kind][namespace] = at
	}
	return at
}

// Get returns the object as it is stored, or nil.
func Get[T Object](s *Server, kind Kind, namespace, name string) T {
	object, _ := s.shelf(kind, namespace).objects[name].(T)
	return object
}

// Names of the objects of a kind, in order. The list does not change afterwards.
func (s *Server) Names(kind Kind, namespace string) []string {
	at := s.shelf(kind, namespace)
	if at.names == nil {
		at.names = slices.Sorted(maps.Keys(at.objects))
	}
	return at.names
}

// Create stores a new object, which then belongs to the server.
func (s *Server) Create(kind Kind, object Object) error {
	name := object.GetName()
	if s.shelf(kind, object.GetNamespace()).objects[name] != nil {
		return apierrors.NewAlreadyExists(kind.GroupResource(), name)
	}
	if object.GetUID() == "" {
		object.SetUID(types.UID(fmt.Sprintf("%s-uid%d", name, s.version+1)))
	}
	s.Put(kind, object)
	return nil
}

// Put replaces an object by a changed copy of it, without any conditions.
func (s *Server) Put(kind Kind, object Object) {
	at := s.shelf(kind, object.GetNamespace())
	before := at.objects[object.GetName()]
	if before == nil {
		at.names = nil
	}
	if before == nil || kind != Volumes {
		s.version++
		object.SetResourceVersion(strconv.FormatInt(s.version, 10))
	}
	at.objects[object.GetName()] = object
	s.changed(kind, before, object)
}

// Drop removes an object for good.
func (s *Server) Drop(kind Kind, namespace, name string) {
	at := s.shelf(kind, namespace)
	before := at.objects[name]
	if before == nil {
		return
	}
	if kind != Volumes {
		s.version++
	}
	delete(at.objects, name)
	at.names = nil
	s.changed(kind, before, nil)
}

func (s *Server) changed(kind Kind, before, after Object) {
	for _, f := range s.Changed {
		f(kind, before, after)
	}
}
