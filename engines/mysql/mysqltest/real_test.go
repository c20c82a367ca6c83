package mysqltest

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRealReplicas checks that replicas have what the application writes to the primary, also after
// they were unavailable, and the primary after it was killed.
func TestRealReplicas(t *testing.T) {
	Each(t, func(t *testing.T, flavor Flavor) {
		servers := Start(t, Options{Flavor: flavor, Servers: 3, SemiSync: true})
		primary, replica, killed := servers[0], servers[1], servers[2]
		app := primary.Open(AppUser, AppPassword, "app")
		write := func(value int) {
			t.Helper()
			_, err := app.Exec("INSERT INTO numbers VALUES (?)", value)
			require.NoError(t, err)
		}
		_, err := app.Exec("CREATE TABLE numbers (n INT PRIMARY KEY)")
		require.NoError(t, err)
		write(1)
		replica.AwaitExecuted(primary)
		require.Equal(t, "1", replica.Value("SELECT SUM(n) FROM app.numbers"))
		_, err = replica.Open(AppUser, AppPassword, "app").Exec("INSERT INTO numbers VALUES (9)")
		require.ErrorContains(t, err, "read-only", "a replica")

		killed.AwaitExecuted(primary) // a table is made and noted in two transactions: killed between them it would make it again
		killed.Kill()
		require.True(t, killed.Ended())
		write(2)
		killed.Restart()
		killed.AwaitFollowing()
		killed.AwaitExecuted(primary)
		require.Equal(t, "3", killed.Value("SELECT SUM(n) FROM app.numbers"))

		primary.Kill()
		primary.Restart()
		require.Equal(t, "3", primary.Value("SELECT SUM(n) FROM app.numbers"))
		require.Equal(t, "1", primary.Value("SELECT @@read_only"), "by its configuration")
		primary.AllowWrites()
		write(4)
		replica.AwaitFollowing()
		replica.AwaitExecuted(primary)
		require.Equal(t, "7", replica.Value("SELECT SUM(n) FROM app.numbers"))
	})
}

// TestRealServersAsStarted checks that nobody allows writes, nothing was executed by anybody, and
// each is somebody else.
func TestRealServersAsStarted(t *testing.T) {
	Each(t, func(t *testing.T, flavor Flavor) {
		servers := Start(t, Options{Flavor: flavor, Servers: 2, AsStarted: true, Settings: map[string]string{"max_connections": "33"}})
		identity := map[Flavor]string{MySQL: "SELECT @@server_uuid", MariaDB: "SELECT @@server_id"}[flavor]
		require.NotEqual(t, servers[0].Value(identity), servers[1].Value(identity))
		for _, s := range servers {
			require.Empty(t, s.Executed())
			require.Equal(t, "33", s.Value("SELECT @@max_connections"))
			require.Equal(t, "1", s.Value("SELECT @@read_only"))
		}
		require.Empty(t, servers[0].Rows("SHOW REPLICA STATUS"))
	})
}

// TestRealPause checks that a server that hangs does not answer, and goes on.
func TestRealPause(t *testing.T) {
	Each(t, func(t *testing.T, flavor Flavor) {
		s := Start(t, Options{Flavor: flavor, Servers: 1})[0]
		resume := s.Pause()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := s.Root().ExecContext(ctx, "DO 1")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		resume()
		s.AwaitUp()
	})
}

// agentMay is every kind of statement that an agent executes, in an order in which
// each succeeds on a replica.
var agentMay = map[Flavor][]string{
	MySQL: {
		"SHOW REPLICA STATUS", "SHOW REPLICAS", "SHOW BINARY LOG STATUS", "SHOW GLOBAL STATUS LIKE 'Rpl%'", "SELECT @@GLOBAL.gtid_purged",
		"SELECT * FROM information_schema.INNODB_TRX", "SELECT * FROM performance_schema.processlist",
		"SELECT * FROM performance_schema.variables_info", "SELECT * FROM performance_schema.persisted_variables",
		"SELECT * FROM performance_schema.metadata_locks", "SELECT * FROM performance_schema.clone_status",
		"SELECT * FROM performance_schema.replication_group_members",
		"SELECT * FROM performance_schema.replication_connection_status", "SELECT * FROM performance_schema.replication_applier_status_by_worker",
		"SET GLOBAL super_read_only = ON", "SELECT WAIT_FOR_EXECUTED_GTID_SET('', 1)",
		"STOP REPLICA IO_THREAD", "START REPLICA IO_THREAD",
		"STOP REPLICA", "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT=1, SOURCE_USER='replica', SOURCE_PASSWORD='x', SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1",
		"START REPLICA", "STOP REPLICA", "RESET REPLICA ALL",
		"SET GLOBAL rpl_semi_sync_source_enabled = ON", "SET GLOBAL rpl_semi_sync_replica_enabled = OFF",
		"SET GLOBAL rpl_semi_sync_source_wait_for_replica_count = 1", "SET GLOBAL read_only = OFF",
	},
	MariaDB: {
		"SHOW ALL REPLICAS STATUS", "SHOW REPLICA HOSTS", "SHOW BINLOG STATUS", "SHOW BINLOG EVENTS LIMIT 4", "SHOW GLOBAL STATUS LIKE 'Rpl%'",
		"SELECT @@GLOBAL.gtid_binlog_state, @@GLOBAL.gtid_slave_pos", "SELECT * FROM information_schema.INNODB_TRX",
		"SELECT * FROM information_schema.PROCESSLIST", "SELECT * FROM information_schema.SYSTEM_VARIABLES",
		"SET GLOBAL read_only = ON", "SELECT MASTER_GTID_WAIT('', 1)",
		"STOP REPLICA IO_THREAD", "START REPLICA IO_THREAD",
		"STOP REPLICA", "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=1, MASTER_USER='replica', MASTER_PASSWORD='x', MASTER_USE_GTID=slave_pos",
		"CHANGE MASTER TO MASTER_DEMOTE_TO_SLAVE=1", "START REPLICA", "STOP REPLICA", "RESET REPLICA ALL",
		"SET GLOBAL rpl_semi_sync_master_enabled = ON", "SET GLOBAL rpl_semi_sync_slave_enabled = OFF",
		"SET GLOBAL rpl_semi_sync_master_wait_point = AFTER_SYNC", "SET GLOBAL read_only = OFF",
	},
}

// lacking is what 8.0.15 does not have.
var lacking = regexp.MustCompile(`rpl_semi_sync|performance_schema.(processlist|clone_status)`)

// TestRealAgentMayDoItsWork checks that the agent's account may execute all that it executes and
// end the sessions of clients, which the application cannot; it can neither read nor change data.
func TestRealAgentMayDoItsWork(t *testing.T) {
	EachVersion(t, func(t *testing.T, flavor Flavor, version string) {
		servers := Start(t, Options{Flavor: flavor, Version: version, Servers: 2})
		servers[0].Exec("CREATE TABLE app.numbers (n INT PRIMARY KEY)")
		replica := servers[1]
		replica.AwaitExecuted(servers[0])
		app := replica.Open(AppUser, AppPassword, "app")
		client, err := app.Conn(t.Context())
		require.NoError(t, err)
		var id string
		require.NoError(t, client.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id))

		agent := replica.Open(AgentUser, AgentPassword, "")
		for _, statement := range append(agentMay[flavor], "KILL CONNECTION "+id) {
			if old(flavor, version) && lacking.MatchString(statement) {
				continue
			}
			_, err := agent.Exec(replica.Words(statement))
			require.NoError(t, err, statement)
		}
		require.Error(t, client.PingContext(t.Context()), "its session was ended")
		require.Equal(t, "0", replica.Value("SELECT @@read_only"))
		for _, statement := range []string{"SELECT * FROM app.numbers", "INSERT INTO app.numbers VALUES (1)", "SELECT * FROM mysql.user", "CREATE USER x@y"} {
			_, err := agent.Exec(statement)
			require.ErrorContains(t, err, "denied", statement)
		}
	})
}

// TestRealAgentNeedsEachPrivilege checks that without any of them, something that an agent executes
// is refused, or what it is told is not all.
func TestRealAgentNeedsEachPrivilege(t *testing.T) {
	needs := map[Flavor]map[string]string{
		MySQL: {
			"REPLICATION CLIENT": "SHOW REPLICA STATUS", "REPLICATION SLAVE": "SHOW REPLICAS", "PROCESS": "SELECT * FROM information_schema.INNODB_TRX",
			"SYSTEM_VARIABLES_ADMIN": "SET GLOBAL super_read_only = ON", "REPLICATION_SLAVE_ADMIN": "STOP REPLICA", "RELOAD": "RESET REPLICA ALL",
			"CONNECTION_ADMIN": "KILL CONNECTION %d",
		},
		MariaDB: {
			"SLAVE MONITOR": "SHOW ALL REPLICAS STATUS", "BINLOG MONITOR": "SHOW BINLOG EVENTS LIMIT 4", "REPLICATION MASTER ADMIN": "SHOW REPLICA HOSTS",
			"PROCESS": "SELECT * FROM information_schema.INNODB_TRX", "READ_ONLY ADMIN": "SET GLOBAL read_only = ON",
			"REPLICATION SLAVE ADMIN": "STOP REPLICA", "RELOAD": "RESET REPLICA ALL", "CONNECTION ADMIN": "KILL CONNECTION %d",
		},
	}
	EachVersion(t, func(t *testing.T, flavor Flavor, version string) {
		s := Start(t, Options{Flavor: flavor, Version: version, Servers: 1})[0]
		app, err := s.Open(AppUser, AppPassword, "app").Conn(t.Context())
		require.NoError(t, err)
		var id string
		require.NoError(t, app.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id))
		for privilege, statement := range needs[flavor] {
			statement = s.Words(strings.Replace(statement, "%d", id, 1))
			s.Exec("REVOKE " + privilege + " ON *.* FROM 'rollcall'@'127.0.0.1'")
			_, err := s.Open(AgentUser, AgentPassword, "").Exec(statement)
			require.Error(t, err, "%s without %s", statement, privilege)
			s.Exec("GRANT " + privilege + " ON *.* TO 'rollcall'@'127.0.0.1'")
			_, err = s.Open(AgentUser, AgentPassword, "").Exec(statement)
			require.NoError(t, err, "%s with %s", statement, privilege)
			s.AllowWrites()
		}
	})
}
