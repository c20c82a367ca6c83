package api

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
)

var volumeClaims = schema.GroupResource{Resource: "persistentvolumeclaims"}

// Volume is the volume claim of that name, nil when there is none. Nobody watches them.
func (s *Server) Volume(name string) *corev1.PersistentVolumeClaim { return s.volumes[name] }

// MakeVolume makes a volume claim.
func (s *Server) MakeVolume(namespace, name string) {
	s.version++
	s.volumes[name] = &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(fmt.Sprintf("%s-uid%d", name, s.version)),
	}}
}

// EndVolume removes a volume claim that is being deleted, as Kubernetes does when
// no pod uses it any more.
func (s *Server) EndVolume(name string) {
	if v := s.volumes[name]; v != nil && v.DeletionTimestamp != nil {
		delete(s.volumes, name)
		s.loop.Log("volume", "%s is gone", name)
	}
}

// discard has a volume claim deleted once its pod is gone.
func (s *Server) discard(name string, options metav1.DeleteOptions) error {
	v := s.volumes[name]
	if v == nil {
		return apierrors.NewNotFound(volumeClaims, name)
	}
	if p := options.Preconditions; p != nil && p.UID != nil && *p.UID != v.UID {
		return apierrors.NewConflict(volumeClaims, name, errors.New("the UID in the precondition differs"))
	}
	if len(options.DryRun) > 0 || v.DeletionTimestamp != nil {
		return nil
	}
	if s.Discarding != nil {
		s.Discarding(v)
	}
	next, now := *v, metav1.Now()
	next.DeletionTimestamp = &now
	s.volumes[name] = &next
	return nil
}

func (k coreV1) PersistentVolumeClaims(string) typedcore.PersistentVolumeClaimInterface {
	return volumeClient{c: k.c}
}

type volumeClient struct {
	typedcore.PersistentVolumeClaimInterface
	c *Client
}

func (v volumeClient) Get(ctx context.Context, name string, _ metav1.GetOptions) (*corev1.PersistentVolumeClaim, error) {
	return call(ctx, v.c, "get", "volume", name, false, func() (*corev1.PersistentVolumeClaim, error) {
		if have := v.c.server.volumes[name]; have != nil {
			return have, nil
		}
		return nil, apierrors.NewNotFound(volumeClaims, name)
	})
}

func (v volumeClient) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	_, err := call(ctx, v.c, "delete", "volume", name, len(options.DryRun) == 0, func() (struct{}, error) {
		return struct{}{}, v.c.server.discard(name, options)
	})
	return err
}
