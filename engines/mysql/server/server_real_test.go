package server

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/web"
	"github.com/stretchr/testify/require"
)

// agentAt is the code under test at a real server.
func agentAt(t *testing.T, s *mysqltest.Server) *Server {
	t.Helper()
	l, err := New(serverAt(s))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

func lookAt(t *testing.T, l *Server) replication.State {
	t.Helper()
	s, err := l.Look(t.Context())
	require.NoError(t, err)
	require.Empty(t, s.Problem)
	require.True(t, s.Serving)
	return s
}

func TestRealLook(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, flavor mysqltest.Flavor) {
		servers := mysqltest.Start(t, mysqltest.Options{Flavor: flavor, Servers: 2, SemiSync: true})
		require.NoError(t, mysqltest.Insert(mysqltest.Table(t, servers[0]), 1))
		servers[1].AwaitExecuted(servers[0])
		primary, replica := lookAt(t, agentAt(t, servers[0])), lookAt(t, agentAt(t, servers[1]))

		require.Equal(t, servers[0].Address(), primary.Node)
		require.Equal(t, replication.Flavor(flavor), primary.Flavor)
		require.Equal(t, replication.Allowed, primary.Writes)
		require.False(t, primary.StartsWritable)
		require.Nil(t, primary.Source)
		require.Nil(t, primary.Group)
		require.Equal(t, replication.SemiSync{Source: true, Acks: 1, Clients: 1, Working: true, Installed: true}, primary.SemiSync)
		require.Len(t, primary.Replicas, 1)
		require.Equal(t, replication.Replica{ID: replica.ID, Host: servers[1].Host, Port: servers[1].Port}, primary.Replicas[0])
		require.NotEmpty(t, primary.Executed)
		require.Zero(t, primary.Writing)
		require.Empty(t, primary.Busy)
		require.WithinDuration(t, time.Now(), primary.Started, 2*time.Minute)

		require.Equal(t, replication.RefusedAtStart, replica.Writes)
		require.Equal(t, primary.Executed, replica.Executed)
		require.NotEmpty(t, replica.Received)
		lag := replica.Source.Lag
		require.NotNil(t, lag)
		require.LessOrEqual(t, *lag, time.Minute)
		require.Equal(t, &replication.Source{Host: "127.0.0.1", Port: servers[0].Port, ID: primary.ID, Receiving: true, Applying: true, Started: true, Lag: lag, Applied: replica.Source.Applied}, replica.Source)
		require.NotNil(t, replica.Source.Applied, "its place in the source's log")
		require.Equal(t, replication.SemiSync{Replica: true, Acknowledging: true, Installed: true}, replica.SemiSync)

		servers[1].Exec("STOP REPLICA")
		replica = lookAt(t, agentAt(t, servers[1]))
		require.False(t, replica.Source.Started || replica.Source.Receiving || replica.Source.Applying)
		require.Nil(t, replica.Source.Lag, "unknown, and not none")
		require.Empty(t, replica.Source.Failure)

		servers[0].Kill()
		dead, err := agentAt(t, servers[0]).Look(t.Context())
		require.NoError(t, err)
		require.True(t, dead.Down)
		require.False(t, dead.Serving)
	})
}

func TestRealWhoRefusedWrites(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, flavor mysqltest.Flavor) {
		server := mysqltest.Start(t, mysqltest.Options{Flavor: flavor, Servers: 1, AsStarted: true})[0]
		agent := agentAt(t, server)
		is := func(want replication.Writes) {
			t.Helper()
			require.Equal(t, want, lookAt(t, agent).Writes)
		}
		is(replication.RefusedAtStart)
		server.AllowWrites()
		is(replication.Allowed)
		server.RefuseWrites()
		is(replication.RefusedBySQL)
		server.Restart()
		is(replication.RefusedAtStart)
		if flavor == mysqltest.MySQL {
			server.Exec("SET PERSIST super_read_only = ON")
			is(replication.RefusedBySQL)
			server.Restart()
			is(replication.RefusedAtStart)
			server.Exec("RESET PERSIST")
		}
		delete(server.Settings, "super_read_only")
		delete(server.Settings, "read_only")
		server.Restart()
		is(replication.Allowed)
		require.True(t, lookAt(t, agent).StartsWritable)
		if flavor == mysqltest.MySQL {
			server.Exec("SET PERSIST_ONLY super_read_only = ON")
			require.False(t, lookAt(t, agent).StartsWritable, "from its next start on it does not")
		}
		server.AllowWrites()
		require.False(t, lookAt(t, agent).StartsWritable, "somebody says so")
	})
}

// TestRealStopWrites checks that a statement that does not end is waited for, and nothing is
// changed; otherwise nobody writes any more.
func TestRealStopWrites(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, flavor mysqltest.Flavor) {
		server := mysqltest.Start(t, mysqltest.Options{Flavor: flavor, Servers: 1})[0]
		agent, app := agentAt(t, server), mysqltest.Table(t, server)
		require.NoError(t, mysqltest.Insert(app, 1))

		release := hold(t, server)
		require.ErrorIs(t, agent.StopWrites(t.Context(), 2*time.Second), ErrBusy)
		require.Equal(t, replication.Allowed, lookAt(t, agent).Writes)
		require.NoError(t, mysqltest.Insert(server.Open(mysqltest.AppUser, mysqltest.AppPassword, "app"), 2) /* another table is not held */)

		abandoned, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		err := agent.StopWrites(abandoned, time.Minute)
		require.Error(t, err)
		require.NotErrorIs(t, err, ErrBusy)
		release()
		require.Equal(t, replication.Allowed, lookAt(t, agent).Writes, "what was abandoned takes no effect later")
		require.NoError(t, mysqltest.Insert(app, 3))

		for range 2 {
			require.NoError(t, agent.StopWrites(t.Context(), 2*time.Second))
			require.Equal(t, replication.RefusedBySQL, lookAt(t, agent).Writes)
			require.ErrorContains(t, mysqltest.Insert(app, 4), "1290")
		}
		for range 2 {
			require.NoError(t, agent.AllowWrites(t.Context()))
			require.Equal(t, replication.Allowed, lookAt(t, agent).Writes)
		}
		require.NoError(t, mysqltest.Insert(app, 4))
	})
}

// hold keeps a lock that writes cannot be stopped under.
func hold(t *testing.T, s *mysqltest.Server) (release func()) {
	t.Helper()
	s.Exec("CREATE TABLE app.held (n INT PRIMARY KEY)")
	one, err := s.Root().Conn(t.Context())
	require.NoError(t, err)
	_, err = one.ExecContext(t.Context(), "LOCK TABLES app.held WRITE")
	require.NoError(t, err)
	return func() {
		_, err := one.ExecContext(t.Context(), "UNLOCK TABLES")
		require.NoError(t, errors.Join(err, one.Close()))
	}
}

func TestRealDropClients(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, flavor mysqltest.Flavor) {
		servers := mysqltest.Start(t, mysqltest.Options{Flavor: flavor, Servers: 2})
		servers[0].Exec("SET GLOBAL event_scheduler = ON")
		agent, app := agentAt(t, servers[0]), mysqltest.Table(t, servers[0])
		other := agentAt(t, servers[0])
		lookAt(t, other)
		one, err := app.Conn(t.Context())
		require.NoError(t, err)
		_, err = one.ExecContext(t.Context(), "SELECT 1")
		require.NoError(t, err)

		ended, err := agent.DropClients(t.Context())
		require.NoError(t, err)
		require.GreaterOrEqual(t, ended, 1)
		_, err = one.ExecContext(t.Context(), "SELECT 1")
		require.Error(t, err, "a client is gone")
		require.Len(t, servers[0].Rows("SELECT ID FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'"), 1, "replication is not")
		require.Len(t, servers[0].Rows("SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'event_scheduler'"), 1)
		require.Len(t, servers[0].Rows("SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'rollcall'"), 2, "nor are ours")

		ended, err = agentAt(t, servers[1]).DropClients(t.Context())
		require.NoError(t, err)
		require.LessOrEqual(t, ended, 1)
		require.True(t, lookAt(t, agentAt(t, servers[1])).Source.Applying)
	})
}

// TestRealAwaits checks that what is there is there, what is not is waited for, and a server that
// has diverged is not there although MariaDB says so.
func TestRealAwaits(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, flavor mysqltest.Flavor) {
		servers := mysqltest.Start(t, mysqltest.Options{Flavor: flavor, Servers: 2})
		primary, replica := agentAt(t, servers[0]), agentAt(t, servers[1])
		app := mysqltest.Table(t, servers[0])
		servers[1].AwaitExecuted(servers[0])
		servers[1].Exec("STOP REPLICA")
		require.NoError(t, mysqltest.Insert(app, 1))
		frozen := lookAt(t, primary).Executed

		there, err := primary.Awaits(t.Context(), frozen, time.Second)
		require.NoError(t, err)
		require.True(t, there)
		there, err = replica.Awaits(t.Context(), frozen, 200*time.Millisecond)
		require.NoError(t, err)
		require.False(t, there)
		servers[1].Exec("START REPLICA")
		there, err = replica.Awaits(t.Context(), frozen, 30*time.Second)
		require.NoError(t, err)
		require.True(t, there)
		_, err = replica.Awaits(t.Context(), "", time.Second)
		require.Error(t, err)

		servers[1].Exec("STOP REPLICA")
		servers[1].AllowWrites()
		servers[1].Exec("INSERT INTO app.numbers VALUES (9)")
		servers[1].RefuseWrites()
		require.NoError(t, mysqltest.Insert(app, 2))
		there, err = replica.Awaits(t.Context(), lookAt(t, primary).Executed, 200*time.Millisecond)
		require.False(t, there)
		require.ErrorContains(t, err, "missing")
	})
}

// TestRealHandover makes the way of a switchover by hand: the replica leads, the old
// primary follows.
func TestRealHandover(t *testing.T) {
	mysqltest.EachVersion(t, func(t *testing.T, flavor mysqltest.Flavor, version string) {
		servers := mysqltest.Start(t, mysqltest.Options{Flavor: flavor, Version: version, Servers: 3, SemiSync: true})
		agents := []*Server{agentAt(t, servers[0]), agentAt(t, servers[1]), agentAt(t, servers[2])}
		app := mysqltest.Table(t, servers[0])
		require.NoError(t, mysqltest.Insert(app, 1))
		ctx := t.Context()
		require.NoError(t, agents[0].StopWrites(ctx, 2*time.Second))
		frozen := lookAt(t, agents[0]).Executed
		there, err := agents[1].Awaits(ctx, frozen, 10*time.Second)
		require.NoError(t, err)
		require.True(t, there)
		for range 2 {
			require.NoError(t, agents[1].Detach(ctx))
			require.Nil(t, lookAt(t, agents[1]).Source)
			require.NoError(t, agents[1].AcknowledgeAs(ctx, true))
			require.NoError(t, agents[1].AllowWrites(ctx))
		}
		for range 2 {
			require.NoError(t, agents[0].AcknowledgeAs(ctx, false))
			require.NoError(t, agents[0].Follow(ctx, servers[1].Host, servers[1].Port, true))
			require.NoError(t, agents[2].Follow(ctx, servers[1].Host, servers[1].Port, false))
		}
		servers[0].AwaitFollowing()
		servers[2].AwaitFollowing()
		require.NoError(t, agents[0].AcknowledgeAs(ctx, false))
		require.NoError(t, mysqltest.Insert(servers[1].Open(mysqltest.AppUser, mysqltest.AppPassword, "app"), 2))
		for _, n := range []int{0, 2} {
			servers[n].AwaitExecuted(servers[1])
			require.Equal(t, "3", servers[n].Value("SELECT SUM(n) FROM app.numbers"))
		}
		semiSync := lookAt(t, agents[0]).SemiSync.Installed // 8.0.15 comes without it
		mysqltest.Eventually(t, func() bool {
			old, now := lookAt(t, agents[0]), lookAt(t, agents[1])
			return !semiSync || old.SemiSync.Acknowledging && now.SemiSync.Working && now.SemiSync.Clients == 2
		})
		old := lookAt(t, agents[0])
		require.False(t, old.SemiSync.Source, "a replica waits for nobody")
		require.Equal(t, servers[1].Port, old.Source.Port)
		require.False(t, old.Source.ByPosition)
		require.Equal(t, replication.RefusedBySQL, old.Writes)

		servers[2].Exec(servers[2].Words("STOP REPLICA"))
		require.NoError(t, agents[2].StartFollowing(ctx))
		servers[2].AwaitFollowing()
	})
}

func serverAt(s *mysqltest.Server) Options {
	return Options{
		Access: web.Access{Host: s.Host, Port: s.Port, Credentials: mysqltest.Fixed(mysqltest.AgentUser, mysqltest.AgentPassword)},
		Flavor: replication.Flavor(s.Flavor), ReplicationCredentials: mysqltest.Fixed(mysqltest.ReplicaUser, mysqltest.ReplicaPassword),
	}
}
