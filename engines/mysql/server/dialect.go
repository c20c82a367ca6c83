package server

import (
	"context"
	"fmt"
	"strings"

	"github.com/rollcall-dev/rollcall/engines/mysql/gtid"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/sql"
)

// dialect is what differs between the kinds of server. Names of what a version may
// lack are alternatives, tried in turn: none is assumed.
type dialect struct {
	flavor replication.Flavor

	identity  string
	origin    string // of read-only
	source    []string
	replicas  []string
	switches  string // variables of what may not be installed
	counters  string // status
	running   string // statements that make a server busy
	open      string // the oldest open transaction
	locks     []string
	clones    []string
	members   []string
	oldest    []string // the beginning of the oldest log
	end       []string // of the newest log, and what is left out of it
	clients   string
	needs     privileges
	writes    string   // whether they are allowed
	readOnly  string   // the variable that stops writes
	strictest string   // the level of it, of those that newer servers have, which refuses most
	allow     []string // writes; the last one those of ordinary clients
	executed  string   // what was written here, and applied where that is told by itself
	await     string   // waits until a position was executed, in the writing of awaited
	awaited   func(gtid.Position) string
	change    sourceChange
	stop      string // threads of a replica
	start     string
	forget    string // what is followed
	restartIO []string
}

// sourceChange is how a replica is given a source.
type sourceChange struct {
	statement, prefix string
	tls, last         string
	always, demoted   string // options; demoted: of a server that was a primary until now
	// tlsOff asks whether the server has no TLS, and plain is the option of one that follows without
	// it: empty where that is what a new replica does anyway.
	tlsOff, plain string
}

// privileges that statements take, in the words of the flavor.
type privileges struct {
	source, replicas, process, schema, logs          string
	readOnly, replica, forget, kill, semiSync, group string
}

// busyStatements begin what a restart would waste; the last is how dump programs
// read a table. No pattern here escapes anything: a server's sql_mode may take
// escapes for what is looked for.
const busyStatements = `COMMAND <> 'Sleep' AND TIME >= 3 AND ID <> CONNECTION_ID() AND ` +
	`(INFO REGEXP '^[[:space:]]*(ALTER|OPTIMIZE|REPAIR|ANALYZE|CHECK|BACKUP|CLONE|CREATE[[:space:]]+(UNIQUE[[:space:]]+|FULLTEXT[[:space:]]+|SPATIAL[[:space:]]+)?INDEX|LOAD)[[:space:]]' ` +
	`OR INFO LIKE 'SELECT /*!40001 SQL_NO_CACHE */%')`

// others are sessions of clients: not replication, the server's own, or ours.
const others = `ID <> CONNECTION_ID() AND COMMAND NOT IN ('Daemon', 'Binlog Dump', 'Binlog Dump GTID', 'Slave_IO', 'Slave_SQL', 'Slave_worker', 'Register Slave', 'Register Replica') ` +
	`AND USER NOT IN ('system user', 'event_scheduler', 'unauthenticated user') AND BINARY USER <> SUBSTRING_INDEX(USER(), '@', 1)`

const counters = `SHOW GLOBAL STATUS WHERE Variable_name = 'Uptime' OR Variable_name LIKE 'Rpl_semi_sync%'`

const switches = `SHOW GLOBAL VARIABLES WHERE Variable_name LIKE 'rpl_semi_sync%' OR Variable_name IN ` +
	`('wsrep_on', 'wsrep_provider', 'group_replication_group_name', 'group_replication_single_primary_mode')`

func openTransactions(processes string) string {
	return `SELECT COUNT(*) AS transactions, COALESCE(MAX(TIMESTAMPDIFF(SECOND, trx_started, NOW())), 0) AS age, ` +
		`COALESCE(SUM(trx_state = 'ROLLING BACK' AND trx_mysql_thread_id = 0), 0) AS undone FROM information_schema.INNODB_TRX ` +
		`WHERE trx_rows_modified > 0 AND trx_mysql_thread_id NOT IN (SELECT ID FROM ` + processes + ` WHERE USER = 'system user')`
}

var dialects = map[replication.Flavor]*dialect{
	replication.MySQL: {
		flavor: replication.MySQL,
		identity: `SELECT VERSION() AS version, @@server_uuid AS id, @@server_id AS server_id, @@report_host AS report_host, @@report_port AS report_port, @@hostname AS hostname, @@port AS port, ` +
			`UNIX_TIMESTAMP() AS now, @@read_only AS read_only, @@super_read_only AS super_read_only, ` +
			`@@gtid_mode AS gtid_mode, @@gtid_executed AS executed, @@gtid_purged AS purged, @@log_bin AS log_bin`,
		origin: `SELECT VARIABLE_NAME AS name, VARIABLE_SOURCE AS origin FROM performance_schema.variables_info WHERE VARIABLE_NAME IN ('read_only', 'super_read_only') ` +
			`UNION ALL SELECT CONCAT('persisted ', VARIABLE_NAME), VARIABLE_VALUE FROM performance_schema.persisted_variables WHERE VARIABLE_NAME IN ('read_only', 'super_read_only')`,
		source:   []string{`SHOW REPLICA STATUS`, `SHOW SLAVE STATUS`},
		replicas: []string{`SHOW REPLICAS`, `SHOW SLAVE HOSTS`},
		switches: switches, counters: counters,
		running: `SELECT LEFT(INFO, 64) AS statement, TIME AS time FROM performance_schema.processlist WHERE ` + busyStatements + ` ORDER BY TIME DESC LIMIT 5`,
		open:    openTransactions("performance_schema.processlist"),
		locks: []string{`SELECT OBJECT_TYPE AS type FROM performance_schema.metadata_locks WHERE LOCK_STATUS = 'GRANTED' AND LOCK_TYPE = 'SHARED' AND LOCK_DURATION = 'EXPLICIT' ` +
			`AND OBJECT_TYPE IN ('BACKUP LOCK', 'GLOBAL') LIMIT 5`},
		clones:  []string{`SELECT STATE AS state FROM performance_schema.clone_status WHERE STATE = 'In Progress'`},
		members: []string{`SELECT MEMBER_ID AS id, MEMBER_HOST AS host, MEMBER_PORT AS port, MEMBER_STATE AS state, MEMBER_ROLE AS role, MEMBER_VERSION AS version FROM performance_schema.replication_group_members`},
		end:     []string{`SHOW BINARY LOG STATUS`, `SHOW MASTER STATUS`},
		clients: `SELECT ID AS id FROM performance_schema.processlist WHERE ` + others,
		needs: privileges{
			source: "REPLICATION CLIENT", replicas: "REPLICATION SLAVE", process: "PROCESS", schema: "SELECT on performance_schema", logs: "REPLICATION CLIENT",
			readOnly: "SYSTEM_VARIABLES_ADMIN", replica: "REPLICATION_SLAVE_ADMIN", forget: "RELOAD", kill: "CONNECTION_ADMIN", semiSync: "SYSTEM_VARIABLES_ADMIN", group: "GROUP_REPLICATION_ADMIN",
		},
		writes:   `SELECT @@read_only AS read_only, @@super_read_only AS super_read_only`,
		readOnly: "super_read_only",
		allow:    []string{`SET GLOBAL super_read_only = 0`, `SET GLOBAL read_only = 0`},
		executed: `SELECT @@gtid_executed AS executed`,
		await:    `SELECT WAIT_FOR_EXECUTED_GTID_SET(?, ?) AS waited`,
		awaited:  gtid.Position.String,
		change: sourceChange{
			statement: `CHANGE REPLICATION SOURCE TO `, prefix: "SOURCE_", tls: `SOURCE_SSL = 1`, always: `GET_SOURCE_PUBLIC_KEY = 1`,
			last: `SOURCE_AUTO_POSITION = 1, SOURCE_RETRY_COUNT = 0`,
		},
		stop: `STOP REPLICA`, start: `START REPLICA`, forget: `RESET REPLICA ALL`,
		restartIO: []string{`STOP REPLICA IO_THREAD`, `START REPLICA IO_THREAD`},
	},
	replication.MariaDB: {
		flavor: replication.MariaDB,
		identity: `SELECT VERSION() AS version, @@server_id AS id, @@server_id AS server_id, @@report_host AS report_host, @@report_port AS report_port, @@hostname AS hostname, @@port AS port, ` +
			`UNIX_TIMESTAMP() AS now, @@read_only AS read_only, @@gtid_binlog_state AS binlog_state, @@gtid_slave_pos AS slave_pos, @@log_bin AS log_bin`,
		origin:   `SELECT LOWER(VARIABLE_NAME) AS name, GLOBAL_VALUE_ORIGIN AS origin, ENUM_VALUE_LIST AS 'levels' FROM information_schema.SYSTEM_VARIABLES WHERE VARIABLE_NAME = 'READ_ONLY'`,
		source:   []string{`SHOW ALL REPLICAS STATUS`, `SHOW ALL SLAVES STATUS`},
		replicas: []string{`SHOW REPLICA HOSTS`, `SHOW SLAVE HOSTS`},
		switches: switches, counters: counters,
		running: `SELECT LEFT(INFO, 64) AS statement, TIME AS time FROM information_schema.PROCESSLIST WHERE ` + busyStatements + ` ORDER BY TIME DESC LIMIT 5`,
		open:    openTransactions("information_schema.PROCESSLIST"),
		locks:   []string{`SELECT LOCK_MODE AS type FROM information_schema.METADATA_LOCK_INFO WHERE LOCK_MODE REGEXP '^MDL_BACKUP_(START|FLUSH|WAIT|FTWRL)' LIMIT 5`},
		oldest:  []string{`SHOW BINLOG EVENTS LIMIT 4`},
		end:     []string{`SHOW BINLOG STATUS`, `SHOW MASTER STATUS`},
		clients: `SELECT ID AS id FROM information_schema.PROCESSLIST WHERE ` + others,
		needs: privileges{
			source: "SLAVE MONITOR", replicas: "REPLICATION MASTER ADMIN", process: "PROCESS", schema: "SELECT", logs: "BINLOG MONITOR",
			readOnly: "READ_ONLY ADMIN", replica: "REPLICATION SLAVE ADMIN", forget: "RELOAD", kill: "CONNECTION ADMIN", semiSync: "REPLICATION MASTER ADMIN and REPLICATION SLAVE ADMIN",
		},
		writes:    `SELECT @@read_only AS read_only`,
		readOnly:  "read_only",
		strictest: "NO_LOCK_NO_ADMIN",
		allow:     []string{`SET GLOBAL read_only = 0`},
		executed:  `SELECT @@gtid_binlog_state AS executed, @@gtid_slave_pos AS applied`,
		await:     `SELECT MASTER_GTID_WAIT(?, ?) AS waited`,
		awaited:   func(p gtid.Position) string { return p.Domains().Position() },
		change: sourceChange{
			statement: `CHANGE MASTER TO `, prefix: "MASTER_", tls: `MASTER_SSL = 1`,
			last: `MASTER_USE_GTID = slave_pos`, demoted: `, MASTER_DEMOTE_TO_SLAVE = 1`,
			tlsOff: `SELECT @@have_ssl <> 'YES' AS off`, plain: `MASTER_SSL = 0`,
		},
		stop: `STOP REPLICA`, start: `START REPLICA`, forget: `RESET REPLICA ALL`,
		restartIO: []string{`STOP REPLICA IO_THREAD`, `START REPLICA IO_THREAD`},
	},
}

// dialect returns the dialect of the server at the other end. It is asked for with each session: an
// update may have put another one there.
func (s session) dialect(ctx context.Context, wanted replication.Flavor) (*dialect, error) {
	r, err := s.One(ctx, "", `SELECT VERSION() AS version`)
	if err != nil {
		return nil, err
	}
	v, err := replication.ParseVersion(r.Text("version"))
	if err != nil {
		return nil, err
	}
	if wanted != "" && v.Flavor != wanted {
		return nil, fmt.Errorf("%w: %s, and not %s", errFlavor, v.Flavor, wanted)
	}
	return dialectOf(v), nil
}

// firstOf asks the alternatives in turn until the server knows one.
func (s session) firstOf(ctx context.Context, needs string, queries []string) ([]sql.Row, error) {
	var err error
	for _, q := range queries {
		var out []sql.Row
		if out, err = s.Rows(ctx, needs, q); sql.Number(err) != sql.RefusedSyntax {
			return out, err
		}
	}
	return nil, err
}

// absent reports whether the error says that there is no such thing here.
func absent(err error) bool {
	n := sql.Number(err)
	return n == sql.UnknownTable || n == sql.NoSuchTable || n == sql.UnknownVariable
}

// quiet is a statement without what it was about, which is a user's.
func quiet(statement string) string {
	words := strings.Fields(strings.ToUpper(statement))
	switch {
	case len(words) == 0:
		return "a statement"
	case words[0] == "SELECT":
		return "a dump"
	case len(words) > 1 && (words[1] == "TABLE" || words[1] == "INDEX" || words[1] == "INSTANCE" || words[1] == "STAGE"):
		return words[0] + " " + words[1]
	}
	return words[0]
}
