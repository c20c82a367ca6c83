package rollout

import (
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// start turns a move into an effect. A later step learns its result.
func (a *step) start(claim model.Claim, r *attempt, move Move) {
	r.busy = true
	pod := effect.Target{Pod: claim.Pod, UID: claim.UID}
	switch move {
	case MovePlanDrain:
		r.askedIn = a.s.restored
		a.planDrain(claim)
	case MoveDrain:
		a.drain(claim)
	case MoveHandoffOnBehalf:
		a.handOffOnBehalf(claim, r)
	case MoveFindVolumes:
		a.effect(effect.FindVolumes{Claim: claim.ID, Pod: pod})
	case MoveDeleteVolumes:
		a.deleteVolumes(claim)
	case MoveAwaitVolumes:
		a.effect(effect.AwaitVolumes{Claim: claim.ID, Pod: claim.Pod, Volumes: claim.Volumes})
	case MoveObserve:
		a.observe(claim, r)
	case MoveOpenGuard:
		a.openGuard(claim)
	case MoveEvict:
		a.evict(claim, r)
	case MoveCloseGuard:
		a.closeGuard(claim, r)
	case MoveRestore:
		a.restore(claim, r)
	case MoveConfirmGone:
		a.effect(effect.ConfirmGone{Claim: claim.ID, Pod: pod, SetHidden: poolHidden(a.Snapshot, claim)})
	case MoveFindSet:
		a.effect(effect.FindSet{Claim: claim.ID, Set: model.SetOf(claim.Pod)})
	case MoveWait, MoveRecordDrain, MoveRecordEmpty, MoveFollowSuccessor, MoveRelease:
		panic("rollout: " + move.String() + " only changes the status, and has no effect")
	default:
		panic("rollout: a move without an effect: " + move.String())
	}
}

func (a *step) effect(e effect.Effect) { a.out.Effects = append(a.out.Effects, e) }

// failAtOnce is for an effect that cannot even be started: its result is available at once.
func (a *step) failAtOnce(res effect.Result) {
	a.learn(res)
	a.out.wake(a.now)
}

// done returns the attempt whose effect has ended. It returns nil if the attempt is not known any
// more.
func (a *step) done(claim string) *attempt {
	r := a.s.attempts[claim]
	if r != nil {
		r.busy = false
	}
	return r
}

// open returns an open claim. It returns nil if there is none with that id.
func (a *step) open(id string) *model.Claim { return claimByID(a.Record.Claims, id) }

// podOfClaim returns the pod's name for logs.
func (a *step) podOfClaim(id string) string {
	if claim := a.open(id); claim != nil {
		return claim.Pod
	}
	return ""
}

// expected is the DatabaseCluster that was decided on, led in this epoch.
func (a *step) expected() effect.Expected {
	return effect.Expected{Object: a.Object, Paused: a.Snapshot.Cluster.Paused}
}

// expectedWith is the DatabaseCluster together with a claim.
func (a *step) expectedWith(claim model.Claim) effect.Expected {
	e := a.expected()
	e.Claim = &claim
	return e
}

// expectedOfAll is everything that could have changed since the snapshot: the StatefulSets, and the
// pods that must exist. going is the pod that is to be freed or removed, if there is one.
func (a *step) expectedOfAll(going string) effect.Expected {
	e := a.expected()
	e.Pools = a.Pools
	for i := range a.Snapshot.Pods {
		p := &a.Snapshot.Pods[i]
		if p.Phase == model.PodPhaseMissing || p.Phase == model.PodPhaseTerminating || charged(a.Snapshot, p.UID, going) || a.pool(p.Pool) == nil {
			continue
		}
		e.Pods = append(e.Pods, effect.Target{Pod: p.Name, UID: p.UID})
	}
	return e
}

// charged reports whether the pod has a claim, and so counts as unavailable anyway. A pod that the
// partition frees only after the pod that goes is not charged.
func charged(s model.Snapshot, uid, going string) bool {
	claims := s.Cluster.Status.Claims
	its := slices.IndexFunc(claims, func(c model.Claim) bool { return c.UID == uid })
	return its >= 0 && !slices.ContainsFunc(goFirst(s, claims[its]), func(p model.Pod) bool { return p.Name == going })
}
