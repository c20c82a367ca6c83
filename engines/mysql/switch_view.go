package mysql

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/gtid"
)

// view is what one decision is made from: values only.
type view struct {
	now time.Time
	// claim in hand, with the members that may take over (empty: any), the time past
	// which nothing may be started (zero: no limit), and whether the node allowed
	// writes when its undo was planned.
	claim    string
	eligible []string
	notAfter time.Time
	wrote    bool
	// undoing: the order is over; nobody else is asked to take over any more.
	undoing bool

	self   member
	others []member // by ordinal
	// before is the local server as it was before the others were looked at; nil: not known.
	before *State

	maxLag time.Duration
	limits Limits
	// past is where the local server was longer than maxLag ago; zero: not known.
	past mark
	// again is when the next try may begin, failed why the last one did not work.
	again  time.Time
	failed string
	// ran: replication was seen running here since the server started.
	ran bool
	// closedElsewhere: this agent has seen the server allow writes, and has not stopped
	// them itself since.
	closedElsewhere bool
	// refusals of members to follow, in this call.
	refusals map[string]string
	// dropped: all were told in this call that the try is over.
	dropped bool
}

// member is one of the database's, as it was looked at.
type member struct {
	peer  engines.Peer
	state State
	// known: state is an answer to a question asked for this view. Why it is not.
	known bool
	why   string
}

func (m member) name() string { return cmp.Or(m.state.Node, m.peer.Node, m.peer.Pod) }

// serves: all that was asked for is known.
func (m member) serves() bool { return m.known && m.state.Serving }

func (m member) allows() bool { return m.serves() && m.state.Writes == Allowed }

// refuses writes for sure; what is unknown does not.
func (m member) refuses() bool {
	return m.serves() && (m.state.Writes == RefusedAtStart || m.state.Writes == RefusedBySQL)
}

// silence says why nothing is known.
func (m member) silence() string {
	switch {
	case !m.known && m.why != "":
		return m.name() + " does not answer: " + m.why
	case !m.known:
		return m.name() + " does not answer"
	case m.state.Problem != "":
		return m.name() + " does not serve: " + engines.OneLine(m.state.Problem)
	}
	return m.name() + " does not serve"
}

func (v view) all() []member { return append([]member{v.self}, v.others...) }

func (v view) find(name string) (member, bool) {
	i := slices.IndexFunc(v.others, func(m member) bool { return m.name() == name })
	if i < 0 {
		return member{}, false
	}
	return v.others[i], true
}

// writers are the others that allow writes.
func (v view) writers() []member {
	var out []member
	for _, m := range v.others {
		if m.allows() {
			out = append(out, m)
		}
	}
	return out
}

// sourceOf answers the member that m follows; false: none, or one outside.
func (v view) sourceOf(m member) (member, bool) {
	if m.state.Source == nil {
		return member{}, false
	}
	all := v.all()
	i := slices.IndexFunc(all, func(s member) bool { return isSource(m.state.Source, s) })
	if i < 0 {
		return member{}, false
	}
	return all[i], true
}

func (v view) follows(m, source member) bool {
	s, ok := v.sourceOf(m)
	return ok && s.name() == source.name()
}

// isSource compares where a replica goes to with how a member is called: the whole
// name, or its first parts where one of the two is longer. A server of another
// database may be called so too: one that is connected tells who it is.
func isSource(s *Source, m member) bool {
	host, port := split(m.name())
	if s.Port != 0 && s.Port != port {
		return false
	}
	if strings.EqualFold(s.Host, host) {
		return true
	}
	return begins(s.Host, host) && !(s.Receiving && anotherID(s, m))
}

// anotherID: where the replica goes to was another server than this one when it was
// reached last.
func anotherID(s *Source, m member) bool {
	return s.ID != "" && m.state.ID != "" && !strings.EqualFold(s.ID, m.state.ID)
}

// has tells whether one of the members is the server with this ID.
func (v view) has(id string) bool {
	return slices.ContainsFunc(v.all(), func(m member) bool { return id != "" && strings.EqualFold(m.state.ID, id) })
}

// begins tells whether one of the names is the other with a domain behind it.
func begins(a, b string) bool {
	short, long := strings.ToLower(a), strings.ToLower(b)
	if len(short) > len(long) {
		short, long = long, short
	}
	return short != "" && strings.Trim(short, "0123456789.") != "" && strings.HasPrefix(long, short+".")
}

func label(host string) string {
	if strings.Trim(host, "0123456789.:") == "" {
		return host // an address has no parts
	}
	first, _, _ := strings.Cut(host, ".")
	return first
}

// split takes a node's name apart: the port is there when it is not MySQL's own.
func split(node string) (host string, port int) {
	if i := strings.LastIndexByte(node, ':'); i >= 0 {
		if p, err := strconv.Atoi(node[i+1:]); err == nil {
			return node[:i], p
		}
	}
	return node, 3306
}

// domainOf answers what a replica writes behind the name of the member it follows.
func domainOf(s *Source, peers []engines.Peer) string {
	if s == nil {
		return ""
	}
	for _, p := range peers {
		host, _ := split(p.Node)
		if rest, cut := strings.CutPrefix(s.Host, host); cut && host != "" && (rest == "" || rest[0] == '.') {
			return rest
		}
	}
	return ""
}

// podOf a node's name: its first part, without the port.
func podOf(name string) string {
	host, _ := split(name)
	return label(host)
}

// ordinal of a pod or node, as a number; names without one come last.
func ordinal(name string) int {
	host := podOf(name)
	n, err := strconv.Atoi(host[strings.LastIndexByte(host, '-')+1:])
	if err != nil {
		return int(^uint(0) >> 1)
	}
	return n
}

func byOrdinal(a, b member) int {
	first, second := cmp.Or(a.peer.Pod, a.name()), cmp.Or(b.peer.Pod, b.name())
	return cmp.Or(cmp.Compare(ordinal(first), ordinal(second)), cmp.Compare(first, second), cmp.Compare(a.name(), b.name()))
}

func (f Flavor) notation() gtid.Notation {
	switch f {
	case MySQL:
		return gtid.MySQL
	case MariaDB:
		return gtid.MariaDB
	}
	return gtid.Unknown
}

// has tells whether everything of the position was executed by the member.
func (m member) has(position string) (bool, string) {
	return gtid.AtLeast(m.state.Flavor.notation(), m.state.Executed, position)
}

// hasAllOf tells whether the member has executed what another has executed, and,
// when that is a replica, received. Nobody has all of what is not known, and who
// leaves something out has the GTIDs alone.
func (m member) hasAllOf(other member) bool {
	if m.state.Source != nil && m.state.Source.Filtered {
		return false
	}
	if ok, _ := m.has(other.state.Executed); !ok {
		return false
	}
	if ok, _ := m.has(other.state.Received); !ok && other.state.Received != "" {
		return false
	}
	return m.state.Flavor == other.state.Flavor
}

// blank: it is known to have executed nothing that has a GTID.
func (m member) blank() bool { return m.state.Executed == gtid.None }

// more tells whether a has all of b, and b not all of a.
func more(a, b member) bool { return a.hasAllOf(b) && !b.hasAllOf(a) }

// errant names what a replica has that the primary has not.
func errant(replica, primary member) (string, error) {
	notation := replica.state.Flavor.notation()
	own, err := gtid.Told(notation, replica.state.Executed)
	if err != nil {
		return "", err
	}
	theirs, err := gtid.Told(primary.state.Flavor.notation(), primary.state.Executed)
	if err != nil {
		return "", err
	}
	return own.Errant(replica.state.ID, theirs, primary.state.ID)
}

// older compares versions by their numbers; what cannot be read is older.
func older(a, b string) bool {
	v, unknown := parseVersion(a)
	w, err := parseVersion(b)
	return unknown != nil || err == nil && v.compare(w) < 0
}
