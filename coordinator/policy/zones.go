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

// zonesAgainst are the zones that count against a candidate: those with a pod away, or only those with one
// claimed or chosen. While there are no agents a late pod does not wait for pods that nobody creates before
// it is back, so their zones are left out.
func (d *decision) zonesAgainst(c *candidate, onlyByHand bool) *zoneSet {
	switch {
	case d.x.noAgents && d.late(c.pod):
	case onlyByHand:
		return &d.ledger.handZones
	default:
		return &d.ledger.zones
	}
	var z zoneSet
	for _, list := range [][]*pod{d.ledger.away, d.ledger.chosen} {
		for _, p := range list {
			counts := !onlyByHand || d.byHand(p)
			if counts && (p.at == unseen || !d.x.notYetCreated(p)) {
				z.add(p)
			}
		}
	}
	return &z
}
