package act

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// disks are the volumes of a world's pods, with an oracle of their own: no volume
// is deleted that has data, and no data comes back to a volume that was, or to a
// pod that has not got a new one.
type disks struct {
	w *world
	// first are the volume claims that every pod is to leave.
	first map[types.UID]bool
	// data are the volume claims, by UID, that hold data.
	data map[types.UID]bool
	// of is the volume claim of each pod that ever was, by UID of the pod.
	of map[types.UID]types.UID
	// names are the pods' names, by UID.
	names map[types.UID]string
	// excluded are the pods, by name, that get no data.
	excluded map[string]bool
	// began is when an evacuation began, by claim.
	began map[string]time.Time
	// lost are the volume claims that were deleted.
	lost map[types.UID]bool
}

func diskOf(pod string) string { return "data-" + pod }

// templates are those of the volume claims, by StatefulSet.
func (w *world) templates() map[string][]string {
	if w.disks == nil || w.hidden {
		return nil
	}
	return map[string][]string{"s": {"data"}}
}

// newDiskWorld is a world whose pods must all be replaced, on their own volumes.
func newDiskWorld(t *testing.T) *world {
	w := bareWorld(t)
	w.update = "v1"
	d := &disks{w: w, first: map[types.UID]bool{}, data: map[types.UID]bool{}, of: map[types.UID]types.UID{}, began: map[string]time.Time{},
		lost: map[types.UID]bool{}, names: map[types.UID]string{}, excluded: map[string]bool{}}
	w.disks, w.server.Discarded = d, d.discarded
	for _, pod := range w.pods {
		w.create(pod, "v1", true)
		claim, _ := w.server.VolumeClaim(namespace, diskOf(pod))
		d.first[claim.UID], d.data[claim.UID] = true, true
	}
	return w
}

func inDiskWorld(t *testing.T, f func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(10 * time.Second) // kubelets finish
		f(t, newDiskWorld(t))
	})
}

// attach is the StatefulSet controller: a pod is made when its volume claim is
// there and stays.
func (d *disks) attach(pod *corev1.Pod) {
	pod.Spec.NodeName = "n"
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: diskOf(pod.Name)}}}}
	claims := d.w.server.Client(nil).Kubernetes.CoreV1().PersistentVolumeClaims(namespace)
	for {
		have, ok := d.w.server.VolumeClaim(namespace, diskOf(pod.Name))
		if ok && have.DeletionTimestamp == nil {
			return
		}
		if !ok {
			_, err := claims.Create(context.Background(), &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace,
				Name: diskOf(pod.Name), Finalizers: []string{"kubernetes.io/pvc-protection"}}}, metav1.CreateOptions{})
			if err != nil && !apierrors.IsAlreadyExists(err) {
				d.w.t.Error(err)
				return
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (d *disks) use(pod *corev1.Pod) {
	if claim, ok := d.w.server.VolumeClaim(namespace, diskOf(pod.Name)); ok {
		d.of[pod.UID], d.names[pod.UID] = claim.UID, pod.Name
		d.data[claim.UID] = d.data[claim.UID] || !d.excluded[pod.Name]
	}
}

// detach lets a volume claim go whose pod has gone.
func (d *disks) detach(pod *corev1.Pod) {
	time.Sleep(500 * time.Millisecond)
	d.w.server.EndVolumeClaim(namespace, diskOf(pod.Name))
}

// discarded judges the deletion of a volume.
func (d *disks) discarded(claim *corev1.PersistentVolumeClaim) {
	d.w.mu.Lock()
	defer d.w.mu.Unlock()
	d.lost[claim.UID] = true
	for uid, is := range d.of {
		_, there := d.w.server.Pod(namespace, d.names[uid])
		if is == claim.UID && (d.w.stranded[uid] || !there) { // no kubelet uses it
			go func() {
				time.Sleep(100 * time.Millisecond)
				d.w.server.EndVolumeClaim(namespace, claim.Name)
			}()
		}
	}
	if d.data[claim.UID] {
		d.w.accuse("%s was deleted with data on it", claim.Name)
	}
	cluster, _ := d.w.server.Cluster(namespace, name)
	if !slices.ContainsFunc(cluster.Status.Claims, func(c model.Claim) bool {
		return c.EmptiedAt != nil && slices.Contains(c.Volumes, model.VolumeClaim{Name: claim.Name, UID: string(claim.UID)})
	}) {
		d.w.accuse("%s was deleted, and no claim says that it is empty", claim.Name)
	}
}

// judge looks at the removal of a pod.
func (d *disks) judge(pod *corev1.Pod) {
	if pod.Annotations[v1alpha1.AnnotationClaim] != "" && !d.lost[d.of[pod.UID]] {
		d.w.accuse("%s was removed before its volume was given up", pod.Name)
	}
}

// empty is the database moving data off a pod; it takes two seconds.
func (d *disks) empty(claim string, to effect.Target) effect.Progress {
	began, known := d.began[claim]
	if !known {
		began = time.Now()
		d.began[claim] = began
	}
	if time.Since(began) < 2*time.Second {
		return effect.Progress{State: model.DrainRunning, Detail: "1 copy left"}
	}
	d.data[d.of[types.UID(to.UID)]], d.excluded[to.Pod] = false, true
	return effect.Progress{State: model.DrainDone}
}

// include lets data come back, to a pod that stays or to the successor of one that
// went, whoever's agent does it.
func (d *disks) include(uid string) {
	was := d.of[types.UID(uid)]
	pod, ok := d.w.server.Pod(namespace, d.names[types.UID(uid)])
	if uid == "" {
		return
	}
	delete(d.excluded, d.names[types.UID(uid)])
	if !ok {
		return // data comes to the next one of that name
	}
	is := d.of[pod.UID]
	if string(pod.UID) != uid && was == is {
		d.w.accuse("data comes back to the volume that %s had", pod.Name)
	}
	if d.lost[is] {
		d.w.accuse("data comes back to a volume of %s that was deleted", pod.Name)
	}
	d.data[is] = true
}

// tell is what a coordinator knows of a pod: that only a replacement brings what
// was changed.
func (d *disks) tell(p *model.Pod) {
	if d.first[d.of[types.UID(p.UID)]] {
		p.MustReplace = []string{"volume"}
	}
}

// holds reports whether the database has a copy on the pod.
func (d *disks) holds(pod *corev1.Pod) bool { return pod != nil && d.data[d.of[pod.UID]] }

// done reports whether all volumes are new, and have data.
func (d *disks) done() bool {
	for _, pod := range d.w.pods {
		claim, ok := d.w.server.VolumeClaim(namespace, diskOf(pod))
		if !ok || claim.DeletionTimestamp != nil || d.first[claim.UID] || !d.data[claim.UID] {
			return false
		}
	}
	return true
}
