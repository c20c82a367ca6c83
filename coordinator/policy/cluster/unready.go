package cluster

import "github.com/rollcall-dev/rollcall/coordinator/model"

// A pod that is live and settled, but that Kubernetes does not find Ready in time, serves no client
// that relies on readiness, although the database has its copies. If no pod becomes Ready, as with
// a wrong readiness probe, none would be counted on, and a correction would wait for all of them
// for ever. So if no other pod can go, one of them goes, based on what the database says about the
// others.

// StandsUnready reports whether the pod serves in the database, but not to clients that rely on
// readiness.
func (x *Index) StandsUnready(p *Pod) bool {
	r := p.OwnReport
	return p.Phase == model.PodPhaseStarted && p.Live && r != nil && r.Fresh && r.Settled && p.Claim == nil &&
		!Loops(p.Problem) && !x.NodeGone(p) && x.Overdue(p)
}

// CountUnready counts on the copies of such pods, too.
func (x *Index) CountUnready() {
	for i := range x.Pods {
		if p := &x.Pods[i]; x.StandsUnready(p) {
			p.Counted, x.OnDuty[i] = true, true
		}
	}
	x.addGroups()
}

// UnreadyAdvice says what a person does about such a pod.
const UnreadyAdvice = "it is live, and not Ready in time: correct its readiness probe, or what keeps it from passing that; kubectl describe pod says what it answers"
