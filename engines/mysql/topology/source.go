package topology

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/engines/mysql/gtid"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// SourceOf returns the member that m follows. False means it follows nobody, or a server outside.
func (v View) SourceOf(m Member) (Member, bool) {
	all := v.All()
	i := slices.IndexFunc(all, func(s Member) bool { return Sends(s, m) })
	if i < 0 {
		return Member{}, false
	}
	return all[i], true
}

func (v View) Follows(m, source Member) bool {
	s, ok := v.SourceOf(m)
	return ok && s.Name() == source.Name()
}

// Ringed reports whether the member follows itself through others. No switchover ends so: it was
// somebody's choice, and none of them is the primary of the others.
func (v View) Ringed(m Member) bool {
	at := m
	for range v.All() {
		source, member := v.SourceOf(at)
		switch {
		case !member, source.Name() == at.Name(), AnotherID(at.State.Source, source):
			return false
		case source.Name() == m.Name():
			return true
		}
		at = source
	}
	return false
}

// Sends reports whether the replica follows the source. While the replica is connected, the ID of
// the server that it reached decides, not the name: a Service or an address belongs to no member. A
// server_uuid of MySQL is unique. A server_id of MariaDB may also be used by another database, so
// the name must fit too, or the source must list the replica. Without a connection only the name is
// left.
func Sends(source, replica Member) bool {
	s := replica.State.Source
	switch {
	case s == nil:
		return false
	case !s.Receiving || s.ID == "" || source.State.ID == "":
		return isSource(s, source)
	case AnotherID(s, source):
		return false
	}
	return replica.State.Flavor == replication.MySQL || isSource(s, source) || lists(source, replica)
}

// lists reports whether the source says that the replica is connected to it.
func lists(source, replica Member) bool {
	return slices.ContainsFunc(source.State.Replicas, func(r replication.Replica) bool {
		return r.ID != "" && r.ID == replica.State.ID || r.Host != "" && isSource(&replication.Source{Host: r.Host, Port: r.Port}, replica)
	})
}

// isSource compares a replica's source with a member's name: the whole name, or the first
// labels where one name is longer. A server of another database may have the same name;
// one that is connected has told its ID.
func isSource(s *replication.Source, m Member) bool {
	host, port := replication.SplitName(m.Name())
	if s.Port != 0 && s.Port != port {
		return false
	}
	if strings.EqualFold(s.Host, host) {
		return true
	}
	return begins(s.Host, host) && !(s.Receiving && AnotherID(s, m))
}

// AnotherID reports whether the source was another server than this member when the replica last
// reached it.
func AnotherID(s *replication.Source, m Member) bool {
	return s.ID != "" && m.State.ID != "" && !strings.EqualFold(s.ID, m.State.ID)
}

// Has reports whether a member is the server with this ID.
func (v View) Has(id string) bool {
	return slices.ContainsFunc(v.All(), func(m Member) bool { return id != "" && strings.EqualFold(m.State.ID, id) })
}

// begins reports whether one of the names is the other followed by a domain.
func begins(a, b string) bool {
	short, long := strings.ToLower(a), strings.ToLower(b)
	if len(short) > len(long) {
		short, long = long, short
	}
	return short != "" && strings.Trim(short, "0123456789.") != "" && strings.HasPrefix(long, short+".")
}

// Feeds reports whether the member is the source of the replica, or was when the replica last
// reached it.
func Feeds(source, replica Member) bool {
	src := replica.State.Source
	return Sends(source, replica) || src != nil && !src.Receiving && src.ID != "" && src.ID == source.State.ID
}

// CannotFollow explains why m would not get everything from the primary, or would have
// more than it.
func (v View) CannotFollow(m, primary Member) string {
	if !primary.Serves() || !m.Serves() {
		return m.Name() + " cannot be compared with " + primary.Name()
	}
	for _, position := range []string{m.State.Executed, m.State.Received} {
		if ok, why := primary.Has(position); !ok && position != "" {
			return fmt.Sprintf("%s has what %s has not: %s", m.Name(), primary.Name(), why)
		}
	}
	if ok, why := m.Has(primary.State.Purged); !ok && primary.State.Purged != "" && primary.State.Purged != gtid.None {
		return fmt.Sprintf("%s lacks what %s has no longer in its logs: %s", m.Name(), primary.Name(), why)
	}
	if m.State.Flavor.Notation() == gtid.Unknown {
		return m.Name() + " does not tell what it is"
	}
	if _, _, err := v.AddressOf(primary); err != nil && !Sends(primary, m) {
		return err.Error()
	}
	return ""
}
