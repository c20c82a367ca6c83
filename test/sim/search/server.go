package search

import (
	"encoding/json"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// server holds the DatabaseCluster and its pods as an API server does: every
// write that changes an object gives it a new resourceVersion, and one that names
// another UID or resourceVersion than the object's is refused. It is as small as
// it is because the search makes a new one for every path.
type server struct {
	version int64
	cluster *v1alpha1.DatabaseCluster
	pods    map[string]*corev1.Pod
}

var (
	podResource     = schema.GroupResource{Resource: "pods"}
	clusterResource = schema.GroupResource{Group: v1alpha1.GroupVersion.Group, Resource: "databaseclusters"}
)

func (s *server) stamp(m *metav1.ObjectMeta) {
	s.version++
	m.ResourceVersion = strconv.FormatInt(s.version, 10)
}

func (s *server) pod(name string) (*corev1.Pod, error) {
	if pod := s.pods[name]; pod != nil {
		return pod.DeepCopy(), nil
	}
	return nil, apierrors.NewNotFound(podResource, name)
}

func changed(resource schema.GroupResource, name, what string) error {
	return apierrors.NewConflict(resource, name, fmt.Errorf("the %s differs", what))
}

func (s *server) updateStatus(next *v1alpha1.DatabaseCluster) (*v1alpha1.DatabaseCluster, error) {
	if v := next.ResourceVersion; v != "" && v != s.cluster.ResourceVersion {
		return nil, changed(clusterResource, next.Name, "resourceVersion")
	}
	s.cluster = s.cluster.DeepCopy()
	next.Status.DeepCopyInto(&s.cluster.Status)
	s.stamp(&s.cluster.ObjectMeta)
	return s.cluster.DeepCopy(), nil
}

// patchPod carries out a merge patch of a pod's metadata.
func (s *server) patchPod(name string, body []byte) (*corev1.Pod, error) {
	pod, err := s.pod(name)
	if err != nil {
		return nil, err
	}
	var patch struct {
		Metadata struct {
			UID             types.UID
			ResourceVersion string
			Labels          map[string]*string
			Annotations     map[string]*string
		}
	}
	if err := json.Unmarshal(body, &patch); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	switch m := patch.Metadata; {
	case m.UID != "" && m.UID != pod.UID:
		invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, name, nil)
		invalid.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeFieldValueInvalid, Field: "metadata.uid"}}
		return nil, invalid
	case m.ResourceVersion != "" && m.ResourceVersion != pod.ResourceVersion:
		return nil, changed(podResource, name, "resourceVersion")
	}
	merge(pod.Labels, patch.Metadata.Labels)
	merge(pod.Annotations, patch.Metadata.Annotations)
	s.stamp(&pod.ObjectMeta)
	s.pods[name] = pod
	return pod.DeepCopy(), nil
}

func merge(to map[string]string, from map[string]*string) {
	for key, value := range from {
		if value == nil {
			delete(to, key)
		} else {
			to[key] = *value
		}
	}
}

// remove makes a pod Terminating, and answers it if it was not so before.
func (s *server) remove(name string, options *metav1.DeleteOptions) (*corev1.Pod, error) {
	pod, err := s.pod(name)
	if err != nil {
		return nil, err
	}
	if options != nil && options.Preconditions != nil {
		if uid := options.Preconditions.UID; uid != nil && *uid != pod.UID {
			return nil, changed(podResource, name, "UID")
		}
		if v := options.Preconditions.ResourceVersion; v != nil && *v != pod.ResourceVersion {
			return nil, changed(podResource, name, "resourceVersion")
		}
	}
	if pod.DeletionTimestamp != nil {
		return nil, nil
	}
	now := metav1.Now()
	pod.DeletionTimestamp = &now
	s.stamp(&pod.ObjectMeta)
	s.pods[name] = pod
	return pod.DeepCopy(), nil
}

// start makes a pod of a revision, in place of one that has stopped.
func (s *server) start(name, rev string) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(fmt.Sprintf("%s on %s, %d", name, rev, s.version+1)),
		Labels:      map[string]string{revisionLabel: rev, v1alpha1.LabelGuard: v1alpha1.GuardClosed},
		Annotations: map[string]string{},
	}}
	s.stamp(&pod.ObjectMeta)
	s.pods[name] = pod
}
