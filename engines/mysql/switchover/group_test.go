package switchover

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/mysql/topology"
)

// grouped is a group of three, of which db-0, the primary, is the local member.
func grouped() Input {
	v := seen()
	g := &replication.GroupState{Primary: true, Quorum: true}
	for i, m := range []*topology.Member{&v.Self, &v.Others[0], &v.Others[1]} {
		role := replication.RolePrimary
		if i > 0 {
			role = replication.RoleSecondary
		}
		g.Members = append(g.Members, replication.GroupMember{ID: m.State.ID, Host: m.State.Node, Port: 3306, State: replication.MemberOnline, Role: role, Version: m.State.Version})
		m.State.Source, m.State.SemiSync, m.State.Group = nil, replication.SemiSync{}, g
	}
	return v
}

// TestGroupKeepsItsMajority checks that no member goes, and no other primary is elected for it, where
// the others would not be a majority. A member that has just ended is ONLINE for some seconds.
func TestGroupKeepsItsMajority(t *testing.T) {
	const held = "1 of 3 members of the group would be left, and no majority"
	for name, c := range map[string]struct {
		edit func(v *Input)
		held string
	}{
		"all are there":            {func(*Input) {}, ""},
		"one has just ended":       {func(v *Input) { v.Others[1].State = replication.State{Node: "db-2", Down: true} }, held},
		"one does not answer":      {func(v *Input) { v.Others[1].State = replication.State{Node: "db-2"} }, held},
		"its agent is unavailable": {func(v *Input) { v.Others[1].Known, v.Others[1].State = false, replication.State{} }, held},
		"one is unreachable":       {func(v *Input) { v.Self.State.Group.Members[2].State = replication.MemberAway }, held},
		"one has left": {func(v *Input) {
			v.Self.State.Group.Members = v.Self.State.Group.Members[:2]
		}, "1 of 2 members of the group would be left, and no majority"},
		"one recovers":             {func(v *Input) { v.Self.State.Group.Members[2].State = replication.MemberRecovering }, ""},
		"one that has no agent":    {func(v *Input) { v.Others = v.Others[:1] }, ""},
		"what was begun is undone": {func(v *Input) { v.Undoing, v.Others[1].State = true, replication.State{} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := grouped()
			c.edit(&v)
			for _, primary := range []bool{true, false} {
				if !primary {
					v.Self, v.Others[0] = v.Others[0], v.Self
				}
				a := Next(v)
				require.Contains(t, a.Reason, c.held)
				require.Equal(t, c.held != "", a.Kind == Wait, a.Reason)
			}
		})
	}
}

// TestMembersOfAGroupFollowNobody checks that a server that is not in the group of the others is not
// told to follow its primary: it could not join again.
func TestMembersOfAGroupFollowNobody(t *testing.T) {
	v := grouped()
	v.Self, v.Others[0] = v.Others[0], v.Self
	v.Others[0].Peer.Node, v.Others[0].Peer.Pod = "db-0", "db-0"
	v.Self.State.Group = nil
	require.Equal(t, Action{Kind: Done}, Repair(v))
	v.Others[0].State.Group, v.Others[1].State.Group = nil, nil
	require.Equal(t, Follow, Repair(v).Kind, "without a group it does")
}
