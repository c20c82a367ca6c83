package act

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// unwanted is a world in which the first pod that is to be replaced is written down as empty, and
// its leader has died with a deletion of its volume on the way. The pod goes by itself, and
// its pool is scaled in.
func unwanted(t *testing.T, w *world) (pod string, uid types.UID) {
	var first *process
	first = intercepted(w, func(c kubetest.Call) error {
		if c.Verb == "delete" && c.Resource == "persistentvolumeclaims" && w.writtenEmpty() > 0 {
			first.kill()
			return errCrashed
		}
		return nil
	})
	first.run(time.Minute)
	require.Equal(t, 1, w.writtenEmpty())
	claim := w.claims()[0]
	require.Equal(t, "s-2", claim.Pod)
	require.Len(t, claim.Volumes, 1)
	w.pods = w.pods[:2]
	object, _ := w.server.Pod(namespace, claim.Pod)
	w.live[object.UID] = false
	w.server.EndPod(namespace, claim.Pod, object.UID)
	w.disks.detach(object)
	return claim.Pod, types.UID(claim.Volumes[0].UID)
}

// kept reports whether the volume is there, and nobody has deleted it.
func (w *world) kept(pod string) bool {
	volume, ok := w.server.VolumeClaim(namespace, diskOf(pod))
	return ok && volume.DeletionTimestamp == nil
}

// A pod that is written down as empty goes before its volume, and is not wanted any more. Its
// name comes back when the pool is scaled out, and then the deletion of a former leader
// arrives: it takes no data, as nothing could come back to that volume.
func TestALateDeletionFindsNoDataAfterAScaleOut(t *testing.T) {
	inDiskWorld(t, func(t *testing.T, w *world) {
		pod, uid := unwanted(t, w)
		newProcess(w, 0, false).run(5 * time.Minute)
		w.requireClean()
		require.True(t, w.done(), w.describe())
		w.pods = append(w.pods, pod)
		w.start(pod, w.update)
		late := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
		_ = w.server.Client(nil).Kubernetes.CoreV1().PersistentVolumeClaims(namespace).Delete(context.Background(), diskOf(pod), late)
		w.requireClean()
		require.True(t, w.done(), w.describe())
	})
}

// A pod of that name is there again, though the cache does not show it: it may have the
// volumes that were deleted, and is followed once it is shown.
func TestVolumesOfARecreatedPodDoNotCountAsDeleted(t *testing.T) {
	for _, there := range []bool{false, true} {
		inDiskWorld(t, func(t *testing.T, w *world) {
			pod, _ := unwanted(t, w)
			p := newProcess(w, 0, false)
			require.NoError(t, p.start())
			cluster, _ := w.server.Cluster(namespace, name)
			facts, claim := w.facts(cluster, w.snapshot(cluster), nil), cluster.Status.Claims[0]
			if there {
				w.start(pod, w.update)
			}
			res := p.leader.deleteVolumes(p.ctx, effect.DeleteVolumes{Claim: claim, Own: []string{diskOf(pod)}, SetShown: true, PodGone: true,
				Expected: effect.Expected{Object: facts.Object, Claim: &claim}}).(effect.VolumesDeleted)
			require.Equal(t, !there, res.Err == nil, "%v", res.Err)
			require.False(t, res.Err != nil && !res.PodGone)
			require.False(t, w.kept(pod))
			if there {
				w.pods = append(w.pods, pod)
			}
			p.run(5 * time.Minute)
			w.requireClean()
			require.True(t, w.done(), w.describe())
		})
	}
}

// The volumes are not deleted while a person has forbidden that anything is done; and until
// they are, nothing is undone.
func TestScaledDownPodKeepsItsVolumesDuringAPause(t *testing.T) {
	for name, change := range map[string]func(on bool) func(c *v1alpha1.DatabaseCluster){
		"annotation": func(on bool) func(c *v1alpha1.DatabaseCluster) {
			return func(c *v1alpha1.DatabaseCluster) {
				if delete(c.Annotations, v1alpha1.AnnotationPaused); on {
					pause(c)
				}
			}
		},
		"paused": func(on bool) func(c *v1alpha1.DatabaseCluster) {
			return func(c *v1alpha1.DatabaseCluster) { c.Spec.Update.Paused = on }
		},
		"observe": func(on bool) func(c *v1alpha1.DatabaseCluster) {
			return func(c *v1alpha1.DatabaseCluster) {
				c.Spec.Update.Mode = map[bool]model.Mode{true: model.ModeObserve, false: model.ModeAuto}[on]
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inDiskWorld(t, func(t *testing.T, w *world) {
				pod, _ := unwanted(t, w)
				w.edit(change(true))
				newProcess(w, 0, false).run(time.Minute)
				require.True(t, w.kept(pod))
				require.True(t, w.disks.excluded[pod])
				require.Equal(t, 1, w.writtenEmpty())
				w.edit(change(false))
				newProcess(w, 0, false).run(5 * time.Minute)
				w.requireClean()
				require.True(t, w.done(), w.describe())
				require.False(t, w.kept(pod))
			})
		})
	}
}
