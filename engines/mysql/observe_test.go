package mysql

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
)

var observedAt = time.Unix(1800000000, 0)

// ids of members, as servers of MySQL have them.
func idOf(n int) string { return fmt.Sprintf("%08d-0000-0000-0000-000000000000", n) }

func nodeOf(n int) string { return fmt.Sprintf("db-%d", n) }

// healthy is what the last of three members sees: db-0 is the primary, with
// semi-synchronous replication, and the others follow it.
func healthy() view {
	v := view{now: observedAt, maxLag: 10 * time.Second, domains: domains{"db": ".db"}}
	primary := State{
		Node: nodeOf(0), ID: idOf(0), Version: "9.7.4-2", Flavor: MySQL, Serving: true, Looked: observedAt, Started: observedAt, Writes: Allowed,
		Executed: idOf(0) + ":1-9", SemiSync: SemiSync{Source: true, Installed: true, Acks: 1, Clients: 2, Working: true},
	}
	for n := 1; n < 3; n++ {
		lag := time.Duration(0)
		primary.Replicas = append(primary.Replicas, Replica{ID: idOf(n), Host: nodeOf(n), Port: 3306})
		v.others = append(v.others, member{known: true, peer: engines.Peer{Node: nodeOf(n), Alive: true}, state: State{
			Node: nodeOf(n), ID: idOf(n), Version: "9.7.4-2", Flavor: MySQL, Serving: true, Looked: observedAt, Started: observedAt, Writes: RefusedAtStart,
			Executed: idOf(0) + ":1-9", SemiSync: SemiSync{Replica: true, Installed: true, Acknowledging: true},
			Source: &Source{Host: nodeOf(0) + ".db", Port: 3306, ID: idOf(0), Receiving: true, Applying: true, Started: true, Lag: &lag},
		}})
	}
	v.self, v.others[1] = v.others[1], member{known: true, peer: engines.Peer{Node: nodeOf(0), Alive: true}, state: primary}
	v.others[0], v.others[1] = v.others[1], v.others[0]
	return v
}

// fromPrimary is the same, seen by the primary.
func fromPrimary() view {
	v := healthy()
	v.self, v.others[0] = v.others[0], v.self
	return v
}

// gone makes an agent be away.
func gone(m *member) {
	*m = member{peer: engines.Peer{Node: m.state.Node}, why: "its agent is away"}
}

func TestObservation(t *testing.T) {
	o := observation(healthy())
	require.Equal(t, engines.Health{Verdict: engines.Green}, o.Health)
	require.Equal(t, nodeOf(2), o.Node)
	require.Equal(t, "9.7.4", o.Version)
	require.Equal(t, engines.Live, o.Member)
	require.Equal(t, []string{replicaRole}, o.Roles)
	require.Empty(t, o.After)
	require.Empty(t, o.Busy+o.Veto)
	require.True(t, o.Settled)
	all := map[string]engines.MemberState{nodeOf(0): engines.Active, nodeOf(1): engines.Active, nodeOf(2): engines.Active}
	require.Equal(t, all, enginetest.States(t, o, "data"))
	require.Equal(t, all, enginetest.States(t, o, "primary"))
	require.Equal(t, map[string]engines.MemberState{nodeOf(1): engines.Active, nodeOf(2): engines.Active}, enginetest.States(t, o, "acks"))
	p := enginetest.Group(t, o, "primary")
	require.Equal(t, engines.Role, p.Kind)
	require.Equal(t, 1, p.MinAvailable)
	require.True(t, p.NeedsLeader)
	for _, m := range p.Members {
		require.Equal(t, m.Node == nodeOf(0), m.Leader)
		require.True(t, m.Eligible)
	}
	require.Equal(t, 1, enginetest.Group(t, o, "acks").MinAvailable)
	require.Equal(t, engines.Acks, enginetest.Group(t, o, "acks").Kind)
	require.ElementsMatch(t, []engines.Node{
		{Name: nodeOf(0), Address: nodeOf(0), State: engines.Live}, {Name: nodeOf(1), Address: nodeOf(1), State: engines.Live}, {Name: nodeOf(2), Address: nodeOf(2), State: engines.Live},
	}, o.Nodes, "itself too")

	o = observation(fromPrimary())
	require.Equal(t, engines.Green, o.Health.Verdict)
	require.Equal(t, []string{primaryRole}, o.Roles)
	require.Equal(t, []string{nodeOf(1), nodeOf(2)}, o.After, "its replicas are updated first")
	require.True(t, o.Settled)
}

// TestObservationOf: one thing is different; what the last member concludes.
func TestObservationOf(t *testing.T) {
	const any = engines.StateUnknown + 100
	long := 11 * time.Second
	for name, c := range map[string]struct {
		change          func(v *view)
		verdict         engines.Verdict
		reason          string
		data0, data2    engines.MemberState
		settled, vetoed bool
	}{
		"lag above the limit":             {func(v *view) { v.self.state.Source.Lag = &long }, engines.Yellow, "db-2 is 11s behind", engines.Active, engines.Recovering, false, false},
		"lag is not known":                {func(v *view) { v.self.state.Source.Lag = nil }, engines.Yellow, "does not know how far", engines.Active, engines.Recovering, false, false},
		"connecting":                      {func(v *view) { v.self.state.Source.Receiving, v.self.state.Source.Lag = false, nil }, engines.Yellow, "is connecting", engines.Active, engines.Recovering, false, false},
		"stopped":                         {func(v *view) { v.self.state.Source.Applying, v.self.state.Source.Started = false, false }, engines.Yellow, "has stopped replicating", engines.Active, engines.Down, false, false},
		"failed":                          {func(v *view) { v.self.state.Source.Failure = "error 1062: x" }, engines.Yellow, "does not replicate: error 1062: x", engines.Active, engines.Down, false, false},
		"follows nobody":                  {func(v *view) { v.self.state.Source = nil }, engines.Yellow, "db-2 follows nobody", engines.Active, engines.Down, false, false},
		"follows a stranger":              {func(v *view) { v.self.state.Source.ID, v.self.state.Source.Host = idOf(9), "other" }, engines.Yellow, "which is not the primary", engines.Active, engines.Down, false, false},
		"follows a replica":               {func(v *view) { v.self.state.Source.ID, v.self.state.Source.Host = idOf(1), nodeOf(1) }, engines.Green, "", engines.Active, engines.Active, true, false},
		"errant":                          {func(v *view) { v.self.state.Executed += "," + idOf(2) + ":1" }, engines.Yellow, "has transactions that the primary has not", engines.Active, engines.Down, false, true},
		"the primary's own are tolerated": {func(v *view) { v.self.state.Executed = idOf(0) + ":1-12" }, engines.Green, "", engines.Active, engines.Active, true, false},
		"nothing was written yet": {func(v *view) {
			v.self.state.Executed, v.others[0].state.Executed, v.others[1].state.Executed = "none", "none", "none"
		}, engines.Green, "", engines.Active, engines.Active, true, false},
		"new beside a database": {func(v *view) { v.self.state.Executed = "none" }, engines.Yellow, "db-2 has executed nothing yet", engines.Active, engines.Recovering, false, false},
		"without GTIDs":         {func(v *view) { v.self.state.Executed, v.others[0].state.Executed = "", "" }, engines.Green, "", engines.Active, engines.Active, true, false},
		"not acknowledging":     {func(v *view) { v.self.state.SemiSync.Acknowledging = false }, engines.Green, "", engines.Active, engines.Active, false, false},
		"commits do not wait":   {func(v *view) { v.others[0].state.SemiSync.Working = false }, engines.Yellow, "db-0 commits without waiting", engines.Active, engines.Active, true, false},
		"two allow writes":      {func(v *view) { v.others[1].state.Writes = Allowed }, engines.Red, "db-0 and db-1 allow writes", any, any, false, false},
		"nobody allows writes":  {func(v *view) { v.others[0].state.Writes = RefusedAtStart }, engines.Red, "no member allows writes", engines.StateUnknown, engines.Recovering, false, false},
		"a switchover": {func(v *view) {
			v.others[0].state.Writes = RefusedBySQL
			v.others[0].state.Switch = &Switch{From: "db-0", Until: observedAt.Add(time.Second)}
		}, engines.Yellow, "a switchover from db-0 is under way", any, any, false, false},
		"one that is over": {func(v *view) { v.others[0].state.Switch = &Switch{From: "db-0", Until: observedAt.Add(-time.Second)} }, engines.Green, "", engines.Active, engines.Active, true, false},
		"a replica is down": {func(v *view) {
			v.others[1].state = State{Node: nodeOf(1), Down: true, Looked: observedAt}
			v.others[0].state.Replicas = v.others[0].state.Replicas[1:]
		}, engines.Recoverable, "away: db-1", engines.Active, engines.Active, true, false},
		"an agent is away, its server too":    {func(v *view) { gone(&v.others[1]); v.others[0].state.Replicas = v.others[0].state.Replicas[1:] }, engines.Recoverable, "away: db-1", engines.Active, engines.Active, true, false},
		"an agent is away, its server is not": {func(v *view) { gone(&v.others[1]) }, engines.Recoverable, "the agent of db-1", engines.Active, engines.Active, true, false},
		"an agent does not answer":            {func(v *view) { v.others[1].known = false }, engines.VerdictUnknown, "db-1 does not answer", engines.Active, engines.Active, true, false},
		"an agent looked long ago":            {func(v *view) { v.others[1].state.Looked = observedAt.Add(-2 * time.Minute) }, engines.VerdictUnknown, "db-1 does not answer: its agent has not looked", engines.Active, engines.Active, true, false},
		"an agent lacks privileges":           {func(v *view) { v.others[1].state.Serving, v.others[1].state.Problem = false, "needs PROCESS" }, engines.VerdictUnknown, "needs PROCESS", engines.Active, engines.Active, true, false},
		"all follow one outside": {func(v *view) {
			v.others[0].state.Writes = RefusedAtStart
			v.others[0].state.Source = &Source{Host: "elsewhere", Port: 3306, ID: idOf(9), Receiving: true, Applying: true, Started: true}
		}, engines.Yellow, "all follow elsewhere, which is none of the members", engines.Recovering, engines.Recovering, false, false},
		"all follow one outside that is away": {func(v *view) {
			v.others[0].state.Writes = RefusedAtStart
			v.others[0].state.Source = &Source{Host: "elsewhere", Port: 3306, ID: idOf(9), Applying: true, Started: true}
		}, engines.Red, "no member allows writes", engines.StateUnknown, engines.Recovering, false, false},
		"one follows another outside": {func(v *view) {
			v.others[0].state.Writes = RefusedAtStart
			v.self.state.Source = &Source{Host: "elsewhere", Port: 3306, ID: idOf(9), Receiving: true, Applying: true, Started: true}
		}, engines.VerdictUnknown, "elsewhere does not answer: no agent is known for it", engines.StateUnknown, engines.Recovering, false, false},
		"the primary is down": {func(v *view) {
			v.others[0].state = State{Node: nodeOf(0), Down: true, Looked: observedAt}
			v.self.state.Source.Receiving, v.others[1].state.Source.Receiving = false, false
		}, engines.Red, "no member allows writes", engines.Down, engines.StateUnknown, false, false},
		"the primary's agent is away": {func(v *view) { gone(&v.others[0]) }, engines.VerdictUnknown, "db-0 does not answer", engines.StateUnknown, engines.Recovering, false, false},
		"the primary's agent is away, and its server": {func(v *view) {
			gone(&v.others[0])
			v.self.state.Source.Receiving, v.others[1].state.Source.Receiving = false, false
		}, engines.Red, "no member allows writes", engines.Down, engines.StateUnknown, false, false},
		"starts writable": {func(v *view) { v.self.state.StartsWritable = true }, engines.Green, "", engines.Active, engines.Active, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			v := healthy()
			c.change(&v)
			o := observation(v)
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
				require.False(t, m.Eligible && m.State != engines.Active)
			}
		})
	}
}

// TestUnknownPermitsNothing: without an answer of the own server nothing is claimed.
func TestUnknownPermitsNothing(t *testing.T) {
	v := healthy()
	v.self.state.Serving, v.self.state.Problem = false, "no answer in time"
	o := observation(v)
	require.Equal(t, engines.Observation{Node: nodeOf(2), Version: "9.7.4", Health: engines.Health{Reason: "no answer in time"}}, o)
	v.self.state = State{Node: nodeOf(2), Down: true, Problem: "no server listens"}
	o = observation(v)
	require.Equal(t, engines.NotLive, o.Member)
	require.Empty(t, o.Groups)
	o = observation(view{})
	require.Equal(t, engines.MembershipUnknown, o.Member)
	require.False(t, o.Settled)
	require.Equal(t, engines.VerdictUnknown, o.Health.Verdict)
}

// TestAgentsThatAreAway: what others see of their servers.
func TestAgentsThatAreAway(t *testing.T) {
	v := healthy()
	gone(&v.others[1])
	o := observation(v)
	require.Equal(t, engines.StateUnknown, enginetest.States(t, o, "data")[nodeOf(1)], "how far it is nobody knows")
	require.Equal(t, engines.Active, enginetest.States(t, o, "acks")[nodeOf(1)], "the primary counts one more than tell that they acknowledge")
	v.others[0].state.SemiSync.Clients = 1
	require.Equal(t, engines.StateUnknown, enginetest.States(t, observation(v), "acks")[nodeOf(1)])
	v.others[0].state.Replicas = nil
	o = observation(v)
	require.Equal(t, engines.Down, enginetest.States(t, o, "acks")[nodeOf(1)])
	require.Contains(t, o.Nodes, engines.Node{Name: nodeOf(1), Address: nodeOf(1), State: engines.NotLive})

	v = healthy()
	gone(&v.others[0])
	o = observation(v)
	for _, m := range enginetest.Group(t, o, "primary").Members {
		require.Equal(t, m.Node == nodeOf(0), m.Leader, "others receive from it")
	}
	require.Contains(t, o.Nodes, engines.Node{Name: nodeOf(0), Address: nodeOf(0), State: engines.Live})

	v = fromPrimary()
	v.others = v.others[:1]
	o = observation(v)
	require.Contains(t, enginetest.States(t, o, "data"), nodeOf(1), "nobody knows its agent, but it is connected")
	require.Equal(t, []string{nodeOf(1), nodeOf(2)}, o.After)
}

func TestAlone(t *testing.T) {
	v := fromPrimary()
	v.others, v.self.state.Replicas, v.self.state.SemiSync = nil, nil, SemiSync{}
	v.self.state.StartsWritable = true
	o := observation(v)
	require.Equal(t, engines.Green, o.Health.Verdict)
	require.True(t, o.Settled)
	require.Empty(t, o.Veto, "there is nobody beside whom it would write")
	require.Empty(t, o.After)
	require.Len(t, o.Groups, 2)
}

// inGroup makes group replication of it.
func inGroup(v view, states ...string) view {
	g := &GroupState{Primary: true, Quorum: true, Size: len(states)}
	for n, s := range states {
		role := roleSecondary
		if n == 0 {
			role = rolePrimary
		}
		g.Members = append(g.Members, GroupMember{ID: idOf(n), Host: nodeOf(n), Port: 3306, State: s, Role: role})
	}
	for _, m := range []*member{&v.self, &v.others[0], &v.others[1]} {
		m.state.Group, m.state.Source, m.state.SemiSync, m.state.Replicas = g, nil, SemiSync{}, nil
	}
	return v
}

func TestGroupReplication(t *testing.T) {
	o := observation(inGroup(healthy(), memberOnline, memberOnline, memberOnline))
	require.Equal(t, engines.Health{Verdict: engines.Green}, o.Health)
	require.Equal(t, 2, enginetest.Group(t, o, "quorum").MinAvailable)
	require.Equal(t, engines.Quorum, enginetest.Group(t, o, "quorum").Kind)
	require.True(t, o.Settled)
	require.Equal(t, []string{nodeOf(1), nodeOf(2)}, observation(inGroup(fromPrimary(), memberOnline, memberOnline, memberOnline)).After)

	o = observation(inGroup(healthy(), memberOnline, memberOnline, memberRecovering))
	require.Equal(t, engines.Yellow, o.Health.Verdict)
	require.False(t, o.Settled)
	require.Equal(t, engines.Recovering, enginetest.States(t, o, "quorum")[nodeOf(2)])

	v := inGroup(healthy(), memberOnline, memberAway, memberOnline)
	gone(&v.others[1])
	o = observation(v)
	require.Equal(t, engines.Recoverable, o.Health.Verdict, o.Health.Reason)
	require.Equal(t, engines.Down, enginetest.States(t, o, "quorum")[nodeOf(1)])

	v = inGroup(healthy(), memberAway, memberAway, memberOnline)
	v.self.state.Group.Quorum = false
	require.Equal(t, engines.Red, observation(v).Health.Verdict)

	v = inGroup(healthy(), memberOnline, memberOnline, memberOnline)
	gone(&v.others[0])
	o = observation(v)
	require.True(t, enginetest.Group(t, o, "primary").Members[1].Leader || enginetest.Group(t, o, "primary").Members[0].Leader || enginetest.Group(t, o, "primary").Members[2].Leader, "the group says who")
}

func TestGalera(t *testing.T) {
	v := healthy()
	for n, m := range []*member{&v.others[0], &v.others[1], &v.self} {
		m.state.Source, m.state.SemiSync, m.state.Replicas, m.state.Writes = nil, SemiSync{}, nil, Allowed
		m.state.Flavor, m.state.ID = MariaDB, fmt.Sprint(n+1)
		m.state.Group = &GroupState{Galera: true, Quorum: true, Size: 3, Members: []GroupMember{{ID: m.state.ID, Host: m.state.Node, State: memberOnline}}}
	}
	o := observation(v)
	require.Equal(t, engines.Health{Verdict: engines.Green}, o.Health)
	require.False(t, enginetest.Group(t, o, "primary").NeedsLeader, "all write")
	require.Equal(t, 2, enginetest.Group(t, o, "quorum").MinAvailable)
	require.True(t, o.Settled)
	require.Empty(t, o.After)
	gone(&v.others[1])
	require.Equal(t, engines.VerdictUnknown, observation(v).Health.Verdict, "the group counts it, and it does not tell")
}

// TestAdoptedBeforeTheirPrimary: replicas have agents, and the primary gets its own last.
// Nothing of that holds the next replica back.
func TestAdoptedBeforeTheirPrimary(t *testing.T) {
	adopted := func(agents int) view {
		v := healthy()
		v.self.state.Source.Host = "db-0.db.prod.svc"
		v.others = v.others[1:agents]
		for i := range v.others {
			v.others[i].state.Source.Host = "db-0.db.prod.svc"
		}
		return v
	}
	for agents := 1; agents <= 2; agents++ {
		o := observation(adopted(agents))
		require.Equal(t, engines.Health{Verdict: engines.Recoverable, Reason: "away: the agent of db-0.db.prod.svc"}, o.Health)
		require.True(t, o.Settled)
		require.Empty(t, o.Veto)
		require.Len(t, o.Nodes, agents+1)
		for _, m := range enginetest.Group(t, o, "primary").Members {
			require.Equal(t, m.Node == "db-0.db.prod.svc", m.Leader, m.Node)
			require.Equal(t, engines.Active, m.State, m.Node)
		}
	}
	v := adopted(1)
	v.self.state.Node, v.self.state.Source.Host, v.self.state.Source.Port = "db-2:3307", "db-0", 3307
	require.Equal(t, engines.Health{Verdict: engines.Recoverable, Reason: "away: the agent of db-0:3307"}, observation(v).Health, "on another port")
	lag := time.Minute
	for name, c := range map[string]struct {
		edit    func(v *view)
		verdict engines.Verdict
		reason  string
	}{
		"far behind":             {func(v *view) { v.self.state.Source.Lag = &lag }, engines.Yellow, "db-2 is 1m0s behind"},
		"an agent does not know": {func(v *view) { v.others[0].known = false }, engines.VerdictUnknown, "db-1 does not answer"},
		"one takes writes":       {func(v *view) { v.others[0].state.Writes = Allowed }, engines.Yellow, "which is not the primary"},
		"not sent anything": {func(v *view) {
			v.self.state.Source.Receiving, v.others[0].state.Source.Receiving = false, false
		}, engines.Red, "no member allows writes"},
		"the other one follows nobody":        {func(v *view) { v.others[0].state.Source = nil }, engines.VerdictUnknown, "no agent is known for it"},
		"the other one follows somebody else": {func(v *view) { v.others[0].state.Source.Host, v.others[0].state.Source.ID = "db-7.db", idOf(7) }, engines.VerdictUnknown, "no agent is known for it"},
		"of another StatefulSet": {func(v *view) {
			v.self.state.Source.Host, v.others[0].state.Source.Host = "other-0.db", "other-0.db"
		}, engines.Yellow, "all follow other-0.db, which is none of the members"},
		"a service": {func(v *view) {
			v.self.state.Source.Host, v.others[0].state.Source.Host = "db", "db"
		}, engines.Yellow, "all follow db, which is none of the members"},
		"a member of another database that is called the same": {func(v *view) {
			v.self.state.Source.Host, v.others[0].state.Source.Host = "db-1.elsewhere", "db-1.elsewhere"
			v.self.state.Source.ID, v.others[0].state.Source.ID = idOf(9), idOf(9)
		}, engines.Yellow, "all follow db-1.elsewhere"},
	} {
		v := adopted(2)
		c.edit(&v)
		o := observation(v)
		require.Equal(t, c.verdict, o.Health.Verdict, name)
		require.Contains(t, o.Health.Reason, c.reason, name)
	}
}
