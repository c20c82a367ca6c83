package server

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/credentials"
	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// TestRealSecretsStayHidden checks that secrets stay hidden also where the server repeats a
// statement.
func TestRealSecretsStayHidden(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, flavor mysqltest.Flavor) {
		server := mysqltest.Start(t, mysqltest.Options{Flavor: flavor, Servers: 1})[0]
		secret := strings.Repeat("hunter2-", 100) // so long that the server complains of it
		o := serverAt(server)
		o.ReplicationCredentials = mysqltest.Fixed(mysqltest.ReplicaUser, secret)
		l, err := New(o)
		require.NoError(t, err)
		defer l.Close()
		err = l.Follow(t.Context(), "127.0.0.1", 1, false)
		require.ErrorContains(t, err, "the server refused another source with error")
		require.NotContains(t, err.Error(), "hunter2")

		o.Credentials = mysqltest.Fixed(mysqltest.AgentUser, "hunter2")
		l, err = New(o)
		require.NoError(t, err)
		defer l.Close()
		s, err := l.Look(t.Context())
		require.NoError(t, err)
		require.Contains(t, s.Problem, "1045")
		require.NotContains(t, s.Problem, "hunter2")
		require.NotContains(t, s.Problem, "Secret")

		o.Credentials = credentials.FromDir(t.TempDir()) // nothing is mounted
		l, err = New(o)
		require.NoError(t, err)
		defer l.Close()
		s, err = l.Look(t.Context())
		require.NoError(t, err)
		require.Contains(t, s.Problem, "connection.credentialsSecret")
		require.Contains(t, s.Problem, "1045")
	})
}

// TestRealRefusedSource checks that a replica that a server does not give another source goes on
// with the one it has.
func TestRealRefusedSource(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, flavor mysqltest.Flavor) {
		servers := mysqltest.Start(t, mysqltest.Options{Flavor: flavor, Servers: 2})
		o := serverAt(servers[1])
		o.ReplicationCredentials = mysqltest.Fixed(mysqltest.ReplicaUser, strings.Repeat("x", 1000))
		l, err := New(o)
		require.NoError(t, err)
		defer l.Close()
		require.ErrorContains(t, l.Follow(t.Context(), "127.0.0.1", 1, false), "the server refused another source with error")
		servers[1].AwaitFollowing()
		s := lookAt(t, l)
		require.Equal(t, servers[0].Port, s.Source.Port)
		require.True(t, s.Source.Started)
	})
}

// TestRealBusy checks that the server reports work that a restart would waste.
func TestRealBusy(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, flavor mysqltest.Flavor) {
		server := mysqltest.Start(t, mysqltest.Options{Flavor: flavor, Servers: 1})[0]
		agent, app := agentAt(t, server), mysqltest.Table(t, server)
		require.NoError(t, mysqltest.Insert(app, 1))

		open, err := app.Begin()
		require.NoError(t, err)
		_, err = open.Exec("UPDATE numbers SET n = 2")
		require.NoError(t, err)
		require.NotZero(t, lookAt(t, agent).Writing)
		require.NoError(t, open.Rollback())
		mysqltest.Eventually(t, func() bool { return lookAt(t, agent).Writing == 0 }) // InnoDB keeps that answer for a moment

		one, err := server.Root().Conn(t.Context())
		require.NoError(t, err)
		defer one.Close()
		if flavor == mysqltest.MySQL {
			for lock, unlock := range map[string]string{"LOCK INSTANCE FOR BACKUP": "UNLOCK INSTANCE", "FLUSH TABLES WITH READ LOCK": "UNLOCK TABLES"} {
				_, err = one.ExecContext(t.Context(), lock)
				require.NoError(t, err)
				require.NotEmpty(t, lookAt(t, agent).Busy, lock)
				_, err = one.ExecContext(t.Context(), unlock)
				require.NoError(t, err)
				require.Empty(t, lookAt(t, agent).Busy)
			}
		}
		reader, err := app.Begin()
		require.NoError(t, err)
		_, err = reader.Exec("SELECT * FROM numbers")
		require.NoError(t, err)
		ended := make(chan error, 1)
		go func() {
			_, err := app.Exec("ALTER TABLE numbers ADD COLUMN hunter2 INT")
			ended <- err
		}()
		mysqltest.Eventually(t, func() bool { return strings.HasPrefix(lookAt(t, agent).Busy, "ALTER TABLE for ") })
		require.NoError(t, reader.Rollback())
		require.NoError(t, <-ended)
		require.Empty(t, lookAt(t, agent).Busy)
	})
}

// TestRealTLS checks that a certificate that nobody vouches for is refused unless that is asked
// for. MySQL makes itself one; it names no host.
func TestRealTLS(t *testing.T) {
	server := mysqltest.Start(t, mysqltest.Options{Flavor: mysqltest.MySQL, Servers: 1})[0]
	o := serverAt(server)
	o.TLS = web.TLS{Enabled: true}
	l, err := New(o)
	require.NoError(t, err)
	defer l.Close()
	s, err := l.Look(t.Context())
	require.NoError(t, err)
	require.False(t, s.Serving)
	require.Contains(t, s.Problem, "certificate")

	o.TLS.InsecureSkipVerify = true
	l, err = New(o)
	require.NoError(t, err)
	defer l.Close()
	lookAt(t, l)
	require.NotEmpty(t, server.Rows("SELECT 1 FROM performance_schema.status_by_thread t JOIN performance_schema.threads USING (THREAD_ID) "+
		"WHERE PROCESSLIST_USER = '"+mysqltest.AgentUser+"' AND t.VARIABLE_NAME = 'Ssl_cipher' AND t.VARIABLE_VALUE <> ''"))
}
