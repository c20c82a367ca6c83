package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// belowPartition: the StatefulSet controller would bring the pod back on the
// old revision, again and again, and the line is not ours to lower.
func (d *decision) belowPartition(c *candidate) *finding {
	p := c.pool
	if p.Strategy != model.RollingUpdateStrategy || !isOutdated(c.pod) || c.leaves || p.Force {
		return nil
	}
	line := p.Partition
	switch {
	case p.byLine && c.Ordinal < line && !d.x.s.Cluster.Status.Initialized:
		return found(fmt.Sprintf("the partition of pool %s is %d, and is left alone until the database has been healthy once", p.Name, line),
			fmt.Sprintf("the database healthy, or a partition of at most %d", c.Ordinal))
	case p.byLine && p.Ordered != nil && c.Ordinal < *p.Ordered:
		return found(fmt.Sprintf("a person set the partition of pool %s to %d: ordinals below it stay on the old revision", p.Name, *p.Ordered),
			fmt.Sprintf("a partition of at most %d", c.Ordinal))
	case p.byLine && c.action != model.Replace:
		return nil
	case p.Ordered != nil:
		line = max(line, *p.Ordered)
	}
	if c.Ordinal >= line {
		return nil
	}
	return found(fmt.Sprintf("the partition of pool %s is %d: ordinals below it stay on the old revision", p.Name, line),
		fmt.Sprintf("a partition of at most %d", c.Ordinal))
}

func (d *decision) needsApproval(c *candidate) *finding {
	u := &d.x.spec.Update
	switch {
	case d.x.outage() && !d.approved(model.ApprovedOutage, c.pool.Revision):
		return found("policy.unit is All: everything would go at once, which is an outage", d.approve(model.ApprovedOutage))
	case !c.Agent && (restarts(c.action) || c.action == model.Replace && !c.leaves) && d.asksToAdopt(c):
		return found("it has no agent yet, so it would be restarted without being asked, and update.adopt is Ask",
			d.approve(model.ApprovedAdopt))
	case c.reason == model.ReasonAdopt && !c.Since.IsZero() && c.Since.Add(AdoptAgain).After(d.x.now):
		return found("it has come without an agent, and is not restarted for one again so soon",
			"the label rollcall.dev/cluster in the pod template and a webhook that answers; then delete the pod, or wait").
			until(c.Since.Add(AdoptAgain))
	case u.ApproveLeader && c.last && !d.approved(model.ApprovedLeader, c.pool.Revision):
		return found(fmt.Sprintf("it holds %s, and update.approveLeader waits for a person", rolesText(c.report)),
			d.approve(model.ApprovedLeader))
	}
	return nil
}

// AdoptAgain is how long a pod must have run without an agent before it is
// restarted for nothing else: one that has just come would come without again.
const AdoptAgain = 5 * time.Minute

// approve is the command with which a person consents.
func (d *decision) approve(what model.Approved) string {
	c := &d.x.s.Cluster
	return fmt.Sprintf("rollcall approve %s -n %s --what %s", c.Name, c.Namespace, what)
}

// asksToAdopt: a person has to approve first.
func (d *decision) asksToAdopt(c *candidate) bool {
	return d.x.spec.Update.Adopt == model.AdoptAsk && !d.mayAdopt(c)
}

// mayAdopt: a person approved it. Of a pod that is restarted for nothing but
// its missing agent, and was not there yet when that was approved, it must be
// approved again: the last such restart may have brought it.
func (d *decision) mayAdopt(c *candidate) bool {
	return slices.ContainsFunc(d.x.s.Cluster.Status.Approvals, func(a model.Approval) bool {
		if a.What != model.ApprovedAdopt || a.Revision != "" && a.Revision != c.pool.Revision {
			return false
		}
		return c.reason != model.ReasonAdopt || a.At.IsZero() || !c.Since.After(a.At.Time)
	})
}

func rolesText(r *model.Report) string {
	if len(r.Roles) == 0 {
		return "a role that goes last"
	}
	return "the role " + strings.Join(slices.Sorted(slices.Values(r.Roles)), ", ")
}

func (d *decision) approved(what model.Approved, revision string) bool {
	for _, a := range d.x.s.Cluster.Status.Approvals {
		if a.What == what && (a.Revision == "" || a.Revision == revision) {
			return true
		}
	}
	return false
}

// canaryFirst lets the first few pods of a pool's new revision go, and then
// waits until as many of them have soaked and, if so wanted, were approved.
func (d *decision) canaryFirst(c *candidate) *finding {
	canary := d.x.spec.Update.Canary
	if canary.Pods <= 0 || !isOutdated(c.pod) || c.leaves {
		return nil
	}
	pool := &d.canary[c.poolPos]
	if pool.gone+pool.chosen < int(canary.Pods) {
		return nil
	}
	soak := span(canary.SoakSeconds)
	soaked := 0
	var next time.Time
	for _, since := range pool.back { // the longest first
		if till := since.Add(soak); till.After(d.x.now) {
			next = till
			break
		}
		soaked++
	}
	if soaked < int(canary.Pods) {
		f := found(fmt.Sprintf("%d of %d canary pods of revision %s are back and soaked for %s",
			soaked, canary.Pods, c.pool.Revision, seconds(soak)), "the canary pods soaked")
		if len(pool.back) >= int(canary.Pods) {
			return f.until(next)
		}
		if d.lostCanary(c.poolPos) && len(pool.lost) > 0 {
			p := pool.lost[0]
			f.reason += fmt.Sprintf("; %s is away (%s)%s", p.Name, p.awayWhy, about(p))
			f.unblocks = orAdvice(p.Name+" back", p)
		}
		return f
	}
	if canary.Approve && !d.approved(model.ApprovedCanary, c.pool.Revision) {
		return found(fmt.Sprintf("the canary of revision %s waits for a person", c.pool.Revision), d.approve(model.ApprovedCanary))
	}
	return nil
}

func (d *decision) otherOperation(c *candidate) *finding {
	if c.pool.Operation == model.NoOperation || d.curing || c.reason == model.ReasonScaleDown || c.reason == model.ReasonReplacement {
		return nil
	}
	return found(fmt.Sprintf("pool %s has an operation under way: %s", c.pool.Name, c.pool.Operation),
		"that operation finished")
}

func (d *decision) shutdown(c *candidate) *finding {
	if !endsAtNone(c.pool.Pool) || c.pool.AllowShutdown {
		return nil
	}
	return found(fmt.Sprintf("pool %s is scaled to 0, which would shut it down", c.pool.Name),
		"the annotation rollcall.dev/allow-shutdown: \"true\" on the StatefulSet, if that is meant")
}

// inOrder: an OrderedReady pool has no other unit of it away; what is broken is
// repaired from the lowest ordinal up.
// noReport asks that somebody who knows says what the pod is to the database:
// its own agent, or for a pod without one a majority of the others.
func (d *decision) noReport(c *candidate) *finding {
	switch {
	case c.report == nil && d.x.noAgents:
		return nil // nobody is there to say anything
	case c.report == nil && !c.Agent:
		return d.unheard(c, "it has no agent, and no majority of the others speaks for it", "the other agents reporting")
	case c.report == nil && c.Report != nil:
		return found("the report at hand is that of another pod with its name", "a report from its own agent")
	case c.report == nil:
		return d.unheard(c, "its agent has sent no report", "a report from its agent")
	case c.report.Member != model.Live && c.report.Member != model.NotLive:
		return d.unheard(c, "its report does not tell whether the database has it as a member", "a report that does")
	case c.report.Member == model.Live && neverRuns(c.Phase):
		return found(fmt.Sprintf("its report says that it is live in the database, and its phase is %s", c.Phase),
			"the two agreeing")
	}
	return nil
}

// unheard: nothing new can come from a pod whose node does not answer, so that is what a person should see to.
func (d *decision) unheard(c *candidate, what, unblocks string) *finding {
	if c.reason == model.ReasonScaleDown && c.broken {
		return d.cannotEmpty(c, what)
	}
	if d.x.nodeGone(c.pod) && (c.report == nil || !c.report.Fresh) {
		return found(what+", and "+nameOr(c.Node, "its node")+", its node, does not answer", "the node back")
	}
	return found(what, unblocks)
}

// cannotEmpty: a pod that does not start is scaled away, and the database still has members on it. No
// report may ever come, and nobody but a person can move or give up what it has.
func (d *decision) cannotEmpty(c *candidate, what string) *finding {
	on := firstFew(c.hosts, func(h hosting) string { return d.x.groups[h.group].ID })
	return found(fmt.Sprintf("%s, it does not start, and the database has members of %s on it, which it cannot move away%s", what, on, about(c.pod)),
		orAdvice(fmt.Sprintf("its members of %s moved or taken out of the database by a person, or %s started", on, c.Name), c.pod))
}

// neverRuns: no process that could be a member of the database runs in this phase.
func neverRuns(p model.PodPhase) bool {
	return p == model.Pending || p == model.NotStarted || p == model.Failed
}

func (d *decision) staleReport(c *candidate) *finding {
	if c.report == nil || c.report.Fresh {
		return nil
	}
	return d.unheard(c, fmt.Sprintf("its report is %s old and was not made after the last action", seconds(ageOf(c.report))),
		"a fresh report from its agent")
}

// counted is a number with its noun.
func counted(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

func ageOf(r *model.Report) time.Duration {
	return span(r.AgeSeconds)
}

// onDeadNode: nobody is there to end the pod's containers and to say so. An
// override lets whoever acts delete the pod's object without that: see ForceDeletes.
func (d *decision) onDeadNode(c *candidate) *finding {
	if !d.x.neverEnds(c.pod) {
		return nil
	}
	return found("it is terminating on "+nameOr(c.Node, "a node")+", which is gone: nobody there says that its containers have ended",
		model.NodeGone.Advice())
}

func (d *decision) onItsWay(c *candidate) *finding {
	if c.Phase != model.Terminating {
		return d.inHands(c)
	}
	if c.Problem == model.StuckEnding {
		return found("it is terminating for longer than it may"+about(c.pod), model.StuckEnding.Advice())
	}
	return found("it is terminating", "its successor back")
}

// isClaimed: the claim's pod is on its way. A broken successor of it is not,
// and waits for nothing: a correction always gets through.
func (d *decision) isClaimed(c *candidate) *finding {
	if c.claim == nil || c.outside && c.UID != "" && c.claim.UID != "" && c.UID != c.claim.UID {
		return nil
	}
	return found("it is "+claimedHow(c.claim), "its claim released")
}

func (d *decision) vetoed(c *candidate) *finding {
	if c.cannotBeDone() {
		return found(fmt.Sprintf("it is to be replaced (%s), and no agent of its own runs that could empty it, or none elsewhere that could say that it is empty", d.replaceText(c)),
			"agents running there, or its replacement by hand")
	}
	if c.report == nil || c.report.Veto == "" {
		return nil
	}
	return found(c.report.Veto, "the database taking back its veto")
}

func (d *decision) isBusy(c *candidate) *finding {
	if f := d.isStarting(c); f != nil {
		return f
	}
	if c.report == nil || c.report.Busy == "" {
		return nil
	}
	return found("it is busy: "+c.report.Busy, c.report.Busy+" ending")
}

func (d *decision) zoneUnknown(c *candidate) *finding {
	if f := d.replaceLimit(model.ZoneUnknown, c); f != nil || c.outside {
		return f
	}
	counts := "policy.maxZonesUnavailable counts zones"
	if d.x.spec.Policy.Unit == model.UnitZone {
		counts = "policy.unit is Zone"
	} else if d.ledger.zoneLimit == 0 || d.x.outage() {
		return nil
	}
	if c.zone != "" || c.pool.shutdown {
		return nil
	}
	return found("its zone is not known, and "+counts,
		fmt.Sprintf("a label %s on its node", d.x.spec.Policy.ZoneKey))
}

func (d *decision) zonesAway(c *candidate) *finding {
	if f := d.replaceLimit(model.ZonesAway, c); f != nil || c.outside {
		return f
	}
	b := d.ledger
	mayServe := d.x.mayServe(c.pod)
	if b.zoneLimit == 0 || c.away && !c.mayLive || c.pool.shutdown || d.x.outage() {
		return nil
	}
	zones := d.zonesAgainst(c, c.away && !mayServe) // then it costs nothing more, but all like it at once would
	ownIsAway := zones.known[c.zone] || mayServe
	away := zones.number()
	if away < b.zoneLimit || away == b.zoneLimit && ownIsAway {
		return nil
	}
	own := c.zone
	if own == "" {
		own = "unknown, which counts as another one"
	}
	return d.whileItComesBack(c, found(fmt.Sprintf("%s a pod away (%s), the limit is %d, and its own zone is %s",
		counted(away, "zone has", "zones have"), zones.names(), b.zoneLimit, own), b.unblocks()))
}

func (d *decision) podsAway(c *candidate) *finding {
	if f := d.replaceLimit(model.PodsAway, c); f != nil {
		return f
	}
	if c.dead {
		return d.oneAtATime(c)
	}
	b := d.ledger
	limit := b.limitFor(c.pod)
	mayServe := d.x.mayServe(c.pod)
	used, needed := b.used(), max(d.needed, 1)
	if !c.desired {
		needed = 1 // the limit has no room for it beside the desired ones of its unit
	}
	switch {
	case mayServe:
		needed = d.needed // it is among those that are away
	case c.serves:
		used -= b.serving // it costs nothing, but all like it at once would
	}
	if d.x.noAgents && d.late(c.pod) {
		for i := range d.x.pods { // who is not back in time waits for itself, for others like it, and for those made only after it, no longer
			p := &d.x.pods[i]
			used -= count(d.late(p) || p.away && d.x.notYetCreated(p))
		}
	}
	if c.outside || c.pool.shutdown || used+needed <= limit {
		return nil
	}
	if c.away && !c.serves && !mayServe && !d.x.noAgents {
		return d.byHandBesides(c, limit) // else it costs nothing more
	}
	text := fmt.Sprintf("%d of %d pods would be away, the limit is %d", used+needed, d.x.desired, limit)
	if away := b.awayText(); away != "" {
		text += ": " + away
	}
	return d.whileItComesBack(c, found(text, b.unblocks()))
}

// byHandBesides: pods that are not settled are mostly back in a moment, such as all of them after a
// blip, and those that are live and not Ready serve whoever asks the database where they are. So no more
// of them are taken than Rollcall may have away itself; that some never come back keeps none of them.
func (d *decision) byHandBesides(c *candidate, limit int) *finding {
	b := d.ledger
	if !c.mayLive || b.byHand < limit {
		return nil
	}
	why := "nothing shows that it does not serve"
	if c.live && c.Phase == model.Ready {
		why = "it may settle by itself"
	} else if c.live {
		why = "it is live, though not Ready"
	}
	return found(fmt.Sprintf("%s or chosen, the limit is %d, and %s", counted(b.byHand, "pod is claimed", "pods are claimed"), limit, why), d.unblocksByHand())
}

// unblocksByHand names a pod that is claimed or chosen, whose return would make room.
func (d *decision) unblocksByHand() string {
	for _, p := range d.ledger.away {
		if d.byHand(p) {
			return orAdvice(p.Name+" back", p)
		}
	}
	return d.ledger.unblocks()
}

// late: it should long be Ready, and nobody has taken it yet.
func (d *decision) late(p *pod) bool {
	return p.away && p.Phase == model.Started && d.x.overdue(p) && !d.byHand(p)
}

// whileItComesBack: a pod that is not Ready in time costs nothing more.
func (d *decision) whileItComesBack(c *candidate, f *finding) *finding {
	if d.x.comesBack(c.pod) {
		return f.until(c.pod.Since.Add(d.x.startSeconds()))
	}
	return f
}

func refused(name model.Rule, reason, unblocks string) func(*decision, *candidate) *finding {
	return func(_ *decision, c *candidate) *finding {
		if c.Refused != name {
			return nil
		}
		if c.RefusedBy != "" {
			return found(fmt.Sprintf("%s: PodDisruptionBudget %s", reason, c.RefusedBy), unblocks)
		}
		return found(reason, unblocks)
	}
}

// restarts: the pod goes and comes back.
func restarts(a model.Action) bool { return a == model.Restart || a == model.LowerPartition }
