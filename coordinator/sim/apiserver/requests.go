package apiserver

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Call is one request.
type Call struct {
	// User sends it.
	User string
	// Verb is get, list, create, update, patch, delete or evict.
	Verb string
	Kind Kind
	// Resource is the plural name, with the subresource after a slash.
	Resource        string
	Namespace, Name string
	// Selector of a list, and Into the empty list that it fills.
	Selector string
	Into     runtime.Object
	// Object is what is created, or what another becomes.
	Object Object
	// Patch is a merge patch.
	Patch []byte
	// Options of a removal.
	Options *metav1.DeleteOptions
}

// Write reports whether the call changes something, or would if it were no dry run.
func (c Call) Write() bool { return c.Verb != "get" && c.Verb != "list" }

// DryRun changes nothing.
func (c Call) DryRun() bool { return c.Options != nil && len(c.Options.DryRun) > 0 }

// Serve carries a request out. It returns an object as it is stored.
func (s *Server) Serve(c Call) (runtime.Object, error) {
	switch c.Verb {
	case "list":
		return c.Into, s.list(c)
	case "create":
		made := c.Object.DeepCopyObject().(Object)
		made.SetNamespace(c.Namespace)
		return made, s.Create(c.Kind, made)
	}
	have := s.shelf(c.Kind, c.Namespace).objects[c.Name]
	if have == nil {
		return nil, apierrors.NewNotFound(c.Kind.GroupResource(), c.Name)
	}
	switch c.Verb {
	case "get":
		return have, nil
	case "update":
		return s.update(c, have)
	case "patch":
		return s.patch(c, have)
	case "delete", "evict":
		return have, s.remove(c, have)
	}
	return nil, apierrors.NewBadRequest("no such verb: " + c.Verb)
}

func (s *Server) list(c Call) error {
	selector, err := labels.Parse(c.Selector)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	namespaces := []string{c.Namespace}
	if c.Namespace == "" {
		namespaces = nil
		for namespace := range s.shelves[c.Kind] {
			namespaces = append(namespaces, namespace)
		}
		slices.Sort(namespaces)
	}
	var items []runtime.Object
	for _, namespace := range namespaces {
		for _, name := range s.Names(c.Kind, namespace) {
			if object := Get[Object](s, c.Kind, namespace, name); selector.Matches(labels.Set(object.GetLabels())) {
				items = append(items, object.DeepCopyObject())
			}
		}
	}
	return meta.SetList(c.Into, items)
}

func conflict(kind Kind, name, why string) error {
	return apierrors.NewConflict(kind.GroupResource(), name, errors.New(why))
}

// conditions checks what a request says of the object that it means.
func conditions(kind Kind, have Object, uid types.UID, version string) error {
	switch {
	case uid != "" && uid != have.GetUID():
		return conflict(kind, have.GetName(), "the UID in the precondition differs")
	case version != "" && version != have.GetResourceVersion():
		return conflict(kind, have.GetName(), "the object has been modified")
	}
	return nil
}

func (s *Server) update(c Call, have Object) (runtime.Object, error) {
	next := c.Object.DeepCopyObject().(Object)
	if err := conditions(c.Kind, have, next.GetUID(), next.GetResourceVersion()); err != nil {
		return nil, err
	}
	return s.replace(c, have, next)
}

// patch carries a merge patch out. Lists of objects are not merged as they should be; nobody patches any.
func (s *Server) patch(c Call, have Object) (runtime.Object, error) {
	next := have.DeepCopyObject().(Object)
	if err := json.Unmarshal(c.Patch, next); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if uid := next.GetUID(); uid != have.GetUID() {
		// A real one does not take it for a precondition.
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: c.Kind.Group, Kind: c.Kind.Resource}, c.Name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "uid"), uid, "field is immutable"),
		})
	}
	if err := conditions(c.Kind, have, "", next.GetResourceVersion()); err != nil {
		return nil, err
	}
	var null struct {
		Metadata struct{ Labels, Annotations map[string]*string }
	}
	_ = json.Unmarshal(c.Patch, &null)
	gone := func(from map[string]*string) func(string, string) bool {
		return func(key, _ string) bool { value, is := from[key]; return is && value == nil }
	}
	maps.DeleteFunc(next.GetLabels(), gone(null.Metadata.Labels))
	maps.DeleteFunc(next.GetAnnotations(), gone(null.Metadata.Annotations))
	return s.replace(c, have, next)
}

// replace stores what an object becomes by a request.
func (s *Server) replace(c Call, have, next Object) (runtime.Object, error) {
	next = allowed(have, next, strings.HasSuffix(c.Resource, "/status"))
	if had := len(have.GetFinalizers()); have.GetDeletionTimestamp() != nil && had > 0 {
		switch left := len(next.GetFinalizers()); {
		case left > had:
			return nil, apierrors.NewForbidden(c.Kind.GroupResource(), c.Name, errors.New("no new finalizers can be added if the object is being deleted"))
		case left == 0:
			s.Drop(c.Kind, c.Namespace, c.Name)
			return next, nil
		}
	}
	s.Put(c.Kind, next)
	return next, nil
}

// allowed keeps what a request may not change: the status, or all but that. The
// generation tells of another spec.
func allowed(have, next Object, status bool) Object {
	was, is := reflect.ValueOf(have).Elem(), reflect.ValueOf(next).Elem()
	if status {
		out := shallow(have)
		reflect.ValueOf(out).Elem().FieldByName("Status").Set(is.FieldByName("Status"))
		return out
	}
	if f := is.FieldByName("Status"); f.IsValid() {
		f.Set(was.FieldByName("Status"))
	}
	if f := is.FieldByName("Spec"); f.IsValid() && next.GetGeneration() <= have.GetGeneration() {
		next.SetGeneration(have.GetGeneration())
		if !reflect.DeepEqual(f.Interface(), was.FieldByName("Spec").Interface()) {
			next.SetGeneration(have.GetGeneration() + 1)
		}
	}
	return next
}

// shallow copies an object, which shares all below its fields.
func shallow(object Object) Object {
	out := reflect.New(reflect.TypeOf(object).Elem())
	out.Elem().Set(reflect.ValueOf(object).Elem())
	return out.Interface().(Object)
}

// remove removes an object if all preconditions hold and nothing refuses. Pods have to wait for
// kubelets, other objects for finalizers.
func (s *Server) remove(c Call, have Object) error {
	options := metav1.DeleteOptions{}
	if c.Options != nil {
		options = *c.Options
	}
	if p := options.Preconditions; p != nil {
		if err := conditions(c.Kind, have, value(p.UID), value(p.ResourceVersion)); err != nil {
			return err
		}
	}
	pod, isPod := have.(*corev1.Pod)
	force := options.GracePeriodSeconds != nil && *options.GracePeriodSeconds == 0
	stays := len(have.GetFinalizers()) > 0 || isPod && s.Removing != nil
	switch {
	case c.DryRun():
		return nil
	case have.GetDeletionTimestamp() == nil:
		if err := s.accept(c, have, options); err != nil {
			return err
		}
	case isPod && force: // without waiting for its kubelet
		stays = false
	default:
		return nil
	}
	if !stays {
		s.Drop(c.Kind, c.Namespace, c.Name)
		return nil
	}
	next, until := shallow(have), metav1.Now()
	if isPod {
		grace := int64(30)
		if g := pod.Spec.TerminationGracePeriodSeconds; g != nil {
			grace = *g
		}
		next.SetDeletionGracePeriodSeconds(&grace)
		until.Time = until.Add(time.Duration(grace) * time.Second)
	}
	next.SetDeletionTimestamp(&until)
	s.Put(c.Kind, next)
	return nil
}

// accept asks those that may refuse a removal, and notifies observers.
func (s *Server) accept(c Call, have Object, options metav1.DeleteOptions) error {
	switch object := have.(type) {
	case *corev1.Pod:
		removal := Removal{User: c.User, Pod: object, Evict: c.Verb == "evict", Preconditions: options.Preconditions}
		if s.Admit != nil {
			if err := s.Admit(removal); err != nil {
				return err
			}
		}
		if s.Removing != nil {
			s.Removing(removal)
		}
	case *corev1.PersistentVolumeClaim:
		if s.Discarding != nil {
			s.Discarding(object)
		}
	}
	return nil
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// BudgetRefusal is the answer to an eviction that a PodDisruptionBudget does not allow.
func BudgetRefusal() error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 10)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes,
		metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget other needs 3 healthy pods and has 3 currently"})
	return err
}
