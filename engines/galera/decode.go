package galera

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/sql"
)

const (
	// maxMembers bounds a component; Galera's own bound is lower.
	maxMembers = 128
	// maxWeight bounds the weight of a member, as Galera does.
	maxWeight = 255
	// noUUID is that of a member without a history.
	noUUID = "00000000-0000-0000-0000-000000000000"
)

// state makes a State of what the server said. What it did not say is unknown.
func (a answers) state(now time.Time) State {
	v, st := a.variables, a.status
	s := State{
		Node: v.Words("wsrep_node_name"), Version: plainVersion(v.Words("version")), Looked: now, Committed: -1, Cached: -1,
		UUID: st.Words("wsrep_gcomm_uuid"), Cluster: st.Words("wsrep_cluster_state_uuid"),
		Primary: st.Text("wsrep_cluster_status") == "Primary", Operational: st.Text("wsrep_evs_state") == "OPERATIONAL",
		Words: st.Words("wsrep_local_state_comment"), Phase: phase(st),
	}
	problems := a.problem()
	if s.Problem = a.other(); s.Problem != "" {
		return s
	}
	s.Connected, _ = st.On("wsrep_connected")
	s.Ready, _ = st.On("wsrep_ready")
	s.Rejects = v.Text("wsrep_reject_queries") != "NONE"
	s.View = number(st, "wsrep_cluster_conf_id")
	s.Size = int(min(number(st, "wsrep_cluster_size"), maxMembers+1))
	s.Desynced = int(min(number(st, "wsrep_desync_count"), 1<<20))
	s.Total = int(min(number(st, "wsrep_cluster_weight"), maxMembers*maxWeight))
	if n, ok := st.Number("wsrep_last_committed"); ok && n < 1<<62 {
		s.Committed = int64(n)
	}
	if n, ok := st.Number("wsrep_local_cached_downto"); ok && n > 0 && n < 1<<62 {
		s.Cached = int64(n)
	}
	options := v.Text("wsrep_provider_options")
	weight, err := strconv.ParseUint(providerOption(options, "pc.weight"), 10, 8)
	s.Weight = int(weight)
	for _, name := range []string{"pc.ignore_sb", "pc.ignore_quorum"} {
		on, known := sql.IsOn(providerOption(options, name))
		s.SplitBrain = s.SplitBrain || on || !known
	}
	s.Received, s.Expected = received(s.Words)
	for _, r := range a.members {
		s.Seen = append(s.Seen, Seen{UUID: r.Words("uuid"), Name: r.Words("name"), Address: r.Words("address")})
	}
	if len(a.writing) == 1 {
		if n, ok := a.writing[0].Number("transactions"); ok && n > 0 {
			age, _ := a.writing[0].Seconds("age")
			s.Writing = max(age, time.Millisecond)
		}
	}
	switch {
	case problems != "":
		s.Problem = problems
	case len(s.Seen) > maxMembers || s.Size > maxMembers:
		s.Seen, s.Problem = nil, "it tells of more members than can be told on"
	case s.Primary && (s.UUID == "" || s.Cluster == "" || s.Cluster == noUUID || s.Phase == PhaseUnknown || err != nil || s.Total == 0):
		s.Problem = "the server does not tell who it is in its group and what it does"
	case s.Primary && s.Ready && !s.complete():
		s.Problem = "its list of members does not fit the number of members: the view changes"
	}
	s.Serving = s.Problem == ""
	return s
}

// other explains why the server is none that this adapter is for. Empty means that it is one.
func (a answers) other() string {
	v := a.variables
	switch on, _ := v.On("wsrep_on"); {
	case !on, v.Text("wsrep_provider") == "none", v.Text("wsrep_node_name") == "":
		return "the server is not a member of a Galera Cluster: set spec.engine to MariaDB or MySQL"
	case !strings.Contains(v.Text("version"), "MariaDB"):
		return "the server is not MariaDB: Percona XtraDB Cluster and MySQL with Galera are not supported"
	}
	return ""
}

// complete reports whether the list of members has as many as the component, and the own one.
func (s State) complete() bool {
	return len(s.Seen) == s.Size && slices.ContainsFunc(s.Seen, func(m Seen) bool { return m.UUID == s.UUID })
}

// phase reads the number of the state; its words differ between versions.
func phase(status sql.Row) Phase {
	words := status.Text("wsrep_local_state_comment")
	if words == "Inconsistent" || strings.HasPrefix(words, "Disconnect") {
		return Detached
	}
	if n, ok := status.Number("wsrep_local_state"); ok && n >= uint64(Joining) && n <= uint64(Synced) {
		return Phase(n)
	}
	if n, ok := status.Number("wsrep_local_state"); ok && n == 0 {
		if on, known := status.On("wsrep_connected"); known && !on {
			return Detached
		}
		return Joining
	}
	return PhaseUnknown
}

func number(r sql.Row, name string) int64 {
	n, ok := r.Number(name)
	if !ok || n > 1<<62 {
		return 0
	}
	return int64(n)
}

// progress is how a server tells how much of an incremental state transfer it has applied.
var progress = regexp.MustCompile(`\((\d{1,18})/(\d{1,18}) events\)`)

func received(words string) (have, want int64) {
	if m := progress.FindStringSubmatch(words); m != nil {
		have, _ = strconv.ParseInt(m[1], 10, 64)
		want, _ = strconv.ParseInt(m[2], 10, 64)
	}
	return have, want
}

// plainVersion is without what follows the numbers.
func plainVersion(text string) string {
	if v, err := engines.ParseVersion(text); err == nil {
		return v.String()
	}
	return text
}
