package policy

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// flights are the pods that are being emptied: marked to be replaced or
// removed, whatever the cause, and not yet excluded. Those that a pass chooses
// to replace are added to them.
type flights struct {
	pods  []*pod // in canonical order, then as chosen
	zones zoneSet
}

func newFlights(x *index) *flights {
	f := &flights{}
	for i := range x.pods {
		if p := &x.pods[i]; x.inFlight(p) {
			f.add(p)
		}
	}
	for _, p := range x.claimedUnseen() {
		if c := p.claim; (c.Action == model.Replace || c.Action == model.Remove) && !isEmptied(c) {
			f.add(p)
		}
	}
	return f
}

func (f *flights) add(p *pod) {
	f.pods = append(f.pods, p)
	f.zones.add(p)
}

// inFlight: data is still to be moved off the pod. Scale-downs count, and so
// leave less room for replacements. In a pool that is shut down nothing moves.
func (x *index) inFlight(p *pod) bool {
	marked := x.isMarked(p)
	if p.Removal.Excluded || p.pool.shutdown || !marked && (p.Phase == model.Missing || !goesForGood(p)) {
		return false
	}
	c := p.claim
	acted := c != nil && (p.Phase == model.Missing || c.UID == p.UID) && (c.Action == model.Replace || c.Action == model.Remove)
	return !acted || !isEmptied(c)
}

// isEmptied: the evacuation was acknowledged.
func isEmptied(c *model.Claim) bool {
	switch c.Phase {
	case model.PhasePrepared, model.PhaseEmptied, model.PhaseOpened, model.PhaseGone:
		return true
	}
	return c.EmptiedAt != nil
}

// replaceLimit asks one rule about a pod that should be replaced and for which
// there may be no room. It is never deleted instead. Which rule holds it
// follows from what is counted. A pod that is marked already is counted, and
// not held; one that is both misconfigured and failed goes with either room.
func (d *decision) replaceLimit(rule model.Rule, c *candidate) *finding {
	if c.action != model.Replace || c.replace.marked {
		return nil
	}
	spec, inFlight := &d.x.spec.Replacement, len(d.flights.pods)
	if most := spec.MaxConcurrentMisconfigured; c.replace.forced {
		switch {
		case most == nil || inFlight < int(*most):
			return nil
		case c.replace.failed.condition == "" && rule == model.PodsAway:
			return d.podsInFlight(c, "maxConcurrentMisconfigured", *most)
		}
	}
	switch {
	case c.replace.failed.condition == "":
		return nil
	case spec.FaultDomainBased:
		return d.zonesInFlight(rule, c)
	case rule == model.PodsAway && inFlight >= int(*spec.MaxConcurrentFailed):
		return d.podsInFlight(c, "maxConcurrentFailed", *spec.MaxConcurrentFailed)
	}
	return nil
}

// zonesInFlight: as many zones as allowed, and only pods of these. An unknown
// zone is another one each time.
func (d *decision) zonesInFlight(rule model.Rule, c *candidate) *finding {
	own := c.zone
	if own == "" {
		if rule == model.ZoneUnknown {
			return found("its zone is not known, and replacement.faultDomainBased counts zones",
				fmt.Sprintf("a label %s on its node", d.x.spec.Policy.ZoneKey))
		}
		own = "unknown, which counts as another one"
	}
	used, most := d.flights.zones.number(), int(*d.x.spec.Replacement.MaxConcurrentFailed)
	if rule != model.ZonesAway || used < most || used == most && d.flights.zones.known[c.zone] {
		return nil
	}
	return found(fmt.Sprintf("it needs a replacement (%s), and %s pods being replaced or removed (%s); replacement.maxConcurrentFailed is %d, and its own zone is %s",
		d.replaceText(c), counted(used, "zone has", "zones have"), d.flights.zones.names(), most, own),
		d.flights.unblocks())
}

func (d *decision) podsInFlight(c *candidate, field string, most int32) *finding {
	return found(fmt.Sprintf("it needs a replacement (%s), and %s being replaced or removed and not yet excluded (%s); replacement.%s is %d",
		d.replaceText(c), counted(len(d.flights.pods), "pod is", "pods are"), d.flights.text(), field, most), d.flights.unblocks())
}

func (f *flights) unblocks() string {
	if len(f.pods) == 0 {
		return "a higher limit"
	}
	return f.pods[0].Name + " excluded"
}

// text lists who is in flight, at most a few of them.
func (f *flights) text() string {
	return firstFew(f.pods, func(p *pod) string { return p.Name })
}

// fly charges a chosen pod.
func (d *decision) fly(c *candidate) {
	if c.action == model.Replace && !c.replace.marked && !c.Removal.Excluded {
		d.flights.add(c.pod)
	}
}
