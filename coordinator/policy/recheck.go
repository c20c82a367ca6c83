package policy

import (
	"fmt"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// Recheck decides again for one claimed pod alone, after its drain and on a snapshot made after it:
// may it still go? Its own claim counts neither as unavailable nor as claimed; everything else
// does, and no other pod is chosen. Claims on pods that the partition frees only afterwards do not
// count either.
//
// Exactly one of the results is set when the pod should still go: the step, if it may, or else the
// hold. Both are nil when it should not go any more, so that its drain is to be undone and its
// claim released.
//
// After an evacuation the last copy of a group must be elsewhere, in the database's own view.
//
// A replacement whose pod is recorded as empty cannot be given up, so it must be able to end,
// whatever is limited or decided in the meantime: see emptied.go.
func Recheck(s model.Snapshot, pod string) (*model.Step, *model.Hold) {
	empty := isWrittenEmpty(&s, pod)
	if empty {
		s.Cluster.Status.Claims = withoutLaterEmptied(&s, pod)
	}
	d := newDecision(&s, pod, true)
	claims, behind := d.withoutWaiting(pod)
	if len(behind) > 0 {
		s.Cluster.Status.Claims = claims
		d = newDecision(&s, pod, true)
	}
	if empty {
		d.explain = pod
	}
	for i := range d.order {
		c := &d.order[i]
		if c.Name != pod {
			continue
		}
		d.needed = cost([]*candidate{c})
		d.corrected = d.correctedBehind(c, behind)
		d.curing = wentOutOfOrder(&s, pod) && (d.mayGoOutOfOrder(c, true) || d.isFirstByPartition(c)) // others may be waiting for its claim
		if d.curing && d.x.StandsUnready(c.Pod) {
			d.x.CountUnready()
		}
		hold, notes := d.ask(c)
		if empty {
			hold = firstOfEmptied(d.explained, s.Health.Verdict)
		}
		if hold != nil {
			return nil, hold
		}
		step := d.step(c, notes)
		return &step, nil
	}
	if len(d.problems) > 0 {
		f := d.badInput()
		return nil, &model.Hold{Pod: pod, Rule: model.RuleBadInput, Reason: f.reason, Unblocks: f.unblocks}
	}
	return nil, nil
}

// wentOutOfOrder reports whether the pod was claimed before its turn, or has no claim. Any other
// waits for its turn, like a pod that was claimed while it was unavailable and of unknown kind.
func wentOutOfOrder(s *model.Snapshot, pod string) bool {
	at := slices.IndexFunc(s.Cluster.Status.Claims, func(c model.Claim) bool { return c.Pod == pod })
	return at < 0 || s.Cluster.Status.Claims[at].BeforeTurn
}

// Return says whether a pod that went is back.
type Return struct {
	// Done is true if it is back, or gone for good if that was intended. Its claim can be released.
	Done bool
	// Joined is true if the new pod reports that the database has it as a member, so that what its
	// drain changed can be undone.
	Joined bool
	// Failed is true if it did not join within startSeconds, or is broken. It may still come back.
	Failed bool
	// Why is what is missing while Done is false.
	Why model.Hold
	// RetryAfterSeconds is above 0 if a clock will change the answer.
	RetryAfterSeconds int64
}

// Returned judges whether the pod of a claim, which has gone, is back: it has a new UID and is live
// in the database, every group it is in is as full as the claim notes (not counting members on
// other unavailable pods), and it has settled and soaked. A removed pod only has to be gone.
func Returned(s model.Snapshot, claim model.Claim) Return {
	x := cluster.New(&s, claim.Pod)
	at, known := x.ByName[claim.Pod]
	var p *cluster.Pod
	if known {
		p = &x.Pods[at]
	}
	wait := func(reason, unblocks string) Return {
		return Return{Why: model.Hold{Pod: claim.Pod, Rule: model.RuleClaimed, Reason: reason, Unblocks: unblocks}}
	}
	switch {
	case p == nil || p.Phase == model.PodPhaseMissing && (claim.Action == model.ActionRemove || !p.Desired):
		return Return{Done: true, Joined: true}
	case p.Phase == model.PodPhaseMissing:
		r := wait("the recreated pod has not been created", "the StatefulSet controller creating it")
		r.Failed = x.Overdue(p)
		return r
	case p.UID == claim.UID || p.UID == "":
		return wait("it has not gone yet: "+lowerPhase(p.Phase)+cluster.About(p), cluster.OrAdvice("its removal", p))
	}
	r := returned(x, p, &claim, wait)
	if r.Joined || r.Done {
		return r
	}
	// A Ready pod that says it is not live may be back in a moment: FailureReason considers for how
	// long it has said so.
	late := p.Phase != model.PodPhaseReady || p.OwnReport != nil && p.OwnReport.Member != model.MembershipNotLive
	r.Failed = x.FailureReason(p) != "" || !p.Live && late && x.Overdue(p)
	r.Why.Reason, r.Why.Unblocks = r.Why.Reason+cluster.About(p), cluster.OrAdvice(r.Why.Unblocks, p)
	switch till := x.LastsAt(p); {
	case r.Failed:
	case p.Phase == model.PodPhaseReady && !till.IsZero():
		r.RetryAfterSeconds = secondsUntil(x.Now, till)
	default:
		r.RetryAfterSeconds = secondsUntil(x.Now, p.Since.Add(x.StartSeconds()))
	}
	return r
}

func lowerPhase(p model.PodPhase) string {
	if p == "" {
		return "in an unknown phase"
	}
	return "it is " + string(p)
}

func secondsUntil(now, t time.Time) int64 {
	return max(0, int64((t.Sub(now)+time.Second-1)/time.Second))
}

func returned(x *cluster.Index, p *cluster.Pod, claim *model.Claim, wait func(reason, unblocks string) Return) Return {
	r := p.OwnReport
	switch {
	case r == nil && p.Agent:
		return wait(fmt.Sprintf("the recreated pod is %s and its agent has sent no report", p.Phase), "a report from its agent")
	case !p.Live && r != nil:
		return wait(fmt.Sprintf("the recreated pod is %s and not live in the database", p.Phase), "the pod joining the database")
	case !p.Live && p.Phase != model.PodPhaseReady:
		return wait(fmt.Sprintf("the recreated pod is %s", p.Phase), "the pod becoming Ready")
	case !p.Live && !x.NoAgents:
		return wait("the recreated pod has no agent, and no majority of the other agents reports on it", "the other agents reporting")
	}
	joined := func(reason, unblocks string) Return {
		out := wait(reason, unblocks)
		out.Joined = true
		return out
	}
	switch {
	case p.Phase != model.PodPhaseReady:
		return joined("the recreated pod is live in the database and "+string(p.Phase), cluster.OrAdvice("the pod becoming Ready", p))
	case x.NodeGone(p):
		return joined("the recreated pod is on a node that is gone", "the pod recreated elsewhere")
	case r != nil && p.Agent && !r.Fresh:
		return joined("the report of the recreated pod is stale", "a fresh report")
	case r != nil && !r.Settled:
		return joined("the recreated pod is not settled", "the pod serving and caught up")
	}
	if group, have, want := notFull(x, p, claim); group != "" {
		out := joined(fmt.Sprintf("%s has %d Active members, needs %d as before", group, have, want), "its members caught up")
		out.Why.Group = group
		return out
	}
	if till := x.SettledSince(p).Add(x.Soak); x.Soak > 0 && till.After(x.Now) {
		out := joined(fmt.Sprintf("the recreated pod soaks for %s more", seconds(till.Sub(x.Now))), "the soak ending")
		out.RetryAfterSeconds = secondsUntil(x.Now, till)
		return out
	}
	return Return{Done: true, Joined: true}
}

// notFull returns the first group that is less full than the claim requires. The pod's own members
// must be as good as they were; if nobody knew that, the ones that are down are not required.
// Members on other unavailable pods are required when those come back. Members that are down on a
// live pod are broken, and waiting longer would not mend them. If a group has vanished or shrunk,
// what it has now is required.
func notFull(x *cluster.Index, p *cluster.Pod, claim *model.Claim) (id string, have, want int) {
	in := make(map[int32]bool, len(p.Hosts))
	for i := range p.Hosts {
		in[p.Hosts[i].Group] = true
	}
	for i := range x.Groups {
		g := &x.Groups[i]
		noted, partly := claim.Groups[g.ID]
		if !partly && !in[int32(i)] {
			continue
		}
		own, others := fill(x, g, p, claim.Unseen)
		broken := int(claim.Broken[g.ID])
		if partly { // no more of the others are required than there were
			others.want = min(others.want, max(0, int(noted)-max(0, own.want-broken)))
		}
		own.want = max(0, own.want-broken)
		if own.have < own.want || others.have < others.want {
			return g.ID, min(own.have, own.want) + min(others.have, others.want), own.want + others.want
		}
	}
	return "", 0, 0
}

// filled is how many members of a group are available, and how many could be.
type filled struct{ have, want int }

// fill counts a group's members on a pod, and on all others. unseen means that nobody knows whether
// the pod's members that are down were down before.
func fill(x *cluster.Index, g *cluster.Group, p *cluster.Pod, unseen bool) (own, others filled) {
	for j := range g.Members {
		m := &g.Members[j]
		at := x.PlaceOf(g, j)
		part := &others
		switch {
		case m.Pod == p.Name && unseen && m.State == model.MemberDown:
			continue
		case m.Pod == p.Name:
			part = &own
		case at >= 0 && (x.Pods[at].Unavailable || m.State == model.MemberDown && x.Pods[at].Live):
			continue
		}
		part.want++
		if cluster.IsAvailable(m.State) && (at == cluster.Elsewhere || at >= 0 && x.Pods[at].Live) {
			part.have++
		}
	}
	return own, others
}
