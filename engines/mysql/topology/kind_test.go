package topology

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// fixedWorld is what the first of two replicas sees of a chart with a fixed primary: pri-0 starts
// writable, and its replicas, in a StatefulSet of their own, follow a Service's name, without GTIDs
// and without a report_host. They take writes, too, as nobody told them not to.
func fixedWorld() View {
	v := View{Now: observedAt, MaxLag: 10 * time.Second, BrokenAfter: 2 * time.Minute}
	member := func(name string, n int) Member {
		return Member{Known: true, Peer: engines.Peer{Pod: name, Node: name, Alive: true}, State: replication.State{
			Node: name, Unnamed: true, ID: idOf(n), Version: "8.4.3", Flavor: replication.MySQL, Serving: true, Looked: observedAt, Started: observedAt,
			Writes: replication.Allowed, StartsWritable: true,
		}}
	}
	primary := member("pri-0", 0)
	primary.State.Log = &replication.Place{File: "bin.000003", Position: 500}
	var replicas []Member
	for n := 1; n < 3; n++ {
		lag := time.Duration(0)
		r := member([]string{"", "sec-0", "sec-1"}[n], n)
		r.State.Source = &replication.Source{
			Host: "pri", Port: 3306, ID: idOf(0), Receiving: true, Applying: true, Started: true, Lag: &lag, ByPosition: true,
			Applied: &replication.Place{File: "bin.000003", Position: 500},
		}
		primary.State.Replicas = append(primary.State.Replicas, replication.Replica{ID: idOf(n)})
		replicas = append(replicas, r)
	}
	v.Self, v.Others = replicas[0], []Member{primary, replicas[1]}
	return v
}

// fixedPrimary is the same, seen by the primary.
func fixedPrimary() View {
	v := fixedWorld()
	v.Self, v.Others[0] = v.Others[0], v.Self
	return v
}

func TestKind(t *testing.T) {
	for name, c := range map[string]struct {
		view View
		edit func(v *View)
		want engines.Topology
	}{
		"one StatefulSet":                         {healthy(), func(*View) {}, engines.Switchable},
		"the primary in a StatefulSet of its own": {fixedWorld(), func(*View) {}, engines.FixedPrimary},
		"seen by the primary":                     {fixedPrimary(), func(*View) {}, engines.FixedPrimary},
		"of MariaDB": {fixedWorld(), func(v *View) {
			for _, m := range []*Member{&v.Self, &v.Others[0], &v.Others[1]} {
				m.State.Flavor = replication.MariaDB
			}
		}, engines.FixedPrimary},
		"a server with a report_host": {fixedPrimary(), func(v *View) { v.Self.State.Node, v.Self.Peer.Pod = "pri", "pri-0" }, engines.FixedPrimary},
		"all start read-only": {fixedWorld(), func(v *View) {
			for _, m := range []*Member{&v.Self, &v.Others[0], &v.Others[1]} {
				m.State.StartsWritable = false
			}
			v.Self.State.Writes, v.Others[1].State.Writes = replication.RefusedAtStart, replication.RefusedAtStart
		}, engines.Switchable},
		"a replica beside the primary":             {fixedWorld(), func(v *View) { v.Others[1].Peer.Pod = "pri-1" }, engines.Switchable},
		"another one beside it that does not tell": {fixedWorld(), func(v *View) { v.Others = append(v.Others, Member{Peer: engines.Peer{Pod: "pri-1"}}) }, engines.Switchable},
		"names that are not those of pods":         {fixedPrimary(), func(v *View) { v.Self.State.Node, v.Self.Peer.Pod = "pri", "" }, engines.Switchable},
		"another manager":                          {fixedWorld(), func(v *View) { v.External = true }, engines.Switchable},
		"two that follow nobody":                   {fixedWorld(), func(v *View) { v.Others[1].State.Source = nil }, engines.TopologyUnknown},
		"the primary does not report":              {fixedWorld(), func(v *View) { gone(&v.Others[0]) }, engines.TopologyUnknown},
		"it does not, and was seen":                {fixedWorld(), func(v *View) { gone(&v.Others[0]); v.Fixed = Fixed{"pri-0", idOf(0)} }, engines.FixedPrimary},
		"people say that it stays":                 {healthy(), func(v *View) { v.Asked = engines.RestartInPlace }, engines.FixedPrimary},
		"people say that it moves":                 {fixedWorld(), func(v *View) { v.Asked = engines.Switchover }, engines.Switchable},
		"a server alone":                           {fixedPrimary(), func(v *View) { v.Others, v.Self.State.Replicas = nil, nil }, engines.SingleServer},
		"one alone whose primary is to move":       {fixedPrimary(), func(v *View) { v.Others, v.Self.State.Replicas, v.Asked = nil, nil, engines.Switchover }, engines.SingleServer},
		"one that somebody follows is not alone":   {fixedPrimary(), func(v *View) { v.Others = nil }, engines.FixedPrimary},
		"the others are a group":                   {fixedWorld(), func(v *View) { v.Others[0].State.Group = &replication.GroupState{Primary: true} }, engines.GroupReplication},
		"group replication":                        {fixedWorld(), func(v *View) { v.Self.State.Group = &replication.GroupState{Primary: true} }, engines.GroupReplication},
		"a server that does not answer":            {fixedPrimary(), func(v *View) { v.Self.State.Serving, v.Others = false, nil }, engines.TopologyUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			c.edit(&c.view)
			require.Equal(t, c.want.String(), c.view.Kind().String())
		})
	}
}

// TestFixedPrimaryIsRemembered checks that a primary that is away is remembered until another
// topology is seen.
func TestFixedPrimaryIsRemembered(t *testing.T) {
	v := fixedWorld()
	v.Fixed = v.Remembered()
	require.Equal(t, Fixed{"pri-0", idOf(0)}, v.Fixed)
	gone(&v.Others[0])
	v.Fixed = v.Remembered()
	require.Equal(t, Fixed{"pri-0", idOf(0)}, v.Fixed)
	v = healthy()
	v.Fixed = Fixed{"pri-0", idOf(0)}
	require.Zero(t, v.Remembered())
}

// TestFixedPrimary checks what agents report of a fixed primary: it alone is of the group of the
// role, goes last, and nothing is asked of any server that only a switchover needs.
func TestFixedPrimary(t *testing.T) {
	o := Observe(fixedPrimary())
	require.Equal(t, engines.FixedPrimary, o.Topology)
	require.Equal(t, engines.Health{Verdict: engines.VerdictGreen}, o.Health)
	require.True(t, o.Last)
	require.True(t, o.Settled)
	require.Empty(t, o.Veto)
	require.Equal(t, []string{primaryRole}, o.Roles)
	require.Equal(t, []string{"sec-0", "sec-1"}, o.After)
	require.Equal(t, map[string]engines.MemberState{"pri-0": engines.MemberActive}, enginetest.States(t, o, "primary"))
	require.Equal(t, map[string]engines.MemberState{"pri-0": engines.MemberActive, "sec-0": engines.MemberActive, "sec-1": engines.MemberActive}, enginetest.States(t, o, "data"))
	require.True(t, enginetest.Group(t, o, "primary").Members[0].Leader)

	r := Observe(fixedWorld())
	require.Equal(t, engines.FixedPrimary, r.Topology)
	require.Equal(t, o.Groups, r.Groups, "all members report the same groups")
	require.Equal(t, engines.VerdictGreen, r.Health.Verdict, r.Health.Reason)
	require.False(t, r.Last)
	require.True(t, r.Settled)
	require.Empty(t, r.Veto)
	require.Equal(t, []string{replicaRole}, r.Roles, "though it takes writes")
}

// TestFixedPrimaryAway checks that while the fixed primary is away no replica seems to be one.
func TestFixedPrimaryAway(t *testing.T) {
	v := fixedWorld()
	v.Fixed = v.Remembered()
	gone(&v.Others[0])
	for _, m := range []*Member{&v.Self, &v.Others[1]} {
		m.State.Source.Receiving, m.State.Source.Lag = false, nil
	}
	o := Observe(v)
	require.Equal(t, engines.FixedPrimary, o.Topology)
	require.Equal(t, []string{replicaRole}, o.Roles)
	require.Equal(t, engines.MembershipNotLive, o.Nodes[0].State, "all that would see it do not")
	require.Equal(t, map[string]engines.MemberState{"pri-0": engines.MemberDown}, enginetest.States(t, o, "primary"))
	require.NotEqual(t, engines.VerdictGreen, o.Health.Verdict)
	require.False(t, o.Settled)

	v.Self.State.Source.Receiving, v.Others[1].State.Source.Receiving = true, true
	o = Observe(v)
	require.Equal(t, engines.MembershipLive, o.Nodes[0].State, "its agent alone is away")
	require.Len(t, o.Nodes, 3, "its Service is no member")
}

// TestSingleServer checks that nothing is asked of a server that is alone, and that it goes last.
func TestSingleServer(t *testing.T) {
	v := fixedPrimary()
	v.Others, v.Self.State.Replicas = nil, nil
	o := Observe(v)
	require.Equal(t, engines.SingleServer, o.Topology)
	require.Empty(t, o.Veto)
	require.True(t, o.Last)
	require.Equal(t, engines.VerdictGreen, o.Health.Verdict)
}

// TestLacks checks what a replica needs before its fixed primary restarts.
func TestLacks(t *testing.T) {
	before := fixedPrimary().Self.State
	for name, c := range map[string]struct {
		edit func(m *Member, before *replication.State)
		want string
	}{
		"everything":            {func(*Member, *replication.State) {}, ""},
		"more":                  {func(m *Member, _ *replication.State) { m.State.Source.Applied.Position++ }, ""},
		"one byte less":         {func(m *Member, _ *replication.State) { m.State.Source.Applied.Position-- }, "sec-0 has not caught up: it is at bin.000003:499 of bin.000003:500"},
		"of another log":        {func(m *Member, _ *replication.State) { m.State.Source.Applied.File = "other.000003" }, "sec-0 is at other.000003:500, which is not in the log of pri-0"},
		"its place not known":   {func(m *Member, _ *replication.State) { m.State.Source.Applied = nil }, "how much sec-0 has is not known"},
		"the end not known":     {func(_ *Member, b *replication.State) { b.Log = nil }, "how much sec-0 has is not known"},
		"by GTID":               {func(m *Member, b *replication.State) { m.State.Executed, b.Executed = idOf(0)+":1-9", idOf(0)+":1-9" }, ""},
		"by GTID, not all":      {func(m *Member, b *replication.State) { m.State.Executed, b.Executed = idOf(0)+":1-8", idOf(0)+":1-9" }, "sec-0 has not caught up: "},
		"another source":        {func(m *Member, _ *replication.State) { m.State.Source.ID = idOf(7) }, "sec-0 follows pri, which is not pri-0"},
		"no source":             {func(m *Member, _ *replication.State) { m.State.Source = nil }, "sec-0 follows nobody"},
		"a failure":             {func(m *Member, _ *replication.State) { m.State.Source.Failure = "error 1236" }, "sec-0 does not replicate: error 1236"},
		"its applier stopped":   {func(m *Member, _ *replication.State) { m.State.Source.Applying = false }, "sec-0 has stopped replicating"},
		"not connected":         {func(m *Member, _ *replication.State) { m.State.Source.Receiving = false }, "sec-0 is not connected to its source"},
		"nobody tells":          {func(m *Member, _ *replication.State) { gone(m) }, "sec-0 does not answer: its agent is unavailable"},
		"it does not know that": {func(m *Member, _ *replication.State) { m.State.Serving, m.State.Problem = false, "busy" }, "sec-0 does not serve: busy"},
	} {
		t.Run(name, func(t *testing.T) {
			v := fixedPrimary()
			was := before
			c.edit(&v.Others[0], &was)
			got := v.Lacks(v.Others[0], v.Self, was)
			require.Contains(t, got, c.want)
			require.Equal(t, c.want == "", got == "")
		})
	}
}

// TestFixedPrimaryWithoutAgent checks that replicas that follow the name of a Service are settled
// while the primary behind it has no agent yet, and that the primary does not say of replicas without
// an agent that they are not there.
func TestFixedPrimaryWithoutAgent(t *testing.T) {
	for agents := 1; agents <= 2; agents++ {
		v := fixedWorld()
		v.Asked = engines.RestartInPlace
		v.Others = v.Others[1:agents]
		o := Observe(v)
		require.Equal(t, engines.FixedPrimary, o.Topology)
		require.Equal(t, engines.Health{Verdict: engines.VerdictRecoverable, Reason: "unavailable: the agent of pri"}, o.Health)
		require.True(t, o.Settled)
		require.Empty(t, o.Veto)
		require.Equal(t, map[string]engines.MemberState{"pri": engines.MemberActive}, enginetest.States(t, o, "primary"))
		require.Len(t, o.Nodes, agents+1)
		v.Self.State.Source.Receiving = false
		require.False(t, Observe(v).Settled, "it is not connected")
	}
	for name, host := range map[string]string{"nameless replicas": "", "replicas with a name": "10.0.0."} {
		v := fixedPrimary()
		v.Asked, v.Others = engines.RestartInPlace, nil
		for i := range v.Self.State.Replicas {
			if host != "" {
				v.Self.State.Replicas[i].Host, v.Self.State.Replicas[i].Port = host+v.Self.State.Replicas[i].ID[:1], 3306
			}
		}
		o := Observe(v)
		require.Equal(t, engines.FixedPrimary, o.Topology, name)
		require.True(t, o.Settled, name)
		require.Empty(t, o.Veto, name)
		for _, n := range o.Nodes {
			require.Equal(t, engines.MembershipLive, n.State, name)
		}
	}
}
