package mysqltest

import (
	_ "embed"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// Users of every server and their passwords. The agent's comes from 127.0.0.1
// only; the application may do anything in the database "app", which is empty.
const (
	AgentUser       = "rollcall"
	AgentPassword   = "agent-password"
	ReplicaUser     = "replica"
	ReplicaPassword = "replica-password"
	AppUser         = "app"
	AppPassword     = "app-password"
)

//go:embed mysql.sql
var mysqlAccounts string

//go:embed mariadb.sql
var mariadbAccounts string

// Accounts is the SQL that makes the users, with $AGENT_PASSWORD,
// $REPLICA_PASSWORD and $APP_PASSWORD in it: the agent's have no more privileges
// than they use.
func Accounts(f Flavor) string { return flavors[f].accounts }

// flavor is what differs between the two.
type flavor struct {
	name     Flavor
	env      string
	programs []string // the server first
	accounts string
	settings map[string]string
	// initialize an empty data folder: program and arguments. The folder for
	// temporary files is nobody else's: MariaDB empties it when it starts.
	initialize func(data, tmp, accounts string) []string
	allow      string
	refuse     string
	// follow takes port, user and password.
	follow   string
	semiSync map[bool]string // settings of a primary, and of a replica
	executed string
	await    string // takes what executed answers; answers 0
}

// common settings: small, quick rather than safe from the end of the machine, and
// read-only until told otherwise.
var common = map[string]string{
	"bind_address":                   "127.0.0.1",
	"report_host":                    "127.0.0.1",
	"log_bin":                        "binlog",
	"relay_log":                      "relay",
	"binlog_format":                  "ROW",
	"skip_name_resolve":              "ON",
	"max_connections":                "60",
	"table_open_cache":               "200",
	"table_definition_cache":         "400",
	"key_buffer_size":                "1M",
	"sync_binlog":                    "0",
	"innodb_flush_log_at_trx_commit": "2",
	"innodb_buffer_pool_size":        "16M",
	"innodb_log_buffer_size":         "1M",
	"innodb_doublewrite":             "OFF",
}

func with(more map[string]string) map[string]string {
	all := maps.Clone(common)
	maps.Copy(all, more)
	return all
}

var flavors = map[Flavor]flavor{
	MySQL: {
		name: MySQL, env: EnvMySQLHome, programs: []string{"mysqld"}, accounts: mysqlAccounts,
		settings: with(map[string]string{
			"super_read_only":                         "ON",
			"gtid_mode":                               "ON",
			"enforce_gtid_consistency":                "ON",
			"log_replica_updates":                     "ON",
			"mysqlx":                                  "OFF",
			"secure_file_priv":                        "",
			"plugin_load_add":                         "semisync_source.so;semisync_replica.so;mysql_clone.so",
			"innodb_redo_log_capacity":                "8M",
			"performance_schema_max_thread_instances": "100",
			"performance_schema_accounts_size":        "20",
			"performance_schema_users_size":           "20",
			"performance_schema_hosts_size":           "20",
			"performance_schema_digests_size":         "100",
			"performance_schema_error_size":           "0",
		}),
		initialize: func(data, tmp, accounts string) []string {
			return []string{
				"mysqld", "--no-defaults", "--datadir=" + data, "--tmpdir=" + tmp, "--initialize-insecure", "--init-file=" + accounts,
				"--secure-file-priv=", "--innodb-redo-log-capacity=8M",
			}
		},
		allow:  "SET GLOBAL read_only = OFF",
		refuse: "SET GLOBAL super_read_only = ON",
		follow: "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT=%d, SOURCE_USER='%s', SOURCE_PASSWORD='%s', SOURCE_AUTO_POSITION=1, " +
			"GET_SOURCE_PUBLIC_KEY=1, SOURCE_CONNECT_RETRY=1, SOURCE_RETRY_COUNT=0",
		semiSync: map[bool]string{
			true:  "SET GLOBAL rpl_semi_sync_source_enabled = ON, GLOBAL rpl_semi_sync_replica_enabled = OFF",
			false: "SET GLOBAL rpl_semi_sync_source_enabled = OFF, GLOBAL rpl_semi_sync_replica_enabled = ON",
		},
		executed: "SELECT REPLACE(@@GLOBAL.gtid_executed, '\n', '')",
		await:    "SELECT WAIT_FOR_EXECUTED_GTID_SET('%s', 60)",
	},
	MariaDB: {
		name: MariaDB, env: EnvMariaDBHome, programs: []string{"mariadbd", "mariadb-install-db"}, accounts: mariadbAccounts,
		settings: with(map[string]string{
			"read_only":            "ON",
			"gtid_strict_mode":     "ON",
			"log_slave_updates":    "ON",
			"innodb_log_file_size": "8M",
			"ssl":                  "OFF", // from 11.4 on each start makes a key, which takes up to 10 s
		}),
		initialize: func(data, tmp, accounts string) []string {
			return []string{
				"mariadb-install-db", "--no-defaults", "--datadir=" + data, "--tmpdir=" + tmp, "--extra-file=" + accounts,
				"--auth-root-authentication-method=normal", "--skip-test-db", "--force", "--innodb-log-file-size=8M",
			}
		},
		allow:  "SET GLOBAL read_only = OFF",
		refuse: "SET GLOBAL read_only = ON",
		follow: "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=%d, MASTER_USER='%s', MASTER_PASSWORD='%s', MASTER_SSL=0, MASTER_USE_GTID=slave_pos, MASTER_CONNECT_RETRY=1",
		semiSync: map[bool]string{
			true:  "SET GLOBAL rpl_semi_sync_master_enabled = ON, GLOBAL rpl_semi_sync_slave_enabled = OFF",
			false: "SET GLOBAL rpl_semi_sync_master_enabled = OFF, GLOBAL rpl_semi_sync_slave_enabled = ON",
		},
		executed: "SELECT @@GLOBAL.gtid_binlog_pos",
		await:    "SELECT MASTER_GTID_WAIT('%s', 60)",
	},
}

// passwords puts them into the SQL of accounts.
func passwords(accounts string) string {
	return os.Expand(accounts, func(name string) string {
		return map[string]string{"AGENT_PASSWORD": AgentPassword, "REPLICA_PASSWORD": ReplicaPassword, "APP_PASSWORD": AppPassword}[name]
	})
}

// file is my.cnf with these settings.
func file(settings map[string]string) string {
	var text strings.Builder
	text.WriteString("[mysqld]\n")
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&text, "%s = %q\n", key, settings[key])
	}
	return text.String()
}
