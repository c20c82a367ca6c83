package switchover

import (
	"fmt"
	"slices"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/mysql/topology"
)

// nextInGroup decides for group replication, which moves its primary itself.
func (v Input) nextInGroup() Action {
	group, own := v.Self.State.Group, v.Self.State.ID
	if left, all := v.left(group), len(group.Members); group.Quorum && !v.Undoing && all > 1 && 2*left <= all {
		return waiting("without %s %d of %d members of the group would be left, and no majority", v.Self.Name(), left, all)
	}
	if !group.Primary {
		return Action{Kind: Done, Reason: "every member of the group takes writes"}
	}
	if !group.Quorum {
		return waiting("the group has no majority")
	}
	primary := slices.IndexFunc(group.Members, func(m replication.GroupMember) bool { return m.Role == replication.RolePrimary })
	switch {
	case primary < 0:
		return waiting("the group has no primary")
	case group.Members[primary].ID != own && group.Members[primary].State == replication.MemberOnline:
		return Action{Kind: Done, Reason: group.Members[primary].Host + " is the group's primary"}
	case group.Members[primary].ID != own:
		return waiting("%s becomes the group's primary", group.Members[primary].Host)
	case v.Undoing:
		return Action{Kind: Done}
	case len(group.Members) == 1:
		return Action{Kind: Done, Reason: "nobody else is there to take over"}
	case v.Self.Powerless() != "":
		return waiting("%s", v.Self.Powerless())
	case v.Self.State.Writing >= v.Limits.LongWrite:
		return waiting("a write that has been open for %s is not ended: it is waited for", engines.Duration(v.Self.State.Writing))
	}
	var reasons []string
	for _, m := range v.Others {
		i := slices.IndexFunc(group.Members, func(g replication.GroupMember) bool { return g.ID == m.State.ID && g.ID != "" })
		switch {
		case len(v.Eligible) > 0 && !slices.Contains(v.Eligible, m.Name()):
			reasons = append(reasons, m.Name()+" is not to take over")
		case m.Peer.Leaving:
			reasons = append(reasons, m.Name()+" is being stopped")
		case !m.Peer.Alive || !m.Serves():
			reasons = append(reasons, m.Silence())
		case i < 0:
			reasons = append(reasons, m.Name()+" is not in the group")
		case group.Members[i].State != replication.MemberOnline:
			reasons = append(reasons, fmt.Sprintf("%s is %s", m.Name(), group.Members[i].State))
		case slices.ContainsFunc(group.Members, func(g replication.GroupMember) bool { return topology.Older(g.Version, group.Members[i].Version) }):
			// The group takes no primary that is newer than one of its members, but it
			// elects one when the last old member leaves.
			return Action{Kind: Done, Reason: "the group elects when " + v.Self.Name() + " leaves: a primary may not be newer than a member"}
		default:
			return Action{Kind: Elect, To: m.State.ID, Reason: m.Name() + " becomes the group's primary"}
		}
	}
	return waiting("nobody can take over: %s", engines.Some(reasons))
}

// left counts the members of the group that can be counted on without the local one: the group has
// them, and their own agents do not know better. The group lists one that is gone for some seconds.
// Members without an agent count as the group says.
func (v Input) left(group *replication.GroupState) int {
	n := 0
	for _, g := range group.Members {
		if g.ID == v.Self.State.ID || g.State != replication.MemberOnline && g.State != replication.MemberRecovering {
			continue
		}
		if !slices.ContainsFunc(v.Others, func(m topology.Member) bool { return topology.IsGroupMember(m, g) && !m.Serves() }) {
			n++
		}
	}
	return n
}
