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
//     With three data halls, these are the domains: data have a copy in each, mutations
//     two in each of two. As a hall takes part with two zones, and not with any one of
//     its pods, they acknowledge there; elsewhere it is a role.
//   - coordinators: a quorum of seats.
//
// What is missing and nobody knows where is a member without a pod, so the minimum stays what the
// redundancy mode asks for, and nothing that is lost makes it less.
func (s *status) groups(away []remembered) []engines.Group {
	var out []engines.Group
	if copies, known := s.copies(); known {
		out = append(out, s.storageGroups(copies, away)...)
	}
	out = append(out, s.logGroups()...)
	return append(out, s.quorum())
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

// host is one pod in a group of domains.
type host struct {
	instance, domain string
	state            engines.MemberState
}

// hosts returns the pods with a process that fits, each once with its state. A process of no pod is
// a host of its own, under its address.
func (s *status) hosts(fits func(process) bool) []host {
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
			out = append(out, host{instance: name, domain: s.domain(p), state: engines.MemberActive})
		}
		if out[i].domain != s.domain(p) {
			out[i].domain, out[i].state = "", engines.MemberUnknown // one pod is in one
		}
		out[i].state = worse(out[i].state, p.state())
	}
	return out
}

// state returns the state of a process that is listed.
func (p process) state() engines.MemberState {
	switch {
	case !p.rolesKnown, p.excluded == nil:
		return engines.MemberUnknown
	case p.failing() != "":
		return engines.MemberDown
	case p.lag > catchingUp:
		return engines.MemberRecovering
	}
	return engines.MemberActive
}

// catchingUp is the lag of a storage server, in seconds, from which on it does not
// serve what is asked of it.
const catchingUp = 60

// failing is what the process says of itself that keeps it from serving.
func (p process) failing() string {
	for _, m := range p.messages {
		switch m {
		case "io_error", "io_timeout", "platform_error", "process_error":
			return m
		}
	}
	return ""
}

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
		g.Members = append(g.Members, engines.Member{ID: h.instance, Node: h.instance, State: h.state, Domain: h.domain, Eligible: true})
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
	missed := map[string]bool{} // domains of which something is missing
	for _, h := range hosts {
		if h.state != engines.MemberActive {
			missed[h.domain] = true
		}
	}
	for _, r := range away {
		if in(r.dc) {
			hosts = append(hosts, host{instance: r.instance, domain: r.domain, state: engines.MemberDown})
			missed[r.domain] = true
		}
	}
	if s.maintenance != "" {
		// FoundationDB counts on the zone's return and says that all copies are there.
		domain := s.domainOfZone(s.maintenance, away)
		hosts = append(hosts, host{instance: "~maintenance", domain: domain, state: engines.MemberDown})
		missed[domain] = true
	}
	g := inDomains(id, engines.GroupShard, hosts, copies-1, max(copies-left-len(missed), 0))
	for i := range g.Members {
		if g.Members[i].ID == "~maintenance" {
			g.Members[i].Node = ""
		}
	}
	return g
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

// recruitable reports whether it may become a log.
func recruitable(p process) bool {
	if is(p.excluded) {
		return false
	}
	switch p.class {
	case "unset", "log", "transaction":
		return true
	}
	return false
}

// logGroups returns the groups of logs of all generations together, because a process does not say
// to which one its log belongs; while anything may go there is only one. Logs of other regions are
// a group of their own if they can be told apart.
func (s *status) logGroups() []engines.Group {
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
	out := []engines.Group{inDomains("logs", engines.GroupShard, s.hosts(func(p process) bool { return isLog(p) && near(p) }), factor-1, lost)}
	if far {
		farFactor, farLost := toleranceOf(others)
		if hosts := s.hosts(func(p process) bool { return isLog(p) && !near(p) }); len(hosts) > 0 {
			out = append(out, inDomains("logs/other", engines.GroupShard, hosts, farFactor-1, farLost))
		}
	}
	kind := engines.GroupRole
	if s.threeHalls() {
		kind = engines.GroupAcks
	}
	recruits := inDomains("recruits", kind, s.hosts(func(p process) bool { return recruitable(p) && near(p) && !s.narrow(p.hall) }), 0, 0)
	recruits.MinAvailable = max(factor, 1)
	return append(out, recruits)
}

// narrow reports whether a data hall has too few zones to take two copies of a mutation.
func (s *status) narrow(hall string) bool {
	if !s.threeHalls() {
		return false
	}
	zones := map[string]bool{}
	for _, p := range s.processes {
		if p.hall == hall && recruitable(p) {
			zones[p.zone] = true
		}
	}
	return len(zones) < 2
}

// toleranceOf is the least factor of the sets that have one, and how many zones more
// than that allows for are lost already. A set that does not say is as good as none.
func toleranceOf(sets []logTolerance) (factor, lost int) {
	for _, l := range sets {
		switch {
		case l.factor != nil && *l.factor == 0: // there is no such set
		case l.factor == nil || l.tolerance == nil:
			return 1, 1
		default:
			if factor == 0 || *l.factor < factor {
				factor = *l.factor
			}
			lost = max(lost, *l.factor-1-*l.tolerance)
		}
	}
	if factor == 0 {
		return 1, 1
	}
	return factor, max(lost, 0)
}

// quorum returns the quorum of the coordinators. A seat is in the pod that has its address.
func (s *status) quorum() engines.Group {
	g := engines.Group{ID: "coordinators", Kind: engines.GroupQuorum}
	for _, c := range s.coordinators {
		m := engines.Member{ID: plainAddress(c.address), State: engines.MemberUnknown, Eligible: true}
		p := s.sitting(c.address)
		if p != nil {
			m.Node = cmp.Or(p.instance, endpoint(p.address))
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
		out = append(out, engines.Node{Name: r.instance, State: engines.MembershipNotLive})
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
