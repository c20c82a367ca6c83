package act

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

func seenSetOf(set *appsv1.StatefulSet) effect.SetSeen {
	s := effect.SetSeen{
		Name: set.Name, UID: string(set.UID), ResourceVersion: set.ResourceVersion,
		Generation: set.Generation, ObservedGeneration: set.Status.ObservedGeneration,
		CurrentRevision: set.Status.CurrentRevision, UpdateRevision: set.Status.UpdateRevision,
		Force:  set.Annotations[v1alpha1.AnnotationForce] == "true",
		Paused: set.Annotations[v1alpha1.AnnotationPaused] == "true",
	}
	if r := set.Spec.UpdateStrategy.RollingUpdate; r != nil && r.Partition != nil {
		s.Partition = *r.Partition
	}
	if o := set.Spec.Ordinals; o != nil {
		s.Start = o.Start
	}
	return s
}

// Sets reads the StatefulSets of one namespace, and writes one field of them.
type Sets struct {
	client    kubernetes.Interface
	namespace string
}

// NewSets returns the StatefulSets of a namespace.
func NewSets(client kubernetes.Interface, namespace string) *Sets {
	return &Sets{client: client, namespace: namespace}
}

// read asks the API server itself for the StatefulSet.
func (s *Sets) read(ctx context.Context, name string) (effect.SetSeen, error) {
	set, err := s.client.AppsV1().StatefulSets(s.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return effect.SetSeen{}, fmt.Errorf("read StatefulSet %s: %w", name, err)
	}
	return seenSetOf(set), nil
}

// move moves the partition and notes that this was us, provided that the StatefulSet has not
// changed since it was seen. It is the only write to a StatefulSet's spec.
func (s *Sets) move(ctx context.Context, seen effect.SetSeen, line int32) (effect.SetSeen, error) {
	partition := model.PartitionOf(line, seen.Start)
	body := map[string]any{
		"metadata": change{UID: seen.UID, ResourceVersion: seen.ResourceVersion,
			Annotations: map[string]*string{v1alpha1.AnnotationPartition: ptr(strconv.Itoa(int(partition)))}},
		"spec": map[string]any{"updateStrategy": map[string]any{"rollingUpdate": map[string]any{"partition": partition}}},
	}
	return s.patch(ctx, seen.Name, body)
}

// touch changes the resourceVersion and nothing else that matters.
func (s *Sets) touch(ctx context.Context, name string, epoch int64) (effect.SetSeen, error) {
	return s.patch(ctx, name, map[string]any{"metadata": map[string]any{"annotations": map[string]string{AnnotationEpoch: stamp(epoch)}}})
}

func (s *Sets) patch(ctx context.Context, name string, patch map[string]any) (effect.SetSeen, error) {
	body, err := json.Marshal(patch)
	if err != nil {
		return effect.SetSeen{}, fmt.Errorf("patch StatefulSet %s: %w", name, err)
	}
	set, err := s.client.AppsV1().StatefulSets(s.namespace).Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return effect.SetSeen{}, fmt.Errorf("patch StatefulSet %s: %w (%s)", name, effect.ErrSetChanged, apierrors.ReasonForError(err))
	case err != nil:
		return effect.SetSeen{}, fmt.Errorf("patch StatefulSet %s: %w", name, err)
	}
	return seenSetOf(set), nil
}
