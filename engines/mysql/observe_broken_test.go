package mysql

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
)

// patient is healthy, with the limits of an agent.
func patient() view {
	v := healthy()
	v.brokenAfter = 2 * time.Minute
	return v
}

// TestDelayedReplica: it is no copy and no candidate, acknowledges for nobody, and its
// lag is none. It may be restarted like a pod that has nothing.
func TestDelayedReplica(t *testing.T) {
	hour := time.Hour
	for name, edit := range map[string]func(s *State){
		"as it should be":         func(*State) {},
		"its lag is not known":    func(s *State) { s.Source.Lag = nil },
		"it acknowledges":         func(s *State) { s.SemiSync.Acknowledging = true },
		"it has nothing yet":      func(s *State) { s.Executed = "none" },
		"it has little of it":     func(s *State) { s.Executed = idOf(0) + ":1-2" },
		"it does not acknowledge": func(s *State) { s.SemiSync = SemiSync{} },
	} {
		v := patient()
		s := &v.self.state
		s.Source.Delay, s.Source.Lag, s.SemiSync.Acknowledging = time.Hour, &hour, false
		edit(s)
		o := observation(v)
		require.Equal(t, engines.Health{Verdict: engines.Green}, o.Health, name)
		require.Equal(t, engines.Live, o.Member, name)
		require.True(t, o.Settled, name)
		require.Empty(t, o.Veto+o.Busy, name)
		for _, g := range o.Groups {
			require.False(t, g.Has(nodeOf(2)), name+g.ID)
			require.True(t, g.Has(nodeOf(1)), name+g.ID)
		}
		require.Contains(t, o.Nodes, engines.Node{Name: nodeOf(2), Address: nodeOf(2), State: engines.Live}, name)
	}

	v := patient()
	v.self.state.Source.Delay, v.self.state.Source.Failure, v.self.state.Source.Applying = time.Hour, "error 1062: x", false
	o := observation(v)
	require.Equal(t, engines.Recoverable, o.Health.Verdict, "a broken one holds nobody either")
	require.Contains(t, o.Health.Reason, "db-2 does not replicate: error 1062")

	v = patient()
	v.self.state.Source.Delay, v.self.state.Writes, v.self.state.Source = time.Hour, RefusedAtStart, nil
	require.Contains(t, enginetest.States(t, observation(v), "data"), nodeOf(2), "who follows nobody delays nothing")
}

// TestBrokenReplicaHoldsNobodyElse: what is not mended by waiting is counted where it
// is missing, as a copy and for acknowledgements. Until that is known it is Yellow.
func TestBrokenReplicaHoldsNobodyElse(t *testing.T) {
	for name, edit := range map[string]func(s *State){
		"its applier failed":  func(s *State) { s.Source.Failure, s.Source.Applying = "error 1062: x", false },
		"its receiver failed": func(s *State) { s.Source.Failure, s.Source.Receiving = "error 1236: x", false },
		"it was stopped":      func(s *State) { s.Source.Receiving, s.Source.Applying, s.Source.Started = false, false, false },
		"it cannot connect":   func(s *State) { s.Source.Receiving, s.Source.Lag = false, nil },
		"it follows nobody":   func(s *State) { s.Source = nil },
	} {
		for _, by := range []int{1, 2} {
			v := patient()
			m := &v.self
			if by == 1 { // seen by another one
				v.self, v.others[1] = v.others[1], v.self
				m = &v.others[1]
			}
			edit(&m.state) // who receives acknowledges, though it does not apply
			m.state.SemiSync.Acknowledging = m.state.Source != nil && m.state.Source.Receiving
			m.state.Halted = m.state.Looked.Add(-time.Minute)
			o := observation(v)
			require.Equal(t, engines.Yellow, o.Health.Verdict, name+": it may go on in a moment: "+o.Health.Reason)
			require.Equal(t, by == 1, o.Settled, name)

			m.state.Halted = m.state.Looked.Add(-2 * time.Minute)
			if !m.state.SemiSync.Acknowledging {
				v.others[0].state.SemiSync.Clients, v.others[0].state.Replicas = 1, v.others[0].state.Replicas[:1]
			}
			o = observation(v)
			require.Equal(t, engines.Recoverable, o.Health.Verdict, name+o.Health.Reason)
			require.Contains(t, o.Health.Reason, "broken: db-2 ", name)
			require.True(t, o.Settled, name+": it does all that it will")
			require.Empty(t, o.Veto, name)
			require.NotEqual(t, engines.Active, enginetest.States(t, o, "data")[nodeOf(2)], name)
			require.NotEqual(t, engines.Active, enginetest.States(t, o, "acks")[nodeOf(2)], name)
			for _, m := range enginetest.Group(t, o, "primary").Members {
				require.Equal(t, m.Node != nodeOf(2), m.Eligible, name)
			}

			v.others[0].state.SemiSync.Working = false
			require.Equal(t, engines.Recoverable, observation(v).Health.Verdict, name+": commits cannot wait for it")
		}
	}
	v := patient()
	v.self.state.Halted, v.self.state.Executed = v.self.state.Looked.Add(-time.Hour), v.self.state.Executed+","+idOf(2)+":1"
	v.others[1].state.Source.Receiving, v.others[1].state.Source.Lag = false, nil
	require.Equal(t, engines.Yellow, observation(v).Health.Verdict, "one may go on in a moment")
}

// TestReplicaThatSaysAllIsWell: the primary knows better. Nothing reaches it, and it
// counts as no copy.
func TestReplicaThatSaysAllIsWell(t *testing.T) {
	v := fromPrimary()
	v.past = mark{observedAt.Add(-12 * time.Second), idOf(0) + ":1-9"}
	require.Equal(t, engines.Green, observation(v).Health.Verdict)
	v.others[0].state.Executed = idOf(0) + ":1-8"
	o := observation(v)
	require.Equal(t, engines.Recoverable, o.Health.Verdict)
	require.Contains(t, o.Health.Reason, "broken: db-2 does not say that it lags, and lacks what db-0 had executed 12s ago")
	require.Equal(t, engines.Recovering, enginetest.States(t, o, "data")[nodeOf(2)])
	v.others[0].state.Looked = observedAt.Add(-3 * time.Second)
	require.Equal(t, engines.Green, observation(v).Health.Verdict, "it was looked at too early to tell")
}

// TestStanding: who answers is a member, unless its group has put it out.
func TestStanding(t *testing.T) {
	own := func(state string, quorum bool) engines.Membership {
		v := inGroup(healthy(), memberOnline, memberOnline, state)
		v.self.state.Group.Quorum = quorum
		o := observation(v)
		for _, n := range o.Nodes {
			if n.Name == nodeOf(2) {
				require.Equal(t, o.Member, n.State)
			}
		}
		return o.Member
	}
	require.Equal(t, engines.Live, own(memberOnline, true))
	require.Equal(t, engines.Live, own(memberRecovering, true))
	require.Equal(t, engines.NotLive, own(memberOffline, true))
	require.Equal(t, engines.NotLive, own(memberFailed, false))
	require.Equal(t, engines.MembershipUnknown, own(memberOnline, false), "the others may have put it out")
	require.Equal(t, engines.MembershipUnknown, own(memberAway, true))
	v := inGroup(healthy(), memberOnline, memberOnline)
	require.Equal(t, engines.MembershipUnknown, observation(v).Member, "it is not in the list")

	// An election: no member is the primary for a moment, and all are members.
	v = inGroup(healthy(), memberOnline, memberOnline, memberOnline)
	v.self.state.Group.Members[0].Role = roleSecondary
	o := observation(v)
	require.Equal(t, engines.Live, o.Member)
	for _, n := range o.Nodes {
		require.Equal(t, engines.Live, n.State)
	}
	for _, m := range enginetest.Group(t, o, "primary").Members {
		require.False(t, m.Leader)
	}
}
