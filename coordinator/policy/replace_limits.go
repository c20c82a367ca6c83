package policy

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// replaceLimit asks one rule about a pod that should be replaced and for which there may be no
// room. The pod is never deleted instead. Which rule holds it depends on what is counted. A pod
// that is marked already is counted, and not held. A pod that is both misconfigured and failed goes
// if either has room.
func (d *decision) replaceLimit(rule model.Rule, c *candidate) *finding {
	if c.action != model.ActionReplace || c.replace.marked {
		return nil
	}
	spec, inFlight := &d.x.Spec.Replacement, len(d.flights.Pods)
	if most := spec.MaxConcurrentMisconfigured; c.replace.forced {
		switch {
		case most == nil || inFlight < int(*most):
			return nil
		case c.replace.failed.Condition == "" && rule == model.RulePodBudget:
			return d.podsInFlight(c, "maxConcurrentMisconfigured", *most)
		}
	}
	switch {
	case c.replace.failed.Condition == "":
		return nil
	case spec.FaultDomainBased:
		return d.zonesInFlight(rule, c)
	case rule == model.RulePodBudget && inFlight >= int(*spec.MaxConcurrentFailed):
		return d.podsInFlight(c, "maxConcurrentFailed", *spec.MaxConcurrentFailed)
	}
	return nil
}

// zonesInFlight allows as many zones as the limit, and only pods of these. Each unknown zone counts
// as another one.
func (d *decision) zonesInFlight(rule model.Rule, c *candidate) *finding {
	own := c.OwnZone
	if own == "" {
		if rule == model.RuleZoneUnknown {
			return found("its zone is not known, and replacement.faultDomainBased counts zones",
				fmt.Sprintf("a label %s on its node", d.x.Spec.Policy.ZoneKey))
		}
		own = "unknown, which counts as another one"
	}
	used, most := d.flights.Zones.Number(), int(*d.x.Spec.Replacement.MaxConcurrentFailed)
	if rule != model.RuleZoneBudget || used < most || used == most && d.flights.Zones.Known[c.OwnZone] {
		return nil
	}
	return found(fmt.Sprintf("it needs a replacement (%s), and %s pods being replaced or removed (%s); replacement.maxConcurrentFailed is %d, and its own zone is %s",
		d.replaceText(c), counted(used, "zone has", "zones have"), d.flights.Zones.Names(), most, own),
		d.flights.Unblocks())
}

func (d *decision) podsInFlight(c *candidate, field string, most int32) *finding {
	return found(fmt.Sprintf("it needs a replacement (%s), and %s being replaced or removed and not yet excluded (%s); replacement.%s is %d",
		d.replaceText(c), counted(len(d.flights.Pods), "pod is", "pods are"), d.flights.Text(), field, most), d.flights.Unblocks())
}

// fly counts a chosen pod as in flight.
func (d *decision) fly(c *candidate) {
	if c.action == model.ActionReplace && !c.replace.marked && !c.Removal.Excluded {
		d.flights.Add(c.Pod)
	}
}
