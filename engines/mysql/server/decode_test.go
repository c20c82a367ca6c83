package server

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/mysql/topology"
	"github.com/rollcall-dev/rollcall/engines/sql"
)

const (
	uuidA = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
	uuidB = "4e11fa47-71ca-11e1-9e33-c80aa9429562"
)

// What servers of each flavor answered, shortened; the tests change it.
func replicaOfMySQL() answers {
	return answers{
		identity: sql.Row{
			"version": "9.7.4-2", "id": uuidB, "report_host": "db-1", "hostname": "vm", "report_port": "3306", "port": "3306", "now": "1800000000",
			"read_only": "1", "super_read_only": "1", "gtid_mode": "ON", "executed": uuidA + ":1-4", "purged": "", "log_bin": "1",
		},
		switches: sql.Row{"rpl_semi_sync_replica_enabled": "ON", "rpl_semi_sync_source_enabled": "OFF", "rpl_semi_sync_source_wait_for_replica_count": "2"},
		counters: sql.Row{"uptime": "100", "rpl_semi_sync_replica_status": "ON", "rpl_semi_sync_source_status": "OFF", "rpl_semi_sync_source_clients": "0", "rpl_semi_sync_source_wait_sessions": "3"},
		origin:   []sql.Row{{"name": "read_only", "origin": "COMPILED"}, {"name": "super_read_only", "origin": "COMMAND_LINE"}},
		source: []sql.Row{{
			"source_host": "db-0", "source_port": "3306", "source_uuid": uuidA, "replica_io_running": "Yes", "replica_sql_running": "Yes",
			"seconds_behind_source": "2", "retrieved_gtid_set": uuidA + ":2-4", "last_io_errno": "0", "last_sql_errno": "0", "auto_position": "1", "channel_name": "",
		}},
	}
}

func replicaOfMariaDB() answers {
	return answers{
		identity: sql.Row{
			"version": "10.11.19-MariaDB-0+deb12u1-log", "id": "2", "hostname": "db-1", "report_port": "0", "port": "3307", "now": "1800000000",
			"read_only": "1", "binlog_state": "0-2-3,0-1-5", "slave_pos": "0-1-5", "log_bin": "1",
		},
		switches: sql.Row{"rpl_semi_sync_master_enabled": "OFF", "rpl_semi_sync_slave_enabled": "OFF", "wsrep_on": "OFF"},
		counters: sql.Row{"uptime": "100", "rpl_semi_sync_slave_status": "OFF"},
		origin:   []sql.Row{{"name": "read_only", "origin": "SQL", "levels": ""}},
		source: []sql.Row{{
			"master_host": "db-0", "master_port": "3306", "master_server_id": "1", "slave_io_running": "Yes", "slave_sql_running": "Yes",
			"seconds_behind_master": "0", "gtid_io_pos": "0-1-6", "last_io_errno": "0", "last_sql_errno": "0", "using_gtid": "Slave_Pos",
		}},
		oldest: []sql.Row{{"event_type": "Format_desc"}, {"event_type": "Gtid_list", "info": "[0-1-2]"}},
	}
}

func TestDecodeMySQL(t *testing.T) {
	now, lag := time.Unix(1800000001, 0), 2*time.Second
	require.Equal(t, replication.State{
		Node: "db-1", ID: uuidB, Version: "9.7.4-2", Flavor: replication.MySQL, Serving: true, Looked: now, Started: time.Unix(1799999900, 0).UTC(),
		Writes: replication.RefusedAtStart, Executed: uuidA + ":1-4", Received: uuidA + ":2-4", Purged: "none",
		Source:   &replication.Source{Host: "db-0", Port: 3306, ID: uuidA, Receiving: true, Applying: true, Started: true, Lag: &lag},
		SemiSync: replication.SemiSync{Replica: true, Acknowledging: true, Installed: true, Waiting: 3},
	}, replicaOfMySQL().state(dialects[replication.MySQL], now))
}

func TestDecodeMariaDB(t *testing.T) {
	now, lag := time.Unix(1800000001, 0), time.Duration(0)
	require.Equal(t, replication.State{
		Node: "db-1:3307", Unnamed: true, ID: "2", Version: "10.11.19-MariaDB-0+deb12u1-log", Flavor: replication.MariaDB, Serving: true, Looked: now, Started: time.Unix(1799999900, 0).UTC(),
		Writes: replication.RefusedBySQL, Executed: "0-2-3,0-1-5", Received: "0-1-6", Purged: "0-1-2",
		Source:   &replication.Source{Host: "db-0", Port: 3306, ID: "1", Receiving: true, Applying: true, Started: true, Lag: &lag},
		SemiSync: replication.SemiSync{Installed: true},
	}, replicaOfMariaDB().state(dialects[replication.MariaDB], now))
}

func TestDecodeWrites(t *testing.T) {
	for name, c := range map[string]struct {
		identity       sql.Row
		origin         []sql.Row
		want           replication.Writes
		startsWritable bool
	}{
		"nothing is known":          {sql.Row{}, nil, replication.WritesUnknown, false},
		"a value that is empty":     {sql.Row{"read_only": "0", "super_read_only": ""}, nil, replication.WritesUnknown, false},
		"allowed at start":          {sql.Row{"read_only": "0", "super_read_only": "0"}, []sql.Row{{"name": "read_only", "origin": "COMPILED"}}, replication.Allowed, true},
		"allowed, origin not known": {sql.Row{"read_only": "0", "super_read_only": "0"}, nil, replication.Allowed, false},
		"allowed until the next":    {sql.Row{"read_only": "0"}, []sql.Row{{"name": "read_only", "origin": "COMPILED"}, {"name": "persisted super_read_only", "origin": "ON"}}, replication.Allowed, false},
		"allowed by SQL":            {sql.Row{"read_only": "0"}, []sql.Row{{"name": "read_only", "origin": "SQL"}}, replication.Allowed, false},
		"only the weaker one":       {sql.Row{"read_only": "1", "super_read_only": "0"}, []sql.Row{{"name": "read_only", "origin": "EXPLICIT"}}, replication.RefusedAtStart, false},
		"one of both by SQL":        {sql.Row{"read_only": "1", "super_read_only": "1"}, []sql.Row{{"name": "read_only", "origin": "DYNAMIC"}, {"name": "super_read_only", "origin": "GLOBAL"}}, replication.RefusedBySQL, false},
		"refused, origin not known": {sql.Row{"read_only": "1"}, nil, replication.RefusedBySQL, false},
		"persisted":                 {sql.Row{"read_only": "1"}, []sql.Row{{"name": "read_only", "origin": "PERSISTED"}}, replication.RefusedAtStart, false},
		"persisted off since":       {sql.Row{"read_only": "0", "super_read_only": "0"}, []sql.Row{{"name": "read_only", "origin": "DYNAMIC"}, {"name": "persisted read_only", "origin": "OFF"}, {"name": "persisted super_read_only", "origin": "OFF"}}, replication.Allowed, true},
		"closed, persisted off":     {sql.Row{"read_only": "1", "super_read_only": "1"}, []sql.Row{{"name": "read_only", "origin": "DYNAMIC"}, {"name": "persisted read_only", "origin": "OFF"}}, replication.RefusedBySQL, true},
		"persisted off for later":   {sql.Row{"read_only": "1", "super_read_only": "1"}, []sql.Row{{"name": "read_only", "origin": "COMPILED"}, {"name": "persisted read_only", "origin": "OFF"}}, replication.RefusedAtStart, true},
		"only the stricter off":     {sql.Row{"read_only": "1", "super_read_only": "0"}, []sql.Row{{"name": "read_only", "origin": "EXPLICIT"}, {"name": "persisted super_read_only", "origin": "OFF"}}, replication.RefusedAtStart, false},
		"a level that is not known": {sql.Row{"read_only": "NO_LOCK_NO_ADMIN"}, []sql.Row{{"name": "read_only", "origin": "CONFIG"}}, replication.RefusedAtStart, false},
		"a level of newer servers":  {sql.Row{"read_only": "OFF"}, []sql.Row{{"name": "read_only", "origin": "SQL"}}, replication.Allowed, false},
	} {
		got, startsWritable := (answers{identity: c.identity, origin: c.origin}).writes()
		require.Equal(t, c.want, got, name)
		require.Equal(t, c.startsWritable, startsWritable, name)
	}
}

func TestDecodeSource(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r sql.Row)
		check  func(t *testing.T, s replication.Source)
	}{
		"the lag is NULL": {func(r sql.Row) { delete(r, "seconds_behind_source") }, func(t *testing.T, s replication.Source) { require.Nil(t, s.Lag) }},
		"connecting, with an old lag": {func(r sql.Row) { r["replica_io_running"] = "Connecting" }, func(t *testing.T, s replication.Source) {
			require.Nil(t, s.Lag)
			require.False(t, s.Receiving)
			require.True(t, s.Started)
		}},
		"stopped":     {func(r sql.Row) { r["replica_io_running"], r["replica_sql_running"] = "No", "No" }, func(t *testing.T, s replication.Source) { require.False(t, s.Started) }},
		"one stopped": {func(r sql.Row) { r["replica_io_running"] = "No" }, func(t *testing.T, s replication.Source) { require.False(t, s.Started) }},
		"failed": {func(r sql.Row) {
			r["replica_sql_running"], r["last_sql_errno"], r["last_sql_error"] = "No", "1062", "Duplicate entry\n. Default database: 'd'. Query: 'insert hunter2'"
		}, func(t *testing.T, s replication.Source) {
			require.True(t, s.Started, "it is meant to run")
			require.Equal(t, "error 1062: Duplicate entry . Default database: 'd'.", s.Failure)
		}},
		"by position": {func(r sql.Row) { r["auto_position"] = "0" }, func(t *testing.T, s replication.Source) { require.True(t, s.ByPosition) }},
		"not known":   {func(r sql.Row) { delete(r, "auto_position") }, func(t *testing.T, s replication.Source) { require.True(t, s.ByPosition) }},
		"no filter": {func(r sql.Row) { r["replicate_do_db"], r["replicate_ignore_server_ids"] = "", "" }, func(t *testing.T, s replication.Source) {
			require.False(t, s.Filtered)
			require.Zero(t, s.Delay)
		}},
		"a filter":        {func(r sql.Row) { r["replicate_wild_ignore_table"] = "logs.%" }, func(t *testing.T, s replication.Source) { require.True(t, s.Filtered) }},
		"a delay":         {func(r sql.Row) { r["sql_delay"] = "3600" }, func(t *testing.T, s replication.Source) { require.Equal(t, time.Hour, s.Delay) }},
		"never reached":   {func(r sql.Row) { delete(r, "source_uuid") }, func(t *testing.T, s replication.Source) { require.Empty(t, s.ID) }},
		"nothing is told": {func(r sql.Row) { delete(r, "replica_io_running") }, func(t *testing.T, s replication.Source) { require.False(t, s.Started || s.Receiving) }},
	} {
		t.Run(name, func(t *testing.T) {
			a := replicaOfMySQL()
			c.change(a.source[0])
			s := a.state(dialects[replication.MySQL], time.Unix(0, 0))
			require.NotNil(t, s.Source)
			c.check(t, *s.Source)
		})
	}
	a := replicaOfMySQL()
	a.source = append(a.source, sql.Row{"source_host": "x"})
	s := a.state(dialects[replication.MySQL], time.Unix(0, 0))
	require.False(t, s.Serving, "of several sources none can be changed for another")
	require.Contains(t, s.Problem, "follows 2 servers")
	a.source = []sql.Row{{"source_host": "", "channel_name": ""}, {"source_host": "<NULL>", "channel_name": "group_replication_applier"}}
	require.Nil(t, a.state(dialects[replication.MySQL], time.Unix(0, 0)).Source)
}

// TestDecodeKeepsUnknown checks that if one of the answers is missing, the server does not count as
// serving, or the value permits nothing.
func TestDecodeKeepsUnknown(t *testing.T) {
	for _, field := range []string{"id", "now", "read_only"} {
		a := replicaOfMySQL()
		delete(a.identity, field)
		require.False(t, a.state(dialects[replication.MySQL], time.Unix(0, 0)).Serving, field)
	}
	a := replicaOfMySQL()
	a.missing = []string{"needs PROCESS", "needs REPLICATION CLIENT"}
	s := a.state(dialects[replication.MySQL], time.Unix(0, 0))
	require.False(t, s.Serving)
	require.Equal(t, "cannot learn all that is needed: needs PROCESS; needs REPLICATION CLIENT", s.Problem)

	a = replicaOfMySQL()
	a.identity["executed"] = "garbage"
	require.False(t, a.state(dialects[replication.MySQL], time.Unix(0, 0)).Serving)
	a = replicaOfMySQL()
	a.identity["gtid_mode"] = "OFF"
	s = a.state(dialects[replication.MySQL], time.Unix(0, 0))
	require.True(t, s.Serving)
	require.Empty(t, s.Executed, "which is behind everything")
	require.Empty(t, s.Purged)
	b := replicaOfMariaDB()
	b.identity["slave_pos"] = "0-1"
	require.False(t, b.state(dialects[replication.MariaDB], time.Unix(0, 0)).Serving)
}

// TestDecodeNothingExecuted checks that a server that has executed nothing is told from one of
// which that is not known.
func TestDecodeNothingExecuted(t *testing.T) {
	mysql := func(change func(sql.Row)) replication.State {
		a := replicaOfMySQL()
		a.identity["executed"] = ""
		change(a.identity)
		return a.state(dialects[replication.MySQL], time.Unix(0, 0))
	}
	mariadb := func(change func(sql.Row)) replication.State {
		a := replicaOfMariaDB()
		a.identity["binlog_state"], a.identity["slave_pos"] = "", ""
		change(a.identity)
		return a.state(dialects[replication.MariaDB], time.Unix(0, 0))
	}
	for name, c := range map[string]struct {
		state    replication.State
		executed string
		serving  bool
	}{
		"MySQL":                       {mysql(func(sql.Row) {}), "none", true},
		"MySQL without GTIDs":         {mysql(func(r sql.Row) { r["gtid_mode"] = "OFF_PERMISSIVE" }), "", true},
		"MySQL without a log":         {mysql(func(r sql.Row) { r["log_bin"] = "0" }), "", true},
		"MySQL does not tell":         {mysql(func(r sql.Row) { delete(r, "executed") }), "", true},
		"MySQL, log not known":        {mysql(func(r sql.Row) { delete(r, "log_bin") }), "", true},
		"MariaDB":                     {mariadb(func(sql.Row) {}), "none", true},
		"MariaDB without a log":       {mariadb(func(r sql.Row) { r["log_bin"] = "0" }), "", true},
		"MariaDB without a log, fed":  {mariadb(func(r sql.Row) { r["log_bin"], r["slave_pos"] = "0", "0-1-5" }), "0-1-5", true},
		"MariaDB does not tell":       {mariadb(func(r sql.Row) { delete(r, "binlog_state") }), "", false},
		"MariaDB, applied a position": {mariadb(func(r sql.Row) { r["slave_pos"] = "0-1-5" }), "0-1-5", true},
	} {
		require.Equal(t, c.executed, c.state.Executed, name)
		require.Equal(t, c.serving, c.state.Serving, name)
	}
}

func TestDecodeBusy(t *testing.T) {
	for want, a := range map[string]answers{
		"":                                    {},
		"a clone is in progress":              {clones: []sql.Row{{"state": "In Progress"}}},
		"a backup holds its lock":             {locks: []sql.Row{{"type": "BACKUP LOCK"}}},
		"somebody holds the global read lock": {locks: []sql.Row{{"type": "GLOBAL"}}},
		"ALTER TABLE for 1m5s":                {running: []sql.Row{{"statement": "  alter\ttable hunter2 add x int", "time": "65"}}},
		"OPTIMIZE TABLE for 4s":               {running: []sql.Row{{"statement": "OPTIMIZE TABLE hunter2", "time": "4"}}},
		"a dump for 4s":                       {running: []sql.Row{{"statement": "SELECT /*!40001 SQL_NO_CACHE */ * FROM hunter2", "time": "4"}}},
		"CREATE for 4s":                       {running: []sql.Row{{"statement": "CREATE UNIQUE INDEX hunter2", "time": "4"}}},
		"LOAD for 5s":                         {running: []sql.Row{{"time": "x"}, {"statement": "LOAD DATA", "time": "5"}}},
		"a statement for 3s":                  {running: []sql.Row{{"time": "3"}}},
		"what was open when it crashed is being rolled back": {open: sql.Row{"undone": "1"}},
	} {
		require.Equal(t, want, a.busy())
	}
	a := replicaOfMySQL()
	a.open = sql.Row{"transactions": "2", "age": "7"}
	require.Equal(t, 7*time.Second, a.state(dialects[replication.MySQL], time.Unix(0, 0)).Writing)
	a.open = sql.Row{"transactions": "1", "age": "0"}
	require.NotZero(t, a.state(dialects[replication.MySQL], time.Unix(0, 0)).Writing, "it has just begun")
	a.open = sql.Row{"transactions": "0", "age": "0"}
	require.Zero(t, a.state(dialects[replication.MySQL], time.Unix(0, 0)).Writing)
}

func TestDecodeSemiSyncNames(t *testing.T) {
	a := replicaOfMySQL()
	a.switches = sql.Row{"rpl_semi_sync_master_enabled": "ON", "rpl_semi_sync_slave_enabled": "OFF", "rpl_semi_sync_master_wait_for_slave_count": "2"}
	a.counters = sql.Row{"rpl_semi_sync_master_status": "ON", "rpl_semi_sync_master_clients": "2", "rpl_semi_sync_master_wait_sessions": "1"}
	require.Equal(t, replication.SemiSync{Source: true, Acks: 2, Clients: 2, Working: true, Waiting: 1, Installed: true}, a.semiSync(dialects[replication.MySQL]), "the older names")
	for _, name := range []string{"rpl_semi_sync_source_wait_no_replica", "rpl_semi_sync_master_wait_no_slave"} {
		for value, givesUp := range map[string]bool{"OFF": true, "ON": false, "": false} {
			a.switches = sql.Row{name: value}
			require.Equal(t, givesUp, a.semiSync(dialects[replication.MySQL]).GivesUp, name+value)
		}
	}
	a.switches = sql.Row{}
	require.False(t, a.semiSync(dialects[replication.MySQL]).Installed)
	require.False(t, a.semiSync(dialects[replication.MySQL]).GivesUp, "it does not tell")
	b := replicaOfMariaDB()
	b.switches["rpl_semi_sync_master_enabled"] = "ON"
	require.Equal(t, 1, b.semiSync(dialects[replication.MariaDB]).Acks, "always one")
}

func TestDecodeGroup(t *testing.T) {
	a := replicaOfMySQL()
	a.switches["group_replication_group_name"] = uuidA
	a.switches["group_replication_single_primary_mode"] = "ON"
	member := func(id, state, role string) sql.Row {
		return sql.Row{"id": id, "host": "db-" + id[:1], "port": "3306", "state": state, "role": role, "version": "9.7.4"}
	}
	a.members = []sql.Row{member(uuidA, "ONLINE", "PRIMARY"), member(uuidB, "ONLINE", "SECONDARY"), member("5", "UNREACHABLE", "SECONDARY")}
	g := a.state(dialects[replication.MySQL], time.Unix(0, 0)).Group
	require.True(t, g.Quorum && g.Primary)
	require.Len(t, g.Members, 3)
	require.Equal(t, replication.GroupMember{ID: uuidA, Host: "db-3", Port: 3306, State: "ONLINE", Role: "PRIMARY", Version: "9.7.4"}, g.Members[0])
	a.members[0]["state"] = "UNREACHABLE"
	require.False(t, a.state(dialects[replication.MySQL], time.Unix(0, 0)).Group.Quorum)
	a.members = []sql.Row{member(uuidA, "ONLINE", "PRIMARY"), member("5", "ONLINE", "SECONDARY")}
	require.False(t, a.state(dialects[replication.MySQL], time.Unix(0, 0)).Group.Quorum, "it is not in it itself")
	a.members = []sql.Row{{"state": "OFFLINE"}}
	s := a.state(dialects[replication.MySQL], time.Unix(0, 0))
	require.False(t, s.Group.Quorum)
	require.Equal(t, []replication.GroupMember{{ID: s.ID, Host: "db-1", Port: 3306, State: "OFFLINE"}}, s.Group.Members, "it says so of itself")
	require.Equal(t, engines.MembershipNotLive, ownStanding(s))
}

// TestMembersOfGaleraAreRefused: they are members of another kind of database, whatever else they say.
func TestMembersOfGaleraAreRefused(t *testing.T) {
	look := func(a answers, flavor replication.Flavor) replication.State {
		return a.state(dialects[flavor], time.Unix(0, 0))
	}
	a, b := replicaOfMySQL(), replicaOfMariaDB()
	a.switches["wsrep_on"], b.switches["wsrep_on"] = "ON", "ON"
	b.missing = []string{"needs PROCESS"}
	s := look(b, replication.MariaDB)
	require.False(t, s.Serving)
	require.Equal(t, "the server is a member of a Galera Cluster: set spec.engine to Galera", s.Problem)
	require.Equal(t, "the server is a member of Percona XtraDB Cluster or of MySQL with Galera, which are not supported", look(a, replication.MySQL).Problem)
	b.switches["wsrep_provider"], b.missing = "none", nil
	require.True(t, look(b, replication.MariaDB).Serving, "its provider is not loaded")
}

// FuzzState checks that whatever a server answers, the State is one line each, small, and permits
// nothing that was not said.
func FuzzState(f *testing.F) {
	for flavor, a := range map[replication.Flavor]answers{replication.MySQL: replicaOfMySQL(), replication.MariaDB: replicaOfMariaDB()} {
		data, err := json.Marshal([]any{a.identity, a.switches, a.counters, a.origin, a.source, a.replicas, a.running, a.members, a.oldest})
		require.NoError(f, err)
		f.Add(string(flavor), data)
	}
	f.Fuzz(func(t *testing.T, flavor string, data []byte) {
		d, ok := dialects[replication.Flavor(flavor)]
		var a answers
		into := []any{&a.identity, &a.switches, &a.counters, &a.origin, &a.source, &a.replicas, &a.running, &a.members, &a.oldest}
		if !ok || json.Unmarshal(data, &into) != nil {
			return
		}
		s := a.state(d, time.Unix(0, 0))
		if s.Serving && (s.ID == "" || s.Node == "" || s.Writes == replication.WritesUnknown || s.Started.IsZero()) {
			t.Fatalf("%+v", s)
		}
		if s.Source != nil && s.Source.Lag != nil && !(s.Source.Receiving && s.Source.Applying) {
			t.Fatalf("%+v", s.Source)
		}
		for _, text := range []string{s.Node, s.ID, s.Version, s.Problem, s.Busy, s.Executed} {
			if strings.ContainsAny(text, "\n\r\x00") {
				t.Fatalf("%q", text)
			}
		}
		if again, err := json.Marshal(s); err != nil || json.Unmarshal(again, &replication.State{}) != nil {
			t.Fatal(err)
		}
	})
}

func ownStanding(s replication.State) engines.Membership {
	return topology.Observe(topology.View{Self: topology.Member{State: s, Known: true}}).Member
}
