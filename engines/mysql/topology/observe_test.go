package topology

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

var observedAt = time.Unix(1800000000, 0)

// ids of members, as servers of MySQL have them.
func idOf(n int) string { return fmt.Sprintf("%08d-0000-0000-0000-000000000000", n) }

func nodeOf(n int) string { return fmt.Sprintf("db-%d", n) }

// healthy is what the last of three members sees: db-0 is the primary, with
// semi-synchronous replication, and the others follow it.
func healthy() View {
	v := View{Now: observedAt, MaxLag: 10 * time.Second, Domains: replication.Domains{"db": ".db"}}
	primary := replication.State{
		Node: nodeOf(0), ID: idOf(0), Version: "9.7.4-2", Flavor: replication.MySQL, Serving: true, Looked: observedAt, Started: observedAt, Writes: replication.Allowed,
		Executed: idOf(0) + ":1-9", SemiSync: replication.SemiSync{Source: true, Installed: true, Acks: 1, Clients: 2, Working: true},
	}
	for n := 1; n < 3; n++ {
		lag := time.Duration(0)
		primary.Replicas = append(primary.Replicas, replication.Replica{ID: idOf(n), Host: nodeOf(n), Port: 3306})
		v.Others = append(v.Others, Member{Known: true, Peer: engines.Peer{Node: nodeOf(n), Alive: true}, State: replication.State{
			Node: nodeOf(n), ID: idOf(n), Version: "9.7.4-2", Flavor: replication.MySQL, Serving: true, Looked: observedAt, Started: observedAt, Writes: replication.RefusedAtStart,
			Executed: idOf(0) + ":1-9", SemiSync: replication.SemiSync{Replica: true, Installed: true, Acknowledging: true},
			Source: &replication.Source{Host: nodeOf(0) + ".db", Port: 3306, ID: idOf(0), Receiving: true, Applying: true, Started: true, Lag: &lag},
		}})
	}
	v.Self, v.Others[1] = v.Others[1], Member{Known: true, Peer: engines.Peer{Node: nodeOf(0), Alive: true}, State: primary}
	v.Others[0], v.Others[1] = v.Others[1], v.Others[0]
	return v
}

// fromPrimary is the same, seen by the primary.
func fromPrimary() View {
	v := healthy()
	v.Self, v.Others[0] = v.Others[0], v.Self
	return v
}

// gone makes an agent be unavailable.
func gone(m *Member) {
	*m = Member{Peer: engines.Peer{Node: m.State.Node}, Why: "its agent is unavailable"}
}

func TestObservation(t *testing.T) {
	o := Observe(healthy())
	require.Equal(t, engines.Health{Verdict: engines.VerdictGreen}, o.Health)
	require.Equal(t, nodeOf(2), o.Node)
	require.Equal(t, "9.7.4", o.Version)
	require.Equal(t, engines.MembershipLive, o.Member)
	require.Equal(t, []string{replicaRole}, o.Roles)
	require.Empty(t, o.After)
	require.Empty(t, o.Busy+o.Veto)
	require.True(t, o.Settled)
	all := map[string]engines.MemberState{nodeOf(0): engines.MemberActive, nodeOf(1): engines.MemberActive, nodeOf(2): engines.MemberActive}
	require.Equal(t, all, enginetest.States(t, o, "data"))
	require.Equal(t, all, enginetest.States(t, o, "primary"))
	require.Equal(t, map[string]engines.MemberState{nodeOf(1): engines.MemberActive, nodeOf(2): engines.MemberActive}, enginetest.States(t, o, "acks"))
	p := enginetest.Group(t, o, "primary")
	require.Equal(t, engines.GroupRole, p.Kind)
	require.Equal(t, 1, p.MinAvailable)
	require.True(t, p.NeedsLeader)
	for _, m := range p.Members {
		require.Equal(t, m.Node == nodeOf(0), m.Leader)
		require.True(t, m.Eligible)
	}
	require.Equal(t, 1, enginetest.Group(t, o, "acks").MinAvailable)
	require.Equal(t, engines.GroupAcks, enginetest.Group(t, o, "acks").Kind)
	require.ElementsMatch(t, []engines.Node{
		{Name: nodeOf(0), Address: nodeOf(0), State: engines.MembershipLive}, {Name: nodeOf(1), Address: nodeOf(1), State: engines.MembershipLive}, {Name: nodeOf(2), Address: nodeOf(2), State: engines.MembershipLive},
	}, o.Nodes, "itself too")

	o = Observe(fromPrimary())
	require.Equal(t, engines.VerdictGreen, o.Health.Verdict)
	require.Equal(t, []string{primaryRole}, o.Roles)
	require.Equal(t, []string{nodeOf(1), nodeOf(2)}, o.After, "its replicas are updated first")
	require.True(t, o.Settled)
}

// TestObservationOf changes one thing at a time, and checks what the last member concludes.
func TestObservationOf(t *testing.T) {
	const any = engines.MemberUnknown + 100
	long := 11 * time.Second
	for name, c := range map[string]struct {
		change          func(v *View)
		verdict         engines.Verdict
		reason          string
		data0, data2    engines.MemberState
		settled, vetoed bool
	}{
		"lag above the limit":             {func(v *View) { v.Self.State.Source.Lag = &long }, engines.VerdictYellow, "db-2 is 11s behind", engines.MemberActive, engines.MemberRecovering, false, false},
		"lag is not known":                {func(v *View) { v.Self.State.Source.Lag = nil }, engines.VerdictYellow, "does not know how far", engines.MemberActive, engines.MemberRecovering, false, false},
		"connecting":                      {func(v *View) { v.Self.State.Source.Receiving, v.Self.State.Source.Lag = false, nil }, engines.VerdictYellow, "is connecting", engines.MemberActive, engines.MemberRecovering, false, false},
		"stopped":                         {func(v *View) { v.Self.State.Source.Applying, v.Self.State.Source.Started = false, false }, engines.VerdictYellow, "has stopped replicating", engines.MemberActive, engines.MemberDown, false, false},
		"failed":                          {func(v *View) { v.Self.State.Source.Failure = "error 1062: x" }, engines.VerdictYellow, "does not replicate: error 1062: x", engines.MemberActive, engines.MemberDown, false, false},
		"follows nobody":                  {func(v *View) { v.Self.State.Source = nil }, engines.VerdictYellow, "db-2 follows nobody", engines.MemberActive, engines.MemberDown, false, false},
		"follows a stranger":              {func(v *View) { v.Self.State.Source.ID, v.Self.State.Source.Host = idOf(9), "other" }, engines.VerdictYellow, "which is not the primary", engines.MemberActive, engines.MemberDown, false, false},
		"follows a replica":               {func(v *View) { v.Self.State.Source.ID, v.Self.State.Source.Host = idOf(1), nodeOf(1) }, engines.VerdictGreen, "", engines.MemberActive, engines.MemberActive, true, false},
		"errant":                          {func(v *View) { v.Self.State.Executed += "," + idOf(2) + ":1" }, engines.VerdictYellow, "has transactions that the primary has not", engines.MemberActive, engines.MemberDown, false, true},
		"the primary's own are tolerated": {func(v *View) { v.Self.State.Executed = idOf(0) + ":1-12" }, engines.VerdictGreen, "", engines.MemberActive, engines.MemberActive, true, false},
		"nothing was written yet": {func(v *View) {
			v.Self.State.Executed, v.Others[0].State.Executed, v.Others[1].State.Executed = "none", "none", "none"
		}, engines.VerdictGreen, "", engines.MemberActive, engines.MemberActive, true, false},
		"new beside a database": {func(v *View) { v.Self.State.Executed = "none" }, engines.VerdictYellow, "db-2 has executed nothing yet", engines.MemberActive, engines.MemberRecovering, false, false},
		"without GTIDs":         {func(v *View) { v.Self.State.Executed, v.Others[0].State.Executed = "", "" }, engines.VerdictGreen, "", engines.MemberActive, engines.MemberActive, true, false},
		"not acknowledging":     {func(v *View) { v.Self.State.SemiSync.Acknowledging = false }, engines.VerdictGreen, "", engines.MemberActive, engines.MemberActive, false, false},
		"commits do not wait":   {func(v *View) { v.Others[0].State.SemiSync.Working = false }, engines.VerdictYellow, "db-0 commits without waiting", engines.MemberActive, engines.MemberActive, true, false},
		"two allow writes":      {func(v *View) { v.Others[1].State.Writes = replication.Allowed }, engines.VerdictRed, "db-0 and db-1 allow writes", any, any, false, false},
		"nobody allows writes":  {func(v *View) { v.Others[0].State.Writes = replication.RefusedAtStart }, engines.VerdictRed, "no member allows writes", engines.MemberUnknown, engines.MemberRecovering, false, false},
		"a switchover": {func(v *View) {
			v.Others[0].State.Writes = replication.RefusedBySQL
			v.Others[0].State.Switch = &replication.Switch{From: "db-0", Until: observedAt.Add(time.Second)}
		}, engines.VerdictYellow, "a switchover from db-0 is under way", any, any, false, false},
		"one that is over": {func(v *View) {
			v.Others[0].State.Switch = &replication.Switch{From: "db-0", Until: observedAt.Add(-time.Second)}
		}, engines.VerdictGreen, "", engines.MemberActive, engines.MemberActive, true, false},
		"a replica is down": {func(v *View) {
			v.Others[1].State = replication.State{Node: nodeOf(1), Down: true, Looked: observedAt}
			v.Others[0].State.Replicas = v.Others[0].State.Replicas[1:]
		}, engines.VerdictRecoverable, "unavailable: db-1", engines.MemberActive, engines.MemberActive, true, false},
		"an agent is unavailable, its server too":    {func(v *View) { gone(&v.Others[1]); v.Others[0].State.Replicas = v.Others[0].State.Replicas[1:] }, engines.VerdictRecoverable, "unavailable: db-1", engines.MemberActive, engines.MemberActive, true, false},
		"an agent is unavailable, its server is not": {func(v *View) { gone(&v.Others[1]) }, engines.VerdictRecoverable, "the agent of db-1", engines.MemberActive, engines.MemberActive, true, false},
		"an agent does not answer":                   {func(v *View) { v.Others[1].Known = false }, engines.VerdictUnknown, "db-1 does not answer", engines.MemberActive, engines.MemberActive, true, false},
		"an agent looked long ago":                   {func(v *View) { v.Others[1].State.Looked = observedAt.Add(-2 * time.Minute) }, engines.VerdictUnknown, "db-1 does not answer: its agent has not looked", engines.MemberActive, engines.MemberActive, true, false},
		"an agent lacks privileges":                  {func(v *View) { v.Others[1].State.Serving, v.Others[1].State.Problem = false, "needs PROCESS" }, engines.VerdictUnknown, "needs PROCESS", engines.MemberActive, engines.MemberActive, true, false},
		"all follow one outside": {func(v *View) {
			v.Others[0].State.Writes = replication.RefusedAtStart
			v.Others[0].State.Source = &replication.Source{Host: "elsewhere", Port: 3306, ID: idOf(9), Receiving: true, Applying: true, Started: true}
		}, engines.VerdictYellow, "all follow elsewhere, which is none of the members", engines.MemberRecovering, engines.MemberRecovering, false, false},
		"all follow one outside that is unavailable": {func(v *View) {
			v.Others[0].State.Writes = replication.RefusedAtStart
			v.Others[0].State.Source = &replication.Source{Host: "elsewhere", Port: 3306, ID: idOf(9), Applying: true, Started: true}
		}, engines.VerdictRed, "no member allows writes", engines.MemberUnknown, engines.MemberRecovering, false, false},
		"one follows another outside": {func(v *View) {
			v.Others[0].State.Writes = replication.RefusedAtStart
			v.Self.State.Source = &replication.Source{Host: "elsewhere", Port: 3306, ID: idOf(9), Receiving: true, Applying: true, Started: true}
		}, engines.VerdictUnknown, "elsewhere does not answer: no agent is known for it", engines.MemberUnknown, engines.MemberRecovering, false, false},
		"the primary is down": {func(v *View) {
			v.Others[0].State = replication.State{Node: nodeOf(0), Down: true, Looked: observedAt}
			v.Self.State.Source.Receiving, v.Others[1].State.Source.Receiving = false, false
		}, engines.VerdictRed, "no member allows writes", engines.MemberDown, engines.MemberUnknown, false, false},
		"the primary's agent is unavailable": {func(v *View) { gone(&v.Others[0]) }, engines.VerdictUnknown, "db-0 does not answer", engines.MemberUnknown, engines.MemberRecovering, false, false},
		"the primary's agent is unavailable, and its server": {func(v *View) {
			gone(&v.Others[0])
			v.Self.State.Source.Receiving, v.Others[1].State.Source.Receiving = false, false
		}, engines.VerdictRed, "no member allows writes", engines.MemberDown, engines.MemberUnknown, false, false},
		"starts writable": {func(v *View) { v.Self.State.StartsWritable = true }, engines.VerdictGreen, "", engines.MemberActive, engines.MemberActive, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			v := healthy()
			c.change(&v)
			o := Observe(v)
			require.Equal(t, c.verdict, o.Health.Verdict, o.Health.Reason)
			require.Contains(t, o.Health.Reason, c.reason)
			data := enginetest.States(t, o, "data")
			require.GreaterOrEqual(t, len(data), 3)
			if c.data0 != any {
				require.Equal(t, c.data0, data[nodeOf(0)])
				require.Equal(t, c.data2, data[nodeOf(2)])
			}
			require.Equal(t, c.settled, o.Settled)
			require.Equal(t, c.vetoed, o.Veto != "", o.Veto)
			for _, m := range enginetest.Group(t, o, "primary").Members {
				require.False(t, m.Eligible && m.State != engines.MemberActive)
			}
		})
	}
}

// TestUnknownPermitsNothing checks that nothing is claimed without an answer of the local server.
func TestUnknownPermitsNothing(t *testing.T) {
	v := healthy()
	v.Self.State.Serving, v.Self.State.Problem = false, "no answer in time"
	o := Observe(v)
	require.Equal(t, engines.Observation{Node: nodeOf(2), Version: "9.7.4", Health: engines.Health{Reason: "no answer in time"}}, o)
	v.Self.State = replication.State{Node: nodeOf(2), Down: true, Problem: "no server listens"}
	o = Observe(v)
	require.Equal(t, engines.MembershipNotLive, o.Member)
	require.Empty(t, o.Groups)
	o = Observe(View{})
	require.Equal(t, engines.MembershipUnknown, o.Member)
	require.False(t, o.Settled)
	require.Equal(t, engines.VerdictUnknown, o.Health.Verdict)
}

// TestUnavailableAgents checks what other members see of servers whose agents are unavailable.
func TestUnavailableAgents(t *testing.T) {
	v := healthy()
	gone(&v.Others[1])
	o := Observe(v)
	require.Equal(t, engines.MemberUnknown, enginetest.States(t, o, "data")[nodeOf(1)], "how far it is nobody knows")
	require.Equal(t, engines.MemberActive, enginetest.States(t, o, "acks")[nodeOf(1)], "the primary counts one more than tell that they acknowledge")
	v.Others[0].State.SemiSync.Clients = 1
	require.Equal(t, engines.MemberUnknown, enginetest.States(t, Observe(v), "acks")[nodeOf(1)])
	v.Others[0].State.Replicas = nil
	o = Observe(v)
	require.Equal(t, engines.MemberDown, enginetest.States(t, o, "acks")[nodeOf(1)])
	require.Contains(t, o.Nodes, engines.Node{Name: nodeOf(1), Address: nodeOf(1), State: engines.MembershipNotLive})

	v = healthy()
	gone(&v.Others[0])
	o = Observe(v)
	for _, m := range enginetest.Group(t, o, "primary").Members {
		require.Equal(t, m.Node == nodeOf(0), m.Leader, "others receive from it")
	}
	require.Contains(t, o.Nodes, engines.Node{Name: nodeOf(0), Address: nodeOf(0), State: engines.MembershipLive})

	v = fromPrimary()
	v.Others = v.Others[:1]
	o = Observe(v)
	require.Contains(t, enginetest.States(t, o, "data"), nodeOf(1), "nobody knows its agent, but it is connected")
	require.Equal(t, []string{nodeOf(1), nodeOf(2)}, o.After)
}

func TestAlone(t *testing.T) {
	v := fromPrimary()
	v.Others, v.Self.State.Replicas, v.Self.State.SemiSync = nil, nil, replication.SemiSync{}
	v.Self.State.StartsWritable = true
	o := Observe(v)
	require.Equal(t, engines.VerdictGreen, o.Health.Verdict)
	require.True(t, o.Settled)
	require.Empty(t, o.Veto, "there is nobody beside whom it would write")
	require.Empty(t, o.After)
	require.Len(t, o.Groups, 2)
}

// inGroup makes group replication of it.
func inGroup(v View, states ...string) View {
	g := &replication.GroupState{Primary: true, Quorum: true}
	for n, s := range states {
		role := replication.RoleSecondary
		if n == 0 {
			role = replication.RolePrimary
		}
		g.Members = append(g.Members, replication.GroupMember{ID: idOf(n), Host: nodeOf(n), Port: 3306, State: s, Role: role})
	}
	for _, m := range []*Member{&v.Self, &v.Others[0], &v.Others[1]} {
		m.State.Group, m.State.Source, m.State.SemiSync, m.State.Replicas = g, nil, replication.SemiSync{}, nil
	}
	return v
}

func TestGroupReplication(t *testing.T) {
	o := Observe(inGroup(healthy(), replication.MemberOnline, replication.MemberOnline, replication.MemberOnline))
	require.Equal(t, engines.Health{Verdict: engines.VerdictGreen}, o.Health)
	require.Equal(t, 2, enginetest.Group(t, o, "quorum").MinAvailable)
	require.Equal(t, engines.GroupQuorum, enginetest.Group(t, o, "quorum").Kind)
	require.True(t, o.Settled)
	require.Equal(t, []string{nodeOf(1), nodeOf(2)}, Observe(inGroup(fromPrimary(), replication.MemberOnline, replication.MemberOnline, replication.MemberOnline)).After)

	o = Observe(inGroup(healthy(), replication.MemberOnline, replication.MemberOnline, replication.MemberRecovering))
	require.Equal(t, engines.VerdictYellow, o.Health.Verdict)
	require.False(t, o.Settled)
	require.Equal(t, engines.MemberRecovering, enginetest.States(t, o, "quorum")[nodeOf(2)])

	v := inGroup(healthy(), replication.MemberOnline, replication.MemberAway, replication.MemberOnline)
	gone(&v.Others[1])
	o = Observe(v)
	require.Equal(t, engines.VerdictRecoverable, o.Health.Verdict, o.Health.Reason)
	require.Equal(t, engines.MemberDown, enginetest.States(t, o, "quorum")[nodeOf(1)])

	v = inGroup(healthy(), replication.MemberAway, replication.MemberAway, replication.MemberOnline)
	v.Self.State.Group.Quorum = false
	require.Equal(t, engines.VerdictRed, Observe(v).Health.Verdict)

	v = inGroup(healthy(), replication.MemberOnline, replication.MemberOnline, replication.MemberOnline)
	gone(&v.Others[0])
	o = Observe(v)
	require.True(t, enginetest.Group(t, o, "primary").Members[1].Leader || enginetest.Group(t, o, "primary").Members[0].Leader || enginetest.Group(t, o, "primary").Members[2].Leader, "the group says who")
}

// TestAdoptedBeforeTheirPrimary checks that replicas have agents, and the primary gets its own
// last. Nothing of that holds the next replica back.
func TestAdoptedBeforeTheirPrimary(t *testing.T) {
	adopted := func(agents int) View {
		v := healthy()
		v.Self.State.Source.Host = "db-0.db.prod.svc"
		v.Others = v.Others[1:agents]
		for i := range v.Others {
			v.Others[i].State.Source.Host = "db-0.db.prod.svc"
		}
		return v
	}
	for agents := 1; agents <= 2; agents++ {
		o := Observe(adopted(agents))
		require.Equal(t, engines.Health{Verdict: engines.VerdictRecoverable, Reason: "unavailable: the agent of db-0.db.prod.svc"}, o.Health)
		require.True(t, o.Settled)
		require.Empty(t, o.Veto)
		require.Len(t, o.Nodes, agents+1)
		for _, m := range enginetest.Group(t, o, "primary").Members {
			require.Equal(t, m.Node == "db-0.db.prod.svc", m.Leader, m.Node)
			require.Equal(t, engines.MemberActive, m.State, m.Node)
		}
	}
	v := adopted(1)
	v.Self.State.Node, v.Self.State.Source.Host, v.Self.State.Source.Port = "db-2:3307", "db-0", 3307
	require.Equal(t, engines.Health{Verdict: engines.VerdictRecoverable, Reason: "unavailable: the agent of db-0:3307"}, Observe(v).Health, "on another port")
	lag := time.Minute
	for name, c := range map[string]struct {
		edit    func(v *View)
		verdict engines.Verdict
		reason  string
	}{
		"far behind":             {func(v *View) { v.Self.State.Source.Lag = &lag }, engines.VerdictYellow, "db-2 is 1m0s behind"},
		"an agent does not know": {func(v *View) { v.Others[0].Known = false }, engines.VerdictUnknown, "db-1 does not answer"},
		"one takes writes":       {func(v *View) { v.Others[0].State.Writes = replication.Allowed }, engines.VerdictYellow, "which is not the primary"},
		"not sent anything": {func(v *View) {
			v.Self.State.Source.Receiving, v.Others[0].State.Source.Receiving = false, false
		}, engines.VerdictRed, "no member allows writes"},
		"the other one follows nobody":        {func(v *View) { v.Others[0].State.Source = nil }, engines.VerdictUnknown, "no agent is known for it"},
		"the other one follows somebody else": {func(v *View) { v.Others[0].State.Source.Host, v.Others[0].State.Source.ID = "db-7.db", idOf(7) }, engines.VerdictUnknown, "no agent is known for it"},
		"of another StatefulSet": {func(v *View) {
			v.Self.State.Source.Host, v.Others[0].State.Source.Host = "other-0.db", "other-0.db"
		}, engines.VerdictYellow, "all follow other-0.db, which is none of the members"},
		"a service": {func(v *View) {
			v.Self.State.Source.Host, v.Others[0].State.Source.Host = "db", "db"
		}, engines.VerdictYellow, "all follow db, which is none of the members"},
		"a member of another database that is called the same": {func(v *View) {
			v.Self.State.Source.Host, v.Others[0].State.Source.Host = "db-1.elsewhere", "db-1.elsewhere"
			v.Self.State.Source.ID, v.Others[0].State.Source.ID = idOf(9), idOf(9)
		}, engines.VerdictYellow, "all follow db-1.elsewhere"},
	} {
		v := adopted(2)
		c.edit(&v)
		o := Observe(v)
		require.Equal(t, c.verdict, o.Health.Verdict, name)
		require.Contains(t, o.Health.Reason, c.reason, name)
	}
}

// TestMemberMissingFromOneStatus checks that the primary does not list a replica, which may be
// connecting again. Its own server answers, so it is a member.
func TestMemberMissingFromOneStatus(t *testing.T) {
	v := healthy()
	v.Others[0].State.Replicas, v.Others[0].State.SemiSync.Clients = v.Others[0].State.Replicas[:1], 1
	o := Observe(v)
	require.Equal(t, engines.MembershipLive, o.Member)
	for _, n := range o.Nodes {
		require.Equal(t, engines.MembershipLive, n.State, n.Name)
	}
	require.Equal(t, engines.MemberActive, enginetest.States(t, o, "data")[nodeOf(2)])
}
