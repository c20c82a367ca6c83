package cluster

import "github.com/rollcall-dev/rollcall/coordinator/model"

// A pod that is live and settled, and that Kubernetes does not have Ready in time, serves no client who goes
// by that, and the database has its copies all the same. Where no pod becomes Ready, as with a wrong readiness
// probe, none would be counted on, and a correction would wait for all for ever. So while nobody
// else can go, one of them is taken by what the database says of the others.

// StandsUnready reports whether it serves in the database, and to nobody who goes by readiness.
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

// UnreadyAdvice is what a person does about such a pod.
const UnreadyAdvice = "it is live, and not Ready in time: correct its readiness probe, or what keeps it from passing that; kubectl describe pod says what it answers"
