package oracle

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// departure is a pod that is unavailable by Rollcall's hand.
type departure struct {
	uid     types.UID
	outside bool // outside the budget: it was broken
	// successor is its successor, whole whether that was so when it was looked at last, and
	// served when it was so last.
	successor types.UID
	whole     bool
	served    time.Duration
}

// follow brings to date how far the successor of a pod is that went by Rollcall's hand.
// It is back when it is ready and whole. What becomes of it then is others' doing, which
// counts when it can be known, and so does what becomes of it between the two. While no
// pod has an agent, nobody can tell whether it is whole.
func (o *Oracle) follow(pod *corev1.Pod, ready, whole bool) {
	gone, away := o.ours[pod.Name]
	if !away || pod.UID == gone.uid {
		return
	}
	if pod.UID != gone.successor {
		gone.successor, gone.whole, gone.served = pod.UID, false, 0
	}
	if at := o.loop.Now(); whole || gone.whole {
		gone.served = at
	}
	gone.whole = whole
	o.ours[pod.Name] = gone
	served := gone.served > 0 && o.loop.Now()-gone.served <= told
	if ready && (whole || served || !o.asks(pod, members)) {
		delete(o.ours, pod.Name)
	}
}

// Away are the pods that are unavailable by Rollcall's hand, in order.
func (o *Oracle) Away() []string { return slices.Sorted(maps.Keys(o.ours)) }
