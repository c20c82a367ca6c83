package topology

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// verdict returns the verdict on the whole database. The worst line that holds is the verdict:
//
//   - Yellow, before all: a switchover is under way, in which nobody may allow writes.
//   - Red: two allow writes, or it is known that none does; a group without a quorum.
//   - Yellow: all follow somebody outside, so that none is meant to allow writes and
//     none could take over.
//   - Unknown: the agent of a member is there and does not know.
//   - Yellow: a replica has just stopped, is too far behind, has diverged or follows
//     somebody else; commits wait for nobody although they should.
//   - Recoverable: members are unavailable, or have been broken for long, or are not asked for
//     acknowledgements, and nothing else: where they are missing the groups say so.
//   - Green.
func (s assessment) verdict() engines.Health {
	for _, m := range s.members {
		if n := m.State.Switch; n != nil && (n.Promoting || n.Until.After(s.Now)) {
			return engines.Health{Verdict: engines.VerdictYellow, Reason: "a switchover from " + engines.OneLine(n.From) + " is under way"}
		}
	}
	outside := s.outside()
	c := s.complaints(outside)
	if group := s.Self.State.Group; group != nil && !group.Quorum {
		return engines.Health{Verdict: engines.VerdictRed, Reason: "this member is in no group that has a quorum"}
	}
	switch {
	case len(s.writers) > 1 && !s.manyWriters():
		return engines.Health{Verdict: engines.VerdictRed, Reason: fmt.Sprintf("%s and %s allow writes", s.writers[0].Name(), s.writers[1].Name())}
	case outside != nil && c.unknown.N == 0:
		return engines.Health{Verdict: engines.VerdictYellow, Reason: "all follow " + engines.OneLine(replication.NodeName(outside.Host, outside.Port)) +
			", which is none of the members: none allows writes, and none can take over"}
	case len(s.writers) == 0 && !s.adopting && c.unknown.N == 0:
		return engines.Health{Verdict: engines.VerdictRed, Reason: "no member allows writes"}
	case c.unknown.N > 0:
		return engines.Health{Reason: c.unknown.Text("not known:")}
	case c.yellow.N > 0:
		return engines.Health{Verdict: engines.VerdictYellow, Reason: c.yellow.Text("replication:")}
	case c.away.N+c.broken.N == 0 && s.unacknowledged():
		return engines.Health{Verdict: engines.VerdictYellow, Reason: s.primary.Name() + " commits without waiting for a replica, as it should"}
	}
	var missing []string
	if c.away.N > 0 {
		missing = append(missing, c.away.Text("unavailable:"))
	}
	if c.broken.N > 0 {
		missing = append(missing, c.broken.Text("broken:"))
	}
	if why := s.uncounted(); why != "" {
		missing = append(missing, why)
	}
	if len(missing) > 0 {
		return engines.Health{Verdict: engines.VerdictRecoverable, Reason: strings.Join(missing, "; ")}
	}
	return engines.Health{Verdict: engines.VerdictGreen}
}

// complaints about members, by how they count.
type complaints struct{ away, broken, unknown, yellow engines.Tally[string] }

func (s assessment) complaints(outside *replication.Source) (c complaints) {
	for _, m := range s.members {
		switch {
		case outside != nil && m.Peer.Pod == "" && !m.Known && isSource(outside, m): // nobody's member
		case m.Serves():
			switch why := s.complaint(m); {
			case why == "":
			case s.broken(m):
				c.broken.Add(m.Name() + " " + why)
			default:
				c.yellow.Add(m.Name() + " " + why)
			}
		case m.Known && m.State.Down:
			c.away.Add(m.Name())
		case m.Known:
			c.unknown.Add(m.Silence())
		case s.missed(m):
			c.away.Add(m.Name())
		case m.Peer.Alive || s.primary == nil:
			c.unknown.Add(m.Silence())
		default: // its agent is unavailable, its server is there
			c.away.Add("the agent of " + m.Name())
		}
	}
	return c
}

// outside is the server that all members follow and that is none of them. Nil means one of them is,
// or should be, the primary.
func (s assessment) outside() (found *replication.Source) {
	if s.adopting {
		return nil
	}
	for _, m := range s.All() {
		if !m.Serves() {
			continue
		}
		if m.State.Source == nil || m.State.Group != nil || m.Allows() {
			return nil
		}
		if _, member := s.SourceOf(m); !member && m.State.Source.Receiving {
			found = m.State.Source
		}
	}
	return found
}

// complaint returns what is wrong with a serving member. Empty means nothing.
func (s assessment) complaint(m Member) string {
	if m.State.Group != nil {
		if state := s.groupMemberState(m); state != engines.MemberActive {
			return "is " + state.String() + " in its group"
		}
		return ""
	}
	if s.primary == nil || s.leads(m) {
		return ""
	}
	_, why := s.behind(m)
	return why
}

// broken reports whether waiting does not fix the replica. It has not replicated for long, or is
// delayed on purpose, or reports that all is well while the primary knows better.
func (s assessment) broken(m Member) bool {
	halted := m.State.Halted
	return m.Delayed() || s.lacks(m) != "" ||
		!halted.IsZero() && m.State.Looked.Sub(halted) >= s.BrokenAfter
}

// settled reports whether the local server does its job.
func (s assessment) settled() bool {
	own := s.Self
	switch {
	case own.State.Group != nil:
		return s.groupMemberState(own) == engines.MemberActive && own.State.Group.Quorum
	case s.primary == nil:
		return false
	case s.leads(own):
		return true
	}
	if _, why := s.behind(own); why != "" {
		return s.broken(own) // it does all that it will
	}
	return !s.primary.Serves() || !s.acknowledges(own) || own.State.SemiSync.Acknowledging
}

// veto returns what a restart would make worse.
func (s assessment) veto() string {
	own := s.Self
	alone := len(s.members) == 1
	switch {
	case s.fixed:
		return ""
	case own.State.Group != nil:
		return s.powerless()
	case own.State.StartsWritable && !alone:
		return "the server starts writable: it would come back as a second primary; its configuration must say read_only=ON (MySQL: super_read_only=ON, and no read_only=OFF may be persisted)"
	case !s.leads(own):
		if words, _ := s.diverged(own); words != "" {
			return "the server " + words
		}
	case !s.External && own.State.Unlogged != "" && !alone:
		return "the server cannot hand over its role: " + engines.OneLine(own.State.Unlogged)
	case !s.External:
		return cmp.Or(s.powerless(), s.unreachable())
	}
	return ""
}

// powerless explains that the own server has the role of primary and its agent could not hand it over.
// Empty means that it could, or need not.
func (s assessment) powerless() string {
	if !s.leads(s.Self) || s.manyWriters() || len(s.Others) == 0 {
		return ""
	}
	return s.Self.Powerless()
}

// unreachable explains why no replica of the own server could be followed if it took over. Empty
// means one could, or there is none.
func (s assessment) unreachable() string {
	why := ""
	for _, m := range s.Others {
		if !m.Serves() || !s.Follows(m, s.Self) {
			continue
		}
		obstacle := s.Twin(m)
		if _, _, err := s.AddressOf(m); err != nil {
			obstacle = err.Error()
		}
		if obstacle == "" {
			return ""
		}
		why = cmp.Or(why, obstacle)
	}
	return why
}
