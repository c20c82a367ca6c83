package switchover

import (
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/stretchr/testify/require"
)

// TestMembersWithoutReportHostTakeNothingOver checks that nobody could be told to follow them.
func TestMembersWithoutReportHostTakeNothingOver(t *testing.T) {
	v := seen()
	v.Others[0].State.Unnamed = true
	a := Next(v)
	require.Equal(t, Start, a.Kind, "the other one can take over: "+a.Reason)
	v.Others[1].State.Unnamed = true
	a = Next(v)
	require.Equal(t, Wait, a.Kind)
	require.Contains(t, a.Reason, "db-1 has no report_host, so that nobody can be told to follow it")
}

// TestDelayedReplicaHoldsNoHandover checks that where it never acknowledges, that it would not is
// no reason to keep the role.
func TestDelayedReplicaHoldsNoHandover(t *testing.T) {
	v := seen()
	v.Others[1].State.Source.Delay, v.Others[1].State.SemiSync = time.Hour, replication.SemiSync{}
	a := Next(v)
	require.Equal(t, Start, a.Kind, a.Reason)
	v.Others[1].State.SemiSync.Replica = true
	require.Equal(t, Start, Next(v).Kind, "it acknowledges")
	v.Others[1].State.Source.Receiving = false
	require.Equal(t, Wait, Next(v).Kind, "it would, and cannot")
}

// TestMembersWithOneServerID checks that the role goes to nobody whom another member could not follow.
func TestMembersWithOneServerID(t *testing.T) {
	v := seen()
	v.Self.State.ServerID, v.Others[0].State.ServerID, v.Others[1].State.ServerID = "1", "2", "3"
	require.Equal(t, Start, Next(v).Kind)
	v.Others[1].State.ServerID = "2"
	a := Next(v)
	require.Equal(t, Wait, a.Kind)
	require.Contains(t, a.Reason, "db-1 and db-2 have the same server_id, 2, so that neither can follow the other")
	v.Others[0].State.ServerID, v.Others[1].State.ServerID = "", ""
	require.Equal(t, Start, Next(v).Kind, "an agent of an earlier version does not tell")
}

// TestAHandoverTakesPrivileges checks that writes are not stopped where the agent of either side may not
// do what a handover takes.
func TestAHandoverTakesPrivileges(t *testing.T) {
	v := seen()
	v.Others[0].State.Lacks = []string{"RELOAD"}
	require.Equal(t, Start, Next(v).Kind, "the other one can take over")
	v.Others[1].State.Lacks = []string{"RELOAD", "CONNECTION_ADMIN"}
	a := Next(v)
	require.Equal(t, Wait, a.Kind)
	require.Contains(t, a.Reason, "the account of db-1's agent needs RELOAD for a handover, the account of db-2's agent needs RELOAD, CONNECTION_ADMIN for a handover")
	v = seen()
	v.Self.State.Lacks = []string{"SYSTEM_VARIABLES_ADMIN"}
	require.Equal(t, Action{Reason: "the account of db-0's agent needs SYSTEM_VARIABLES_ADMIN for a handover"}, Next(v))

	v = seen()
	group := replication.GroupState{Primary: true, Quorum: true}
	for i, m := range v.All() {
		group.Members = append(group.Members, replication.GroupMember{ID: m.State.ID, State: replication.MemberOnline, Version: "8.4.3",
			Role: []string{replication.RolePrimary, replication.RoleSecondary, replication.RoleSecondary}[i],
		})
	}
	v.Self.State.Group = &group
	require.Equal(t, Elect, Next(v).Kind, Next(v).Reason)
	v.Self.State.Lacks = []string{"GROUP_REPLICATION_ADMIN"}
	require.Equal(t, Wait, Next(v).Kind)
}
