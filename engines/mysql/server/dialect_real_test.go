package server

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// fact is something that the dialects build upon, as a statement and what a server
// answers to it.
type fact struct {
	need      string
	statement string
	at        int      // server: 0 is the primary, 1 a replica
	columns   []string // that the answer has, in this writing
	value     string   // of the one column of the one row
	rows      bool     // some, of any kind
	refused   string   // in the words of the error
	setUp     string   // before it, and
	takeDown  string   // after it
	since     string   // versions that it is about, and
	before    string
}

var factsOfMySQL = []fact{
	{need: "replica status", since: "8.0.22", statement: "SHOW REPLICA STATUS", at: 1, columns: []string{
		"Source_Host", "Source_Port", "Source_UUID", "Replica_IO_Running", "Replica_SQL_Running", "Seconds_Behind_Source", "Retrieved_Gtid_Set", "Executed_Gtid_Set",
		"Last_IO_Errno", "Last_IO_Error", "Last_SQL_Errno", "Last_SQL_Error", "Auto_Position", "Channel_Name", "SQL_Delay",
	}},
	{need: "replica status, old words", before: "8.4.0", statement: "SHOW SLAVE STATUS", at: 1, columns: []string{
		"Master_Host", "Master_Port", "Master_UUID", "Slave_IO_Running", "Slave_SQL_Running", "Seconds_Behind_Master", "Retrieved_Gtid_Set", "Executed_Gtid_Set",
		"Last_IO_Errno", "Last_IO_Error", "Last_SQL_Errno", "Last_SQL_Error", "Auto_Position", "Channel_Name", "SQL_Delay",
	}},
	{need: "replica status, new words", before: "8.0.22", statement: "SHOW REPLICA STATUS", at: 1, refused: "1064"},
	{need: "replica status, old name", since: "8.4.0", statement: "SHOW SLAVE STATUS", at: 1, refused: "1064"},
	{need: "replicas seen by the primary, old words", before: "8.4.0", statement: "SHOW SLAVE HOSTS", columns: []string{"Server_id", "Host", "Port", "Master_id", "Slave_UUID"}},
	{need: "replicas seen by the primary", since: "8.0.22", statement: "SHOW REPLICAS", columns: []string{"Server_Id", "Host", "Port", "Source_Id", "Replica_UUID"}},
	{need: "binlog position", since: "8.2.0", statement: "SHOW BINARY LOG STATUS", columns: []string{"File", "Position", "Executed_Gtid_Set"}},
	{need: "binlog position, old name", since: "8.4.0", statement: "SHOW MASTER STATUS", refused: "1064"},
	{need: "binlog position, old words", before: "8.4.0", statement: "SHOW MASTER STATUS", columns: []string{"File", "Position", "Executed_Gtid_Set"}},
	{need: "identity", statement: "SELECT LENGTH(@@server_uuid)", value: "36"},
	{need: "GTID state", statement: "SELECT @@gtid_executed, @@gtid_purged", rows: true},
	{need: "wait: timeout", statement: "SELECT WAIT_FOR_EXECUTED_GTID_SET('00000000-0000-0000-0000-000000000001:1', 0.05)", at: 1, value: "1"},
	{need: "wait: there", statement: "SELECT WAIT_FOR_EXECUTED_GTID_SET(@@gtid_executed, 0.05)", value: "0"},
	{need: "compare", statement: "SELECT GTID_SUBSET(@@gtid_executed, @@gtid_executed)", value: "1"},
	{need: "write stop implies the weaker one", setUp: "SET GLOBAL super_read_only = 1", statement: "SELECT @@read_only", at: 1, value: "1"},
	{need: "writes allowed again ends the stronger one", setUp: "SET GLOBAL read_only = 0", statement: "SELECT @@super_read_only", at: 1, value: "0", takeDown: "SET GLOBAL super_read_only = 1"},
	{need: "origin: of the configuration", statement: "SELECT COUNT(*) FROM performance_schema.variables_info WHERE VARIABLE_NAME = 'gtid_mode' AND VARIABLE_SOURCE = 'EXPLICIT'", value: "1"},
	{need: "origin: set by SQL", statement: "SELECT VARIABLE_SOURCE FROM performance_schema.variables_info WHERE VARIABLE_NAME = 'super_read_only'", at: 1, value: "DYNAMIC"},
	{need: "semi-sync settings", since: "8.0.26", statement: "SELECT COUNT(*) FROM performance_schema.global_variables WHERE VARIABLE_NAME IN ('rpl_semi_sync_source_enabled', 'rpl_semi_sync_replica_enabled', 'rpl_semi_sync_source_wait_for_replica_count')", value: "3"},
	{need: "semi-sync wait point", since: "8.0.26", statement: "SELECT @@rpl_semi_sync_source_wait_point", value: "AFTER_SYNC"},
	{need: "semi-sync status", since: "8.0.26", statement: "SELECT COUNT(*) FROM performance_schema.global_status WHERE VARIABLE_NAME IN ('Rpl_semi_sync_source_clients', 'Rpl_semi_sync_source_status', 'Rpl_semi_sync_source_wait_sessions', 'Rpl_semi_sync_source_no_tx', 'Rpl_semi_sync_source_yes_tx', 'Rpl_semi_sync_replica_status')", value: "6"},
	{need: "lag, robust", statement: "SELECT SERVICE_STATE, RECEIVED_TRANSACTION_SET FROM performance_schema.replication_connection_status", at: 1, rows: true},
	{need: "who holds the write lock", statement: "SELECT OBJECT_TYPE, LOCK_TYPE, LOCK_DURATION, LOCK_STATUS FROM performance_schema.metadata_locks", rows: true},
	{need: "kill clients", statement: "KILL CONNECTION 999999999", refused: "1094"},
	{need: "processes, old place", before: "8.0.22", statement: "SELECT ID, USER, COMMAND, TIME, INFO FROM information_schema.PROCESSLIST WHERE COMMAND = 'Binlog Dump GTID'", rows: true},
	{need: "processes", since: "8.0.22", statement: "SELECT ID, USER, COMMAND, TIME, INFO FROM performance_schema.processlist WHERE COMMAND = 'Binlog Dump GTID'", rows: true},
	{need: "clone in progress", since: "8.0.17", statement: "SELECT COUNT(*) FROM performance_schema.clone_status WHERE STATE = 'In Progress'", value: "0"},
	{need: "group replication", statement: "SELECT COUNT(MEMBER_ID), COUNT(MEMBER_STATE), COUNT(MEMBER_ROLE), COUNT(MEMBER_VERSION) FROM performance_schema.replication_group_members", rows: true},
	{need: "start without a source, old words", before: "8.4.0", statement: "START SLAVE", refused: "1200"},
	{need: "start without a source", since: "8.0.22", statement: "START REPLICA", refused: "1200"},
	{need: "nothing is forgotten that is not there, old words", before: "8.4.0", statement: "RESET SLAVE ALL"},
	{need: "no session is stopped that is not there", since: "8.0.22", statement: "RESET REPLICA ALL", rows: false},
	{need: "persisted settings", statement: "SELECT COUNT(*) FROM performance_schema.persisted_variables", value: "0"},
	{need: "reserved port", statement: "SELECT @@admin_port", rows: true},
}

var factsOfMariaDB = []fact{
	{need: "replica status", statement: "SHOW ALL REPLICAS STATUS", at: 1, columns: []string{
		"Master_Host", "Master_Port", "Master_Server_Id", "Slave_IO_Running", "Slave_SQL_Running", "Seconds_Behind_Master", "Using_Gtid", "Gtid_IO_Pos",
		"Last_IO_Errno", "Last_IO_Error", "Last_SQL_Errno", "Last_SQL_Error", "SQL_Delay", "Parallel_Mode", "Connection_name",
	}},
	{need: "replica status, of one", statement: "SHOW REPLICA STATUS", at: 1, columns: []string{"Master_Host", "Slave_IO_Running"}},
	{need: "replicas, as MySQL says", statement: "SHOW REPLICAS", refused: "1064"},
	{need: "replicas seen by the primary", statement: "SHOW REPLICA HOSTS", columns: []string{"Server_id", "Host", "Port", "Master_id"}},
	{need: "binlog position", statement: "SHOW BINLOG STATUS", columns: []string{"File", "Position"}},
	{need: "identity", statement: "SELECT @@server_id", value: "1"},
	{need: "GTID state", statement: "SELECT @@gtid_binlog_pos, @@gtid_slave_pos, @@gtid_current_pos, @@gtid_binlog_state", rows: true},
	{need: "wait: timeout", statement: "SELECT MASTER_GTID_WAIT('0-1-999999', 0.05)", at: 1, value: "-1"},
	{need: "wait: there", statement: "SELECT MASTER_GTID_WAIT(@@gtid_slave_pos, 0.05)", at: 1, value: "0"},
	{need: "wait: compares sequences only", statement: "SELECT MASTER_GTID_WAIT(CONCAT('0-99-', SUBSTRING_INDEX(@@gtid_slave_pos, '-', -1)), 0.05)", at: 1, value: "0"},
	{need: "wait: a primary has applied nothing", statement: "SELECT MASTER_GTID_WAIT(@@gtid_binlog_pos, 0.05)", value: "-1"},
	{need: "compare: no such functions", statement: "SELECT GTID_SUBSET('', '')", refused: "1305"},
	{need: "write stop: no stronger one", statement: "SELECT @@super_read_only", refused: "1193"},
	{need: "origin: of the configuration", statement: "SELECT GLOBAL_VALUE_ORIGIN FROM information_schema.SYSTEM_VARIABLES WHERE VARIABLE_NAME = 'READ_ONLY'", at: 1, value: "CONFIG"},
	{need: "origin: set by SQL", statement: "SELECT GLOBAL_VALUE_ORIGIN FROM information_schema.SYSTEM_VARIABLES WHERE VARIABLE_NAME = 'READ_ONLY'", value: "SQL"},
	{need: "levels of the write stop", statement: "SELECT COUNT(*) FROM information_schema.SYSTEM_VARIABLES WHERE VARIABLE_NAME = 'READ_ONLY' AND (ENUM_VALUE_LIST = 'OFF,ON' OR ENUM_VALUE_LIST LIKE '%NO_LOCK_NO_ADMIN%')", value: "1"},
	{need: "semi-sync settings", statement: "SELECT COUNT(*) FROM information_schema.GLOBAL_VARIABLES WHERE VARIABLE_NAME IN ('RPL_SEMI_SYNC_MASTER_ENABLED', 'RPL_SEMI_SYNC_SLAVE_ENABLED')", value: "2"},
	{need: "semi-sync: always one acknowledgement", statement: "SELECT COUNT(*) FROM information_schema.GLOBAL_VARIABLES WHERE VARIABLE_NAME LIKE 'RPL_SEMI_SYNC_MASTER_WAIT_FOR%'", value: "0"},
	{need: "semi-sync wait point", statement: "SELECT @@rpl_semi_sync_master_wait_point", value: "AFTER_COMMIT"},
	{need: "semi-sync status", statement: "SELECT COUNT(*) FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME IN ('RPL_SEMI_SYNC_MASTER_CLIENTS', 'RPL_SEMI_SYNC_MASTER_STATUS', 'RPL_SEMI_SYNC_MASTER_WAIT_SESSIONS', 'RPL_SEMI_SYNC_SLAVE_STATUS')", value: "4"},
	{need: "oldest log", statement: "SHOW BINLOG EVENTS LIMIT 4", columns: []string{"Event_type", "Info"}},
	{need: "processes", statement: "SELECT ID, USER, COMMAND, TIME, INFO FROM information_schema.PROCESSLIST WHERE COMMAND = 'Binlog Dump'", rows: true},
	{need: "kill clients", statement: "KILL CONNECTION 999999999", refused: "1094"},
	{need: "start without a source", statement: "START REPLICA", refused: "1200"},
	{need: "a former primary becomes a replica", statement: "SELECT 1", setUp: "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_USE_GTID=slave_pos, MASTER_DEMOTE_TO_SLAVE=1", takeDown: "RESET REPLICA ALL", value: "1"},
	{need: "what was applied stays known", statement: "SELECT @@gtid_slave_pos <> ''", value: "1"},
	{need: "no clone", statement: "SELECT COUNT(*) FROM information_schema.PLUGINS WHERE PLUGIN_NAME = 'clone'", value: "0"},
	{need: "reserved port", statement: "SELECT @@extra_port", rows: true},
}

func (f fact) concerns(t *testing.T, version string) bool {
	parse := func(text string) engines.Version {
		v, err := engines.ParseVersion(text)
		require.NoError(t, err)
		return v
	}
	v := parse(version)
	return (f.since == "" || v.Compare(parse(f.since)) >= 0) && (f.before == "" || v.Compare(parse(f.before)) < 0)
}

// TestRealDialectTable checks each fact against each server that is there: a new
// version that changes one fails with its name.
func TestRealDialectTable(t *testing.T) {
	mysqltest.EachVersion(t, func(t *testing.T, flavor mysqltest.Flavor, installed string) {
		servers := mysqltest.Start(t, mysqltest.Options{Flavor: flavor, Version: installed, Servers: 2, SemiSync: true})
		require.NoError(t, mysqltest.Insert(mysqltest.Table(t, servers[0]), 1))
		servers[1].AwaitExecuted(servers[0])
		version := servers[0].Value("SELECT VERSION()")
		facts := map[mysqltest.Flavor][]fact{mysqltest.MySQL: factsOfMySQL, mysqltest.MariaDB: factsOfMariaDB}[flavor]
		for _, f := range facts {
			if !f.concerns(t, installed) {
				continue
			}
			t.Run(f.need, func(t *testing.T) {
				server := servers[f.at]
				if f.setUp != "" {
					require.NoError(t, server.Try(f.setUp), version)
				}
				if f.takeDown != "" {
					defer func() { require.NoError(t, server.Try(f.takeDown), version) }()
				}
				switch {
				case f.refused != "":
					err := server.Try(f.statement)
					require.ErrorContains(t, err, "Error "+f.refused, "%s: %s", version, f.statement)
				case f.value != "":
					require.Equal(t, f.value, server.Value(f.statement), "%s: %s", version, f.statement)
				case f.columns != nil:
					rows := server.Rows(f.statement)
					require.NotEmpty(t, rows, version)
					missing := slices.DeleteFunc(slices.Clone(f.columns), func(c string) bool {
						return slices.ContainsFunc(rows, func(r map[string]string) bool { _, ok := r[c]; return ok })
					})
					require.Empty(t, missing, "%s: %s", version, f.statement)
				case f.rows:
					require.NotEmpty(t, server.Rows(f.statement), "%s: %s", version, f.statement)
				default:
					require.NoError(t, server.Try(f.statement), "%s: %s", version, f.statement)
				}
			})
		}
	})
}

// TestRealPrivileges checks that each that is missing is named, and without it nothing is claimed.
func TestRealPrivileges(t *testing.T) {
	mysqltest.EachVersion(t, func(t *testing.T, flavor mysqltest.Flavor, version string) {
		server := mysqltest.Start(t, mysqltest.Options{Flavor: flavor, Version: version, Servers: 1})[0]
		agent := agentAt(t, server)
		lookAt(t, agent)
		needs := dialects[replication.Flavor(flavor)].needs
		user := "'" + mysqltest.AgentUser + "'@'127.0.0.1'"
		type privilege struct{ name, on string }
		list := []privilege{{needs.source, "*.*"}, {needs.replicas, "*.*"}, {needs.process, "*.*"}}
		if flavor == mysqltest.MySQL {
			list = append(list, privilege{"SELECT", "performance_schema.*"})
		} else {
			list = append(list, privilege{needs.logs, "*.*"})
		}
		for _, p := range list {
			server.Exec("REVOKE " + p.name + " ON " + p.on + " FROM " + user)
			fresh := agentAt(t, server)
			s, err := fresh.Look(t.Context())
			require.NoError(t, err)
			require.False(t, s.Serving, p)
			require.Contains(t, s.Problem, "needs "+p.name)
			server.Exec("GRANT " + p.name + " ON " + p.on + " TO " + user)
		}
		server.Exec("REVOKE " + needs.readOnly + " ON *.* FROM " + user)
		fresh := agentAt(t, server)
		require.ErrorContains(t, fresh.StopWrites(t.Context(), 1), "needs "+strings.Split(needs.readOnly, " and ")[0])
		require.Equal(t, replication.Allowed, lookAt(t, fresh).Writes)
	})
}
