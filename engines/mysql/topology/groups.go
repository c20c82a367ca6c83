package topology

import (
	"fmt"
	"slices"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// groups in a fixed order.
func (s assessment) groups() []engines.Group {
	primary := engines.Group{ID: "primary", Kind: engines.GroupRole, MinAvailable: 1, NeedsLeader: !s.manyWriters()}
	data := engines.Group{ID: "data", Kind: engines.GroupShard}
	for _, m := range s.members {
		if m.Name() == "" || m.Delayed() {
			continue
		}
		copy := engines.Member{ID: m.Name(), Node: m.Name(), State: s.copyState(m), Leader: s.leads(m) || s.presumed(m)}
		copy.Eligible = copy.State == engines.MemberActive && s.couldLead(m)
		data.Members = append(data.Members, copy)
		if !s.fixed || copy.Leader || s.Keeps(m) {
			primary.Members = append(primary.Members, copy)
		}
	}
	out := []engines.Group{data}
	if len(primary.Members) > 0 {
		out = []engines.Group{primary, data}
	}
	if acks, ok := s.acks(); ok {
		out = append(out, acks)
	}
	if quorum, ok := s.quorum(); ok {
		out = append(out, quorum)
	}
	return out
}

// couldLead reports whether the member is the primary, or follows it closely enough to take over.
func (s assessment) couldLead(m Member) bool {
	src := m.State.Source
	if s.fixed {
		return s.leads(m) || s.Keeps(m)
	}
	if s.primary == nil || s.leads(m) || m.State.Group != nil || src == nil {
		return true
	}
	return !src.ByPosition && !src.Filtered && m.State.Unlogged == "" && Feeds(*s.primary, m)
}

// copyState is Active for the primary and for whoever follows it closely.
func (s assessment) copyState(m Member) engines.MemberState {
	switch {
	case m.Known && m.State.Down:
		return engines.MemberDown
	case s.Self.State.Group != nil && m.unheard():
		return s.groupMemberState(m) // the group says so, whoever its members are
	case s.adopting && s.leads(m):
		return engines.MemberActive // it sends what others follow
	case !m.Serves():
		if s.missed(m) {
			return engines.MemberDown
		}
		return engines.MemberUnknown
	case m.State.Group != nil:
		return s.groupMemberState(m)
	case s.primary == nil:
		return s.withoutPrimary(m)
	case s.leads(m):
		return engines.MemberActive
	}
	switch behind, why := s.behind(m); {
	case why == "":
		return engines.MemberActive
	case behind:
		return engines.MemberRecovering
	}
	return engines.MemberDown
}

// withoutPrimary is the state while no primary is known: nobody can tell who follows
// closely, but a replica that runs has the data.
func (s assessment) withoutPrimary(m Member) engines.MemberState {
	if len(s.writers) > 1 || m.State.Source == nil {
		return engines.MemberUnknown
	}
	if m.State.Source.Receiving && m.State.Source.Applying {
		return engines.MemberRecovering
	}
	return engines.MemberUnknown
}

func (s assessment) groupMemberState(m Member) engines.MemberState {
	for _, g := range s.groupMembers() {
		if IsGroupMember(m, g) {
			return stateInGroup(g.State)
		}
	}
	return engines.MemberDown
}

func stateInGroup(state string) engines.MemberState {
	switch state {
	case replication.MemberOnline:
		return engines.MemberActive
	case replication.MemberRecovering:
		return engines.MemberRecovering
	case "":
		return engines.MemberUnknown
	}
	return engines.MemberDown
}

// groupMembers as the own server sees them.
func (s assessment) groupMembers() []replication.GroupMember {
	if g := s.Self.State.Group; g != nil {
		return g.Members
	}
	return nil
}

// presumed reports whether the member is a primary that does not report: its agent is unavailable,
// and others receive from its server.
func (s assessment) presumed(m Member) bool {
	if s.primary != nil || len(s.writers) > 0 || m.Serves() || s.Self.State.Group != nil {
		return false
	}
	return slices.ContainsFunc(s.members, func(other Member) bool {
		return s.receives(other, m)
	})
}

// behind explains why a replica does not follow the primary closely. behind is true where
// time alone may fix it.
func (s assessment) behind(m Member) (behind bool, why string) {
	src := m.State.Source
	switch {
	case src == nil:
		return false, "follows nobody"
	case !s.comesFrom(m, *s.primary):
		return false, fmt.Sprintf("follows %s, which is not the primary", engines.OneLine(src.Host))
	case src.Failure != "":
		return false, "does not replicate: " + src.Failure
	case !src.Applying, !src.Receiving && !src.Started:
		return false, "has stopped replicating"
	case !src.Receiving:
		return true, "is connecting to its source"
	}
	if words, err := s.diverged(m); words != "" || err != nil {
		return false, words
	}
	switch {
	case m.Delayed():
		return false, "" // as far behind as it is meant to be
	case m.Blank() && s.primary.Serves() && s.primary.State.Executed != "" && !s.primary.Blank():
		return true, "has executed nothing yet"
	case src.Lag == nil:
		return true, "does not know how far behind it is"
	case *src.Lag > s.MaxLag:
		return true, fmt.Sprintf("is %s behind", src.Lag)
	}
	if why := s.lacks(m); why != "" {
		return true, why
	}
	return false, ""
}

// lacks explains what a replica misses of what the own server had executed longer ago than
// it may lag. Only the primary knows, and only of members looked at since.
func (s assessment) lacks(m Member) string {
	if !s.leads(s.Self) || m.State.Looked.Before(s.Past.At.Add(s.MaxLag)) {
		return ""
	}
	return s.Stuck(m)
}

// diverged returns what a replica has and the primary has not. Empty means nothing, or they follow
// without GTIDs and nothing can be said. Beside a fixed primary it costs nothing: nobody will follow
// the replica.
func (s assessment) diverged(m Member) (string, error) {
	if s.fixed || s.primary == nil || !s.primary.Serves() || s.primary.Name() == m.Name() || m.State.Executed == "" || s.primary.State.Executed == "" {
		return "", nil
	}
	extra, err := Errant(m, *s.primary)
	if err != nil {
		return "cannot be compared with the primary: " + err.Error(), err
	}
	if extra == "" {
		return "", nil
	}
	return "has transactions that the primary has not: " + extra, nil
}

// comesFrom reports whether the replica follows the primary, directly or through others.
func (s assessment) comesFrom(m, primary Member) bool {
	for range s.members {
		if Feeds(primary, m) || s.fixed && hasID(m.State.Source, primary) {
			return true
		}
		i := slices.IndexFunc(s.members, func(o Member) bool { return o.Name() != m.Name() && Feeds(o, m) })
		if i < 0 {
			return false
		}
		m = s.members[i]
	}
	return false
}

// hasID reports whether the server that is followed has the member's ID, whatever name it is
// followed by.
func hasID(src *replication.Source, m Member) bool {
	return src != nil && src.ID != "" && src.ID == m.State.ID
}

// quorum returns the quorum of group replication.
func (s assessment) quorum() (engines.Group, bool) {
	own := s.Self.State.Group
	if own == nil {
		return engines.Group{}, false
	}
	g := engines.Group{ID: "quorum", Kind: engines.GroupQuorum, MinAvailable: len(own.Members)/2 + 1}
	for _, m := range s.members {
		if m.Name() == "" || m.Serves() && m.State.Group == nil {
			continue
		}
		state := s.copyState(m)
		if !m.Serves() && !m.State.Down {
			for _, other := range s.groupMembers() {
				if IsGroupMember(m, other) {
					state = stateInGroup(other.State)
				}
			}
		}
		g.Members = append(g.Members, engines.Member{ID: m.Name(), Node: m.Name(), State: state, Eligible: state == engines.MemberActive})
	}
	return g, true
}
