package topology

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/engines"
)

// acks is the group of those that can acknowledge, where commits wait for that. No more
// of them are available than the primary itself counts.
func (s assessment) acks() (engines.Group, bool) {
	if s.primary == nil || !s.primary.Serves() || !s.primary.State.SemiSync.Source {
		return engines.Group{}, false
	}
	g := engines.Group{ID: "acks", Kind: engines.Acks, MinAvailable: max(s.primary.State.SemiSync.Acks, 1)}
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
			state = engines.Active
		case claim(m), silent(m): // some of them are not counted, and nobody tells which
			state = engines.StateUnknown
		}
		g.Members = append(g.Members, engines.Member{ID: m.Name(), Node: m.Name(), State: state})
	}
	return g, true
}

// counted are the members that are to acknowledge, and how many of them the primary
// counts: others that acknowledge, and are not counted on, are among its number.
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

// uncounted says so where the primary, which is connected to them, asks fewer replicas
// for acknowledgements than say that it asks them; empty: it does not.
func (s assessment) uncounted() string {
	if s.primary == nil || !s.primary.Serves() || !s.primary.State.SemiSync.Source {
		return ""
	}
	members, counted := s.counted()
	claims := howMany(members, func(m Member) bool { return s.claims(m) && lists(*s.primary, m) })
	if claims <= counted {
		return ""
	}
	return fmt.Sprintf("%s counts %d of the replicas that acknowledge, and %d say that they do: which of them are not asked is not known; each is counted anew after STOP REPLICA IO_THREAD and START REPLICA IO_THREAD",
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

// acknowledges: the member is one of those that are to acknowledge the primary's
// commits. One that is delayed on purpose is not counted on, and one behind another
// replica tells that one.
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

// asked: the replica says that the primary asks it for acknowledgements.
func (s assessment) asked(m Member) bool {
	return m.Serves() && m.State.SemiSync.Acknowledging && Feeds(*s.primary, m)
}

// claims: it says so, and applies what it acknowledges: it is of use to nobody else.
func (s assessment) claims(m Member) bool {
	return s.asked(m) && m.State.Source.Applying && m.State.Source.Failure == ""
}

// ackState of one of which nobody says that it acknowledges.
func (s assessment) ackState(m Member) engines.MemberState {
	switch src := m.State.Source; {
	case m.Serves() && src != nil && src.Receiving && src.Applying && src.Failure == "":
		return engines.Recovering
	case m.Serves(), m.Known && m.State.Down, s.missed(m):
		return engines.Down
	}
	return engines.StateUnknown
}

// unacknowledged: the primary was to wait for replicas, and has given that up. One that
// gives up as soon as too few are connected has not noticed that enough are again
// before it is asked to commit something: that is none.
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
