package topology

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// patient is healthy, with the limits of an agent.
func patient() View {
	v := healthy()
	v.BrokenAfter = 2 * time.Minute
	return v
}

// TestDelayedReplica checks that it is no copy and no candidate, acknowledges for nobody, and its
// lag is none. It may be restarted like a pod that has nothing.
func TestDelayedReplica(t *testing.T) {
	hour := time.Hour
	for name, edit := range map[string]func(s *replication.State){
		"as it should be":         func(*replication.State) {},
		"its lag is not known":    func(s *replication.State) { s.Source.Lag = nil },
		"it acknowledges":         func(s *replication.State) { s.SemiSync.Acknowledging = true },
		"it has nothing yet":      func(s *replication.State) { s.Executed = "none" },
		"it has little of it":     func(s *replication.State) { s.Executed = idOf(0) + ":1-2" },
		"it does not acknowledge": func(s *replication.State) { s.SemiSync = replication.SemiSync{} },
	} {
		v := patient()
		s := &v.Self.State
		s.Source.Delay, s.Source.Lag, s.SemiSync.Acknowledging = time.Hour, &hour, false
		edit(s)
		o := Observe(v)
		require.Equal(t, engines.Health{Verdict: engines.VerdictGreen}, o.Health, name)
		require.Equal(t, engines.MembershipLive, o.Member, name)
		require.True(t, o.Settled, name)
		require.Empty(t, o.Veto+o.Busy, name)
		for _, g := range o.Groups {
			require.False(t, g.Has(nodeOf(2)), name+g.ID)
			require.True(t, g.Has(nodeOf(1)), name+g.ID)
		}
		require.Contains(t, o.Nodes, engines.Node{Name: nodeOf(2), Address: nodeOf(2), State: engines.MembershipLive}, name)
	}

	v := patient()
	v.Self.State.Source.Delay, v.Self.State.Source.Failure, v.Self.State.Source.Applying = time.Hour, "error 1062: x", false
	o := Observe(v)
	require.Equal(t, engines.VerdictRecoverable, o.Health.Verdict, "a broken one holds nobody either")
	require.Contains(t, o.Health.Reason, "db-2 does not replicate: error 1062")

	v = patient()
	v.Self.State.Source.Delay, v.Self.State.Writes, v.Self.State.Source = time.Hour, replication.RefusedAtStart, nil
	require.Contains(t, enginetest.States(t, Observe(v), "data"), nodeOf(2), "who follows nobody delays nothing")
}

// TestBrokenReplicaHoldsNobodyElse checks that what is not mended by waiting is counted where it is
// missing, as a copy and for acknowledgements. Until that is known it is Yellow.
func TestBrokenReplicaHoldsNobodyElse(t *testing.T) {
	for name, edit := range map[string]func(s *replication.State){
		"its applier failed":  func(s *replication.State) { s.Source.Failure, s.Source.Applying = "error 1062: x", false },
		"its receiver failed": func(s *replication.State) { s.Source.Failure, s.Source.Receiving = "error 1236: x", false },
		"it was stopped": func(s *replication.State) {
			s.Source.Receiving, s.Source.Applying, s.Source.Started = false, false, false
		},
		"it cannot connect": func(s *replication.State) { s.Source.Receiving, s.Source.Lag = false, nil },
		"it follows nobody": func(s *replication.State) { s.Source = nil },
	} {
		for _, by := range []int{1, 2} {
			v := patient()
			m := &v.Self
			if by == 1 { // seen by another one
				v.Self, v.Others[1] = v.Others[1], v.Self
				m = &v.Others[1]
			}
			edit(&m.State) // who receives acknowledges, though it does not apply
			m.State.SemiSync.Acknowledging = m.State.Source != nil && m.State.Source.Receiving
			m.State.Halted = m.State.Looked.Add(-time.Minute)
			o := Observe(v)
			require.Equal(t, engines.VerdictYellow, o.Health.Verdict, name+": it may go on in a moment: "+o.Health.Reason)
			require.Equal(t, by == 1, o.Settled, name)

			m.State.Halted = m.State.Looked.Add(-2 * time.Minute)
			if !m.State.SemiSync.Acknowledging {
				v.Others[0].State.SemiSync.Clients, v.Others[0].State.Replicas = 1, v.Others[0].State.Replicas[:1]
			}
			o = Observe(v)
			require.Equal(t, engines.VerdictRecoverable, o.Health.Verdict, name+o.Health.Reason)
			require.Contains(t, o.Health.Reason, "broken: db-2 ", name)
			require.True(t, o.Settled, name+": it does all that it will")
			require.Empty(t, o.Veto, name)
			require.NotEqual(t, engines.MemberActive, enginetest.States(t, o, "data")[nodeOf(2)], name)
			require.NotEqual(t, engines.MemberActive, enginetest.States(t, o, "acks")[nodeOf(2)], name)
			for _, m := range enginetest.Group(t, o, "primary").Members {
				require.Equal(t, m.Node != nodeOf(2), m.Eligible, name)
			}

			v.Others[0].State.SemiSync.Working = false
			require.Equal(t, engines.VerdictRecoverable, Observe(v).Health.Verdict, name+": commits cannot wait for it")
		}
	}
	v := patient()
	v.Self.State.Halted, v.Self.State.Executed = v.Self.State.Looked.Add(-time.Hour), v.Self.State.Executed+","+idOf(2)+":1"
	v.Others[1].State.Source.Receiving, v.Others[1].State.Source.Lag = false, nil
	require.Equal(t, engines.VerdictYellow, Observe(v).Health.Verdict, "one may go on in a moment")
}

// TestReplicaThatSaysAllIsWell checks that the primary knows better. Nothing reaches it, and it
// counts as no copy.
func TestReplicaThatSaysAllIsWell(t *testing.T) {
	v := fromPrimary()
	v.Past = Checkpoint{observedAt.Add(-12 * time.Second), idOf(0) + ":1-9"}
	require.Equal(t, engines.VerdictGreen, Observe(v).Health.Verdict)
	v.Others[0].State.Executed = idOf(0) + ":1-8"
	o := Observe(v)
	require.Equal(t, engines.VerdictRecoverable, o.Health.Verdict)
	require.Contains(t, o.Health.Reason, "broken: db-2 does not say that it lags, and lacks what db-0 had executed 12s ago")
	require.Equal(t, engines.MemberRecovering, enginetest.States(t, o, "data")[nodeOf(2)])
	v.Others[0].State.Looked = observedAt.Add(-3 * time.Second)
	require.Equal(t, engines.VerdictGreen, Observe(v).Health.Verdict, "it was looked at too early to tell")
}

// TestStanding checks that who answers is a member, unless its group has put it out.
func TestStanding(t *testing.T) {
	own := func(state string, quorum bool) engines.Membership {
		v := inGroup(healthy(), replication.MemberOnline, replication.MemberOnline, state)
		v.Self.State.Group.Quorum = quorum
		o := Observe(v)
		for _, n := range o.Nodes {
			if n.Name == nodeOf(2) {
				require.Equal(t, o.Member, n.State)
			}
		}
		return o.Member
	}
	require.Equal(t, engines.MembershipLive, own(replication.MemberOnline, true))
	require.Equal(t, engines.MembershipLive, own(replication.MemberRecovering, true))
	require.Equal(t, engines.MembershipNotLive, own(replication.MemberOffline, true))
	require.Equal(t, engines.MembershipNotLive, own(replication.MemberFailed, false))
	require.Equal(t, engines.MembershipUnknown, own(replication.MemberOnline, false), "the others may have put it out")
	require.Equal(t, engines.MembershipUnknown, own(replication.MemberAway, true))
	v := inGroup(healthy(), replication.MemberOnline, replication.MemberOnline)
	require.Equal(t, engines.MembershipUnknown, Observe(v).Member, "it is not in the list")

	// An election: no member is the primary for a moment, and all are members.
	v = inGroup(healthy(), replication.MemberOnline, replication.MemberOnline, replication.MemberOnline)
	v.Self.State.Group.Members[0].Role = replication.RoleSecondary
	o := Observe(v)
	require.Equal(t, engines.MembershipLive, o.Member)
	for _, n := range o.Nodes {
		require.Equal(t, engines.MembershipLive, n.State)
	}
	for _, m := range enginetest.Group(t, o, "primary").Members {
		require.False(t, m.Leader)
	}
}
