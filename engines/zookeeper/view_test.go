package zookeeper

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// viewOf is the view of server.2, which follows server.1, in an ensemble of three voters and an
// observer; change may alter the States.
func viewOf(change func(s []State)) View {
	states := healthy(3, 1)
	now := time.Unix(1000, 0)
	for i := range states {
		states[i].Looked = now
		states[i].Config.Servers = slices.Clone(states[i].Config.Servers)
	}
	if change != nil {
		change(states)
	}
	v := View{Now: now, Self: Member{State: states[1], Known: true, Peer: engines.Peer{Alive: true}}}
	for _, i := range []int{0, 2, 3} {
		s := healthy(3, 1)[i]
		v.Others = append(v.Others, Member{State: states[i], Known: true, Peer: engines.Peer{Pod: "zk-" + string(rune('0'+i)), Node: s.Node, Alive: true}})
	}
	return v
}

func down(s *State) {
	*s = State{Node: s.Node, Down: true, Problem: errDown.Error(), Looked: s.Looked, Learners: -1, Observing: -1, Synced: -1}
}

func looking(s *State) {
	down(s)
	s.Down, s.Looking, s.Problem = false, true, errLooking.Error()
}

func hung(s *State) {
	down(s)
	s.Down, s.Problem = false, "the server has not answered within 5s"
}

func TestObserve(t *testing.T) {
	const active, recovering, gone, unknown = engines.MemberActive, engines.MemberRecovering, engines.MemberDown, engines.MemberUnknown
	type votes = [3]engines.MemberState
	live, notLive, notKnown := engines.MembershipLive, engines.MembershipNotLive, engines.MembershipUnknown
	for name, c := range map[string]struct {
		change  func(s []State)
		member  engines.Membership
		verdict engines.Verdict
		reason  string
		votes   votes
		third   engines.Membership
	}{
		"all is well": {nil, live, engines.VerdictGreen, "", votes{active, active, active}, live},
		"a follower has ended": {func(s []State) { down(&s[2]); s[0].Learners, s[0].Synced = 2, 1 },
			live, engines.VerdictRecoverable, "server.3 does not run", votes{active, active, gone}, notLive},
		"a follower is paused": {func(s []State) { hung(&s[2]) },
			live, engines.VerdictYellow, "not known: server.3: the server has not answered within 5s", votes{active, active, unknown}, notKnown},
		"a follower receives a snapshot, and the leader counts it": {func(s []State) { looking(&s[2]) },
			live, engines.VerdictYellow, "server.3 may be receiving the leader's data", votes{active, active, recovering}, notKnown},
		"a follower has not joined the leader": {func(s []State) { looking(&s[2]); s[0].Learners, s[0].Synced = 2, 1 },
			live, engines.VerdictRecoverable, "server.3 has not joined the leader", votes{active, active, gone}, notLive},
		"the observer has ended": {func(s []State) { down(&s[3]); s[0].Learners, s[0].Observing = 2, 0 },
			live, engines.VerdictRecoverable, "server.4 does not run", votes{active, active, active}, live},
		"the leader is paused": {func(s []State) { hung(&s[0]) },
			live, engines.VerdictYellow, "it is not known who leads", votes{unknown, active, active}, live},
		"the leader has ended, and nobody has noticed": {func(s []State) { down(&s[0]) },
			live, engines.VerdictYellow, "it is not known who leads", votes{gone, active, active}, live},
		"two say that they lead": {func(s []State) {
			s[2].Mode, s[2].Learners, s[2].Observing, s[2].Synced = Leading, 1, 0, 1
		}, live, engines.VerdictYellow, "server.1 and server.3 both say that they lead", votes{unknown, unknown, unknown}, live},
		"one follows a former leader": {func(s []State) { s[2].Leader = "server.2" },
			live, engines.VerdictYellow, "server.3 follows server.2, and server.1 leads: they do not agree yet", votes{unknown, unknown, unknown}, live},
		"the leader has lost one that does not know it": {func(s []State) { s[0].Learners, s[0].Synced = 2, 1 },
			live, engines.VerdictYellow, "server.1 leads 1 in sync, and 2 say that they follow", votes{unknown, unknown, unknown}, live},
		"a look is old": {func(s []State) { s[2].Looked = s[2].Looked.Add(-staleAfter - time.Second) },
			live, engines.VerdictYellow, "its agent has not looked at it for long", votes{active, active, unknown}, notKnown},
		"hierarchical quorums": {func(s []State) { s[2].Config.Weighted = true },
			live, engines.VerdictYellow, "hierarchical quorums", votes{unknown, unknown, unknown}, live},
		"two servers have one number": {func(s []State) { s[3].Node = "server.3" },
			live, engines.VerdictYellow, "myid must differ", votes{unknown, unknown, unknown}, live},
		"it looks for a leader itself, and the others have one": {func(s []State) { looking(&s[1]); s[0].Learners, s[0].Synced = 2, 1 },
			notLive, engines.VerdictUnknown, "it serves nobody", votes{}, 0},
		"it receives a snapshot itself": {func(s []State) { looking(&s[1]) },
			notKnown, engines.VerdictUnknown, "it serves nobody", votes{}, 0},
		"it looks for a leader, and who leads is paused": {func(s []State) { looking(&s[1]); hung(&s[0]) },
			notKnown, engines.VerdictUnknown, "it serves nobody", votes{}, 0},
		"nobody serves": {func(s []State) {
			for i := range s {
				looking(&s[i])
			}
			down(&s[2])
		}, notLive, engines.VerdictRed, "nobody leads: 3 of 4 servers run", votes{}, 0},
		"an election, and one is not known": {func(s []State) {
			for i := range s {
				looking(&s[i])
			}
			hung(&s[2])
		}, notKnown, engines.VerdictUnknown, "it serves nobody", votes{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			o := Observe(viewOf(c.change))
			require.Equal(t, "server.2", o.Node)
			require.Equal(t, c.member, o.Member)
			require.Equal(t, c.verdict, o.Health.Verdict, o.Health.Reason)
			require.Contains(t, o.Health.Reason, c.reason)
			require.Equal(t, c.verdict == engines.VerdictGreen || c.verdict == engines.VerdictRecoverable, o.Health.Reason == "" || c.verdict == engines.VerdictRecoverable)
			if c.verdict == engines.VerdictUnknown || c.verdict == engines.VerdictRed {
				require.Empty(t, o.Groups)
				require.False(t, o.Settled)
				return
			}
			for i, m := range o.Groups[0].Members {
				require.Equal(t, c.votes[i], m.State, m.ID)
				require.Equal(t, c.votes[i] == active, m.Eligible, m.ID)
			}
			require.Equal(t, c.third, o.Nodes[2].State)
		})
	}
}

// TestRoles checks who goes last, and that observers have no vote.
func TestRoles(t *testing.T) {
	v := viewOf(nil)
	all := append([]Member{v.Self}, v.Others...)
	for i, self := range all {
		w := View{Now: v.Now, Self: self, Others: slices.Delete(slices.Clone(all), i, i+1)}
		o := Observe(w)
		require.Equal(t, self.State.Mode == Leading, o.Last)
		require.Equal(t, []string{self.State.Mode.String()}, o.Roles)
		require.Equal(t, []engines.Group{{ID: "voters 1,2,3", Kind: engines.GroupQuorum, MinAvailable: 2, NeedsLeader: true, Members: []engines.Member{
			{ID: "server.1", Node: "server.1", State: engines.MemberActive, Leader: true, Eligible: true},
			{ID: "server.2", Node: "server.2", State: engines.MemberActive, Eligible: true},
			{ID: "server.3", Node: "server.3", State: engines.MemberActive, Eligible: true},
		}}}, o.Groups)
		require.Len(t, o.Nodes, 4)
	}
}

// TestBusy: who may be sending its data to another server does not go.
func TestBusy(t *testing.T) {
	v := viewOf(func(s []State) { looking(&s[2]) })
	v.Self, v.Others[0] = v.Others[0], v.Self
	require.Equal(t, "it may be sending its data to server.3, which does not serve yet", Observe(v).Busy)
	d := departure{assessment: assess(v), node: "server.1"}
	require.Equal(t, engines.ProgressRunning, d.decide().State)

	v = viewOf(func(s []State) { looking(&s[3]) })
	v.Self, v.Others[0] = v.Others[0], v.Self
	for _, observing := range []int{0, 1} { // it is counted as one before it has its snapshot
		v.Self.State.Observing = observing
		o := Observe(v)
		require.Contains(t, o.Busy, "server.4")
		require.Equal(t, engines.MembershipUnknown, o.Nodes[3].State)
		require.Contains(t, o.Health.Reason, "server.4 may be receiving the leader's data")
		require.Contains(t, departure{assessment: assess(v), node: "server.1"}.decide().Detail, "sending its data to server.4")
	}
	v.Self.State.Learners = 2
	v.Self.State.Observing = 0
	require.Contains(t, Observe(v).Health.Reason, "server.4 has not joined the leader")
}

// TestWhoIsApart: a server without an ensemble, or with another role than the configuration gives it, is not
// what the others count on.
func TestWhoIsApart(t *testing.T) {
	v := viewOf(func(s []State) { s[0].Learners, s[0].Synced = 2, 1 })
	v.Others[1] = Member{Peer: engines.Peer{Pod: "zk-2", Node: standaloneNode, Alive: true}, Known: true,
		State: State{Node: standaloneNode, Serving: true, Mode: Standalone, Looked: v.Now}}
	v.Asked = map[string]Answer{"server.3": {Mode: Standalone}}
	o := Observe(v)
	require.Equal(t, engines.VerdictYellow, o.Health.Verdict)
	require.Contains(t, o.Health.Reason, "zk-2 is a server of its own, without an ensemble, server.3 is a server of its own")
	require.Equal(t, engines.MemberUnknown, o.Groups[0].Members[2].State)
	require.Equal(t, engines.MembershipUnknown, o.Nodes[3].State)

	o = Observe(viewOf(func(s []State) { s[2].Mode, s[0].Observing, s[0].Synced = Observing, 2, 1 }))
	require.Equal(t, engines.VerdictYellow, o.Health.Verdict)
	require.Contains(t, o.Health.Reason, "server.3 has a vote, and says that it is an observer")
	require.Equal(t, engines.MemberUnknown, o.Groups[0].Members[2].State)
}

// TestEnlarged: while servers are added by their configuration files, a majority of each
// configuration must stay.
func TestEnlarged(t *testing.T) {
	v := viewOf(func(s []State) {
		for i := range s {
			s[i].Config = lines(3, 0)
		}
		s[3].Mode, s[3].Config = Following, lines(4, 0)
		s[0].Learners, s[0].Observing, s[0].Synced = 3, 0, 3
	})
	o := Observe(v)
	require.Equal(t, engines.VerdictGreen, o.Health.Verdict, o.Health.Reason)
	require.Len(t, o.Groups, 2)
	require.Equal(t, "voters 1,2,3", o.Groups[0].ID)
	require.Equal(t, 2, o.Groups[0].MinAvailable)
	require.Equal(t, "voters 1,2,3,4", o.Groups[1].ID)
	require.Equal(t, 3, o.Groups[1].MinAvailable)
	down(&v.Others[1].State)
	v.Others[0].State.Learners, v.Others[0].State.Synced = 2, 2
	p := departure{assessment: assess(v), node: "server.2"}.decide()
	require.Equal(t, engines.ProgressRunning, p.State)
	require.Contains(t, p.Detail, "without server.2 1 of 3 voters would be left")
}

// TestServersWithoutAgents: they answer themselves. One that does not is not known.
func TestServersWithoutAgents(t *testing.T) {
	v := viewOf(nil)
	v.Others = nil
	require.Len(t, assess(v).silent(), 3)
	o := Observe(v)
	require.Equal(t, engines.VerdictYellow, o.Health.Verdict)
	v.Asked = map[string]Answer{"server.1": {Mode: Leading}, "server.3": {Mode: Following}, "server.4": {Mode: Observing}}
	o = Observe(v)
	require.Equal(t, engines.VerdictGreen, o.Health.Verdict, o.Health.Reason)
	require.True(t, o.Groups[0].Members[0].Leader)
	require.Equal(t, engines.MembershipLive, o.Nodes[0].State)
	v.Asked["server.3"] = Answer{Looking: true}
	require.Equal(t, engines.MemberRecovering, Observe(v).Groups[0].Members[2].State, "that leader's agent tells nothing")
	v.Asked["server.3"] = Answer{Why: "no route to host"}
	o = Observe(v)
	require.Equal(t, engines.MemberUnknown, o.Groups[0].Members[2].State)
	require.Contains(t, o.Health.Reason, "server.3: no agent is known for it, and it does not answer itself: no route to host")
}

// TestPodsFindTheirServers: one that serves nobody since its agent started has told nobody its
// number. The name of its pod is that of its host.
func TestPodsFindTheirServers(t *testing.T) {
	v := viewOf(func(s []State) { looking(&s[2]); s[2].Node = ""; s[0].Learners, s[0].Synced = 2, 1 })
	v.Others[1].Peer = engines.Peer{Pod: "zk-2", Alive: true}
	o := Observe(v)
	require.Contains(t, o.Health.Reason, "server.3 has not joined the leader")
	require.Equal(t, engines.MemberDown, o.Groups[0].Members[2].State)

	v = viewOf(func(s []State) { s[1].Config.Servers[1].Host = "" })
	require.Equal(t, "zk-1.zk.prod.svc", Observe(v).Nodes[1].Address, "a server may write every address for itself")
}

// TestDeparture checks who may leave, and what is said.
func TestDeparture(t *testing.T) {
	for name, c := range map[string]struct {
		node    string
		forGood bool
		change  func(v *View)
		state   engines.ProgressState
		words   string
	}{
		"a follower": {"server.2", false, nil, engines.ProgressDone, "the others are a majority without it"},
		"the leader, for which there is no handover": {"server.1", false, nil, engines.ProgressDone, "leadership cannot be handed over"},
		"an observer":                                    {"server.4", true, func(v *View) { down(&v.Others[1].State) }, engines.ProgressDone, ""},
		"a stranger":                                     {"server.9", false, nil, engines.ProgressDone, "it is no member"},
		"one is gone already":                            {"server.2", false, func(v *View) { down(&v.Others[1].State); v.Others[0].State.Learners, v.Others[0].State.Synced = 2, 1 }, engines.ProgressRunning, "without server.2 1 of 3 voters would be left in sync"},
		"the one that is gone":                           {"server.3", false, func(v *View) { down(&v.Others[1].State); v.Others[0].State.Learners, v.Others[0].State.Synced = 2, 1 }, engines.ProgressDone, ""},
		"another one leaves first":                       {"server.2", false, func(v *View) { v.Others[0].State.Turn = Waiting }, engines.ProgressRunning, "no majority"},
		"another one leaves later":                       {"server.2", false, func(v *View) { v.Others[1].State.Turn = Waiting }, engines.ProgressDone, ""},
		"another one may leave":                          {"server.2", false, func(v *View) { v.Others[1].State.Turn = Granted }, engines.ProgressRunning, "no majority"},
		"another one is decided on":                      {"server.2", false, func(v *View) { v.Others[1].State.Turn = Deciding }, engines.ProgressRunning, "no majority"},
		"another one leaves, and does not tell its turn": {"server.2", false, func(v *View) { v.Others[1].Peer.Leaving = true }, engines.ProgressRunning, "no majority"},
		"another one left, and is back without an agent": {"server.2", false, func(v *View) {
			v.Others[1] = Member{Peer: engines.Peer{Pod: "zk-2", Node: "server.3", Leaving: true}, Why: "its agent is unavailable"}
			v.Asked = map[string]Answer{"server.3": {Mode: Following}}
		}, engines.ProgressDone, ""},
		"who leads is not known": {"server.2", false, func(v *View) { hung(&v.Others[0].State) }, engines.ProgressRunning, "it is not known who leads"},
		"its data are lost":      {"server.2", true, nil, engines.ProgressDone, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := viewOf(nil)
			if c.change != nil {
				c.change(&v)
			}
			p := departure{assessment: assess(v), node: c.node, forGood: c.forGood}.decide()
			require.Equal(t, c.state, p.State, p.Detail)
			require.Contains(t, p.Detail, c.words)
		})
	}
}

// TestDataThatAreLost: a server that loses its data takes its vote for what was written with it, so
// all others must be in sync, not only a majority.
func TestDataThatAreLost(t *testing.T) {
	states := healthy(5, 0)
	v := View{Now: time.Unix(1000, 0)}
	for i := range states {
		states[i].Looked = v.Now
		m := Member{State: states[i], Known: true, Peer: engines.Peer{Node: states[i].Node, Alive: true}}
		if i == 1 {
			v.Self = m
		} else {
			v.Others = append(v.Others, m)
		}
	}
	decide := func(forGood bool) engines.Progress {
		return departure{assessment: assess(v), node: "server.2", forGood: forGood}.decide()
	}
	require.Equal(t, engines.ProgressDone, decide(true).State)
	down(&v.Others[3].State)
	v.Others[0].State.Learners, v.Others[0].State.Synced = 3, 3
	require.Equal(t, engines.ProgressDone, decide(false).State)
	p := decide(true)
	require.Equal(t, engines.ProgressRunning, p.State)
	require.Contains(t, p.Detail, "server.5 is not in sync")
}

// TestStandalone: a server without an ensemble is alone, or something is wrong.
func TestStandalone(t *testing.T) {
	alone := State{Node: standaloneNode, Serving: true, Mode: Standalone, Version: "3.9.4", Looked: time.Unix(1000, 0)}
	v := View{Now: alone.Looked, Self: Member{State: alone, Known: true}}
	o := Observe(v)
	require.Equal(t, engines.VerdictGreen, o.Health.Verdict)
	require.False(t, o.Last)
	require.Equal(t, []engines.Group{{ID: "data", Kind: engines.GroupShard, Members: []engines.Member{{ID: standaloneNode, Node: standaloneNode, State: engines.MemberActive}}}}, o.Groups)
	require.Equal(t, engines.ProgressDone, departure{assessment: assess(v), node: standaloneNode}.decide().State)
	require.Equal(t, engines.ProgressRunning, departure{assessment: assess(v), node: standaloneNode, forGood: true}.decide().State)

	v.Others = []Member{{State: alone, Known: true, Peer: engines.Peer{Pod: "zk-1", Node: standaloneNode, Alive: true}}}
	o = Observe(v)
	require.Equal(t, engines.VerdictYellow, o.Health.Verdict)
	require.Contains(t, o.Health.Reason, "two servers without an ensemble")
	require.Equal(t, engines.MemberUnknown, o.Groups[0].Members[0].State)
	v.Others[0] = Member{Peer: engines.Peer{Pod: "zk-1"}, Why: "its agent is unavailable"}
	require.Contains(t, Observe(v).Health.Reason, "there are other members")
}
