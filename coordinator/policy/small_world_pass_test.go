package policy

import (
	"fmt"
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// pursue does the next thing about a claim, like act.
func (w *smallWorld) pursue(claim model.Claim) (acted, over bool) {
	at := slices.IndexFunc(w.s.Pods, func(p model.Pod) bool { return p.Name == claim.Pod })
	if at < 0 || w.s.Pods[at].UID != claim.UID {
		r := Returned(w.s, claim)
		over = r.Done || r.Failed && w.s.Pods[at].Phase != model.PodPhaseMissing && slices.Contains(Decide(w.s).Order, claim.Pod)
		return over, over
	}
	p := &w.s.Pods[at]
	if p.Phase == model.PodPhaseTerminating {
		return false, false
	}
	step, hold := Recheck(w.s, p.Name)
	switch {
	case hold != nil:
		w.say("%s is held by %s: %s", p.Name, hold.Rule, hold.Reason)
		return false, false
	case step == nil, step.Prepare == model.PrepareHandoff && claim.Prepare != model.PrepareHandoff, step.Prepare == model.PrepareEvacuate && claim.Prepare != model.PrepareEvacuate:
		w.say("the claim on %s is given up", p.Name)
		return true, true
	}
	w.mustBeSafe(p, step)
	p.Phase, p.Since, w.s.Cluster.Status.LastProgress = model.PodPhaseTerminating, w.s.Now, &model.Time{Time: w.s.Now.Time}
	w.s.Cluster.Status.Claims[w.claimOf(p.Name)].Phase = model.PhaseGone
	w.say("%s goes: %s %s", p.Name, step.Action, step.Reason)
	w.elect()
	return true, false
}

// pass is one pass of the coordinator: its claims, then new ones.
func (w *smallWorld) pass() (acted bool) {
	claims := &w.s.Cluster.Status.Claims
	acted = w.pursueAll(w.pursue, func(did bool) {
		w.elect()
		for did && w.pace == 0 && w.turn() {
		}
	})
	for _, step := range Decide(w.s).Steps {
		if step.Action == model.ActionRestore || w.claimOf(step.Pod) >= 0 {
			continue
		}
		acted = true
		w.made++
		p := w.s.Pods[slices.IndexFunc(w.s.Pods, func(p model.Pod) bool { return p.Name == step.Pod })]
		claim := model.Claim{ID: fmt.Sprint(w.made), Pod: step.Pod, UID: step.UID, Action: step.Action, Reason: step.Reason, Prepare: step.Prepare,
			From: p.Revision, To: "v2", Phase: model.PhaseDrained, Zone: p.Zone, BeforeTurn: step.BeforeTurn,
			Groups: map[string]int32{}, Broken: map[string]int32{}, Unseen: p.Report == nil || p.Report.Member != model.MembershipLive}
		for _, g := range w.s.Groups {
			n := 0
			for _, m := range g.Members {
				n += cluster.Count(m.State == model.MemberActive)
				claim.Broken[g.ID] += int32(cluster.Count(m.State != model.MemberActive && m.Pod == p.Name))
			}
			if n < len(g.Members) {
				claim.Groups[g.ID] = int32(n)
			}
		}
		*claims = append(*claims, claim)
		w.s.Cluster.Status.LastProgress = &model.Time{Time: w.s.Now.Time}
		w.say("%s is claimed, before its turn %v", p.Name, step.BeforeTurn)
	}
	w.elect()
	return acted
}

// serves reports whether nothing is wrong with the pod.
func (w *smallWorld) serves(p *model.Pod) bool {
	return p.Phase == model.PodPhaseReady && (p.Report == nil || p.Report.Member == model.MembershipLive && p.Report.Settled)
}

// mustBeSafe requires that Rollcall removes no more of what serves than may be unavailable,
// whatever else is.
func (w *smallWorld) mustBeSafe(p *model.Pod, step *model.Step) {
	away, gone, unit, others := 0, 0, 0, false
	for i := range w.s.Pods {
		o := &w.s.Pods[i]
		unit += cluster.Count(o.Zone == p.Zone)
		if o.Name == p.Name {
			continue
		}
		desired := o.Ordinal < w.s.Pools[int(o.Pool[0]-'a')].Replicas
		if at := w.claimOf(o.Name); at >= 0 && w.s.Cluster.Status.Claims[at].Phase == model.PhaseGone {
			gone++
			others = others || o.Zone != p.Zone
			away += cluster.Count(!desired)
		}
		if desired && !w.serves(o) {
			away++
			others = others || o.Zone != p.Zone
		}
	}
	limit := w.limit
	if w.zones && !others {
		limit = max(limit, unit)
	}
	switch {
	case w.serves(p) && away+1 > limit:
		w.wrong("%s goes, and %d others are unavailable", p.Name, away)
	case !step.OutsideBudget && !w.serves(p) && gone+1 > limit && len(w.s.Groups) > 0:
		w.wrong("%s goes, and %d others have gone", p.Name, gone)
	}
	if w.serves(p) && w.kinds[p.Name] != 'z' {
		w.copiesMustBeSafe(p)
	}
}

// copiesMustBeSafe requires the same of each group, and that its last copy stays.
func (w *smallWorld) copiesMustBeSafe(p *model.Pod) {
	for i := range w.s.Groups {
		g := &w.s.Groups[i]
		if !slices.ContainsFunc(g.Members, func(m model.Member) bool { return m.Pod == p.Name && m.State == model.MemberActive }) {
			continue
		}
		if total, missing := w.missing(g, p); total > 1 && (missing+1 > w.limit || missing+1 == total) {
			w.wrong("%s goes, and of %s %d others of %d are missing", p.Name, g.ID, missing, total-1)
		}
	}
}

// play plays until the rollout ends, or stands still although what is held for long is given up,
// and clocks go on.
func (w *smallWorld) play() (ended bool) {
	w.until(w.seen, func() bool {
		acted := w.pass()
		if w.pace == 0 || !acted {
			for w.turn() {
				acted = true
				if w.pace != 0 {
					break
				}
			}
		}
		return acted
	}, w.elect)
	return w.fault == "" && len(Decide(w.s).Order) == 0 && len(w.s.Cluster.Status.Claims) == 0
}
