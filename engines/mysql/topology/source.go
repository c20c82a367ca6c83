package topology

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/engines/mysql/gtid"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// SourceOf returns the member that m follows; false: none, or one outside.
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

// Sends tells whether what the replica follows is that member. While it is connected
// the server that it has really reached says so, whatever that is called there: a
// Service's name and an address belong to no member. Nobody else has the id of a
// server of MySQL. The server_id of MariaDB may be another database's, too: then the
// name fits, or the source knows this replica. Else the name alone tells.
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

// lists tells whether the source says that the replica is connected to it.
func lists(source, replica Member) bool {
	return slices.ContainsFunc(source.State.Replicas, func(r replication.Replica) bool {
		return r.ID != "" && r.ID == replica.State.ID || r.Host != "" && isSource(&replication.Source{Host: r.Host, Port: r.Port}, replica)
	})
}

// isSource compares where a replica goes to with how a member is called: the whole
// name, or its first parts where one of the two is longer. A server of another
// database may be called so too: one that is connected tells who it is.
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

// AnotherID: where the replica goes to was another server than this one when it was
// reached last.
func AnotherID(s *replication.Source, m Member) bool {
	return s.ID != "" && m.State.ID != "" && !strings.EqualFold(s.ID, m.State.ID)
}

// Has tells whether one of the members is the server with this ID.
func (v View) Has(id string) bool {
	return slices.ContainsFunc(v.All(), func(m Member) bool { return id != "" && strings.EqualFold(m.State.ID, id) })
}

// begins tells whether one of the names is the other with a domain behind it.
func begins(a, b string) bool {
	short, long := strings.ToLower(a), strings.ToLower(b)
	if len(short) > len(long) {
		short, long = long, short
	}
	return short != "" && strings.Trim(short, "0123456789.") != "" && strings.HasPrefix(long, short+".")
}

// Feeds tells whether the source of the replica is that member, or was when the
// replica reached it last.
func Feeds(source, replica Member) bool {
	src := replica.State.Source
	return Sends(source, replica) || src != nil && !src.Receiving && src.ID != "" && src.ID == source.State.ID
}

// CannotFollow says why m would not get all from the primary, or would have more.
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
