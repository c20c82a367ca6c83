package policy

import (
	"fmt"
	"maps"
	"strings"
)

// flights are the pods that are being emptied: marked to be replaced or
// removed, whatever the cause, and not yet excluded. Those that a pass chooses
// to replace are added to them.
type flights struct {
	pods    []*pod // in canonical order, then as chosen
	zones   map[string]bool
	unknown int // of an unknown zone, each a zone of its own
}

func newFlights(x *index) *flights {
	f := &flights{zones: map[string]bool{}}
	for i := range x.pods {
		if p := &x.pods[i]; x.inFlight(p) {
			f.add(p)
		}
	}
	return f
}

func (f *flights) add(p *pod) {
	f.pods = append(f.pods, p)
	if p.zone == "" {
		f.unknown++
		return
	}
	f.zones[p.zone] = true
}

func (f *flights) zonesUsed() int { return len(f.zones) + f.unknown }

// inFlight: data is still to be moved off the pod. Scale-downs count, and so
// leave less room for replacements. In a pool that is shut down nothing moves.
func (x *index) inFlight(p *pod) bool {
	marked := x.isMarked(p)
	if p.Removal.Excluded || p.pool.shutdown || !marked && (p.Phase == Missing || !goesForGood(p)) {
		return false
	}
	if c := p.claim; c != nil && (p.Phase == Missing || c.UID == p.UID) && (c.Action == Replace || c.Action == Remove) {
		switch c.Phase {
		case PhasePrepared, PhaseOpened, PhaseGone:
			return false // its evacuation was acknowledged
		}
	}
	return true
}

// replaceHold is the hold of a pod that should be replaced when there is no
// room for one more. It is never deleted instead. Which rule names it follows
// from what is counted. A pod that is marked already is counted, and not held.
func (d *decision) replaceHold(c *candidate) (Rule, *finding) {
	if c.action != Replace || c.replace.marked {
		return "", nil
	}
	spec := &d.x.spec.Replacement
	var rule Rule
	var f *finding
	if c.replace.forced {
		most := spec.MaxConcurrentMisconfigured
		if most == nil || len(d.flights.pods) < int(*most) {
			return "", nil
		}
		rule, f = PodsAway, d.podsInFlight(c, "maxConcurrentMisconfigured", *most)
	}
	if c.replace.failed.condition != "" {
		rule, f = d.failedHold(c)
	}
	return rule, f
}

func (d *decision) failedHold(c *candidate) (Rule, *finding) {
	const field = "maxConcurrentFailed"
	spec := &d.x.spec.Replacement
	if !spec.FaultDomainBased {
		if len(d.flights.pods) < int(spec.MaxConcurrentFailed) {
			return "", nil
		}
		return PodsAway, d.podsInFlight(c, field, spec.MaxConcurrentFailed)
	}
	if c.zone == "" {
		return ZoneUnknown, found("its zone is not known, and replacement.faultDomainBased counts zones",
			fmt.Sprintf("a label %s on its node", d.x.spec.Policy.ZoneKey))
	}
	used, most := d.flights.zonesUsed(), int(spec.MaxConcurrentFailed)
	if used < most || used == most && d.flights.zones[c.zone] {
		return "", nil
	}
	return ZonesAway, found(fmt.Sprintf("it needs a replacement (%s), and %s pods being replaced or removed (%s); replacement.%s is %d, and its own zone is %s",
		d.replaceText(c), counted(used, "zone has", "zones have"), zoneList(maps.Keys(d.flights.zones), d.flights.unknown), field, most, c.zone),
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
	const most = 3
	var names []string
	for _, p := range f.pods[:min(most, len(f.pods))] {
		names = append(names, p.Name)
	}
	if left := len(f.pods) - len(names); left > 0 {
		names = append(names, fmt.Sprintf("%d more", left))
	}
	return strings.Join(names, ", ")
}

// replaceLimit asks about the limits of replacements under one rule's name.
func (d *decision) replaceLimit(rule Rule, c *candidate) *finding {
	if named, f := d.replaceHold(c); named == rule {
		return f
	}
	return nil
}

// fly charges a chosen pod.
func (d *decision) fly(c *candidate) {
	if c.action == Replace && !c.replace.marked && !c.Removal.Excluded {
		d.flights.add(c.pod)
	}
}
