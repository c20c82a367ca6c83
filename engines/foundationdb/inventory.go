package foundationdb

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/sorted"
)

// groups returns the groups of the policy, in a fixed order:
//
//   - storage: who holds data, in domains of one zone each, since no shard has two
//     copies in one zone. So any number of pods of one zone may be missing, but not
//     one each of two zones where data has two copies.
//   - logs: the same for the mutations that are in logs only.
//   - recruits: who can become a log. There must be some in as many zones as each
//     mutation is written to, or the database stops until one is back.
//   - coordinators: a quorum of seats.
//   - fault_tolerance: all pods, for what the database itself says that it can spare.
//
// What is missing and nobody knows where is a member without a pod, so the minimum stays what the
// redundancy mode asks for, and nothing that is lost makes it less.
func (s *status) groups(away []remembered) []engines.Group {
	var out []engines.Group
	if copies, known := s.copies(); known {
		out = append(out, s.storageGroups(copies, away)...)
	}
	out = append(out, s.logGroups(away)...)
	out = append(out, s.quorum())
	if least, known := s.tolerance.least(); known {
		out = append(out, s.tolerated(least, away))
	}
	return out
}

// threeHalls reports whether copies are spread over data halls, and only within these over zones.
func (s *status) threeHalls() bool { return strings.HasPrefix(s.redundancy, "three_data_hall") }

// domain is what a process fails with; empty means unknown.
func (s *status) domain(p process) string {
	if s.threeHalls() {
		return p.hall
	}
	return p.zone
}

// host is one pod in a group of domains, or what is missing of it.
type host struct {
	id, instance, domain string
	state                engines.MemberState
}

// hosts returns the pods with a process that fits, each once with its state. A process of no pod is
// a host of its own, under its address.
func (s *status) hosts(fits func(process) bool) []host { return s.hostsBy(fits, s.domain) }

// hostsBy are the same in the domains that a func tells.
func (s *status) hostsBy(fits func(process) bool, domain func(process) string) []host {
	var out []host
	at := map[string]int{}
	for _, p := range s.processes {
		if !fits(p) {
			continue
		}
		name := cmp.Or(p.instance, endpoint(p.address))
		if name == "" {
			continue // it has no name
		}
		i, there := at[name]
		if !there {
			i = len(out)
			at[name] = i
			out = append(out, host{id: name, instance: name, domain: domain(p), state: engines.MemberActive})
		}
		if out[i].domain != domain(p) {
			out[i].domain, out[i].state = "", engines.MemberUnknown // one pod is in one
		}
		out[i].state = worse(out[i].state, p.state())
	}
	return out
}

// without adds to the hosts what is missing of those roles. What is missing of a pod that is there
// has a name of its own.
func without(hosts []host, away []remembered, domain func(remembered) string, is func(remembered) bool) []host {
	taken := map[string]bool{}
	for _, h := range hosts {
		taken[h.id] = true
	}
	for _, r := range away {
		if !is(r) || r.there && taken[r.instance] {
			continue // of one that is listed the state says it
		}
		id := r.instance
		if id == "" || taken[id] && r.id != "" {
			id = r.instance + "~" + r.id
		}
		if taken[id] {
			continue
		}
		taken[id] = true
		hosts = append(hosts, host{id: id, instance: r.instance, domain: domain(r), state: engines.MemberDown})
	}
	return hosts
}

func inDomain(r remembered) string { return r.domain }

func inZone(r remembered) string { return r.zone }

// missed are the domains of which something is missing. Each host whose domain is not known is one.
func missed(hosts []host) int {
	domains, single := map[string]bool{}, 0
	for _, h := range hosts {
		switch {
		case h.state == engines.MemberActive:
		case h.domain == "":
			single++
		default:
			domains[h.domain] = true
		}
	}
	return len(domains) + single
}

// state returns the state of a process that is listed.
func (p process) state() engines.MemberState {
	switch {
	case !p.rolesKnown, p.excluded == nil:
		return engines.MemberUnknown
	case p.failing() != "", p.lag > catchingUp, slices.ContainsFunc(p.ids, func(r roleID) bool { return !r.answers }):
		return engines.MemberRecovering // it is not gone, and may serve all the same
	}
	return engines.MemberActive
}

// catchingUp is the lag of a storage server, in seconds, from which on it does not serve what is asked
// of it: readers wait for it, or ask another one. At rest it is up to 2.2 (recordings). (TestStorageThatLags).
const catchingUp = 10

func worse(a, b engines.MemberState) engines.MemberState {
	order := []engines.MemberState{engines.MemberActive, engines.MemberRecovering, engines.MemberDown, engines.MemberUnknown}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

// inDomains makes a group whose members fail by domain. spare is how many domains may
// be missing when all is well, lost how many more are than can be seen.
func inDomains(id string, kind engines.GroupKind, hosts []host, spare, lost int) engines.Group {
	g := engines.Group{ID: id, Kind: kind, Members: make([]engines.Member, 0, len(hosts)+lost)}
	domains, single := map[string]bool{}, 0
	for _, h := range hosts {
		if h.domain == "" {
			single++ // unknown: with nobody together
		} else {
			domains[h.domain] = true
		}
		g.Members = append(g.Members, engines.Member{ID: h.id, Node: h.instance, State: h.state, Domain: h.domain, Eligible: true})
	}
	for i := range lost {
		g.Members = append(g.Members, engines.Member{ID: fmt.Sprintf("~lost-%d", i+1), State: engines.MemberDown, Eligible: true})
	}
	g.MinAvailable = max(len(domains)+single+lost-max(spare, 0), 0)
	sorted.By(g.Members, func(a, b engines.Member) int { return cmp.Compare(a.ID, b.ID) })
	return g
}

// storageGroups returns a group for each region whose processes can be told apart, else one for all
// with the worst of their trackers.
func (s *status) storageGroups(copies int, away []remembered) []engines.Group {
	untold := slices.ContainsFunc(s.trackers, func(t tracker) bool { return t.primary == nil })
	if s.regions <= 1 || s.primaryDC == "" || len(s.trackers) <= 1 || untold {
		left := 0
		if len(s.trackers) > 0 {
			left = leastOf(s.trackers, copies, func(tracker) bool { return true })
		}
		return []engines.Group{s.storage("storage", copies, left, away, func(string) bool { return true })}
	}
	var out []engines.Group
	for id, primary := range map[string]bool{"storage/primary": true, "storage/remote": false} {
		left := leastOf(s.trackers, copies, func(t tracker) bool { return *t.primary == primary })
		out = append(out, s.storage(id, copies, left, away, func(dc string) bool { return (dc == s.primaryDC) == primary }))
	}
	sorted.By(out, func(a, b engines.Group) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// leastOf the copies that the trackers of one kind have seen; unknown is none.
func leastOf(trackers []tracker, copies int, counts func(tracker) bool) int {
	for _, t := range trackers {
		switch {
		case !counts(t):
		case t.replicas == nil:
			copies = min(copies, 0)
		default:
			copies = min(copies, *t.replicas)
		}
	}
	return copies
}

func (s *status) storage(id string, copies, left int, away []remembered, in func(dc string) bool) engines.Group {
	hosts := s.hosts(func(p process) bool { return p.mayHave("storage") && in(p.dc) })
	hosts = without(hosts, away, inDomain, func(r remembered) bool { return r.role == "storage" && (r.instance == "" || in(r.dc)) })
	hosts = append(hosts, s.underMaintenance(s.domainOfZone(s.maintenance, away))...)
	return inDomains(id, engines.GroupShard, hosts, copies-1, max(copies-left-missed(hosts), 0))
}

// underMaintenance is what is missing of a zone under maintenance: FoundationDB counts on its return and says
// that all copies are there.
func (s *status) underMaintenance(domain string) []host {
	if s.maintenance == "" {
		return nil
	}
	return []host{{id: "~maintenance", domain: domain, state: engines.MemberDown}}
}

// domainOfZone is the zone itself, or the hall that it is in.
func (s *status) domainOfZone(zone string, away []remembered) string {
	if !s.threeHalls() {
		return zone
	}
	for _, p := range s.processes {
		if p.zone == zone {
			return p.hall
		}
	}
	for _, r := range away {
		if r.zone == zone {
			return r.domain
		}
	}
	return ""
}

func isLog(p process) bool { return p.mayHave("log") }

// logGroups returns the groups of logs of all generations together, because a process does not say
// to which one its log belongs; while anything may go there is only one. Logs of other regions are
// a group of their own if they can be told apart.
func (s *status) logGroups(away []remembered) []engines.Group {
	far := s.regions > 1 && s.primaryDC != ""
	near := func(p process) bool { return !far || p.dc == s.primaryDC }
	var local, others []logTolerance
	for _, set := range s.logs {
		local = append(local, set.local)
		others = append(others, set.remote, set.satellite)
	}
	if !far {
		local = append(local, others...)
	}
	factor, lost := toleranceOf(local)
	if s.threeHalls() {
		factor, lost = 2, min(lost, 1) // halls: of four copies any two in one hall
	}
	logs := func(id string, factor, lost int, here func(dc string) bool) engines.Group {
		hosts := s.hosts(func(p process) bool { return isLog(p) && here(p.dc) })
		dead := without(hosts, away, inDomain, func(r remembered) bool { return r.role == "log" && r.instance != "" && here(r.dc) })
		lost = max(lost-missed(dead)+missed(hosts), 0)
		return inDomains(id, engines.GroupShard, dead, factor-1, lost)
	}
	out := []engines.Group{logs("logs", factor, lost, func(dc string) bool { return !far || dc == s.primaryDC })}
	if far {
		farFactor, farLost := toleranceOf(others)
		if g := logs("logs/other", farFactor, farLost, func(dc string) bool { return dc != s.primaryDC }); len(g.Members) > farLost {
			out = append(out, g)
		}
	}
	return append(out, s.recruits(factor, near)...)
}

// toleranceOf is the least factor of the sets that there are, and how many zones more than that
// allows for are lost already. A set of which half is said is as good as none.
func toleranceOf(sets []logTolerance) (factor, lost int) {
	for _, l := range sets {
		switch {
		case l.none():
		case l.factor == nil || l.tolerance == nil:
			return 1, 1
		default:
			if factor == 0 || *l.factor < factor {
				factor = *l.factor
			}
			lost = max(lost, *l.factor-1-l.anti-*l.tolerance)
		}
	}
	if factor == 0 {
		return 1, 1
	}
	return factor, max(lost, 0)
}

// none reports whether there is no such set: the document has neither figure of it, or the factor 0.
func (l logTolerance) none() bool {
	return l.factor == nil && l.tolerance == nil || l.factor != nil && *l.factor == 0
}

// quorum returns the quorum of the coordinators. A seat is in the pod that has its address.
func (s *status) quorum() engines.Group {
	g := engines.Group{ID: "coordinators", Kind: engines.GroupQuorum}
	for _, c := range s.coordinators {
		m := engines.Member{ID: plainAddress(c.address), State: engines.MemberUnknown, Eligible: true}
		p := s.sitting(c.address)
		if p != nil {
			m.Node = cmp.Or(p.instance, endpoint(p.address))
		} else if !is(c.reachable) {
			m.Node = s.owners[endpoint(c.address)].instance
		}
		switch {
		case c.reachable == nil:
		case *c.reachable:
			if p != nil { // else nobody knows whose pod takes it away
				m.State = engines.MemberActive
			}
		default:
			m.State = engines.MemberDown
		}
		g.Members = append(g.Members, m)
	}
	sorted.By(g.Members, func(a, b engines.Member) int { return cmp.Compare(a.ID, b.ID) })
	g.Members = slices.CompactFunc(g.Members, func(a, b engines.Member) bool { return a.ID == b.ID })
	g.MinAvailable = len(g.Members)/2 + 1
	return g
}

// seats are those of a pod.
func (s *status) seats(instance string) []string {
	var out []string
	for _, c := range s.coordinators {
		if p := s.sitting(c.address); p != nil && p.instance == instance {
			out = append(out, plainAddress(c.address))
		}
	}
	return out
}

// nodes are the pods that the database has processes of, and those that it had.
func (s *status) nodes(away []remembered) []engines.Node {
	var out []engines.Node
	seen := map[string]bool{}
	for _, p := range s.processes {
		name := cmp.Or(p.instance, endpoint(p.address))
		if name != "" && !seen[name] {
			seen[name] = true
			out = append(out, engines.Node{Name: name, Address: endpoint(p.address), State: engines.MembershipLive})
		}
	}
	for _, r := range away {
		if r.instance != "" && !seen[r.instance] {
			seen[r.instance] = true
			out = append(out, engines.Node{Name: r.instance, State: engines.MembershipNotLive})
		}
	}
	sorted.By(out, func(a, b engines.Node) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Ranks: pods of one class restart after those of another. A pod whose processes
// have several has the latest.
const (
	rankStorage = 10
	rankOther   = 20
	rankLog     = 30
)

func rankOf(processes []process) int {
	rank := 0
	for _, p := range processes {
		switch p.class {
		case "storage", "unset", "":
			rank = max(rank, rankStorage)
		case "log", "transaction", "coordinator":
			rank = max(rank, rankLog)
		default:
			rank = max(rank, rankOther)
		}
	}
	return rank
}

func rolesOf(processes []process) []string {
	var out []string
	for _, p := range processes {
		out = append(out, p.roles...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
