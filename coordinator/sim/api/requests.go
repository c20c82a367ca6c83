package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// patch is the merge patch that the server understands: of metadata.
type patch struct {
	Metadata struct {
		UID             types.UID          `json:"uid"`
		ResourceVersion string             `json:"resourceVersion"`
		Labels          map[string]*string `json:"labels"`
		Annotations     map[string]*string `json:"annotations"`
		Finalizers      *[]string          `json:"finalizers"`
	} `json:"metadata"`
	Spec struct {
		UpdateStrategy struct {
			RollingUpdate struct {
				Partition *int32 `json:"partition"`
			} `json:"rollingUpdate"`
		} `json:"updateStrategy"`
	} `json:"spec"`
}

// patchPod carries a merge patch of a pod's metadata out.
func (s *Server) patchPod(name string, body []byte) (*corev1.Pod, error) {
	var p patch
	if err := json.Unmarshal(body, &p); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	object, err := s.find(Pods, name)
	if err != nil {
		return nil, err
	}
	if err := conditions(Pods, object, p.Metadata.UID, p.Metadata.ResourceVersion); err != nil {
		return nil, err
	}
	pod := *object.(*corev1.Pod)
	pod.Labels = merged(pod.Labels, p.Metadata.Labels)
	pod.Annotations = merged(pod.Annotations, p.Metadata.Annotations)
	s.commit(Pods, &pod)
	return &pod, nil
}

// patchSet carries a merge patch of a StatefulSet's annotations and partition out.
func (s *Server) patchSet(name string, body []byte) (*appsv1.StatefulSet, error) {
	var p patch
	if err := json.Unmarshal(body, &p); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	object, err := s.find(Sets, name)
	if err != nil {
		return nil, err
	}
	if err := conditions(Sets, object, p.Metadata.UID, p.Metadata.ResourceVersion); err != nil {
		return nil, err
	}
	set := *object.(*appsv1.StatefulSet)
	set.Annotations = merged(set.Annotations, p.Metadata.Annotations)
	if line := p.Spec.UpdateStrategy.RollingUpdate.Partition; line != nil {
		set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: line}
		set.Generation++
		s.loop.Log("statefulset", "partition of %s is %d", name, *line)
	}
	s.commit(Sets, &set)
	return &set, nil
}

// patchCluster carries a merge patch of a DatabaseCluster's finalizers out.
func (s *Server) patchCluster(name string, body []byte) (*v1alpha1.DatabaseCluster, error) {
	var p patch
	if err := json.Unmarshal(body, &p); err != nil || p.Metadata.Labels != nil || p.Metadata.Annotations != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("only finalizers are patched here, not %s: %v", body, err))
	}
	object, err := s.find(Clusters, name)
	if err != nil {
		return nil, err
	}
	if err := conditions(Clusters, object, p.Metadata.UID, p.Metadata.ResourceVersion); err != nil {
		return nil, err
	}
	cluster := *object.(*v1alpha1.DatabaseCluster)
	if p.Metadata.Finalizers != nil {
		cluster.Finalizers = *p.Metadata.Finalizers
	}
	s.commit(Clusters, &cluster)
	return &cluster, nil
}

func merged(have map[string]string, change map[string]*string) map[string]string {
	out := maps.Clone(have)
	if out == nil {
		out = map[string]string{}
	}
	for key, value := range change {
		if value == nil {
			delete(out, key)
		} else {
			out[key] = *value
		}
	}
	return out
}

// updateStatus replaces a DatabaseCluster's status.
func (s *Server) updateStatus(next *v1alpha1.DatabaseCluster) (*v1alpha1.DatabaseCluster, error) {
	object, err := s.find(Clusters, next.Name)
	if err != nil {
		return nil, err
	}
	if err := conditions(Clusters, object, next.UID, next.ResourceVersion); err != nil {
		return nil, err
	}
	cluster := *object.(*v1alpha1.DatabaseCluster)
	cluster.Status = *next.Status.DeepCopy()
	s.commit(Clusters, &cluster)
	return &cluster, nil
}

// Remove makes a pod terminate if everything that is said about it is true and
// neither guard nor budget refuses.
func (s *Server) Remove(user, name string, options *metav1.DeleteOptions, evict bool) error {
	object, err := s.find(Pods, name)
	if err != nil {
		return err
	}
	pod := object.(*corev1.Pod)
	var asked *metav1.Preconditions
	if options != nil {
		asked = options.Preconditions
	}
	if asked != nil {
		var uid types.UID
		var version string
		if asked.UID != nil {
			uid = *asked.UID
		}
		if asked.ResourceVersion != nil {
			version = *asked.ResourceVersion
		}
		if err := conditions(Pods, pod, uid, version); err != nil {
			return err
		}
	}
	if pod.DeletionTimestamp != nil {
		return nil
	}
	if err := s.admit(user, pod, evict); err != nil {
		return err
	}
	if s.Removing != nil {
		s.Removing(Removal{User: user, Pod: pod, Evict: evict, Preconditions: asked})
	}
	next := *pod
	grace := int64(30)
	if g := pod.Spec.TerminationGracePeriodSeconds; g != nil {
		grace = *g
	}
	until := metav1.Now()
	next.DeletionTimestamp, next.DeletionGracePeriodSeconds = &until, &grace
	until.Time = until.Add(secondsOf(grace))
	s.commit(Pods, &next)
	return nil
}

// admit is the guard: closed pods are refused to everybody but the coordinator,
// evictions of them to everybody, except that pods that have ended may go.
func (s *Server) admit(user string, pod *corev1.Pod, evict bool) error {
	ended := pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
	closed := s.Enforce && pod.Labels[v1alpha1.LabelGuard] == v1alpha1.GuardClosed && !ended
	switch {
	case evict && (s.Foreign || closed):
		err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 10)
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes,
			metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget needs more healthy pods"})
		return err
	case !evict && closed && !s.Ours(user):
		return apierrors.NewForbidden(resources[Pods], pod.Name, errors.New("rollcall guards this pod"))
	}
	return nil
}
