package policy

import (
	"slices"
	"strings"
)

// groups lists them by their names.
func (n *naive) groups() []Group {
	if n.sorted == nil {
		n.sorted = slices.SortedFunc(slices.Values(n.s.Groups), func(a, b Group) int { return strings.Compare(a.ID, b.ID) })
	}
	return n.sorted
}

// leads counts the members that say they lead.
func leads(g Group, keep func(Member) bool) int {
	k := 0
	for _, m := range g.Members {
		if m.Leader && keep(m) {
			k++
		}
	}
	return k
}

func hostsOf(g Group, known func(string) bool) map[string]int {
	hosts := map[string]int{}
	for _, m := range g.Members {
		if m.Pod == "" || !known(m.Pod) {
			hosts["elsewhere"]++
			continue
		}
		hosts[m.Pod]++
	}
	return hosts
}

// up: it serves.
func up(m Member) bool { return m.State == Active || m.State == Moving }

// left counts the members of a group that would be there if all these pods went.
func (n *naive) left(g Group, without []string, keep func(Member) bool) int {
	k := 0
	for _, m := range g.Members {
		if !up(m) || !keep(m) || slices.Contains(without, m.Pod) && m.Pod != "" {
			continue
		}
		if p := n.find(m.Pod); m.Pod == "" || p != nil && n.alive(p) && !n.absent(p) {
			k++
		}
	}
	return k
}

func every(Member) bool { return true }

// parts are the members of a group, those of one domain together.
func parts(g Group) [][]Member {
	var all [][]Member
next:
	for _, m := range g.Members {
		for i := range all {
			if m.Domain != "" && all[i][0].Domain == m.Domain {
				all[i] = append(all[i], m)
				continue next
			}
		}
		all = append(all, []Member{m})
	}
	return all
}

// partsOf counts those that a pod can take away by itself: in which it has a member,
// or of a role all of them.
func partsOf(g Group, pod string) int {
	k := 0
	for _, part := range parts(g) {
		mine := func(m Member) bool { return m.Pod == pod }
		notMine := func(m Member) bool { return m.Pod != pod }
		if slices.ContainsFunc(part, mine) && !(g.Kind == Role && slices.ContainsFunc(part, notMine)) {
			k++
		}
	}
	return k
}

// whole counts the parts of which nothing would be missing if all these pods went,
// or of a role not everything. A group of which nobody has a domain is counted by
// members.
func (n *naive) whole(g Group, without []string) int {
	k := 0
	for _, part := range parts(g) {
		there := n.left(Group{Members: part}, without, every)
		if there == len(part) || g.Kind == Role && there > 0 {
			k++
		}
	}
	return k
}

// surelyNotLive: its container does not run, or a report that counts says it.
func (n *naive) surelyNotLive(p *Pod) bool {
	switch p.Phase {
	case Missing, Pending, NotStarted, Failed:
		return true
	}
	r := n.heard(p)
	return r != nil && r.Member == NotLive && r.Fresh && n.forLong(r) || n.sick(p) != ""
}

// mayBeThere: all that speaks against this pod is that nobody speaks for it, or
// that it has not been back for long, or that it has not had the time to be Ready.
func (n *naive) mayBeThere(p *Pod) bool {
	if !n.wanted(p) || n.claimed(p) != nil {
		return false
	}
	if n.lost(p) {
		r := n.heard(p)
		return r != nil && !n.surelyNotLive(p)
	}
	if p.Phase == Started && n.alive(p) {
		return !n.slow(p)
	}
	if p.Phase != Ready {
		return false
	}
	return !n.alive(p) && !n.surelyNotLive(p) || !n.unwell(p) && n.soaks(p) && !n.noAgentAnywhere()
}

func (n *naive) needs(g Group) int {
	total := len(parts(g))
	switch g.Kind {
	case Shard:
		least := max(total-of(n.sp.Policy.MaxShardUnavailable, total), 0)
		if g.MinAvailable != nil {
			least = max(least, min(int(*g.MinAvailable), total))
		}
		return least
	case Quorum:
		return max(int(*g.MinAvailable), total/2+1)
	}
	return int(*g.MinAvailable)
}

func (n *naive) inVain(g Group, p *Pod) bool {
	hosts := hostsOf(g, func(name string) bool { return n.find(name) != nil })
	total := len(parts(g))
	return total <= 1 && partsOf(g, p.Name) > 0 || len(hosts) <= 1 || total-partsOf(g, p.Name) < min(n.needs(g), total)
}

// group asks one rule about one group.
func (n *naive) group(r Rule, g Group, p *Pod) bool {
	pool := n.pool(p.Pool)
	mine, down, recovering := 0, 0, 0
	for _, m := range g.Members {
		if m.Pod == p.Name {
			mine++
			if m.State == Down {
				down++
			}
			if m.State != Down && !up(m) {
				recovering++ // or may be
			}
		}
	}
	if mine == 0 {
		return false
	}
	shut := shutsDown(pool)
	without := append([]string{p.Name}, n.chosen...)
	after := n.whole(g, without)
	asked := !n.surelyNotLive(p) && !(n.alive(p) && down == mine) && !shut && !n.outage
	missing := len(parts(g)) - partsOf(g, p.Name) - after
	switch r {
	case BeingMoved:
		return g.Moving
	case NoneEligible:
		return asked && g.NeedsLeader && !n.inVain(g, p) && n.left(g, without, func(m Member) bool { return m.Eligible }) == 0
	case CatchingUp:
		return asked && recovering > 0 && missing > 0
	case SoleCopy:
		if shut {
			return false
		}
		if n.losesData(p) && g.Kind != Role && n.why(p) != ReasonNeverStarted {
			if after == 0 && (n.outage || !n.alive(p) || !n.evacuates(p)) {
				return true
			}
		}
		return asked && after == 0 && !n.inVain(g, p)
	}
	kind := map[Rule]GroupKind{ShardsAway: Shard, QuorumLost: Quorum, AcksLost: Acks, RoleLost: Role}[r]
	if kind != g.Kind || !asked {
		return false
	}
	if n.inVain(g, p) {
		return n.sp.Policy.Unprotected == HoldAlways || missing > 0
	}
	return after < n.needs(g)
}

func (n *naive) losesData(p *Pod) bool {
	if shutsDown(n.pool(p.Pool)) {
		return false
	}
	switch n.why(p) {
	case ReasonScaleDown, ReasonReplacement:
		return true
	}
	return n.restartLoses(p)
}

func toNothing(p *Pool) bool { return p.Replicas == 0 || p.ScalingTo != nil && *p.ScalingTo == 0 }

func shutsDown(p *Pool) bool { return toNothing(p) && p.AllowShutdown }

// restartLoses: it would lose the pod's data, if it is a restart that it needs.
func (n *naive) restartLoses(p *Pod) bool {
	if shutsDown(n.pool(p.Pool)) {
		return false
	}
	if n.leaving(p) {
		return n.sp.Drain.Data.NodeDrain == Lose
	}
	return n.sp.Drain.Data.Restart == Lose
}

func (n *naive) evacuates(p *Pod) bool {
	return n.why(p) == ReasonReplacement || n.losesData(p) && p.Agent && !n.free(p)
}

func (n *naive) prepare(p *Pod) Prepare {
	pool := n.pool(p.Pool)
	switch {
	case n.why(p) == ReasonReplacement:
		return PrepareEvacuate
	case shutsDown(pool), n.free(p), !p.Agent, n.forced(p) && !n.handed(p):
		return PrepareNone
	case n.losesData(p):
		return PrepareEvacuate
	}
	return PrepareHandoff
}

func (n *naive) action(p *Pod) Action {
	switch n.why(p) {
	case ReasonScaleDown:
		return Remove
	case ReasonReplacement:
		return Replace
	case ReasonNodeDrain:
		if pre := n.prepare(p); pre != PrepareNone {
			return Action(pre)
		}
	}
	if n.target(p) != nil {
		return LowerPartition
	}
	return Restart
}
