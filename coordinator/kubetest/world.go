package kubetest

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	policyv1 "k8s.io/api/policy/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// Pod is a copy of the pod as it is now; false when there is none.
func (s *Server) Pod(namespace, name string) (*corev1.Pod, bool) {
	object, err := s.objects.Get(pods, namespace, name)
	if err != nil {
		return nil, false
	}
	return object.(*corev1.Pod), true
}

// StatefulSet is the set as it is now; false when there is none.
func (s *Server) StatefulSet(namespace, name string) (*appsv1.StatefulSet, bool) {
	object, err := s.objects.Get(appsv1.SchemeGroupVersion.WithResource("statefulsets"), namespace, name)
	if err != nil {
		return nil, false
	}
	return object.(*appsv1.StatefulSet), true
}

// Cluster is the DatabaseCluster as it is now; false when there is none.
func (s *Server) Cluster(namespace, name string) (*v1alpha1.DatabaseCluster, bool) {
	object, err := s.clusters.Tracker().Get(v1alpha1.GroupVersionResource, namespace, name)
	if err != nil {
		return nil, false
	}
	return object.(*v1alpha1.DatabaseCluster), true
}

// EndPod removes a pod's object, as the kubelet does when all has stopped.
func (s *Server) EndPod(namespace, name string, uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if pod, ok := s.Pod(namespace, name); ok && pod.UID == uid {
		_ = s.objects.Delete(pods, namespace, name)
	}
}

var volumeClaims = corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")

// VolumeClaim is the PersistentVolumeClaim as it is now; false when there is none.
func (s *Server) VolumeClaim(namespace, name string) (*corev1.PersistentVolumeClaim, bool) {
	object, err := s.objects.Get(volumeClaims, namespace, name)
	if err != nil {
		return nil, false
	}
	return object.(*corev1.PersistentVolumeClaim), true
}

// EndVolumeClaim removes a volume claim that is being deleted, as Kubernetes does
// when no pod uses it any more.
func (s *Server) EndVolumeClaim(namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if claim, ok := s.VolumeClaim(namespace, name); ok && claim.DeletionTimestamp != nil {
		_ = s.objects.Delete(volumeClaims, namespace, name)
	}
}

// BudgetRefusal is what the API server answers to an eviction that a
// PodDisruptionBudget does not allow.
func BudgetRefusal() error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 10)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes,
		metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget other needs 3 healthy pods and has 3 currently"})
	return err
}
