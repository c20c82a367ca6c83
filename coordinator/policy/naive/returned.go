package naive

import "github.com/rollcall-dev/rollcall/coordinator/model"

// Returned judges whether the pod of a claim is back: section "When a pod is back".
// It is asked with the pod's own claim left out.
func Returned(s model.Snapshot, claim model.Claim) (joined, done, failed bool) {
	w := newWorld(&s)
	w.barrier = claim.Pod
	p := w.podNamed(claim.Pod)
	switch {
	case p == nil:
		return true, true, false
	case p.Phase == model.PodPhaseMissing && (claim.Action == model.ActionRemove || !w.desired(p)):
		return true, true, false
	case p.Phase == model.PodPhaseMissing:
		return false, false, w.overdue(p)
	case p.UID == claim.UID || p.UID == "":
		return false, false, false
	case !w.live(p):
		return false, false, w.failedToJoin(p)
	}
	return true, w.backForGood(p, claim), false
}

// failedToJoin reports whether the pod is broken, or not live and overdue. A Ready pod that says
// NotLive fails only as evidence has it, and one without a report not at all.
func (w *world) failedToJoin(p *model.Pod) bool {
	r := report(p)
	if p.Phase == model.PodPhaseReady && (r == nil || r.Member == model.MembershipNotLive) {
		return w.evidence(p) != ""
	}
	return w.evidence(p) != "" || w.overdue(p)
}

// backForGood is asked about a pod that is live.
func (w *world) backForGood(p *model.Pod, claim model.Claim) bool {
	r := report(p)
	if p.Phase != model.PodPhaseReady || w.nodeGone(p) || r != nil && (p.Agent && !r.Fresh || !r.Settled) {
		return false
	}
	for _, g := range w.groups() {
		_, noted := claim.Groups[g.ID]
		onIt := count(g, func(m *model.Member) bool { return m.Pod == p.Name }) > 0
		if (onIt || noted) && !w.isFull(g, p, claim) {
			return false
		}
	}
	return !w.soaks(p)
}

// isFull reports whether the group is full enough: of the pod's own members as many as there are,
// less those that were broken when it was claimed, and without those that are down if that was not
// known; of the others as many as there are, and not more than was noted.
func (w *world) isFull(g *model.Group, p *model.Pod, claim model.Claim) bool {
	var own, ownServe, others, othersServe int
	for i := range g.Members {
		m := &g.Members[i]
		q := w.podNamed(m.Pod)
		serves := serving(m) && (m.Pod == "" || q != nil && w.live(q))
		switch {
		case m.Pod == p.Name && claim.Unseen && m.State == model.MemberDown:
		case m.Pod == p.Name:
			own++
			ownServe += lowerFirst(serves)
		case q != nil && (w.away(q) || m.State == model.MemberDown && w.live(q)):
		default:
			others++
			othersServe += lowerFirst(serves)
		}
	}
	own = max(own-max(int(claim.Broken[g.ID]), 0), 0)
	if n, noted := claim.Groups[g.ID]; noted {
		others = min(others, max(int(n)-own, 0))
	}
	return ownServe >= own && othersServe >= others
}
