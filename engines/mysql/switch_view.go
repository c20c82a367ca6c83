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
	// domains behind members' names, where they are followed by them.
	domains domains
	// before is the local server as it was before the others were looked at; nil: not known.
	before *State

	maxLag time.Duration
	limits Limits
	// external: another manager owns the topology.
	external bool
	// past is where the local server was longer than maxLag ago; zero: not known.
	past mark
	// again is when the next try may begin, failed why the last one did not work.
	again  time.Time
	failed string
	// ran: replication was seen running here since the server started.
	ran bool
	// chained: the member that the local one follows was a replica all the time.
	chained bool
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

func (m member) name() string { return cmp.Or(m.state.Node, m.peer.Name()) }

// serves: all that was asked for is known.
func (m member) serves() bool { return m.known && m.state.Serving }

func (m member) allows() bool { return m.serves() && m.state.Writes == Allowed }

// refuses writes for sure; what is unknown does not.
func (m member) refuses() bool {
	return m.serves() && (m.state.Writes == RefusedAtStart || m.state.Writes == RefusedBySQL)
}

// delayed: it lags on purpose, to keep what is undone elsewhere. It is no copy of what
// the database has now, and takes nothing over.
func (m member) delayed() bool {
	return m.serves() && m.state.Source != nil && m.state.Source.Delay > 0
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

// got tells whether the member has executed or received all of the position.
func (m member) got(position string) (there, known bool) {
	notation := m.state.Flavor.notation()
	wanted, unknown := gtid.Told(notation, position)
	executed, err := gtid.Told(notation, m.state.Executed)
	if unknown != nil || err != nil {
		return false, false
	}
	if received, err := gtid.Told(notation, m.state.Received); err == nil {
		executed = executed.Union(received)
	}
	there, _ = executed.AtLeast(wanted)
	return there, true
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
