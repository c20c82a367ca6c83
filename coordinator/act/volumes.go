package act

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// Volumes reads the volume claims of one namespace, and deletes those that were seen empty.
type Volumes struct {
	client    kubernetes.Interface
	namespace string
}

// NewVolumes returns the volume claims of a namespace.
func NewVolumes(client kubernetes.Interface, namespace string) *Volumes {
	return &Volumes{client: client, namespace: namespace}
}

// judge distinguishes a missing permission from other failures.
func (v *Volumes) judge(verb, name string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w %s volume claim %s: its account needs get and delete of persistentvolumeclaims in namespace %s",
			effect.ErrForbidden, verb, name, v.namespace)
	}
	return fmt.Errorf("%s volume claim %s: %w", verb, name, err)
}

// seenVolume is a volume claim as the API server returned it, not a cache.
type seenVolume struct {
	UID     string // empty if there is none
	Leaving bool
}

func (v *Volumes) read(ctx context.Context, name string) (seenVolume, error) {
	claim, err := v.client.CoreV1().PersistentVolumeClaims(v.namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return seenVolume{}, nil
	}
	if err != nil {
		return seenVolume{}, v.judge("read", name, err)
	}
	return seenVolume{UID: string(claim.UID), Leaving: claim.DeletionTimestamp != nil}, nil
}

// find reads the volume claims of a pod, and finds out whether they may be deleted.
func (v *Volumes) find(ctx context.Context, pod effect.PodSeen) ([]model.VolumeClaim, error) {
	var claims []model.VolumeClaim
	for _, name := range pod.Volumes {
		seen, err := v.read(ctx, name)
		if err != nil {
			return nil, err
		}
		if seen.UID == "" {
			continue // the pod cannot be running on it
		}
		claim := model.VolumeClaim{Name: name, UID: seen.UID}
		if err := v.mayDiscard(ctx, claim); err != nil {
			return nil, err
		}
		claims = append(claims, claim)
	}
	return claims, nil
}

// heritage says which volumes the recreated pod uses.
type heritage struct {
	// successor is true if the recreated pod keeps a claimed volume from being deleted.
	successor bool
	// missing is what is still awaited, in words. It is empty if all volumes are new.
	missing string
}

// inherits compares a recreated pod's volumes with the claimed ones. A volume that is being deleted
// goes unless a pod on a node uses it.
func (v *Volumes) inherits(ctx context.Context, claimed []model.VolumeClaim, successor effect.PodSeen) (heritage, error) {
	var h heritage
	for _, old := range claimed {
		seen, err := v.read(ctx, old.Name)
		switch {
		case err != nil:
			return heritage{}, err
		case seen.UID != old.UID:
			continue
		case seen.Leaving && !successor.Scheduled:
			h.missing = "volume claim " + old.Name + " is being deleted"
		default:
			return heritage{successor: true}, nil
		}
	}
	if h.missing != "" {
		return h, nil
	}
	for _, name := range successor.Volumes {
		seen, err := v.read(ctx, name)
		if err != nil {
			return heritage{}, err
		}
		if seen.UID == "" || seen.Leaving {
			return heritage{missing: "volume claim " + name + " is not there yet"}, nil
		}
	}
	return h, nil
}
