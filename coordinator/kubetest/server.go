// Package kubetest is an API server in memory, for tests. It does what the fake
// clientset leaves out and what Rollcall's safety rests on: resourceVersions
// that grow with every write, conflicts, and the preconditions of deletes,
// evictions and patches.
package kubetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	k8stesting "k8s.io/client-go/testing"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	fakeclusters "github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1/fake"
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
	version int64
	// discarded is the volume claim whose deletion the request in hand was.
	discarded *corev1.PersistentVolumeClaim
	// objects are those of Kubernetes, and store serves them.
	objects  k8stesting.ObjectTracker
	store    k8stesting.Fake
	clusters *fakeclusters.Clients
}

// New is an empty Server.
func New() *Server {
	s := &Server{version: 100, clusters: fakeclusters.New()}
	// Not the tracker of fake.NewClientset: for owners of fields, which nothing here
	// needs, that works out the resources of all of Kubernetes at every write.
	s.objects = k8stesting.NewObjectTracker(scheme.Scheme, scheme.Codecs.UniversalDecoder())
	s.store.AddReactor("*", "*", s.react(s.objects))
	s.store.AddReactor("*", "*", k8stesting.ObjectReaction(s.objects))
	s.store.AddWatchReactor("*", func(a k8stesting.Action) (bool, watch.Interface, error) {
		w, err := s.objects.Watch(a.GetResource(), a.GetNamespace())
		return true, w, err
	})
	s.clusters.PrependReactor("*", "*", s.react(s.clusters.Tracker()))
	return s
}

// react carries requests out one at a time.
func (s *Server) react(tracker k8stesting.ObjectTracker) k8stesting.ReactionFunc {
	return func(action k8stesting.Action) (bool, runtime.Object, error) {
		s.mu.Lock()
		object, handled, removed, err := s.serve(tracker, action)
		discarded := s.discarded
		s.discarded = nil
		s.mu.Unlock()
		if discarded != nil && s.Discarded != nil {
			s.Discarded(discarded)
		}
		if removed != nil && s.Removed != nil {
			s.Removed(removed)
		}
		return handled, object, err
	}
}

func (s *Server) serve(tracker k8stesting.ObjectTracker, action k8stesting.Action) (object runtime.Object, handled bool, removed *corev1.Pod, err error) {
	gvr, ns := action.GetResource(), action.GetNamespace()
	switch a := action.(type) {
	case k8stesting.CreateActionImpl:
		if eviction, ok := a.GetObject().(*policyv1.Eviction); ok {
			removed, err = s.remove(tracker, ns, eviction.Name, eviction.DeleteOptions, true)
			return eviction, true, removed, err
		}
		object = a.GetObject().DeepCopyObject()
		s.stamp(object, true)
		return object, true, nil, tracker.Create(gvr, object, ns)
	case k8stesting.UpdateActionImpl:
		object, err = s.update(tracker, gvr, ns, a.GetObject(), action.GetSubresource())
		return object, true, nil, err
	case k8stesting.PatchActionImpl:
		object, err = s.patch(tracker, gvr, ns, a)
		return object, true, nil, err
	case k8stesting.DeleteActionImpl:
		if gvr.Resource == "pods" {
			options := a.GetDeleteOptions()
			removed, err = s.remove(tracker, ns, a.GetName(), &options, false)
			return nil, true, removed, err
		}
		held, err := s.held(tracker, gvr, ns, a.GetName(), a.GetDeleteOptions())
		return nil, held, nil, err
	}
	return nil, false, nil, nil
}

// held notes the deletion of an object that has finalizers, and answers
// whether nothing more is to be done.
func (s *Server) held(tracker k8stesting.ObjectTracker, gvr schema.GroupVersionResource, ns, name string, options metav1.DeleteOptions) (bool, error) {
	object, err := tracker.Get(gvr, ns, name)
	if err != nil {
		return true, err
	}
	object = object.DeepCopyObject()
	m := must(meta.Accessor(object))
	if p := options.Preconditions; p != nil && p.UID != nil && *p.UID != m.GetUID() {
		return true, conflict(gvr, name, "the UID in the precondition differs")
	}
	if len(options.DryRun) > 0 {
		return true, nil
	}
	if claim, ok := object.(*corev1.PersistentVolumeClaim); ok && claim.DeletionTimestamp == nil {
		s.discarded = claim.DeepCopy()
	}
	if len(m.GetFinalizers()) == 0 {
		return false, nil
	}
	if m.GetDeletionTimestamp() != nil {
		return true, nil
	}
	now := metav1.Now()
	m.SetDeletionTimestamp(&now)
	s.stamp(object, false)
	return true, tracker.Update(gvr, object, ns)
}

func (s *Server) stamp(object runtime.Object, created bool) {
	m := must(meta.Accessor(object))
	s.version++
	m.SetResourceVersion(strconv.FormatInt(s.version, 10))
	if created && m.GetUID() == "" {
		m.SetUID(types.UID(fmt.Sprintf("uid-%d", s.version)))
	}
}

func conflict(gvr schema.GroupVersionResource, name, why string) error {
	return apierrors.NewConflict(gvr.GroupResource(), name, fmt.Errorf("%s", why))
}

func (s *Server) update(tracker k8stesting.ObjectTracker, gvr schema.GroupVersionResource, ns string, object runtime.Object, subresource string) (runtime.Object, error) {
	object = object.DeepCopyObject()
	m := must(meta.Accessor(object))
	current, err := tracker.Get(gvr, ns, m.GetName())
	if err != nil {
		return nil, err
	}
	have := must(meta.Accessor(current))
	if want := m.GetResourceVersion(); want != "" && want != have.GetResourceVersion() {
		return nil, conflict(gvr, m.GetName(), "the object has been modified")
	}
	if uid := m.GetUID(); uid != "" && uid != have.GetUID() {
		return nil, conflict(gvr, m.GetName(), "the UID in the precondition differs")
	}
	object = merge(current, object, subresource == "status")
	s.stamp(object, false)
	return object, tracker.Update(gvr, object, ns)
}

// merge keeps what the request may not change: the status, or all but that.
func merge(current, next runtime.Object, status bool) runtime.Object {
	switch n := next.(type) {
	case *v1alpha1.DatabaseCluster:
		c := current.(*v1alpha1.DatabaseCluster)
		if status {
			out := c.DeepCopy()
			out.Status = n.Status
			return out
		}
		n.Status = c.Status
		n.Generation = c.Generation
		if fmt.Sprintf("%+v", asJSON(n.Spec)) != fmt.Sprintf("%+v", asJSON(c.Spec)) {
			n.Generation++
		}
	case *corev1.Pod:
		c := current.(*corev1.Pod)
		if status {
			out := c.DeepCopy()
			out.Status = n.Status
			return out
		}
	case *appsv1.StatefulSet:
		c := current.(*appsv1.StatefulSet)
		if status {
			out := c.DeepCopy()
			out.Status = n.Status
			return out
		}
		n.Status = c.Status
		if n.Generation == c.Generation && asJSON(n.Spec) != asJSON(c.Spec) {
			n.Generation++
		}
	}
	return next
}

func asJSON(v any) string { return string(must(json.Marshal(v))) }

func (s *Server) patch(tracker k8stesting.ObjectTracker, gvr schema.GroupVersionResource, ns string, a k8stesting.PatchAction) (runtime.Object, error) {
	if a.GetPatchType() != types.MergePatchType {
		return nil, apierrors.NewBadRequest("kubetest: only merge patches are served")
	}
	current, err := tracker.Get(gvr, ns, a.GetName())
	if err != nil {
		return nil, err
	}
	var conditions struct {
		Metadata struct {
			UID             types.UID `json:"uid"`
			ResourceVersion string    `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(a.GetPatch(), &conditions); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	have := must(meta.Accessor(current))
	if uid := conditions.Metadata.UID; uid != "" && uid != have.GetUID() {
		// A real one does not take it for a precondition.
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: gvr.Group, Kind: gvr.Resource}, a.GetName(), field.ErrorList{
			field.Invalid(field.NewPath("metadata", "uid"), uid, "field is immutable"),
		})
	}
	if v := conditions.Metadata.ResourceVersion; v != "" && v != have.GetResourceVersion() {
		return nil, conflict(gvr, a.GetName(), "the object has been modified")
	}
	merged, err := jsonpatch.MergePatch(must(json.Marshal(current)), a.GetPatch())
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	next := current.DeepCopyObject()
	m := must(meta.Accessor(next))
	m.SetLabels(nil)
	m.SetAnnotations(nil)
	m.SetFinalizers(nil)
	if err := json.Unmarshal(merged, next); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	next = merge(current, next, a.GetSubresource() == "status")
	s.stamp(next, false)
	if after := must(meta.Accessor(next)); have.GetDeletionTimestamp() != nil && len(have.GetFinalizers()) > 0 {
		if len(after.GetFinalizers()) > len(have.GetFinalizers()) {
			return nil, apierrors.NewForbidden(gvr.GroupResource(), a.GetName(), errors.New("no new finalizers can be added if the object is being deleted"))
		}
		if len(after.GetFinalizers()) == 0 {
			return next, tracker.Delete(gvr, ns, a.GetName())
		}
	}
	return next, tracker.Update(gvr, next, ns)
}

var pods = corev1.SchemeGroupVersion.WithResource("pods")

// remove ends a pod, or with a Removed function makes it Terminating.
func (s *Server) remove(tracker k8stesting.ObjectTracker, ns, name string, options *metav1.DeleteOptions, evict bool) (*corev1.Pod, error) {
	object, err := tracker.Get(pods, ns, name)
	if err != nil {
		return nil, err
	}
	pod := object.(*corev1.Pod).DeepCopy()
	if options != nil && options.Preconditions != nil {
		if uid := options.Preconditions.UID; uid != nil && *uid != pod.UID {
			return nil, conflict(pods, name, "the UID in the precondition differs")
		}
		if v := options.Preconditions.ResourceVersion; v != nil && *v != pod.ResourceVersion {
			return nil, conflict(pods, name, "the ResourceVersion in the precondition differs")
		}
	}
	if evict && s.Refuse != nil {
		if err := s.Refuse(pod); err != nil {
			return nil, err
		}
	}
	if options != nil && options.GracePeriodSeconds != nil && *options.GracePeriodSeconds == 0 && pod.DeletionTimestamp != nil {
		return nil, tracker.Delete(pods, ns, name) // by force: its kubelet is not waited for
	}
	if pod.DeletionTimestamp != nil {
		return nil, nil
	}
	if s.Removed == nil {
		return pod, tracker.Delete(pods, ns, name)
	}
	now := metav1.Now()
	pod.DeletionTimestamp = &now
	s.stamp(pod, false)
	return pod, tracker.Update(pods, pod, ns)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
