package topology

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// TestNoMoreAcknowledgeThanThePrimaryCounts checks that a replica that says so and is not counted
// stands for nobody, and where it is not known which one that is, none may go.
func TestNoMoreAcknowledgeThanThePrimaryCounts(t *testing.T) {
	active := func(v View) (n int) {
		for _, s := range enginetest.States(t, Observe(v), "acks") {
			if s == engines.MemberActive {
				n++
			}
		}
		return n
	}
	for clients := range 3 {
		v := healthy()
		v.Others[0].State.SemiSync.Clients = clients
		require.Equal(t, map[bool]int{true: 2}[clients == 2], active(v), "%d of 2", clients)
	}
	v := healthy()
	v.Others[0].State.SemiSync.Clients = 1
	require.Equal(t, map[string]engines.MemberState{nodeOf(1): engines.MemberUnknown, nodeOf(2): engines.MemberUnknown}, enginetest.States(t, Observe(v), "acks"))
	h := Observe(v).Health
	require.Equal(t, engines.VerdictRecoverable, h.Verdict)
	require.Contains(t, h.Reason, "db-0 counts 1 of the replicas that acknowledge, and 2 say that they do")
	v.Others[0].State.Replicas = v.Others[0].State.Replicas[1:]
	require.Equal(t, map[string]engines.MemberState{nodeOf(1): engines.MemberRecovering, nodeOf(2): engines.MemberActive}, enginetest.States(t, Observe(v), "acks"), "one of them is not even connected")

	v = healthy()
	v.Others[0].State.SemiSync.Clients = 1
	gone(&v.Others[1])
	v.Self.State.SemiSync.Acknowledging = false
	require.Equal(t, engines.MemberActive, enginetest.States(t, Observe(v), "acks")[nodeOf(1)], "who else")
	v.Others[0].State.Replicas = append(v.Others[0].State.Replicas, replication.Replica{ID: idOf(7), Host: "db-7", Port: 3306})
	require.Zero(t, active(v), "one of two that do not tell")

	// A delayed one is counted by the primary, and stands for no other.
	v = healthy()
	v.Others[0].State.SemiSync.Clients = 1
	v.Others[1].State.Source.Delay = time.Hour
	require.Equal(t, map[string]engines.MemberState{nodeOf(2): engines.MemberUnknown}, enginetest.States(t, Observe(v), "acks"))
	v.Others[0].State.SemiSync.Clients = 2
	require.Equal(t, map[string]engines.MemberState{nodeOf(2): engines.MemberActive}, enginetest.States(t, Observe(v), "acks"))
}

// TestReplicasOfReplicasDoNotAcknowledge checks that a replica of a replica acknowledges to its
// source only, and cannot take over.
func TestReplicasOfReplicasDoNotAcknowledge(t *testing.T) {
	v := healthy()
	v.Self.State.Source.ID, v.Self.State.Source.Host = idOf(1), nodeOf(1)
	v.Others[0].State.SemiSync.Clients = 1
	o := Observe(v)
	require.Equal(t, map[string]engines.MemberState{nodeOf(1): engines.MemberActive}, enginetest.States(t, o, "acks"))
	require.Equal(t, engines.MemberActive, enginetest.States(t, o, "data")[nodeOf(2)], "it has all")
	for _, m := range enginetest.Group(t, o, "primary").Members {
		require.Equal(t, m.Node != nodeOf(2), m.Eligible, m.Node)
	}
	v.Self.State.SemiSync.Acknowledging = false
	require.True(t, Observe(v).Settled)
}

// TestIdlePrimaryThatGivesUp checks that it does not notice before the next commit that enough can
// acknowledge again.
func TestIdlePrimaryThatGivesUp(t *testing.T) {
	idle := func() View {
		v := healthy()
		v.Others[0].State.SemiSync.Working, v.Others[0].State.SemiSync.GivesUp = false, true
		return v
	}
	require.Equal(t, engines.VerdictGreen, Observe(idle()).Health.Verdict)
	for name, edit := range map[string]func(v *View){
		"it waits until its timeout":  func(v *View) { v.Others[0].State.SemiSync.GivesUp = false },
		"nobody is connected":         func(v *View) { v.Others[0].State.SemiSync.Clients = 0 },
		"too few are connected":       func(v *View) { v.Others[0].State.SemiSync.Acks = 3 },
		"nobody has what it executed": func(v *View) { v.Others[0].State.Executed = idOf(0) + ":1-10" },
		"what it executed is unknown": func(v *View) { v.Others[0].State.Executed = "" },
	} {
		v := idle()
		edit(&v)
		h := Observe(v).Health
		require.Equal(t, engines.VerdictYellow, h.Verdict, name)
		require.Contains(t, h.Reason, "db-0 commits without waiting", name)
	}
}
