package oracle

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// departure is a pod that Rollcall has made unavailable.
type departure struct {
	uid     types.UID
	outside bool // outside the budget: it was broken
	untold  bool // it had no agent
	// successor is the recreated pod. whole and served say whether it was whole and served at the
	// last look.
	successor types.UID
	whole     bool
	served    time.Duration
}

// follow updates the state of the recreated pod of one that Rollcall removed. It is back when it is
// ready and whole. What happens to it after that, or between the two, is not Rollcall's doing, and
// counts when it can be known. While no pod has an agent, nobody can know whether it is whole.
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

// Away returns the pods that Rollcall has made unavailable, in order.
func (o *Oracle) Away() []string { return slices.Sorted(maps.Keys(o.ours)) }
