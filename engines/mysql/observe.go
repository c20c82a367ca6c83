package mysql

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/sorted"
)

// Roles of members.
const (
	primaryRole = "primary"
	replicaRole = "replica"
)

// staleAfter a look says nothing any more. The agent of a slow server looks seldom.
const staleAfter = time.Minute

// sight is a view with what is concluded from it.
//
// Invariant: primary is nil unless exactly one member is known to be it, or no member
// takes writes and all follow one that has no agent yet.
type sight struct {
	view
	members []member // all, and those that only others know of, as every member orders them
	primary *member
	writers []member // that are known to allow writes
	// adopting: the primary has no agent yet.
	adopting bool
}

// observation is pure: values in, facts out, and unknown for the rest.
func observation(v view) engines.Observation {
	self := v.self.state
	o := engines.Observation{Node: self.Node, Version: plainVersion(self.Version), Busy: self.Busy}
	switch {
	case self.Down:
		o.Member, o.Health.Reason = engines.NotLive, self.Problem
		return o
	case !self.Serving:
		o.Health.Reason = self.Problem
		return o
	}
	s := see(v)
	o.Member = standing(v.self)
	o.Groups, o.Nodes, o.Health = s.groups(), s.nodes(), s.verdict()
	o.Veto = s.veto()
	o.Settled = s.settled()
	if s.leads(v.self) {
		o.Roles, o.After = []string{primaryRole}, s.followers()
	} else if self.Source != nil || self.Group != nil {
		o.Roles = []string{replicaRole}
	}
	return o
}

func plainVersion(text string) string {
	if v, err := parseVersion(text); err == nil {
		return v.String()
	}
	return text
}

func see(v view) sight {
	s := sight{view: v}
	for i, m := range s.others {
		if m.known && v.now.Sub(m.state.Looked) > staleAfter {
			s.others = slices.Clone(s.others)
			s.others[i] = member{peer: m.peer, why: "its agent has not looked at it for long"}
		}
	}
	s.members = append(s.all(), s.rumoured()...)
	sorted.By(s.members, func(a, b member) int { return cmp.Compare(a.name(), b.name()) })
	for i, m := range s.members {
		if m.allows() {
			s.writers = append(s.writers, m)
			s.primary = &s.members[i]
		}
	}
	switch len(s.writers) {
	case 0:
		s.primary = s.unattended()
		s.adopting = s.primary != nil
	case 1:
	default:
		s.primary = nil
	}
	if group := s.self.state.Group; group != nil && group.Primary && !group.Galera {
		s.primary = s.elected(group)
	}
	return s
}

// elected by group replication, as this member sees it.
func (s sight) elected(g *GroupState) *member {
	for _, member := range g.Members {
		if member.Role == rolePrimary && member.State == memberOnline {
			for i := range s.members {
				if s.isGroupMember(s.members[i], member) {
					return &s.members[i]
				}
			}
		}
	}
	return nil
}

func (s sight) isGroupMember(m member, g GroupMember) bool {
	if m.known && m.state.ID != "" {
		return m.state.ID == g.ID
	}
	return isSource(&Source{Host: g.Host, Port: g.Port}, m)
}

// rumoured are members whose agents nobody knows: replicas of a member, sources,
// and others in the group.
func (s sight) rumoured() []member {
	var out []member
	known := s.all()
	add := func(id, host string, port int) {
		if host == "" || slices.ContainsFunc(append(known, out...), func(m member) bool {
			return id != "" && m.state.ID == id || isSource(&Source{Host: host, Port: port}, m)
		}) {
			return
		}
		out = append(out, member{
			peer: engines.Peer{Node: nodeName(host, port)}, state: State{ID: id}, why: "no agent is known for it",
		})
	}
	for _, m := range known {
		if !m.serves() {
			continue
		}
		for _, r := range m.state.Replicas {
			add(r.ID, r.Host, r.Port)
		}
		if src := m.state.Source; src != nil && src.Receiving {
			add(src.ID, src.Host, src.Port)
		}
		if g := m.state.Group; g != nil && !g.Galera {
			for _, other := range g.Members {
				add(other.ID, other.Host, other.Port)
			}
		}
	}
	return out
}

// unattended is the member that all others follow, and of which no agent has ever been
// known: while a database is adopted its primary gets an agent last. By its name it is
// of the own StatefulSet; who follows anybody else follows somebody outside. nil: there
// is none, or somebody who might take writes does not tell.
func (s sight) unattended() *member {
	var found *member
	for i, m := range s.members {
		if m.peer.Pod == "" && !m.known && s.sibling(m) && slices.ContainsFunc(s.all(), func(o member) bool { return s.receives(o, m) }) {
			found = &s.members[i]
		}
	}
	if found == nil || slices.ContainsFunc(s.all(), func(m member) bool {
		switch {
		case m.serves():
			return !m.refuses() || m.state.Group != nil || m.state.Source == nil || !s.comesFrom(m, *found)
		case m.known:
			return !m.state.Down
		}
		return m.peer.Alive
	}) {
		return nil
	}
	return found
}

// receives tells whether a member that serves is sent what the other one writes.
func (s sight) receives(m, source member) bool {
	return m.serves() && m.state.Source != nil && m.state.Source.Receiving && sends(source, m)
}

// sibling: a pod of the own one's StatefulSet is called so, and no known member is.
func (s sight) sibling(m member) bool {
	pod := podOf(m.name())
	set, ordinal := setOf(pod)
	own, _ := setOf(podOf(s.self.name()))
	return ordinal != "" && set == own &&
		!slices.ContainsFunc(s.all(), func(o member) bool { return strings.EqualFold(podOf(o.name()), pod) })
}

// leads tells whether the member takes writes: the primary, or one of many.
func (s sight) leads(m member) bool {
	if s.primary != nil {
		return s.primary.name() == m.name()
	}
	return s.manyWriters() && m.allows()
}

// manyWriters is so by design: Galera, and group replication without a primary.
func (s sight) manyWriters() bool {
	g := s.self.state.Group
	return g != nil && (g.Galera || !g.Primary)
}

// followers of the own server: those that must be updated before it.
func (s sight) followers() []string {
	if s.manyWriters() {
		return nil
	}
	var out []string
	for _, m := range s.members {
		if m.name() != "" && m.name() != s.self.name() && (s.follows(m, s.self) || lists(s.self, m) || s.self.state.Group != nil) {
			out = append(out, m.name())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// nodes are all members, the own one too: who is left out is none.
func (s sight) nodes() []engines.Node {
	var out []engines.Node
	for _, m := range s.members {
		if m.name() == "" {
			continue
		}
		out = append(out, engines.Node{Name: m.name(), Address: m.name(), State: s.membership(m)})
	}
	return out
}

// membership of one whose agent is away, or does not know, is what others see.
func (s sight) membership(m member) engines.Membership {
	switch {
	case m.serves():
		return standing(m)
	case m.known && m.state.Down:
		return engines.NotLive
	case m.known:
		return engines.MembershipUnknown
	case s.connected(m):
		return engines.Live
	case s.missed(m):
		return engines.NotLive
	}
	return engines.MembershipUnknown
}

// standing of a server that answers, in its own words: a group may have put it out, or
// it has left. Without a majority it does not know what the others hold of it.
func standing(m member) engines.Membership {
	g := m.state.Group
	if g == nil {
		return engines.Live
	}
	for _, own := range g.Members {
		switch {
		case own.ID != m.state.ID:
		case own.State == memberOffline, own.State == memberFailed:
			return engines.NotLive
		case g.Quorum && (own.State == memberOnline || own.State == memberRecovering):
			return engines.Live
		}
	}
	return engines.MembershipUnknown
}

// connected tells whether somebody who serves says that the member's server lives:
// it sends to it, or receives from it.
func (s sight) connected(m member) bool {
	for _, other := range s.members {
		if !other.serves() {
			continue
		}
		if src := other.state.Source; lists(other, m) || src != nil && src.Receiving && sends(m, other) {
			return true
		}
		if g := other.state.Group; g != nil && slices.ContainsFunc(g.Members, func(o GroupMember) bool {
			return s.isGroupMember(m, o) && (o.State == memberOnline || o.State == memberRecovering)
		}) {
			return true
		}
	}
	return false
}

// missed tells whether those who would see the member's server if it lived do not:
// the primary that serves, or, of the primary itself, all that follow it.
func (s sight) missed(m member) bool {
	if s.connected(m) {
		return false
	}
	if s.primary != nil && s.primary.serves() && s.primary.name() != m.name() {
		return true
	}
	replicas := 0
	for _, other := range s.members {
		if other.serves() && sends(m, other) {
			replicas++
		}
	}
	return replicas > 0
}
