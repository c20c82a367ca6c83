package foundationdb

import (
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/sorted"
)

// recruitable reports whether it may become a log. The database prefers processes of class log, and
// takes those of class storage where no others are left (machineClassFitness in its sources, seen
// on 7.1.68).
func recruitable(p process) bool {
	if is(p.excluded) {
		return false
	}
	switch p.class {
	case "unset", "log", "transaction", "storage":
		return true
	}
	return false
}

// recruits returns the groups of those that can become logs, in domains of one zone each, of which
// any process will do.
//
// With three data halls a mutation is in two zones in each of two halls. Of two halls that have
// two zones or more, both must keep two: a group for each. Of more, any two will do: one group, of
// which so many zones may be missing as always leave two such halls, wherever they are.
func (s *status) recruits(factor int, near func(process) bool) []engines.Group {
	fits := func(p process) bool { return recruitable(p) && near(p) }
	zone := func(p process) string { return p.zone }
	if !s.threeHalls() {
		return []engines.Group{least(max(factor, 1), "recruits", s.hostsBy(fits, zone))}
	}
	zones := map[string]map[string]bool{} // by hall
	for _, p := range s.processes {
		if fits(p) && p.hall != "" {
			if zones[p.hall] == nil {
				zones[p.hall] = map[string]bool{}
			}
			zones[p.hall][p.zone] = true
		}
	}
	var wide []string
	for hall, in := range zones {
		if len(in) >= 2 {
			wide = append(wide, hall)
		}
	}
	sorted.By(wide, func(a, b string) int {
		if n := len(zones[b]) - len(zones[a]); n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	if len(wide) == 2 {
		var out []engines.Group
		for _, hall := range wide {
			out = append(out, least(2, "recruits/"+hall, s.hostsBy(func(p process) bool { return fits(p) && p.hall == hall }, zone)))
		}
		sorted.By(out, func(a, b engines.Group) int { return strings.Compare(a.ID, b.ID) })
		return out
	}
	all, others := 0, 0 // zones, and those that all halls but the widest have beyond one
	for i, hall := range wide {
		all += len(zones[hall])
		if i > 0 {
			others += len(zones[hall]) - 1
		}
	}
	hosts := s.hostsBy(func(p process) bool { return fits(p) && slices.Contains(wide, p.hall) }, zone)
	return []engines.Group{least(max(all-max(others-1, 0), 4), "recruits", hosts)}
}

// least is a group of holders of a role of which so many domains must be there.
func least(n int, id string, hosts []host) engines.Group {
	g := inDomains(id, engines.GroupRole, hosts, 0, 0)
	g.MinAvailable = n
	return g
}
