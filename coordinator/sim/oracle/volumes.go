package oracle

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// discarding is V1: no volume is deleted that has data, or that no claim calls empty.
func (o *Oracle) discarding(volume *corev1.PersistentVolumeClaim) {
	pod := strings.TrimPrefix(volume.Name, "data-")
	o.loop.Log("ORACLE", "%s is deleted", volume.Name)
	o.Discards++
	for _, shard := range o.db.Truth() {
		for _, c := range shard.Copies {
			if c.Pod == pod {
				o.Accuse("V1", "%s is deleted and has a copy of %s", volume.Name, shard.ID)
			}
		}
	}
	cluster := o.server.Cluster(o.limits.Cluster)
	this := model.VolumeClaim{Name: volume.Name, UID: string(volume.UID)}
	if cluster == nil || !slices.ContainsFunc(cluster.Status.Claims, func(c model.Claim) bool {
		return c.EmptiedAt != nil && slices.Contains(c.Volumes, this)
	}) {
		o.Accuse("V1", "%s is deleted, and no claim says that it is empty", volume.Name)
	}
}

// included is V2: data comes back to a pod that stays or that nobody wants any more,
// having not been called empty, or to one with volumes of its own. No volume is deleted
// before that. One that was called empty and that nobody wants any more gets no volumes:
// it is enough that those it had are gone, or are being deleted, as no pod starts on such.
func (o *Oracle) included(pod, id string) {
	cluster := o.server.Cluster(o.limits.Cluster)
	if cluster == nil {
		return
	}
	claim, known := o.written[id]
	open := slices.ContainsFunc(cluster.Status.Claims, func(c model.Claim) bool { return c.ID == id })
	left := slices.ContainsFunc(cluster.Status.PendingRestores, func(l model.PendingRestore) bool { return l.Claim == id })
	if !known || !open && !left {
		o.Accuse("V2", "%s gets data again under claim %s, which is not open and has left nothing", pod, id)
		return
	}
	p := o.server.Pod(pod)
	stays, removed := p != nil && string(p.UID) == claim.UID, p == nil && !o.wanted(pod)
	if claim.EmptiedAt == nil && (left || stays || removed) {
		return
	}
	for _, v := range claim.Volumes {
		now := o.server.Volume(v.Name)
		there := now != nil && now.DeletionTimestamp == nil
		ended := left && p == nil // nobody wanted the pod when the claim ended, and none can start on that volume
		if old := there && string(now.UID) == v.UID; old || !there && !removed && !ended {
			o.Accuse("V2", "%s gets data again before %s is a new one", pod, v.Name)
		}
	}
}
