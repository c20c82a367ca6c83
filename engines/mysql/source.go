package mysql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/engines/mysql/gtid"
)

// sourceOf answers the member that m follows; false: none, or one outside.
func (v view) sourceOf(m member) (member, bool) {
	all := v.all()
	i := slices.IndexFunc(all, func(s member) bool { return sends(s, m) })
	if i < 0 {
		return member{}, false
	}
	return all[i], true
}

func (v view) follows(m, source member) bool {
	s, ok := v.sourceOf(m)
	return ok && s.name() == source.name()
}

// sends tells whether what the replica follows is that member. While it is connected
// the server that it has really reached says so, whatever that is called there: a
// Service's name and an address belong to no member. Nobody else has the id of a
// server of MySQL. The server_id of MariaDB may be another database's, too: then the
// name fits, or the source knows this replica. Else the name alone tells.
func sends(source, replica member) bool {
	s := replica.state.Source
	switch {
	case s == nil:
		return false
	case !s.Receiving || s.ID == "" || source.state.ID == "":
		return isSource(s, source)
	case anotherID(s, source):
		return false
	}
	return replica.state.Flavor == MySQL || isSource(s, source) || lists(source, replica)
}

// lists tells whether the source says that the replica is connected to it.
func lists(source, replica member) bool {
	return slices.ContainsFunc(source.state.Replicas, func(r Replica) bool {
		return r.ID != "" && r.ID == replica.state.ID || r.Host != "" && isSource(&Source{Host: r.Host, Port: r.Port}, replica)
	})
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

// feeds tells whether the source of the replica is that member, or was when the
// replica reached it last.
func feeds(source, replica member) bool {
	src := replica.state.Source
	return sends(source, replica) || src != nil && !src.Receiving && src.ID != "" && src.ID == source.state.ID
}

// cannotFollow says why m would not get all from the primary, or would have more.
func (v view) cannotFollow(m, primary member) string {
	if !primary.serves() || !m.serves() {
		return m.name() + " cannot be compared with " + primary.name()
	}
	for _, position := range []string{m.state.Executed, m.state.Received} {
		if ok, why := primary.has(position); !ok && position != "" {
			return fmt.Sprintf("%s has what %s has not: %s", m.name(), primary.name(), why)
		}
	}
	if ok, why := m.has(primary.state.Purged); !ok && primary.state.Purged != "" && primary.state.Purged != gtid.None {
		return fmt.Sprintf("%s lacks what %s has no longer in its logs: %s", m.name(), primary.name(), why)
	}
	if m.state.Flavor.notation() == gtid.Unknown {
		return m.name() + " does not tell what it is"
	}
	if _, _, err := v.addressOf(primary); err != nil && !sends(primary, m) {
		return err.Error()
	}
	return ""
}
