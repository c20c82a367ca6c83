package rollout

import (
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// start has a move carried out: it becomes an effect, and what comes of it is learned by a
// later step.
func (a *step) start(claim model.Claim, r *attempt, move Move) {
	r.busy = true
	pod := Target{Pod: claim.Pod, UID: claim.UID}
	switch move {
	case AskPlan:
		r.askedIn = a.s.restored
		a.planDrain(claim)
	case ApplyDrain:
		a.drain(claim)
	case HandOff:
		a.handOffOnBehalf(claim, r)
	case LookForVolumes:
		a.effect(FindVolumes{Claim: claim.ID, Pod: pod})
	case RemoveVolumes:
		a.deleteVolumes(claim)
	case LookForNewVolumes:
		a.effect(AwaitVolumes{Claim: claim.ID, Pod: claim.Pod, Volumes: claim.Volumes})
	case LookAnew:
		a.observe(claim, r)
	case Open:
		a.openGuard(claim)
	case Evict:
		a.remove(claim, r)
	case Close:
		a.closeGuard(claim, r)
	case Undo:
		a.restore(claim, r)
	case Confirm:
		a.effect(ConfirmGone{Claim: claim.ID, Pod: pod, SetHidden: vanished(a.Snapshot, claim)})
	case LookForSet:
		a.effect(FindSet{Claim: claim.ID, Set: model.SetOf(claim.Pod)})
	}
}

func (a *step) effect(e Effect) { a.out.Effects = append(a.out.Effects, e) }

// failAtOnce is for an effect that cannot even be begun: its result is there at once.
func (a *step) failAtOnce(res Result) {
	res.learn(a)
	a.out.wake(a.now)
}

// done is the attempt of which an effect has ended; nil: nobody knows it any more.
func (a *step) done(claim string) *attempt {
	r := a.s.attempts[claim]
	if r != nil {
		r.busy = false
	}
	return r
}

// open is an open claim, nil when there is none of that id.
func (a *step) open(id string) *model.Claim { return claimByID(a.Record.Claims, id) }

// podOfClaim is for logs.
func (a *step) podOfClaim(id string) string {
	if claim := a.open(id); claim != nil {
		return claim.Pod
	}
	return ""
}

// expected is the DatabaseCluster that was decided on, led in this epoch.
func (a *step) expected() Expected {
	return Expected{Object: a.Object, Epoch: a.s.epoch, Paused: a.Snapshot.Cluster.Paused}
}

// expectedWith is the DatabaseCluster with a claim.
func (a *step) expectedWith(claim model.Claim) Expected {
	e := a.expected()
	e.Claim = &claim
	return e
}

// expectedOfAll is all that could have changed since the snapshot: the StatefulSets, and
// who must be there. going is the pod that is to be freed or removed, if it is one.
func (a *step) expectedOfAll(going string) Expected {
	e := a.expected()
	e.Pools = a.Pools
	for i := range a.Snapshot.Pods {
		p := &a.Snapshot.Pods[i]
		if p.Phase == model.Missing || p.Phase == model.Terminating || charged(a.Snapshot, p.UID, going) || a.pool(p.Pool) == nil {
			continue
		}
		e.Pods = append(e.Pods, Target{Pod: p.Name, UID: p.UID})
	}
	return e
}

// charged: the pod has a claim, and so counts as away anyhow. One that the partition frees only after
// the pod that goes does not.
func charged(s model.Snapshot, uid, going string) bool {
	claims := s.Cluster.Status.Claims
	its := slices.IndexFunc(claims, func(c model.Claim) bool { return c.UID == uid })
	return its >= 0 && !slices.ContainsFunc(ahead(s, claims[its]), func(p model.Pod) bool { return p.Name == going })
}
