package foundationdb

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/engines"
)

// tolerated is the group for what the database itself says that it can spare, beside what the other
// groups conclude: the smaller counts. Its domains are zones, and its members all pods with a
// process, also stateless ones: so while a zone misses something that
// the database counts on, further pods of that zone cost nothing, and those of others wait.
//
// least is how many more zones may fail than the database has seen to fail. It sees a dead storage
// server late, which is why as many are taken off as the other sources know of.
// (TestWhatIfAgainstTheTruth, TestRecordings).
func (s *status) tolerated(least int, away []remembered) engines.Group {
	hosts, spare, unseen := s.spared(least, away)
	return inDomains("fault_tolerance", engines.GroupAcks, hosts, missed(hosts)+unseen+spare, unseen)
}

// spared are all pods, how many zones the database says that it can spare beside those that are missing,
// and 1 where it can spare none and nothing is seen to be missing.
func (s *status) spared(least int, away []remembered) (hosts []host, spare, unseen int) {
	hosts = s.hostsBy(func(p process) bool { return !p.emptied() }, func(p process) string { return p.zone })
	hosts = without(hosts, away, inZone, func(remembered) bool { return true })
	hosts = append(hosts, s.underMaintenance(s.maintenance)...)
	copies, _ := s.copies()
	logs, _ := toleranceOf(s.currentLogs())
	spare = max(min(least, min(copies, logs)-1-missed(hosts)), 0)
	if s.regions > 1 {
		spare = max(least, 0) // a region more
	}
	var seats []remembered
	for _, c := range s.coordinators {
		if is(c.reachable) {
			continue
		}
		if p := s.sitting(c.address); p == nil {
			r := s.owners[endpoint(c.address)]
			seats = append(seats, remembered{instance: r.instance, zone: r.zone, id: plainAddress(c.address)})
		} else {
			seats = append(seats, remembered{instance: p.instance, zone: p.zone, id: plainAddress(c.address)})
		}
	}
	all := func(remembered) bool { return true }
	hosts = without(hosts, seats, inZone, all)
	if spare == 0 && s.spare() > 0 { // where a zone may be missing, who was there says which
		hosts = without(hosts, s.absent, inZone, func(r remembered) bool { return r.zone != "" })
	}
	if spare == 0 && missed(hosts) == 0 && s.spare() > 0 {
		unseen = 1 // the database knows of something that cannot be seen here
	}
	return hosts, spare, unseen
}

// unseen says that the database knows of something that cannot be seen here; empty means that it
// does not.
func (s *status) unseen(away []remembered) string {
	if least, known := s.tolerance.least(); known {
		if _, _, unseen := s.spared(least, away); unseen > 0 {
			return "the database says that it can spare no zone, and nothing is seen to be missing"
		}
	}
	return ""
}

// emptied reports whether the process is excluded and has nothing any more.
func (p *process) emptied() bool { return is(p.excluded) && p.rolesKnown && len(p.roles) == 0 }

// spare is how many zones may fail when all that is there is well, counted as FoundationDB counts
// its own figures, so that what is missing of those can be told from what is never there.
func (s *status) spare() int {
	copies, _ := s.copies()
	logs, _ := toleranceOf(s.currentLogs())
	if s.regions > 1 {
		return copies // a region more
	}
	zones := map[string]bool{}
	for _, p := range s.processes {
		if recruitable(p) && (s.primaryDC == "" || p.dc == s.primaryDC) { // logs are recruited there
			zones[p.zone] = true
		}
	}
	out := min(copies-1, logs-1, s.spareSeats())
	return max(min(out, len(zones)-max(copies, logs)), 0)
}

func (s *status) currentLogs() []logTolerance {
	var out []logTolerance
	for _, set := range s.logs {
		if set.current == nil || *set.current {
			out = append(out, set.local)
		}
	}
	return out
}

// spareSeats is how many zones may fail with their seats, the fullest first.
func (s *status) spareSeats() int {
	inZone := map[string]int{}
	for _, c := range s.coordinators {
		zone := "at " + endpoint(c.address)
		if p := s.sitting(c.address); p != nil {
			zone = cmp.Or(p.zone, zone)
		} else {
			zone = cmp.Or(s.owners[endpoint(c.address)].zone, zone)
		}
		inZone[zone]++
	}
	var counts []int
	for _, n := range inZone {
		counts = append(counts, n)
	}
	slices.Sort(counts)
	slices.Reverse(counts)
	zones, lost := 0, 0
	for _, n := range counts {
		if lost += n; lost > (len(s.coordinators)-1)/2 {
			break
		}
		zones++
	}
	return zones
}

// personal is what people have done that is left alone: said, and what follows from it is in the
// groups.
func (s *status) personal() string {
	var out []string
	if s.maintenance != "" {
		out = append(out, "zone "+engines.OneLine(s.maintenance)+" is under maintenance")
	}
	told := map[string]bool{}
	for _, p := range s.processes {
		if by := s.excludedByPerson(p.instance); p.instance != "" && by != "" && !told[p.instance] {
			told[p.instance] = true
			out = append(out, engines.OneLine(p.instance)+" is excluded by somebody ("+engines.OneLine(by)+")")
		}
		if p.failing() != "" {
			out = append(out, engines.OneLine(cmp.Or(p.instance, endpoint(p.address)))+" says "+p.fails.words())
		}
	}
	if len(out) > 5 {
		out = append(out[:5], "and more")
	}
	return strings.Join(out, ", ")
}
