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
