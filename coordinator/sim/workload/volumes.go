package workload

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
)

// provide makes the volume claims of a pod that is to be created, and tells whether
// it can be: not while one of them is being deleted.
func provide(server *api.Server, pod *corev1.Pod) bool {
	for _, v := range pod.Spec.Volumes {
		name := v.PersistentVolumeClaim.ClaimName
		switch have := server.Volume(name); {
		case have == nil:
			server.MakeVolume(name)
		case have.DeletionTimestamp != nil:
			return false
		}
	}
	return true
}

// released is how long it takes at most until a volume claim that is being deleted, and that no
// pod uses any more, is gone.
func (c *Controller) released() time.Duration { return 8 * c.Slow }

// outlived: a volume claim was deleted when its pod had long gone. It goes, too.
func (c *Controller) outlived(pod *corev1.Pod) {
	for _, v := range pod.Spec.Volumes {
		name := v.PersistentVolumeClaim.ClaimName
		if have := c.server.Volume(name); have != nil && have.DeletionTimestamp != nil && time.Since(have.DeletionTimestamp.Time) > c.released() {
			c.server.EndVolume(name)
		}
	}
}

// release lets the volume claims of a pod go that are to be deleted, a while after
// it has gone, if none of its name is there by then.
func (c *Controller) release(pod *corev1.Pod) {
	c.loop.In(c.loop.Between(c.Slow/4, c.released()), func() {
		if c.server.Pod(pod.Name) != nil {
			return
		}
		for _, v := range pod.Spec.Volumes {
			c.server.EndVolume(v.PersistentVolumeClaim.ClaimName)
		}
		c.later(pod.Labels["app"], c.Slow)
	})
}
