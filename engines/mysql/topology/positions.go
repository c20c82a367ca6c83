package topology

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/gtid"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// Stuck explains that a replica which reports no lag misses what the local member had
// executed longer ago than it may lag.
func (v View) Stuck(m Member) string {
	if v.Past.Executed == "" {
		return ""
	}
	if there, _ := m.Has(v.Past.Executed); there {
		return ""
	}
	return fmt.Sprintf("does not say that it lags, and lacks what %s had executed %s ago: its disk may be full, or nothing reaches it", v.Self.Name(), engines.Duration(v.Now.Sub(v.Past.At)))
}

// Has reports whether the member has executed all of the position.
func (m Member) Has(position string) (bool, string) {
	return gtid.AtLeast(m.State.Flavor.Notation(), m.State.Executed, position)
}

// Got reports whether the member has executed or received all of the position.
func (m Member) Got(position string) (there, known bool) {
	notation := m.State.Flavor.Notation()
	wanted, unknown := gtid.Told(notation, position)
	executed, err := gtid.Told(notation, m.State.Executed)
	if unknown != nil || err != nil {
		return false, false
	}
	if received, err := gtid.Told(notation, m.State.Received); err == nil {
		executed = executed.Union(received)
	}
	there, _ = executed.AtLeast(wanted)
	return there, true
}

// HasAllOf reports whether the member has executed everything that the other has executed, and, if
// that is a replica, received. Nobody has all of an unknown position. A replica with filters has
// the GTIDs but not the data.
func (m Member) HasAllOf(other Member) bool {
	if m.State.Source != nil && m.State.Source.Filtered {
		return false
	}
	if ok, _ := m.Has(other.State.Executed); !ok {
		return false
	}
	if ok, _ := m.Has(other.State.Received); !ok && other.State.Received != "" {
		return false
	}
	return m.State.Flavor == other.State.Flavor
}

// Blank reports whether the member is known to have executed nothing that has a GTID.
func (m Member) Blank() bool { return m.State.Executed == gtid.None }

// More reports whether a has all of b, and b not all of a.
func More(a, b Member) bool { return a.HasAllOf(b) && !b.HasAllOf(a) }

// Errant returns what a replica has and the primary has not.
func Errant(replica, primary Member) (string, error) {
	notation := replica.State.Flavor.Notation()
	own, err := gtid.Told(notation, replica.State.Executed)
	if err != nil {
		return "", err
	}
	theirs, err := gtid.Told(primary.State.Flavor.Notation(), primary.State.Executed)
	if err != nil {
		return "", err
	}
	return own.Errant(replica.State.ID, theirs, primary.State.ID)
}

// Older compares versions as numbers. A version that cannot be read is older.
func Older(a, b string) bool {
	v, unknown := replication.ParseVersion(a)
	w, err := replication.ParseVersion(b)
	return unknown != nil || err == nil && v.Compare(w.Version) < 0
}
