package policy

import "github.com/rollcall-dev/rollcall/coordinator/model"

// A pod that is live and settled, and that Kubernetes does not have Ready in time, serves no client who goes
// by that, and the database has its copies all the same. Where no pod becomes Ready, as with a wrong readiness
// probe, none would be counted on, and a correction would wait for all for ever. So while nobody
// else can go, one of them is taken by what the database says of the others.

// standsUnready: it serves in the database, and to nobody who goes by readiness.
func (x *index) standsUnready(p *pod) bool {
	r := p.report
	return p.Phase == model.Started && p.live && r != nil && r.Fresh && r.Settled && p.claim == nil &&
		!loops(p.Problem) && !x.nodeGone(p) && x.overdue(p)
}

// countUnready counts on the copies of such pods, too.
func (x *index) countUnready() {
	for i := range x.pods {
		if p := &x.pods[i]; x.standsUnready(p) {
			p.counted, x.onDuty[i] = true, true
		}
	}
	x.addGroups()
}

// countingUnready is a decision of its own that does so, in which nobody has been chosen.
func (d *decision) countingUnready() *decision {
	trial := d.trial()
	trial.x.countUnready()
	trial.curing = true
	return trial
}

// unreadyAdvice is what a person does about such a pod.
const unreadyAdvice = "it is live, and not Ready in time: correct its readiness probe, or what keeps it from passing that; kubectl describe pod says what it answers"
