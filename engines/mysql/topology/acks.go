package topology

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/engines"
)

// acks is the group of replicas that can acknowledge, where commits wait for
// acknowledgements. Never more of them are available than the primary itself counts.
func (s assessment) acks() (engines.Group, bool) {
	if s.primary == nil || !s.primary.Serves() || !s.primary.State.SemiSync.Source {
		return engines.Group{}, false
	}
	g := engines.Group{ID: "acks", Kind: engines.GroupAcks, MinAvailable: max(s.primary.State.SemiSync.Acks, 1)}
	members, counted := s.counted()
	claim := func(m Member) bool {
		return s.claims(m) && (lists(*s.primary, m) || howMany(members, s.claims) <= counted)
	}
	silent := func(m Member) bool { return !m.Known && lists(*s.primary, m) }
	claims, silents := howMany(members, claim), howMany(members, silent)
	for _, m := range members {
		state := s.ackState(m)
		switch {
		case claim(m) && claims <= counted, silent(m) && claims+silents <= counted:
			state = engines.MemberActive
		case claim(m), silent(m): // some of them are not counted, and nobody tells which
			state = engines.MemberUnknown
		}
		g.Members = append(g.Members, engines.Member{ID: m.Name(), Node: m.Name(), State: state})
	}
	return g, true
}

// counted returns the members that should acknowledge, and how many of them the primary
// counts. Other replicas that acknowledge are part of the primary's number and are
// subtracted.
func (s assessment) counted() (members []Member, clients int) {
	clients = s.primary.State.SemiSync.Clients
	for _, m := range s.members {
		if m.Name() == s.primary.Name() || m.Name() == "" {
			continue
		}
		is := s.acknowledges(m)
		if is {
			members = append(members, m)
		}
		if s.asked(m) && !(is && s.claims(m)) {
			clients--
		}
	}
	return members, clients
}

// uncounted explains that the primary asks fewer of its connected replicas for acknowledgements
// than say that it asks them. Empty means it does not.
func (s assessment) uncounted() string {
	if s.primary == nil || !s.primary.Serves() || !s.primary.State.SemiSync.Source {
		return ""
	}
	members, counted := s.counted()
	claims := howMany(members, func(m Member) bool { return s.claims(m) && lists(*s.primary, m) })
	if claims <= counted {
		return ""
	}
	return fmt.Sprintf("%s counts %d of the replicas that acknowledge, and %d say that they do: which of them are not asked is not known; each is counted again after STOP REPLICA IO_THREAD and START REPLICA IO_THREAD",
		s.primary.Name(), max(counted, 0), claims)
}

func howMany(members []Member, is func(Member) bool) (n int) {
	for _, m := range members {
		if is(m) {
			n++
		}
	}
	return n
}

// acknowledges reports whether the member should acknowledge the primary's commits. A delayed
// replica does not count, and a replica of a replica acknowledges to that one.
func (s assessment) acknowledges(m Member) bool {
	if !m.Serves() {
		return true // who knows
	}
	if !m.State.SemiSync.Replica || m.Delayed() {
		return false
	}
	source, member := s.SourceOf(m)
	return !member || Feeds(*s.primary, m) || source.Name() == s.primary.Name()
}

// asked reports whether the replica says that the primary asks it for acknowledgements.
func (s assessment) asked(m Member) bool {
	return m.Serves() && m.State.SemiSync.Acknowledging && Feeds(*s.primary, m)
}

// claims reports whether the replica says that it acknowledges, and it applies what it
// acknowledges.
func (s assessment) claims(m Member) bool {
	return s.asked(m) && m.State.Source.Applying && m.State.Source.Failure == ""
}

// ackState returns the ack state of a member that does not acknowledge.
func (s assessment) ackState(m Member) engines.MemberState {
	switch src := m.State.Source; {
	case m.Serves() && src != nil && src.Receiving && src.Applying && src.Failure == "":
		return engines.MemberRecovering
	case m.Serves(), m.Known && m.State.Down, s.missed(m):
		return engines.MemberDown
	}
	return engines.MemberUnknown
}

// unacknowledged reports whether the primary should wait for replicas and does not. A primary that
// gives up as soon as too few replicas are connected notices only with the next commit that enough
// are back; if they are, and have everything, it is not unacknowledged.
func (s assessment) unacknowledged() bool {
	if s.primary == nil || !s.primary.Serves() {
		return false
	}
	sync := s.primary.State.SemiSync
	if !sync.Source || sync.Working {
		return false
	}
	waiting := howMany(s.members, func(m Member) bool {
		there, _ := m.Got(s.primary.State.Executed)
		return s.claims(m) && there
	})
	return !sync.GivesUp || min(sync.Clients, waiting) < max(sync.Acks, 1)
}
