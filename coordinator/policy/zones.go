package policy

import (
	"maps"
	"slices"
	"strings"
)

// zoneSet are the zones of some pods. Each pod of an unknown zone counts as one
// of its own.
type zoneSet struct {
	known   map[string]bool
	unknown int
}

func (z *zoneSet) add(p *pod) {
	if p.zone == "" {
		z.unknown++
		return
	}
	if z.known == nil {
		z.known = map[string]bool{}
	}
	z.known[p.zone] = true
}

func (z *zoneSet) number() int { return len(z.known) + z.unknown }

// names lists the zones, sorted.
func (z *zoneSet) names() string {
	names := slices.Sorted(maps.Keys(z.known))
	if z.unknown > 0 {
		names = append(names, "unknown")
	}
	return strings.Join(names, ", ")
}

// withoutUncreated leaves out the zones of pods that nobody creates before a late pod is back: it
// does not wait for them while there are no agents.
func (d *decision) withoutUncreated(zones *zoneSet, c *candidate) *zoneSet {
	if !d.x.noAgents || !d.late(c.pod) {
		return zones
	}
	var z zoneSet
	for _, list := range [][]*pod{d.ledger.away, d.ledger.chosen} {
		for _, p := range list {
			counts := zones == &d.ledger.zones || p.claim != nil || d.isChosen[p.at]
			if counts && (p.at == unseen || !d.x.notYetCreated(p)) {
				z.add(p)
			}
		}
	}
	return &z
}
