package mysql

import (
	"testing"

	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/mysql/server"
	"github.com/rollcall-dev/rollcall/engines/web"
	"github.com/stretchr/testify/require"
)

func realOptions(s *mysqltest.Server) Options {
	return Options{
		Access: web.Access{Host: s.Host, Port: s.Port, Credentials: mysqltest.Fixed(mysqltest.AgentUser, mysqltest.AgentPassword)},
		Flavor: Flavor(s.Flavor), ReplicationCredentials: mysqltest.Fixed(mysqltest.ReplicaUser, mysqltest.ReplicaPassword),
	}
}

// lookFrom is what the server says of itself.
func lookFrom(t *testing.T, s *mysqltest.Server) replication.State {
	t.Helper()
	l, err := server.New(serverOptions(realOptions(s)))
	require.NoError(t, err)
	defer l.Close()
	state, err := l.Look(t.Context())
	require.NoError(t, err)
	require.Empty(t, state.Problem)
	require.True(t, state.Serving)
	return state
}

// broadly runs what takes minutes: on MariaDB, and on MySQL, which starts and stops
// slowly, when everything is asked for.
func broadly(t *testing.T, test func(t *testing.T, flavor mysqltest.Flavor)) {
	mysqltest.Each(t, func(t *testing.T, f mysqltest.Flavor) {
		if f == mysqltest.MySQL && !*allBreaks {
			t.Skip("MySQL only with -breaks.all: make test-mysql-all")
		}
		test(t, f)
	})
}
