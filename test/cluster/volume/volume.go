// Package volume gives a cluster volumes that outlive pods: a storage class without a provisioner, and per node a few
// local volumes, each a folder of that node. A released volume is wiped and offered again.
package volume

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rollcall-dev/rollcall/test/cluster/plan"
)

const (
	// Class is the name of the storage class; it is the default one.
	Class = "local"
	// Size is the size of each volume. It is a promise to the scheduler only: nothing enforces it.
	Size = "2Gi"
)

// Ensure makes the storage class and the volumes that are missing, and recycles the released ones.
func Ensure(ctx context.Context, c kubernetes.Interface, p plan.Plan) (recycled int, err error) {
	_, err = c.StorageV1().StorageClasses().Create(ctx, storageClass(), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return 0, fmt.Errorf("storage class %s: %w", Class, err)
	}
	list, err := c.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, fmt.Errorf("list volumes: %w", err)
	}
	have := map[string]corev1.PersistentVolume{}
	for _, v := range list.Items {
		have[v.Name] = v
	}
	for _, n := range p.Nodes {
		for i := range plan.VolumesPerNode {
			v := persistentVolume(n, i)
			if old, ok := have[v.Name]; ok {
				done, err := recycle(ctx, c, old)
				if err != nil {
					return recycled, fmt.Errorf("volume %s: %w", v.Name, err)
				}
				if done {
					recycled++
				}
				continue
			}
			if err := os.MkdirAll(v.Spec.Local.Path, 0o777); err != nil {
				return recycled, err
			}
			if err := wipe(v.Spec.Local.Path); err != nil { // of a volume that a test has lost
				return recycled, err
			}
			if err := os.Chmod(v.Spec.Local.Path, 0o777); err != nil { // whatever the umask, for non-root containers
				return recycled, err
			}
			if _, err := c.CoreV1().PersistentVolumes().Create(ctx, v, metav1.CreateOptions{}); err != nil {
				return recycled, fmt.Errorf("volume %s: %w", v.Name, err)
			}
		}
	}
	return recycled, nil
}

// recycle wipes a volume whose claim is gone and takes the claim off it. A claim that somebody made again under the same
// name has another UID, and so gets no old data either.
func recycle(ctx context.Context, c kubernetes.Interface, v corev1.PersistentVolume) (bool, error) {
	ref := v.Spec.ClaimRef
	if v.Status.Phase != corev1.VolumeReleased || ref == nil || v.Spec.Local == nil {
		return false, nil
	}
	pvc, err := c.CoreV1().PersistentVolumeClaims(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return false, err
	}
	if err == nil && pvc.UID == ref.UID {
		return false, nil // still there: the phase is about to change
	}
	if err := wipe(v.Spec.Local.Path); err != nil {
		return false, err
	}
	v.Spec.ClaimRef = nil
	_, err = c.CoreV1().PersistentVolumes().Update(ctx, &v, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) {
		return false, nil // somebody else was faster; the next run looks again
	}
	return err == nil, err
}

// wipe removes what is in a folder.
func wipe(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(path, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func storageClass() *storagev1.StorageClass {
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	return &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{
			Name:        Class,
			Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"},
		},
		Provisioner:       "kubernetes.io/no-provisioner",
		VolumeBindingMode: &wait,
	}
}

func persistentVolume(n plan.Node, i int) *corev1.PersistentVolume {
	name := fmt.Sprintf("%s-v%d", n.Name, i)
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(Size)},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			StorageClassName:              Class,
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				Local: &corev1.LocalVolumeSource{Path: n.Path("volumes", name)},
			},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{{
						Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{n.Name},
					}},
				}},
			}},
		},
	}
}
