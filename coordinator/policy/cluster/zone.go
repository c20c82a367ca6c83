package cluster

import (
	"maps"
	"slices"
	"strings"
)

// ZoneSet has the zones of some pods. Each pod of an unknown zone counts as a zone of its own.
type ZoneSet struct {
	Known   map[string]bool
	unknown int
}

// Add adds the zone of a pod.
func (z *ZoneSet) Add(p *Pod) {
	if p.OwnZone == "" {
		z.unknown++
		return
	}
	if z.Known == nil {
		z.Known = map[string]bool{}
	}
	z.Known[p.OwnZone] = true
}

// Number counts the zones.
func (z *ZoneSet) Number() int { return len(z.Known) + z.unknown }

// Names lists the zones, sorted.
func (z *ZoneSet) Names() string {
	names := slices.Sorted(maps.Keys(z.Known))
	if z.unknown > 0 {
		names = append(names, "unknown")
	}
	return strings.Join(names, ", ")
}
