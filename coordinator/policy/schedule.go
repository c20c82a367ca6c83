package policy

import "github.com/rollcall-dev/rollcall/coordinator/model"

// schedule returns the sequence in which the pass asks about the candidates. With Ordered it is
// their order. With Fast several sequences are simulated, and the one that is expected to end first
// is taken, or the order if nothing is better.
//
// A sequence says which pod is asked about first, and never what is allowed: the pass asks every
// rule about every pod. Broken pods, ranks, last pods and pods that are not live keep their places.
func (d *decision) schedule() []int32 {
	order := make([]int32, len(d.order))
	for i := range order {
		order[i] = int32(i)
	}
	if d.keepsOrder() {
		return order
	}
	order, d.simulatedSeconds = d.rollout().Fastest(order)
	return order
}

// keepsOrder reports whether nobody asked for speed, or the order is about more than speed. Units
// go together, canaries are the pods whose loss matters least, and a partition moves down the
// ordinals.
func (d *decision) keepsOrder() bool {
	u := &d.x.Spec.Update
	if u.Schedule != model.Fast || u.RollingUpdate == model.RollingUpdateByPartition || d.x.ByUnit() || d.x.OneByOne || len(d.order) < 2 {
		return true
	}
	for i := range d.canary {
		if d.outdated[i] && d.canary[i].gone < int(u.Canary.Pods) {
			return true
		}
	}
	return false
}
