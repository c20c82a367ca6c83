package topology

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// TestAddresses checks by which name a member is followed. What is behind the names of the pods of
// another StatefulSet is never put behind its own.
func TestAddresses(t *testing.T) {
	known := replication.Domains{"db": ".db.ns.svc", "plain": ""}
	for name, c := range map[string]struct {
		to   replication.State
		own  replication.State
		want string
		port int
	}{
		"a whole name":                         {to: replication.State{Node: "db-0.mysql"}, want: "db-0.mysql", port: 3306},
		"an address":                           {to: replication.State{Node: "10.0.0.7:3307"}, want: "10.0.0.7", port: 3307},
		"as others of its set":                 {to: replication.State{Node: "db-0:3307", PodDomain: ".other"}, want: "db-0.db.ns.svc", port: 3307},
		"as others that need none":             {to: replication.State{Node: "plain-0"}, want: "plain-0", port: 3306},
		"as its own agent knows":               {to: replication.State{Node: "read-0", PodDomain: ".read.ns.svc"}, want: "read-0.read.ns.svc", port: 3306},
		"as an agent beside it knows":          {to: replication.State{Node: "read-0"}, own: replication.State{Node: "read-1", PodDomain: ".read.ns.svc"}, want: "read-0.read.ns.svc", port: 3306},
		"an agent of another set knows its":    {to: replication.State{Node: "read-0"}, own: replication.State{Node: "write-0", PodDomain: ".write.ns.svc"}},
		"nobody knows":                         {to: replication.State{Node: "read-0"}},
		"no report_host":                       {to: replication.State{Node: "db-0", Unnamed: true}},
		"no report_host, with a whole name":    {to: replication.State{Node: "db-0.mysql", Unnamed: true}},
		"a set whose name begins like another": {to: replication.State{Node: "db-read-0"}},
	} {
		v := View{Self: Member{State: c.own}, Domains: known}
		host, port, err := v.AddressOf(Member{State: c.to})
		require.Equal(t, c.want, host, name)
		require.Equal(t, c.port, port, name)
		require.Equal(t, c.want == "", err != nil, name)
		if c.to.Unnamed {
			require.ErrorContains(t, err, "has no report_host")
		}
	}
}

// TestDomainsAreSeenWhereTheyWork checks that what is behind a name is learned only from a replica
// that has reached it.
func TestDomainsAreSeenWhereTheyWork(t *testing.T) {
	peers := []engines.Peer{{Node: "db-10"}, {Node: "db-1"}, {Node: "db-2.whole"}}
	node, domain, ok := replication.DomainOf(&replication.Source{Host: "db-1.db.ns", Receiving: true}, peers)
	require.True(t, ok)
	require.Equal(t, "db-1 .db.ns", node+" "+domain)
	for _, s := range []*replication.Source{nil, {Host: "db-1.db.ns"}, {Host: "db-3.db.ns", Receiving: true}, {Host: "db-2.whole.ns", Receiving: true}} {
		_, _, ok = replication.DomainOf(s, peers)
		require.False(t, ok)
	}
}

// TestMembersWithoutReportHost checks that a primary is not restarted where nobody could be told to
// follow any of the others.
func TestMembersWithoutReportHost(t *testing.T) {
	require.Empty(t, Observe(fromPrimary()).Veto)
	v := fromPrimary()
	v.Others[0].State.Unnamed = true
	require.Empty(t, Observe(v).Veto, "the other one can be followed")
	v.Others[1].State.Unnamed = true
	require.Contains(t, Observe(v).Veto, "db-2 has no report_host, so that nobody can be told to follow it: its configuration must say")
	v.External = true
	require.Empty(t, Observe(v).Veto, "another manager knows where they are")
	v = healthy()
	for _, m := range []*Member{&v.Self, &v.Others[0], &v.Others[1]} {
		m.State.Unnamed = true
	}
	require.Empty(t, Observe(v).Veto, "nobody need follow a replica")
}

// TestNamesThatDoNotResolve checks that nobody is told to follow a name that is known not to resolve,
// whole or with a domain behind it, and that a primary of which that holds for all replicas stays.
func TestNamesThatDoNotResolve(t *testing.T) {
	v := View{Domains: replication.Domains{"db": ".db.ns"}, Unresolved: map[string]string{"db-0.mysql": "no such host", "db-1.db.ns": "timeout"}}
	for name, why := range map[string]string{"db-0.mysql": "no such host", "db-1": "timeout", "db-2": "", "10.0.0.7": ""} {
		_, _, err := v.AddressOf(Member{State: replication.State{Node: name}})
		if why == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, "the name by which "+name+" is followed does not resolve, so that nobody can be told to follow it: "+why)
	}
	v = fromPrimary()
	host := func(i int) string {
		h, _, err := v.AddressOf(v.Others[i])
		require.NoError(t, err)
		return h
	}
	first, second := host(0), host(1)
	v.Unresolved = map[string]string{first: "no such host"}
	require.Empty(t, Observe(v).Veto, "the other one can be followed")
	v.Unresolved[second] = "no such host"
	require.Contains(t, Observe(v).Veto, "does not resolve")
}

// TestPrimaryWhoseReplicasAreTwins checks that it is not restarted: whoever took over, the other one
// could not follow.
func TestPrimaryWhoseReplicasAreTwins(t *testing.T) {
	v := fromPrimary()
	v.Self.State.ServerID, v.Others[0].State.ServerID, v.Others[1].State.ServerID = "1", "2", "2"
	require.Contains(t, Observe(v).Veto, "have the same server_id, 2")
	v.Others[1].State.ServerID = "3"
	require.Empty(t, Observe(v).Veto)
}
