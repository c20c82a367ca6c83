package mysql

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/gtid"
)

// stuck: the replica says that it does not lag, and has not what the local member had
// longer ago than it may lag.
func (v view) stuck(m member) string {
	if v.past.executed == "" {
		return ""
	}
	if there, _ := m.has(v.past.executed); there {
		return ""
	}
	return fmt.Sprintf("does not say that it lags, and lacks what %s had executed %s ago: its disk may be full, or nothing reaches it", v.self.name(), engines.Duration(v.now.Sub(v.past.at)))
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
