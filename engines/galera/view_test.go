package galera

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// healthy is the view of the first of n synced members; change may alter the States, of which the
// first is the local one.
func healthy(n int, change func(states []State)) View {
	states := synced(n)
	now := time.Unix(1000, 0)
	for i := range states {
		states[i].Looked = now
		states[i].Seen = append([]Seen(nil), states[i].Seen...)
	}
	if change != nil {
		change(states)
	}
	v := View{Now: now, Self: Member{State: states[0], Known: true, Peer: engines.Peer{Alive: true}}, Before: map[string]Past{}}
	for i, s := range states[1:] {
		name := synced(n)[i+1].Node
		v.Others = append(v.Others, Member{State: s, Known: true, Peer: engines.Peer{Pod: name, Node: name, Alive: true}})
	}
	return v
}

// without takes a member out of the view of the others, as Galera does after it has left.
func without(states []State, gone int) {
	for i := range states {
		if i == gone {
			continue
		}
		s := &states[i]
		s.View, s.Size = s.View+1, s.Size-1
		s.Total -= states[gone].Weight
		s.Seen = append(append([]Seen(nil), s.Seen[:gone]...), s.Seen[gone+1:]...)
	}
}

// down is the State of a server that does not run.
func down(name string) State {
	return State{Node: name, Down: true, Problem: "no server listens", Looked: time.Unix(1000, 0), Committed: -1, Cached: -1}
}

// states of the members of a group, by the ID of the member.
func statesOf(t *testing.T, o engines.Observation, group string) map[string]engines.MemberState {
	t.Helper()
	out := map[string]engines.MemberState{}
	for _, g := range o.Groups {
		for _, m := range g.Members {
			if g.ID == group {
				out[m.ID] = m.State
			}
		}
	}
	return out
}

func TestObserve(t *testing.T) {
	const (
		active, recovering, gone, unknown = engines.MemberActive, engines.MemberRecovering, engines.MemberDown, engines.MemberUnknown
	)
	for name, c := range map[string]struct {
		change  func(s []State)
		member  engines.Membership
		verdict engines.Verdict
		reason  string
		busy    string
		settled bool
		votes   [3]engines.MemberState
		copies  [3]engines.MemberState
	}{
		"all is well": {nil, engines.MembershipLive, engines.VerdictGreen, "", "", true, [3]engines.MemberState{active, active, active}, [3]engines.MemberState{active, active, active}},
		"a member has left": {func(s []State) { without(s, 2); s[2] = down("db-2") },
			engines.MembershipLive, engines.VerdictRecoverable, "not in the primary component: db-2", "", true,
			[3]engines.MemberState{active, active, gone}, [3]engines.MemberState{active, active, gone}},
		"a member has ended, and the others still see it": {func(s []State) { s[2] = down("db-2") },
			engines.MembershipLive, engines.VerdictYellow, "db-2 has left, or receives a full state transfer", "", true,
			[3]engines.MemberState{active, active, gone}, [3]engines.MemberState{active, active, gone}},
		"a member does not answer": {func(s []State) { s[2] = State{Node: "db-2", Problem: "no answer in time", Looked: s[2].Looked} },
			engines.MembershipLive, engines.VerdictYellow, "not known: db-2: no answer in time", "", true,
			[3]engines.MemberState{active, active, unknown}, [3]engines.MemberState{active, active, unknown}},
		"a look is old": {func(s []State) { s[2].Looked = s[2].Looked.Add(-time.Minute) },
			engines.MembershipLive, engines.VerdictYellow, "db-2: its agent has not looked at it for long", "", true,
			[3]engines.MemberState{active, active, unknown}, [3]engines.MemberState{active, active, unknown}},
		"another one sends its data": {func(s []State) { s[1].Phase, s[1].Words = Donor, "Donor/Desynced" },
			engines.MembershipLive, engines.VerdictYellow, "db-1 is Donor/Desynced", "", true,
			[3]engines.MemberState{active, active, active}, [3]engines.MemberState{active, recovering, active}},
		"it sends its data": {func(s []State) {
			s[0].Phase, s[0].Words, s[0].Desynced = Donor, "Donor/Desynced", 1
			s[2] = down("db-2")
		}, engines.MembershipLive, engines.VerdictYellow, "db-0 is Donor/Desynced", "sends all of its data to db-2 (Donor/Desynced)", false,
			[3]engines.MemberState{active, active, gone}, [3]engines.MemberState{recovering, active, gone}},
		"it is desynced": {func(s []State) { s[0].Phase, s[0].Words, s[0].Desynced = Donor, "Donor/Desynced", 1 },
			engines.MembershipLive, engines.VerdictYellow, "db-0 is Donor/Desynced", "is desynced, as for a backup (Donor/Desynced)", false,
			[3]engines.MemberState{active, active, active}, [3]engines.MemberState{recovering, active, active}},
		"another one catches up": {func(s []State) { s[1].Phase, s[1].Words = Joined, "Joined" },
			engines.MembershipLive, engines.VerdictYellow, "db-1 is Joined", "", true,
			[3]engines.MemberState{active, active, active}, [3]engines.MemberState{active, recovering, active}},
		"it receives an incremental transfer": {func(s []State) {
			s[0].Phase, s[0].Words, s[0].Ready, s[0].Received, s[0].Expected, s[0].Seen = Joining, "Joining", false, 30, 120, nil
		}, engines.MembershipLive, engines.VerdictYellow, "db-0 executes nothing yet (Joining)", "receives an incremental state transfer: 30 of 120 write sets", false,
			[3]engines.MemberState{unknown, unknown, unknown}, [3]engines.MemberState{unknown, unknown, unknown}},
		"it refuses what clients send": {func(s []State) { s[0].Rejects = true },
			engines.MembershipLive, engines.VerdictYellow, "db-0 is Synced", "", false,
			[3]engines.MemberState{active, active, active}, [3]engines.MemberState{recovering, active, active}},
		"the views differ": {func(s []State) { s[2].View, s[2].Size = 8, 2 },
			engines.MembershipLive, engines.VerdictYellow, "db-0 sees 3 members in view 7 and db-2 2 in view 8: they do not agree yet", "", false,
			[3]engines.MemberState{unknown, unknown, unknown}, [3]engines.MemberState{unknown, unknown, unknown}},
		"the views have other members": {func(s []State) { s[2].Seen[1].UUID = "another" },
			engines.MembershipLive, engines.VerdictYellow, "they do not agree yet", "", false,
			[3]engines.MemberState{unknown, unknown, unknown}, [3]engines.MemberState{unknown, unknown, unknown}},
		"two primary components": {func(s []State) { s[2].Cluster = "another" },
			engines.MembershipLive, engines.VerdictYellow, "db-0 and db-2 are primary components of their own: their data differ", "", false,
			[3]engines.MemberState{unknown, unknown, unknown}, [3]engines.MemberState{unknown, unknown, unknown}},
		"another one looks for the others": {func(s []State) { s[1].Operational = false },
			engines.MembershipLive, engines.VerdictYellow, "db-1 is looking for the other members", "", false,
			[3]engines.MemberState{unknown, unknown, unknown}, [3]engines.MemberState{unknown, unknown, unknown}},
		"it looks for the others": {func(s []State) { s[0].Operational = false },
			engines.MembershipUnknown, engines.VerdictYellow, "db-0 is looking for the other members", "", false,
			[3]engines.MemberState{unknown, unknown, unknown}, [3]engines.MemberState{unknown, unknown, unknown}},
		"it is cut off": {func(s []State) { without(s, 0); s[0].Primary, s[0].Ready = false, false },
			engines.MembershipUnknown, engines.VerdictYellow, "db-0 is in no primary component", "", false,
			[3]engines.MemberState{unknown, unknown, unknown}, [3]engines.MemberState{unknown, unknown, unknown}},
		"it was put out": {func(s []State) {
			without(s, 0)
			s[0].Primary, s[0].Ready, s[0].Connected, s[0].Phase = false, false, false, Detached
		}, engines.MembershipNotLive, engines.VerdictYellow, "db-0 is in no primary component", "", false,
			[3]engines.MemberState{unknown, unknown, unknown}, [3]engines.MemberState{unknown, unknown, unknown}},
		"one name for two": {func(s []State) { s[2].Node = "db-1" },
			engines.MembershipLive, engines.VerdictYellow, "two members are called db-1: wsrep_node_name must differ", "", false,
			[3]engines.MemberState{unknown, unknown, 0}, [3]engines.MemberState{unknown, unknown, 0}},
		"weights that do not add up": {func(s []State) { s[0].Total, s[1].Total, s[2].Total = 5, 5, 5 },
			engines.MembershipLive, engines.VerdictYellow, "the weights of the members are not known: those that are add up to 3 of 5", "", false,
			[3]engines.MemberState{unknown, unknown, unknown}, [3]engines.MemberState{unknown, unknown, unknown}},
	} {
		t.Run(name, func(t *testing.T) {
			o := Observe(healthy(3, c.change))
			require.Equal(t, engines.Galera, o.Topology)
			require.Equal(t, c.member, o.Member)
			require.Equal(t, c.verdict, o.Health.Verdict, o.Health.Reason)
			require.Contains(t, o.Health.Reason, c.reason)
			require.Equal(t, c.busy, o.Busy)
			require.Equal(t, c.settled, o.Settled)
			votes, copies := statesOf(t, o, componentGroup), statesOf(t, o, dataGroup)
			for i, id := range []string{"db-0", "db-1", "db-2"} {
				require.Equal(t, c.votes[i], votes[id], "vote of %s", id)
				require.Equal(t, c.copies[i], copies[id], "copy of %s", id)
			}
		})
	}
}

// TestWeights checks that a member has as many votes as weight, and keeps them while it is gone.
func TestWeights(t *testing.T) {
	heavy := func(s []State) {
		s[0].Weight = 3
		for i := range s {
			s[i].Total = 5
		}
	}
	group := func(v View) (engines.Group, map[string]engines.MemberState) {
		o := Observe(v)
		return o.Groups[0], statesOf(t, o, componentGroup)
	}
	g, votes := group(healthy(3, heavy))
	require.Equal(t, engines.GroupQuorum, g.Kind)
	require.Equal(t, 3, g.MinAvailable)
	require.Len(t, votes, 5)
	require.Equal(t, engines.MemberActive, votes["db-0/3"])

	v := healthy(3, func(s []State) {
		s[2].Weight = 3
		for i := range s {
			s[i].Total = 5
		}
		without(s, 2)
		s[2] = down("db-2")
	})
	v.Before["db-2"] = Past{Weight: 3, Committed: 1000}
	g, votes = group(v)
	require.Equal(t, 3, g.MinAvailable)
	require.Equal(t, engines.MemberDown, votes["db-2/3"])
	require.NotContains(t, votes, "db-2/4")

	o := Observe(healthy(3, func(s []State) {
		for i := range s {
			s[i].Weight, s[i].Total = 200, 600
		}
	}))
	require.Equal(t, "the weights of the members add up to 600, which is too many: make pc.weight smaller", o.Health.Reason)
}

// TestMembersWithoutAgents checks that an arbitrator votes and has no data, and that members that
// are being adopted count by the view.
func TestMembersWithoutAgents(t *testing.T) {
	arbitrator := func(weight int) View {
		return healthy(2, func(s []State) {
			for i := range s {
				s[i].Seen, s[i].Size, s[i].Total = append(s[i].Seen, Seen{UUID: "arb", Name: "arb"}), 3, 2+weight
			}
		})
	}
	o := Observe(arbitrator(1))
	require.Equal(t, engines.VerdictGreen, o.Health.Verdict, o.Health.Reason)
	require.Equal(t, map[string]engines.MemberState{"db-0": engines.MemberActive, "db-1": engines.MemberActive, "arb": engines.MemberActive}, statesOf(t, o, componentGroup))
	require.Equal(t, map[string]engines.MemberState{"db-0": engines.MemberActive, "db-1": engines.MemberActive}, statesOf(t, o, dataGroup))
	require.Contains(t, o.Nodes, engines.Node{Name: "arb", Address: "arb", State: engines.MembershipLive})
	require.Len(t, statesOf(t, Observe(arbitrator(2)), componentGroup), 4, "its weight is what is left")
	require.Len(t, statesOf(t, Observe(arbitrator(0)), componentGroup), 2, "it votes not at all")

	v := healthy(3, nil)
	v.Others = v.Others[:1] // db-2 has no agent yet
	o = Observe(v)
	require.Equal(t, engines.VerdictGreen, o.Health.Verdict, o.Health.Reason)
	require.Equal(t, engines.MemberActive, statesOf(t, o, dataGroup)["db-2"])

	v = healthy(3, nil)
	v.Others[1] = Member{Peer: engines.Peer{Pod: "db-2", Node: "db-2"}, Why: "its agent is unavailable"}
	require.Equal(t, engines.MemberUnknown, statesOf(t, Observe(v), dataGroup)["db-2"], "an agent that is gone is not one that never was")
}

// TestAMemberThatLeavesToBeAdoptedIsMissing checks that a member without an agent keeps its vote and its
// copy when it leaves, until it is back or has been gone for long. Nobody else tells of it.
func TestAMemberThatLeavesToBeAdoptedIsMissing(t *testing.T) {
	const active, gone = engines.MemberActive, engines.MemberDown
	c := newComponent(4)
	e := newEngine(&fakeServer{component: c, member: 0}, Options{})
	observe := func() engines.Observation {
		for i := range c.members {
			c.members[i].Looked = time.Now()
		}
		o, err := e.Observe(t.Context())
		require.NoError(t, err)
		return o
	}
	require.Equal(t, map[string]engines.MemberState{"db-0": active, "db-1": active, "db-2": active, "db-3": active}, statesOf(t, observe(), dataGroup))
	without(c.members, 3)
	o := observe()
	require.Equal(t, map[string]engines.MemberState{"db-0": active, "db-1": active, "db-2": active, "db-3": gone}, statesOf(t, o, dataGroup))
	require.Equal(t, gone, statesOf(t, o, componentGroup)["db-3"])
	require.Equal(t, 3, o.Groups[0].MinAvailable)
	require.Contains(t, o.Health.Reason, "not in the primary component: db-3")

	v := healthy(3, nil)
	v.Others = nil
	v.Listed = map[string]Listed{"db-1": {At: v.Now}, "db-9": {At: v.Now.Add(-missedFor)}, "db-8": {At: v.Now.Add(-missedFor - time.Second)}, "arb": {At: v.Now, Arbitrator: true}}
	v.Before["db-9"] = Past{Weight: 2, Committed: 900}
	o = Observe(v)
	require.Equal(t, map[string]engines.MemberState{"db-0": active, "db-1": active, "db-2": active, "db-9": gone, "db-9/2": gone, "arb": gone}, statesOf(t, o, componentGroup))
	require.NotContains(t, statesOf(t, o, dataGroup), "arb")
}

// TestASilentAgentIsNamed checks that people read since when an agent is silent, and what they can do.
func TestASilentAgentIsNamed(t *testing.T) {
	v := healthy(3, nil)
	v.Others[1] = Member{Peer: engines.Peer{Pod: "db-2", Node: "db-2", Since: time.Unix(900, 0)}, Why: "its agent is unavailable"}
	require.Equal(t, "not known: db-2: its agent is unavailable since 00:15:00; if its pod has come back without an agent, restart it for one, or wait until 00:30:00", Observe(v).Health.Reason)
}

// TestMembersAreToldByTheirUUID checks that a server that has joined under another UUID than at its
// agent's last look is one member.
func TestMembersAreToldByTheirUUID(t *testing.T) {
	o := Observe(healthy(3, func(s []State) {
		for i := range s {
			s[i].Seen[2].UUID = "new"
		}
		s[2] = down("db-2")
	}))
	require.Len(t, statesOf(t, o, componentGroup), 3)
	require.Equal(t, engines.MemberDown, statesOf(t, o, componentGroup)["db-2"])
	o = Observe(healthy(3, func(s []State) { s[0].Seen[2].UUID = "new" })) // its own agent's look is a moment older
	require.Len(t, o.Groups[0].Members, 3)
}

func TestVeto(t *testing.T) {
	require.Empty(t, Observe(healthy(3, nil)).Veto)
	require.Contains(t, Observe(healthy(3, func(s []State) { s[0].SplitBrain = true })).Veto, "pc.ignore_sb or pc.ignore_quorum is on")
}

// TestTheAgeOfALook checks that a look is as old as its agent says, and not younger than the
// question.
func TestTheAgeOfALook(t *testing.T) {
	now := time.Unix(1000, 0)
	told := State{Looked: now.Add(-3 * time.Second)}.Told(now)
	require.Equal(t, 3*time.Second, told.Age)
	there := time.Unix(5_000_000, 0) // another clock
	require.Equal(t, there.Add(-3*time.Second), told.Heard(there).Looked)
	require.Equal(t, there, State{Age: -time.Hour}.Heard(there).Looked)
}
