package server

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/gtid"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/sql"
)

// maxListed bounds what a State carries: members tell it each other.
const maxListed = 64

// state concludes from the answers: pure. now is the time before they were asked for.
func (a answers) state(d *dialect, now time.Time) replication.State {
	i := a.identity
	s := replication.State{
		Node:     replication.JoinName(cmp.Or(i.Text("report_host"), i.Text("hostname")), cmp.Or(trimZero(i.Text("report_port")), i.Text("port"))),
		ID:       i.Words("id"),
		ServerID: i.Words("server_id"),
		Unnamed:  i.Text("report_host") == "",
		Version:  i.Words("version"),
		Flavor:   d.flavor,
		Looked:   now,
	}
	problems := a.missing
	s.Started = a.started()
	s.Writes, s.StartsWritable = a.writes()
	if s.Writes == replication.WritesUnknown || s.ID == "" || s.Node == "" || s.Started.IsZero() {
		problems = append(problems, "the server does not tell who it is and whether it allows writes")
	}
	problems = append(problems, a.positions(d, &s)...)
	if problem := a.sources(&s); problem != "" {
		problems = append(problems, problem)
	}
	if len(a.replicas) > maxListed || len(a.members) > maxListed {
		problems = append(problems, "it tells of more servers than can be told on")
		a.replicas, a.members = nil, nil
	}
	for _, r := range a.replicas {
		s.Replicas = append(s.Replicas, replica(r))
	}
	s.Log, s.Unlogged = a.log(), a.unlogged
	s.SemiSync = a.semiSync(d)
	s.Group = a.group(s)
	s.Lacks = a.lacks(d, s.Group != nil)
	s.Busy = a.busy()
	if n, ok := a.open.Number("transactions"); ok && n > 0 {
		age, _ := a.open.Seconds("age")
		s.Writing = max(age, time.Millisecond)
	}
	s.Problem = cmp.Or(a.ofGalera(d.flavor), missing(problems))
	s.Serving = s.Problem == ""
	return s
}

func trimZero(port string) string {
	if port == "0" {
		return ""
	}
	return port
}

func (a answers) started() time.Time {
	now, ok := a.identity.Number("now")
	up, known := a.counters.Seconds("uptime")
	if !ok || !known || now > 1<<33 {
		return time.Time{}
	}
	return time.Unix(int64(now), 0).Add(-up).UTC()
}

// writes tells also whether it starts so: the origin of a variable is that of its
// configuration until somebody sets it.
func (a answers) writes() (w replication.Writes, startsWritable bool) {
	refused := false
	for _, v := range []string{"read_only", "super_read_only"} {
		value, there := a.identity.First(v)
		on, known := sql.IsOn(value)
		switch {
		case !there && v == "read_only" || value == "" && there:
			return replication.WritesUnknown, false
		case !there:
		case !known: // the stricter levels of newer servers
			refused = true
		default:
			refused = refused || on
		}
	}
	bySQL, known, persisted, unpersisted := false, false, false, false
	for _, r := range a.origin {
		if variable, is := strings.CutPrefix(r.Text("name"), "persisted "); is {
			on, told := sql.IsOn(r.Text("origin"))
			persisted = persisted || on
			unpersisted = unpersisted || told && !on && variable == "read_only"
			continue
		}
		known = true
		origin := strings.ToUpper(r.Text("origin"))
		bySQL = bySQL || origin == "DYNAMIC" || origin == "SQL"
	}
	// A persisted value goes before that of the configuration, whatever was set since.
	unpersisted = unpersisted && !persisted
	switch {
	case !refused:
		return replication.Allowed, unpersisted || known && !bySQL && !persisted
	case !known || bySQL:
		return replication.RefusedBySQL, unpersisted
	}
	return replication.RefusedAtStart, unpersisted
}

// positions returns what is wrong with them. That a server has executed nothing is
// known only where its log is on: without it, it has no GTID for what is written here.
func (a answers) positions(d *dialect, s *replication.State) (problems []string) {
	defer func() {
		if on, _ := a.identity.On("log_bin"); s.Executed == gtid.None && !on {
			s.Executed = ""
		}
	}()
	fit := func(text string) string {
		p, err := gtid.Parse(d.flavor.Notation(), text)
		if err != nil {
			problems = append(problems, err.Error())
			return ""
		}
		return p.String()
	}
	i := a.identity
	if d.flavor == replication.MySQL {
		if mode := i.Text("gtid_mode"); mode != "ON" {
			return nil // nothing can be compared, which the empty positions say
		}
		if executed, told := i.First("executed"); told {
			s.Executed = fit(executed)
		}
		if purged, told := i.First("purged"); told {
			s.Purged = fit(purged)
		}
		return problems
	}
	if _, told := i.First("binlog_state"); !told {
		return []string{"it does not tell its positions"}
	}
	written, err := gtid.Parse(d.flavor.Notation(), i.Text("binlog_state"))
	applied, err2 := gtid.Parse(d.flavor.Notation(), i.Text("slave_pos"))
	if err != nil || err2 != nil {
		return []string{"its positions cannot be read: " + cmp.Or(err, err2).Error()}
	}
	s.Executed = written.Union(applied).String()
	for _, r := range a.oldest {
		if r.Text("event_type") == "Gtid_list" {
			s.Purged = fit(strings.Trim(r.Text("info"), "[]"))
		}
	}
	return problems
}

// sources reads the one server that is followed, and says when there are several.
func (a answers) sources(s *replication.State) string {
	var found []sql.Row
	for _, r := range a.source {
		if strings.HasPrefix(r.Text("channel_name"), "group_replication_") || r.Text("source_host", "master_host") == "" {
			continue
		}
		found = append(found, r)
	}
	if len(found) == 0 {
		return ""
	}
	r := found[0]
	port, _ := r.Number("source_port", "master_port")
	io, applier := r.Text("replica_io_running", "slave_io_running"), r.Text("replica_sql_running", "slave_sql_running")
	src := &replication.Source{
		Host: r.Words("source_host", "master_host"), Port: int(min(port, 1<<16)),
		ID:        r.Words("source_uuid", "master_server_id"),
		Receiving: io == "Yes", Applying: applier == "Yes",
		Started:    (io != "No" || failed(r, "last_io_errno")) && (applier != "No" || failed(r, "last_sql_errno")) && io != "" && applier != "",
		Failure:    failure(r),
		ByPosition: byPosition(r),
		Applied:    applied(r),
		Filtered:   filtered(r),
	}
	src.Delay, _ = r.Seconds("sql_delay")
	if src.ID == "0" {
		src.ID = ""
	}
	if lag, ok := r.Seconds("seconds_behind_source", "seconds_behind_master"); ok && src.Receiving && src.Applying {
		src.Lag = &lag
	}
	s.Source = src
	if received := r.Text("retrieved_gtid_set", "gtid_io_pos"); received != "" {
		if p, err := gtid.Parse(s.Flavor.Notation(), received); err == nil {
			s.Received = p.String()
		}
	}
	if len(found) > 1 {
		src.ByPosition = true
		return "it follows " + strconv.Itoa(len(found)) + " servers"
	}
	return ""
}

func failed(r sql.Row, errno string) bool {
	n, ok := r.Number(errno)
	return ok && n != 0
}

// failure returns the failure of either thread, without what a statement was about.
func failure(r sql.Row) string {
	for _, f := range [][2]string{{"last_io_errno", "last_io_error"}, {"last_sql_errno", "last_sql_error"}} {
		if failed(r, f[0]) {
			words, _, _ := strings.Cut(r.Text(f[1]), " Query: '")
			return engines.OneLine("error " + r.Text(f[0]) + ": " + words)
		}
	}
	return ""
}

// byPosition reports whether it is known, or not known not, to follow so.
func byPosition(r sql.Row) bool {
	if auto, ok := r.First("auto_position"); ok {
		return auto != "1"
	}
	using := strings.ToLower(r.Text("using_gtid"))
	return using != "slave_pos" && using != "current_pos"
}

// filtered reports whether any of the rules of what is not replicated is set: versions differ in
// which there are, and all are empty otherwise.
func filtered(r sql.Row) bool {
	for name, value := range r {
		if strings.HasPrefix(name, "replicate_") && value != "" {
			return true
		}
	}
	return false
}

func replica(r sql.Row) replication.Replica {
	port, _ := r.Number("port")
	return replication.Replica{ID: r.Words("replica_uuid", "slave_uuid", "server_id"), Host: r.Words("host"), Port: int(min(port, 1<<16))}
}

// semiSync under whichever names it is installed.
func (a answers) semiSync(d *dialect) replication.SemiSync {
	v, c := a.switches, a.counters
	var s replication.SemiSync
	var sourceThere, replicaThere bool
	s.Source, sourceThere = v.On("rpl_semi_sync_source_enabled", "rpl_semi_sync_master_enabled")
	s.Replica, replicaThere = v.On("rpl_semi_sync_replica_enabled", "rpl_semi_sync_slave_enabled")
	s.Installed = sourceThere && replicaThere
	s.Working, _ = c.On("rpl_semi_sync_source_status", "rpl_semi_sync_master_status")
	s.Acknowledging, _ = c.On("rpl_semi_sync_replica_status", "rpl_semi_sync_slave_status")
	waits, told := v.On("rpl_semi_sync_source_wait_no_replica", "rpl_semi_sync_master_wait_no_slave")
	s.GivesUp = told && !waits
	count := func(n uint64, _ bool) int { return int(min(n, 1<<16)) }
	s.Clients = count(c.Number("rpl_semi_sync_source_clients", "rpl_semi_sync_master_clients"))
	s.Waiting = count(c.Number("rpl_semi_sync_source_wait_sessions", "rpl_semi_sync_master_wait_sessions"))
	if s.Source {
		s.Acks = 1
		if d.flavor == replication.MySQL {
			s.Acks = count(v.Number("rpl_semi_sync_source_wait_for_replica_count", "rpl_semi_sync_master_wait_for_slave_count"))
		}
	}
	return s
}

// busy with what a restart would waste; the longest.
func (a answers) busy() string {
	if len(a.clones) > 0 {
		return "a clone is in progress"
	}
	if len(a.locks) > 0 {
		if strings.EqualFold(a.locks[0].Text("type"), "GLOBAL") {
			return "somebody holds the global read lock"
		}
		return "a backup holds its lock"
	}
	if n, ok := a.open.Number("undone"); ok && n > 0 { // of nobody's session
		return "what was open when it crashed is being rolled back"
	}
	for _, r := range a.running {
		if age, ok := r.Seconds("time"); ok {
			return engines.OneLine(quiet(r.Text("statement"))) + " for " + age.String()
		}
	}
	return ""
}
