package mysql

import (
	"fmt"
	"slices"

	"github.com/rollcall-dev/rollcall/engines"
)

// nextInGroup decides for group replication, which moves its primary itself.
func (v input) nextInGroup() action {
	group, own := v.self.state.Group, v.self.state.ID
	if !group.Primary {
		return action{deed: done, words: "every member of the group takes writes"}
	}
	if !group.Quorum {
		return waiting("the group has no majority")
	}
	primary := slices.IndexFunc(group.Members, func(m GroupMember) bool { return m.Role == rolePrimary })
	switch {
	case primary < 0:
		return waiting("the group has no primary")
	case group.Members[primary].ID != own && group.Members[primary].State == memberOnline:
		return action{deed: done, words: group.Members[primary].Host + " is the group's primary"}
	case group.Members[primary].ID != own:
		return waiting("%s becomes the group's primary", group.Members[primary].Host)
	case v.undoing:
		return action{deed: done}
	case len(group.Members) == 1:
		return action{deed: done, words: "nobody else is there to take over"}
	case v.self.state.Writing >= v.limits.LongWrite:
		return waiting("a write that has been open for %s is not ended: it is waited for", engines.Duration(v.self.state.Writing))
	}
	var reasons []string
	for _, m := range v.others {
		i := slices.IndexFunc(group.Members, func(g GroupMember) bool { return g.ID == m.state.ID && g.ID != "" })
		switch {
		case len(v.eligible) > 0 && !slices.Contains(v.eligible, m.name()):
			reasons = append(reasons, m.name()+" is not to take over")
		case m.peer.Leaving:
			reasons = append(reasons, m.name()+" is being stopped")
		case !m.peer.Alive || !m.serves():
			reasons = append(reasons, m.silence())
		case i < 0:
			reasons = append(reasons, m.name()+" is not in the group")
		case group.Members[i].State != memberOnline:
			reasons = append(reasons, fmt.Sprintf("%s is %s", m.name(), group.Members[i].State))
		case slices.ContainsFunc(group.Members, func(g GroupMember) bool { return older(g.Version, group.Members[i].Version) }):
			// The group takes no primary that is newer than one of its members, but it
			// elects one when the last old member leaves.
			return action{deed: done, words: "the group elects when " + v.self.name() + " leaves: a primary may not be newer than a member"}
		default:
			return action{deed: elect, to: m.state.ID, words: m.name() + " becomes the group's primary"}
		}
	}
	return waiting("nobody can take over: %s", engines.Some(reasons))
}
