package policy

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

func (d *decision) zoneUnknown(c *candidate) *finding {
	if f := d.replaceLimit(model.RuleZoneUnknown, c); f != nil || c.outside {
		return f
	}
	counts := "policy.maxZonesUnavailable counts zones"
	if d.x.Spec.Policy.Unit == model.UnitZone {
		counts = "policy.unit is Zone"
	} else if d.ledger.ZoneLimit == 0 || d.x.Outage() {
		return nil
	}
	if c.OwnZone != "" || c.OwnPool.Shutdown {
		return nil
	}
	return found("its zone is not known, and "+counts,
		fmt.Sprintf("a label %s on its node", d.x.Spec.Policy.ZoneKey))
}

func (d *decision) zoneBudget(c *candidate) *finding {
	if f := d.replaceLimit(model.RuleZoneBudget, c); f != nil || c.outside {
		return f
	}
	b := d.ledger
	mayServe := d.x.MayServe(c.Pod)
	if b.ZoneLimit == 0 || c.Unavailable && !c.MayLive || c.OwnPool.Shutdown || d.x.Outage() {
		return nil
	}
	zones := d.zonesAgainst(c, c.Unavailable && !mayServe) // it costs nothing more, but all such pods at once would
	ownIsAway := zones.Known[c.OwnZone] || mayServe
	away := zones.Number()
	if away < b.ZoneLimit || away == b.ZoneLimit && ownIsAway {
		return nil
	}
	own := c.OwnZone
	if own == "" {
		own = "unknown, which counts as another one"
	}
	return d.whileReturning(c, found(fmt.Sprintf("%s an unavailable pod (%s), the limit is %d, and its own zone is %s",
		counted(away, "zone has", "zones have"), zones.Names(), b.ZoneLimit, own), b.Unblocks()))
}

func (d *decision) podBudget(c *candidate) *finding {
	if f := d.replaceLimit(model.RulePodBudget, c); f != nil {
		return f
	}
	switch {
	case c.dead:
		return d.oneAtATime(c)
	case d.x.StandsIn && c.Agent && c.Counted && !c.OwnPool.Shutdown:
		return found("some pods have no agent yet and are only known to be Ready: that is enough for those that get theirs", "the adoption ending")
	}
	b := d.ledger
	limit := b.LimitFor(c.Pod)
	mayServe := d.x.MayServe(c.Pod)
	used, needed := b.Used(), max(d.needed, 1)
	if !c.Desired {
		needed = 1 // the limit has no room for it besides the desired pods of its unit
	}
	switch {
	case mayServe:
		needed = d.needed // it is among those that are unavailable
	case c.Serves:
		used -= b.Serving // it costs nothing, but all such pods at once would
	}
	if d.x.NoAgents && d.late(c.Pod) {
		for i := range d.x.Pods { // a pod that is not back in time no longer waits for itself, for others like it, or for pods that are created only after it
			p := &d.x.Pods[i]
			used -= cluster.Count(d.late(p) || p.Unavailable && d.x.NotYetCreated(p))
		}
	}
	if c.outside || c.OwnPool.Shutdown || used+needed <= limit {
		return nil
	}
	if c.Unavailable && !c.Serves && !mayServe && !d.x.NoAgents {
		return d.byHandBesides(c, limit) // otherwise it costs nothing more
	}
	text := fmt.Sprintf("%d of %d pods would be unavailable, the limit is %d", used+needed, d.x.Desired, limit)
	if away := b.UnavailableText(); away != "" {
		text += ": " + away
	}
	return d.whileReturning(c, found(text, b.Unblocks()))
}

// byHandBesides limits how many pods that are unavailable, and may serve, go at once. Most
// unsettled pods are back in a moment, for example all of them after a blip, and live pods that are
// not Ready serve clients that find them through the database. So no more of them go at once than
// Rollcall itself may make unavailable. Pods that never come back do not hold the others.
func (d *decision) byHandBesides(c *candidate, limit int) *finding {
	b := d.ledger
	if !c.MayLive || b.ByHand < limit {
		return nil
	}
	why := "nothing shows that it does not serve"
	if c.Live && c.Phase == model.PodPhaseReady {
		why = "it may settle by itself"
	} else if c.Live {
		why = "it is live, though not Ready"
	}
	return found(fmt.Sprintf("%s or chosen, the limit is %d, and %s", counted(b.ByHand, "pod is claimed", "pods are claimed"), limit, why), d.unblocksByHand())
}

// unblocksByHand names a claimed or chosen pod whose return would make room.
func (d *decision) unblocksByHand() string {
	for _, p := range d.ledger.Unavailable {
		if d.byHand(p) {
			return cluster.OrAdvice(p.Name+" back", p)
		}
	}
	return d.ledger.Unblocks()
}

// late reports whether the pod is overdue to be Ready and was not taken by Rollcall.
func (d *decision) late(p *cluster.Pod) bool {
	return p.Unavailable && p.Phase == model.PodPhaseStarted && d.x.Overdue(p) && !d.byHand(p)
}

// whileReturning limits the finding to the time that the pod has to be Ready. After that it costs
// nothing more.
func (d *decision) whileReturning(c *candidate, f *finding) *finding {
	if d.x.ComesBack(c.Pod) {
		return f.until(c.Pod.Since.Add(d.x.StartSeconds()))
	}
	return f
}

// zonesAgainst returns the zones that count against a candidate: those with an unavailable pod, or
// only those with a claimed or chosen one. While there are no agents a late pod does not wait for
// pods that nobody creates before it is back, so their zones are left out.
func (d *decision) zonesAgainst(c *candidate, onlyByHand bool) *cluster.ZoneSet {
	switch {
	case d.x.NoAgents && d.late(c.Pod):
	case onlyByHand:
		return &d.ledger.HandZones
	default:
		return &d.ledger.Zones
	}
	var z cluster.ZoneSet
	for _, list := range [][]*cluster.Pod{d.ledger.Unavailable, d.ledger.Chosen} {
		for _, p := range list {
			counts := !onlyByHand || d.byHand(p)
			if counts && (p.At == cluster.Unseen || !d.x.NotYetCreated(p)) {
				z.Add(p)
			}
		}
	}
	return &z
}
