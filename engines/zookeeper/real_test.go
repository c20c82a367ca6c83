package zookeeper

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/credentials"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/engines/web"
	"github.com/rollcall-dev/rollcall/engines/zookeeper/zookeepertest"
)

// TestRealRollingRestart restarts three voters and an observer one after the other, from the oldest
// version at hand to the newest, while a client writes. The agents ask the admin servers.
func TestRealRollingRestart(t *testing.T) {
	libs := zookeepertest.Libs(t)
	oldest, newest := libs[0], libs[len(libs)-1]
	w := newRealWorld(t, zookeepertest.Options{Voters: 3, Observers: 1, Admin: true, Lib: oldest})
	w.green()
	leader, follower, other := w.roles()
	for i := range w.Servers {
		o := w.observe(i)
		require.Equal(t, i == leader, o.Last)
		require.Len(t, o.Groups, 1)
		require.Equal(t, engines.GroupQuorum, o.Groups[0].Kind)
		require.Equal(t, 2, o.Groups[0].MinAvailable)
		require.Len(t, o.Groups[0].Members, 3, "observers have no vote")
		require.Len(t, o.Nodes, 4)
		require.Equal(t, oldest.Version, o.Version)
	}
	require.Equal(t, []string{"observer"}, w.observe(3).Roles)
	writer := w.Write()
	for _, i := range []int{3, follower, other, leader} {
		w.restart(i, func(s *zookeepertest.Server) { s.Lib = newest })
		require.Equal(t, newest.Version, w.observe(i).Version)
	}
	writer.Complete()
	t.Logf("from %s to %s", oldest.Version, newest.Version)
}

// TestRealPaused pauses a follower, and then the leader: what is not known holds, and nobody is
// taken for failed.
func TestRealPaused(t *testing.T) {
	w := newRealWorld(t, zookeepertest.Options{Voters: 3, Words: enough})
	w.green()
	leader, follower, other := w.roles()

	resume := w.Servers[follower].Pause()
	o := w.until(other, "it is not known", says(engines.VerdictYellow, "has not answered"))
	require.Equal(t, engines.MemberUnknown, states(o)[w.wiring.Names[follower]])
	o = w.observe(follower)
	require.Equal(t, engines.MembershipUnknown, o.Member)
	require.False(t, o.Settled)
	w.held(other, "no majority")
	w.held(leader, "no majority")
	resume()
	w.green()

	resume = w.Servers[leader].Pause()
	w.until(other, "another one leads", func(o engines.Observation) bool {
		require.Equal(t, engines.MembershipUnknown, w.observe(leader).Member)
		return w.observe(other).Last || w.observe(follower).Last
	})
	w.until(other, "the former leader is not known", says(engines.VerdictYellow, "has not answered"))
	w.held(other, "")
	resume()
	w.green()
	leaders := 0
	for i := range w.Servers {
		if w.observe(i).Last {
			leaders++
		}
	}
	require.Equal(t, 1, leaders)
}

// TestRealEmptyDisk starts a voter without its data: it is no copy before it has told clients that
// it follows, though the leader counts it as in sync while it still sends a snapshot.
func TestRealEmptyDisk(t *testing.T) {
	w := newRealWorld(t, zookeepertest.Options{Voters: 3, Words: enough})
	w.green()
	leader, follower, other := w.roles()
	writer := w.Write()
	name := w.wiring.Names[follower]
	lost := w.Servers[follower]
	lost.Kill()
	o := w.until(other, "it does not run", says(engines.VerdictRecoverable, name+" does not run"))
	require.Equal(t, engines.MemberDown, states(o)[name])
	require.Equal(t, engines.MembershipNotLive, w.observe(follower).Member)
	w.held(other, "1 of 3 voters would be left in sync")
	lost.Wipe()
	lost.Start()
	seen := map[engines.MemberState]int{}
	for last := engines.MemberUnknown; last != engines.MemberActive; time.Sleep(5 * time.Millisecond) {
		last = states(w.observe(leader))[name]
		if seen[last]++; last == engines.MemberActive {
			require.NotEmpty(t, lost.Mode(), "it is counted on, and does not serve")
		}
	}
	w.green()
	t.Logf("as the leader's agent saw it: %v", seen)
	writer.Complete()
}

// TestRealAlone stops all but one server: it serves nobody, which for a while is no failure.
func TestRealAlone(t *testing.T) {
	w := newRealWorld(t, zookeepertest.Options{Voters: 3, Words: enough, Lines: ""})
	w.green()
	leader, follower, other := w.roles()
	w.Servers[follower].Stop()
	w.until(other, "one is gone", says(engines.VerdictRecoverable, "does not run"))
	w.held(leader, "no majority")
	w.Servers[leader].Stop()
	o := w.until(other, "nobody leads", says(engines.VerdictRed, "nobody leads: 1 of 3"))
	require.Equal(t, engines.MembershipNotLive, o.Member)
	require.False(t, o.Settled)
	order := engines.Order{Kind: engines.Handoff, Claim: "claim"}
	_, err := w.wiring.First[other].PlanDrain(t.Context(), order)
	require.ErrorIs(t, err, engines.ErrNotServing)
	w.Servers[leader].Start()
	w.Servers[follower].Start()
	w.green()
}

// TestRealDynamicConfiguration adds a server and removes another one while the ensemble serves.
func TestRealDynamicConfiguration(t *testing.T) {
	w := newRealWorld(t, zookeepertest.Options{Voters: 3, Admin: true, Reconfig: true})
	w.green()
	_, follower, other := w.roles()
	client := w.Connect()
	_, err := client.IncrementalReconfig(nil, []string{w.wiring.Names[follower][len("server."):]}, -1)
	require.NoError(t, err)
	o := w.until(other, "two voters", func(o engines.Observation) bool { return len(o.Groups) == 1 && len(o.Groups[0].Members) == 2 })
	require.Equal(t, 2, o.Groups[0].MinAvailable)
	require.NotContains(t, states(o), w.wiring.Names[follower])
	w.held(other, "1 of 2 voters")
	require.Equal(t, engines.ProgressDone, w.drain(follower).State, "it votes no more")
	require.Len(t, w.observe(follower).Groups, 1)

	_, err = client.IncrementalReconfig([]string{w.Servers[follower].Line()}, nil, -1)
	require.NoError(t, err)
	w.until(other, "three voters", func(o engines.Observation) bool { return len(o.Groups) == 1 && len(o.Groups[0].Members) == 3 })
	w.green()
}

// TestRealWithoutAgents has one agent, as while a database is adopted: the others answer themselves.
func TestRealWithoutAgents(t *testing.T) {
	w := newRealWorld(t, zookeepertest.Options{Voters: 3, Words: enough})
	w.green()
	leader, follower, other := w.roles()
	e, err := New(w.options(w.Servers[follower], nil))
	require.NoError(t, err)
	defer e.Close()
	look := func() engines.Observation {
		o, err := e.Observe(t.Context())
		require.NoError(t, err)
		return o
	}
	o := look()
	require.Equal(t, engines.VerdictGreen, o.Health.Verdict, o.Health.Reason)
	for node, state := range states(o) {
		require.Equal(t, engines.MemberActive, state, node)
	}
	for _, m := range enginetest.Group(t, o, "voters 1,2,3").Members {
		require.Equal(t, m.Node == w.wiring.Names[leader], m.Leader)
	}
	defer w.Servers[other].Pause()()
	o = look()
	require.Equal(t, engines.VerdictYellow, o.Health.Verdict)
	require.Equal(t, engines.MemberUnknown, states(o)[w.wiring.Names[other]])
}

// TestRealStandalone looks at a server without an ensemble.
func TestRealStandalone(t *testing.T) {
	w := newRealWorld(t, zookeepertest.Options{Voters: 1, Admin: true})
	w.green() // a server's first answer takes long
	o := w.observe(0)
	require.Equal(t, standaloneNode, o.Node)
	require.True(t, o.Settled)
	require.Len(t, o.Groups, 1)
	require.Equal(t, engines.GroupShard, o.Groups[0].Kind)
	p := w.drain(0)
	require.Equal(t, engines.ProgressDone, p.State)
	require.Contains(t, p.Detail, "the only server")
}

// TestRealNothingAllowed asks a server that allows only what it allows by default, without an admin
// server: what a person must allow is said.
func TestRealNothingAllowed(t *testing.T) {
	w := newRealWorld(t, zookeepertest.Options{Voters: 1})
	o := w.until(0, "what to allow", says(engines.VerdictUnknown, "add mntr and conf to 4lw.commands.whitelist, or set admin.enableServer"))
	require.Equal(t, engines.MembershipUnknown, o.Member)
}

// TestRealTLS speaks TLS to client ports that ask for a client's certificate, as they do by default.
func TestRealTLS(t *testing.T) {
	lib := zookeepertest.Newest(t, "netty-transport-classes-epoll", "netty-transport-native-unix-common")
	w := newRealWorld(t, zookeepertest.Options{Voters: 3, Words: enough, TLS: true, ClientCertificates: true, Lib: lib})
	with := func(change func(o *Options)) engines.Observation {
		o := w.options(w.Servers[0], nil)
		o.TLS = web.TLS{Enabled: true, CA: w.CA, ServerName: "localhost", Cert: w.Client, Key: credentials.NewSecret(w.ClientKey)}
		change(&o)
		e, err := New(o)
		require.NoError(t, err)
		defer e.Close()
		seen, err := e.Observe(t.Context())
		require.NoError(t, err)
		return seen
	}
	o := with(func(o *Options) { o.Timeout = 10 * time.Second })
	require.Equal(t, engines.MembershipLive, o.Member, o.Health.Reason)
	for what, change := range map[string]func(o *Options){
		"other.test":                       func(o *Options) { o.TLS.ServerName = "other.test" },
		"unknown authority":                func(o *Options) { o.TLS.CA = "" },
		"spec.connection.tls.clientSecret": func(o *Options) { o.TLS.Cert, o.TLS.Key = "", credentials.Secret{} },
		"speak TLS (spec.connection.tls)?": func(o *Options) { o.TLS = web.TLS{} },
	} {
		o := with(change)
		require.Equal(t, engines.MembershipUnknown, o.Member, what)
		require.Contains(t, o.Health.Reason, what)
	}
}

// TestRealConfigurationIsRead reads the znode as a client does, again after the server was restarted.
func TestRealConfigurationIsRead(t *testing.T) {
	w := newRealWorld(t, zookeepertest.Options{Voters: 3, Admin: true})
	s := w.Servers[0]
	o := w.options(s, nil).withDefaults()
	c, err := connect(o)
	require.NoError(t, err)
	defer c.Close()
	for range 2 {
		text, err := c.session.config(t.Context())
		require.NoError(t, err)
		config, err := decodeConfig(text)
		require.NoError(t, err)
		require.Len(t, config.voters(), 3)
		conn := c.session.conn
		_, err = c.session.config(t.Context())
		require.NoError(t, err)
		require.Same(t, conn, c.session.conn, "one session serves many looks")
		s.Stop()
		_, err = c.session.config(t.Context())
		require.ErrorIs(t, err, errDown)
		s.Start()
		s.AwaitServing()
	}
}
