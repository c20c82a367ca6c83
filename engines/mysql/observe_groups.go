package mysql

import (
	"fmt"
	"slices"

	"github.com/rollcall-dev/rollcall/engines"
)

// groups in a fixed order.
func (s sight) groups() []engines.Group {
	primary := engines.Group{ID: "primary", Kind: engines.Role, MinAvailable: 1, NeedsLeader: !s.manyWriters()}
	data := engines.Group{ID: "data", Kind: engines.Shard}
	for _, m := range s.members {
		if m.name() == "" || m.delayed() {
			continue
		}
		copy := engines.Member{ID: m.name(), Node: m.name(), State: s.copyState(m), Leader: s.leads(m) || s.presumed(m)}
		copy.Eligible = copy.State == engines.Active && s.couldLead(m)
		data.Members, primary.Members = append(data.Members, copy), append(primary.Members, copy)
	}
	out := []engines.Group{primary, data}
	if acks, ok := s.acks(); ok {
		out = append(out, acks)
	}
	if quorum, ok := s.quorum(); ok {
		out = append(out, quorum)
	}
	return out
}

// couldLead: the primary, and of those that follow it closely whoever could take over.
func (s sight) couldLead(m member) bool {
	src := m.state.Source
	if s.primary == nil || s.leads(m) || m.state.Group != nil || src == nil {
		return true
	}
	return !src.ByPosition && !src.Filtered && feeds(*s.primary, m)
}

// copyState: Active are the primary, and who follows it closely.
func (s sight) copyState(m member) engines.MemberState {
	switch {
	case m.known && m.state.Down:
		return engines.Down
	case s.adopting && s.leads(m):
		return engines.Active // it sends what others follow
	case !m.serves():
		if s.missed(m) {
			return engines.Down
		}
		return engines.StateUnknown
	case m.state.Group != nil:
		return s.groupMemberState(m)
	case s.primary == nil:
		return s.withoutPrimary(m)
	case s.leads(m):
		return engines.Active
	}
	switch behind, why := s.behind(m); {
	case why == "":
		return engines.Active
	case behind:
		return engines.Recovering
	}
	return engines.Down
}

// withoutPrimary nobody can say who follows closely; who has the data has it.
func (s sight) withoutPrimary(m member) engines.MemberState {
	if len(s.writers) > 1 || m.state.Source == nil {
		return engines.StateUnknown
	}
	if m.state.Source.Receiving && m.state.Source.Applying {
		return engines.Recovering
	}
	return engines.StateUnknown
}

func (s sight) groupMemberState(m member) engines.MemberState {
	for _, g := range s.groupMembers() {
		if s.isGroupMember(m, g) {
			return stateInGroup(g.State)
		}
	}
	return engines.Down
}

func stateInGroup(state string) engines.MemberState {
	switch state {
	case memberOnline:
		return engines.Active
	case memberRecovering:
		return engines.Recovering
	case "":
		return engines.StateUnknown
	}
	return engines.Down
}

// groupMembers as the own server sees them; of Galera each tells of itself.
func (s sight) groupMembers() []GroupMember {
	g := s.self.state.Group
	if g == nil {
		return nil
	}
	if !g.Galera {
		return g.Members
	}
	var out []GroupMember
	for _, m := range s.members {
		if m.serves() && m.state.Group != nil && m.state.Group.Galera {
			out = append(out, m.state.Group.Members...)
		}
	}
	return out
}

// presumed is a primary that does not tell: its agent is away, and others receive
// from its server.
func (s sight) presumed(m member) bool {
	if s.primary != nil || len(s.writers) > 0 || m.serves() || s.self.state.Group != nil {
		return false
	}
	return slices.ContainsFunc(s.members, func(other member) bool {
		return s.receives(other, m)
	})
}

// behind tells why a replica is not one that follows the primary closely; behind:
// time alone may mend it.
func (s sight) behind(m member) (behind bool, why string) {
	src := m.state.Source
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
	case m.delayed():
		return false, "" // as far behind as it is meant to be
	case m.blank() && s.primary.serves() && s.primary.state.Executed != "" && !s.primary.blank():
		return true, "has executed nothing yet"
	case src.Lag == nil:
		return true, "does not know how far behind it is"
	case *src.Lag > s.maxLag:
		return true, fmt.Sprintf("is %s behind", src.Lag)
	}
	if why := s.lacks(m); why != "" {
		return true, why
	}
	return false, ""
}

// lacks says what a replica has not that the own server had executed longer ago than it
// may lag; only the primary knows, of whom has been looked at since.
func (s sight) lacks(m member) string {
	if !s.leads(s.self) || m.state.Looked.Before(s.past.at.Add(s.maxLag)) {
		return ""
	}
	return s.stuck(m)
}

// diverged answers what a replica has that the primary has not; empty: nothing, or
// they follow without GTIDs and nothing can be said.
func (s sight) diverged(m member) (string, error) {
	if s.primary == nil || !s.primary.serves() || s.primary.name() == m.name() || m.state.Executed == "" || s.primary.state.Executed == "" {
		return "", nil
	}
	extra, err := errant(m, *s.primary)
	if err != nil {
		return "cannot be compared with the primary: " + err.Error(), err
	}
	if extra == "" {
		return "", nil
	}
	return "has transactions that the primary has not: " + extra, nil
}

// comesFrom tells whether the replica follows the primary, perhaps through others.
func (s sight) comesFrom(m, primary member) bool {
	for range s.members {
		if feeds(primary, m) {
			return true
		}
		i := slices.IndexFunc(s.members, func(o member) bool { return o.name() != m.name() && feeds(o, m) })
		if i < 0 {
			return false
		}
		m = s.members[i]
	}
	return false
}

// quorum of group replication or Galera.
func (s sight) quorum() (engines.Group, bool) {
	own := s.self.state.Group
	if own == nil {
		return engines.Group{}, false
	}
	g := engines.Group{ID: "quorum", Kind: engines.Quorum, MinAvailable: own.Size/2 + 1}
	for _, m := range s.members {
		if m.name() == "" || m.serves() && m.state.Group == nil {
			continue
		}
		state := s.copyState(m)
		if !m.serves() && !m.state.Down {
			for _, other := range s.groupMembers() {
				if s.isGroupMember(m, other) {
					state = stateInGroup(other.State)
				}
			}
		}
		g.Members = append(g.Members, engines.Member{ID: m.name(), Node: m.name(), State: state, Eligible: state == engines.Active})
	}
	return g, true
}
