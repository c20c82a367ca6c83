package policy

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

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
	return d.whileItComesBack(c, found(fmt.Sprintf("%s an unavailable pod (%s), the limit is %d, and its own zone is %s",
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
	text := fmt.Sprintf("%d of %d pods would be unavailable, the limit is %d", used+needed, d.x.desired, limit)
	if away := b.awayText(); away != "" {
		text += ": " + away
	}
	return d.whileItComesBack(c, found(text, b.unblocks()))
}

// byHandBesides limits how many pods that are away, and may serve, go at once. Most unsettled pods
// are back in a moment, for example all of them after a blip, and live pods that are not Ready serve
// clients that find them through the database. So no more of them go than Rollcall itself may have away.
// Pods that never come back do not hold the others.
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

// unblocksByHand names a claimed or chosen pod whose return would make room.
func (d *decision) unblocksByHand() string {
	for _, p := range d.ledger.away {
		if d.byHand(p) {
			return orAdvice(p.Name+" back", p)
		}
	}
	return d.ledger.unblocks()
}

// late reports whether the pod is overdue to be Ready and was not taken by Rollcall.
func (d *decision) late(p *pod) bool {
	return p.away && p.Phase == model.Started && d.x.overdue(p) && !d.byHand(p)
}

// whileItComesBack limits the finding to the time that the pod has to be Ready. After that it costs
// nothing more.
func (d *decision) whileItComesBack(c *candidate, f *finding) *finding {
	if d.x.comesBack(c.pod) {
		return f.until(c.pod.Since.Add(d.x.startSeconds()))
	}
	return f
}
