package topology

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/sorted"
)

// The roles of members.
const (
	primaryRole = "primary"
	replicaRole = "replica"
)

// staleAfter is the age from which on a look no longer counts. The agent of a slow server looks
// rarely.
const staleAfter = time.Minute

// assessment is a view with the conclusions from it.
type assessment struct {
	View
	members []Member // all, and those that only others know of, as every member orders them
	primary *Member
	writers []Member // that are known to allow writes
	// adopting means that the primary has no agent yet.
	adopting bool
	// fixed means that the primary keeps its role.
	fixed bool
}

// Observe is pure: values in, facts out, and Unknown for the rest.
func Observe(v View) engines.Observation {
	self := v.Self.State
	o := engines.Observation{Node: self.Node, Version: plainVersion(self.Version), Busy: self.Busy}
	switch {
	case self.Down:
		o.Member, o.Health.Reason = engines.MembershipNotLive, self.Problem
		return o
	case !self.Serving:
		o.Health.Reason = self.Problem
		return o
	}
	s := see(v)
	o.Member = standing(v.Self)
	o.Topology = v.Kind()
	o.Groups, o.Nodes, o.Health = s.groups(), s.nodes(), s.verdict()
	o.Veto = s.veto()
	o.Settled = s.settled()
	switch {
	case s.leads(v.Self):
		o.Roles, o.After = []string{primaryRole}, s.followers()
		o.Last = s.fixed || o.Topology == engines.SingleServer
	case v.Self.Allows() && !(s.fixed && self.Source != nil):
		o.Roles = []string{primaryRole} // though it is not the only one
	case self.Source != nil || self.Group != nil:
		o.Roles = []string{replicaRole}
	}
	return o
}

func plainVersion(text string) string {
	if v, err := replication.ParseVersion(text); err == nil {
		return v.String()
	}
	return text
}

func see(v View) assessment {
	s := assessment{View: v, fixed: v.Kind() == engines.FixedPrimary}
	for i, m := range s.Others {
		if m.Known && v.Now.Sub(m.State.Looked) > staleAfter {
			s.Others = slices.Clone(s.Others)
			s.Others[i] = Member{Peer: m.Peer, Why: "its agent has not looked at it for long"}
		}
	}
	s.recall()
	s.members = append(s.All(), s.inferred()...)
	sorted.By(s.members, func(a, b Member) int { return cmp.Compare(a.Name(), b.Name()) })
	for i, m := range s.members {
		if m.Allows() && !(s.fixed && m.State.Source != nil) {
			s.writers = append(s.writers, m)
			s.primary = &s.members[i]
		}
	}
	switch len(s.writers) {
	case 0:
		s.primary = s.withoutAgent()
		s.adopting = s.primary != nil
	case 1:
	default:
		s.primary = nil
	}
	if group := s.Self.State.Group; group != nil && group.Primary {
		s.primary = s.elected(group)
		s.adopting = s.primary != nil && s.primary.unheard()
	}
	return s
}

// recall gives a fixed primary that does not report the ID by which its replicas know it.
func (s *assessment) recall() {
	for i, m := range s.Others {
		if s.fixed && !m.Known && m.State.ID == "" && m.Name() == s.Fixed.Name {
			s.Others = slices.Clone(s.Others)
			s.Others[i].State.ID = s.Fixed.ID
		}
	}
}

// elected by group replication, as this member sees it.
func (s assessment) elected(g *replication.GroupState) *Member {
	for _, member := range g.Members {
		if member.Role == replication.RolePrimary && member.State == replication.MemberOnline {
			for i := range s.members {
				if IsGroupMember(s.members[i], member) {
					return &s.members[i]
				}
			}
		}
	}
	return nil
}

// IsGroupMember reports whether the group means this member: by its ID, or by its name while that is
// not known.
func IsGroupMember(m Member, g replication.GroupMember) bool {
	if m.Known && m.State.ID != "" {
		return m.State.ID == g.ID
	}
	return isSource(&replication.Source{Host: g.Host, Port: g.Port}, m)
}

// inferred are members without a known agent: replicas and sources of members, and other
// members of the group.
func (s assessment) inferred() []Member {
	var out []Member
	known := s.All()
	add := func(id, host string, port int) {
		if host == "" || slices.ContainsFunc(append(known, out...), func(m Member) bool {
			return id != "" && m.State.ID == id || isSource(&replication.Source{Host: host, Port: port}, m)
		}) {
			return
		}
		out = append(out, Member{
			Peer: engines.Peer{Node: replication.NodeName(host, port)}, State: replication.State{ID: id}, Why: "no agent is known for it",
		})
	}
	for _, m := range known {
		if !m.Serves() {
			continue
		}
		for _, r := range m.State.Replicas {
			add(r.ID, r.Host, r.Port)
		}
		if src := m.State.Source; src != nil && src.Receiving {
			add(src.ID, src.Host, src.Port)
		}
		if g := m.State.Group; g != nil {
			for _, other := range g.Members {
				add(other.ID, other.Host, other.Port)
			}
		}
	}
	return out
}

// withoutAgent returns the primary of a database that is being adopted: all members follow it, its
// name belongs to the local StatefulSet, and no agent of it was ever known. Its agent comes last.
// Nil means that there is no such primary, or that a member that might take writes does not report.
func (s assessment) withoutAgent() *Member {
	var found *Member
	for i, m := range s.members {
		if m.Peer.Pod == "" && !m.Known && (s.fixed || s.sibling(m)) && slices.ContainsFunc(s.All(), func(o Member) bool { return s.receives(o, m) }) {
			found = &s.members[i]
		}
	}
	if found == nil || slices.ContainsFunc(s.All(), func(m Member) bool {
		switch {
		case m.Serves():
			return !m.Refuses() && !s.fixed || m.State.Group != nil || m.State.Source == nil || !s.comesFrom(m, *found)
		case m.Known:
			return !m.State.Down
		}
		return m.Peer.Alive
	}) {
		return nil
	}
	return found
}

// receives reports whether a serving member is connected to the source.
func (s assessment) receives(m, source Member) bool {
	return m.Serves() && m.State.Source != nil && m.State.Source.Receiving && s.sends(source, m)
}

// sends is Sends, also for replicas of a fixed primary that follow a Service's name.
func (s assessment) sends(source, replica Member) bool {
	return Sends(source, replica) || s.fixed && hasID(replica.State.Source, source)
}

// sibling reports whether the name is that of a pod of the local StatefulSet and of no known
// member.
func (s assessment) sibling(m Member) bool {
	pod := replication.PodOf(m.Name())
	set, ordinal := replication.SetOf(pod)
	own, _ := replication.SetOf(replication.PodOf(s.Self.Name()))
	return ordinal != "" && set == own &&
		!slices.ContainsFunc(s.All(), func(o Member) bool { return strings.EqualFold(replication.PodOf(o.Name()), pod) })
}

// leads reports whether the member takes writes: the primary, or one of many.
func (s assessment) leads(m Member) bool {
	if s.primary != nil {
		return s.primary.Name() == m.Name()
	}
	return s.manyWriters() && m.Allows()
}

// manyWriters reports whether several members take writes by design, as in group replication without
// a primary.
func (s assessment) manyWriters() bool {
	g := s.Self.State.Group
	return g != nil && !g.Primary
}

// followers returns the followers of the local server, which must be updated before it.
func (s assessment) followers() []string {
	if s.manyWriters() {
		return nil
	}
	var out []string
	for _, m := range s.members {
		if m.Name() != "" && m.Name() != s.Self.Name() && (s.Follows(m, s.Self) || lists(s.Self, m) || s.fixed && s.comesFrom(m, s.Self) || s.Self.State.Group != nil) {
			out = append(out, m.Name())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// nodes returns all members, including the local one. A node that is not listed is not a member.
func (s assessment) nodes() []engines.Node {
	var out []engines.Node
	for _, m := range s.members {
		if m.Name() == "" {
			continue
		}
		out = append(out, engines.Node{Name: m.Name(), Address: m.Name(), State: s.membership(m)})
	}
	return out
}

// membership returns the membership of a member. If its agent is unavailable or does not know, it
// is what the others see.
func (s assessment) membership(m Member) engines.Membership {
	switch {
	case m.Serves():
		return standing(m)
	case m.Known && m.State.Down:
		return engines.MembershipNotLive
	case m.Known:
		return engines.MembershipUnknown
	case s.connected(m):
		return engines.MembershipLive
	case s.missed(m):
		return engines.MembershipNotLive
	}
	return engines.MembershipUnknown
}

// standing returns the membership of a server that answers, in its own words. It may have left its
// group or been expelled. Without a majority it does not know what the others decided.
func standing(m Member) engines.Membership {
	g := m.State.Group
	if g == nil {
		return engines.MembershipLive
	}
	for _, own := range g.Members {
		switch {
		case own.ID != m.State.ID:
		case own.State == replication.MemberOffline, own.State == replication.MemberFailed:
			return engines.MembershipNotLive
		case g.Quorum && (own.State == replication.MemberOnline || own.State == replication.MemberRecovering):
			return engines.MembershipLive
		}
	}
	return engines.MembershipUnknown
}

// connected reports whether a serving member sees that the member's server lives: it sends to it,
// or receives from it.
func (s assessment) connected(m Member) bool {
	for _, other := range s.members {
		if !other.Serves() {
			continue
		}
		if src := other.State.Source; lists(other, m) || src != nil && src.Receiving && s.sends(m, other) {
			return true
		}
		if g := other.State.Group; g != nil && slices.ContainsFunc(g.Members, func(o replication.GroupMember) bool {
			return IsGroupMember(m, o) && (o.State == replication.MemberOnline || o.State == replication.MemberRecovering)
		}) {
			return true
		}
	}
	return false
}

// missed reports whether the members that would see the server if it were alive do not see it: the
// primary, or all replicas if the member is the primary.
func (s assessment) missed(m Member) bool {
	if s.connected(m) {
		return false
	}
	if s.primary != nil && s.primary.Serves() && s.primary.Name() != m.Name() {
		return true
	}
	replicas := 0
	for _, other := range s.members {
		if other.Serves() && s.sends(m, other) {
			replicas++
		}
	}
	return replicas > 0
}
