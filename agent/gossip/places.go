package gossip

import (
	"net/netip"
	"sync"
)

// class of a stream. Each has its own places and bytes, so that who is known does
// not wait for strangers, and none of them keeps this agent from calling others.
type class uint8

const (
	stranger class = iota // comes from an address that is nobody's whom this agent knows
	known                 // comes from a member's address, or one that the Service names
	called                // this agent called
	classes
)

// limit of a class. A member has a push/pull, a join and a probe with one other at
// a time. bytes are what is held of messages longer than freeBytes; of those of a
// full roster one stranger's fits, and two of members.
var limits = [classes]struct{ streams, perAddress, bytes int }{
	stranger: {streams: 16, perAddress: 4, bytes: maxState},
	known:    {streams: 64, perAddress: 8, bytes: 2 * maxState},
	called:   {streams: 64, perAddress: 8, bytes: 2 * maxState},
}

// freeBytes of each stream are bounded by the number of streams alone, so that no
// probe, and no exchange of a few dozen members, waits for long messages.
const freeBytes = 16 << 10

type use struct{ streams, bytes int }

type spot struct {
	class   class
	address netip.Addr
}

// places counts the streams that are open, and what is held of their messages.
type places struct {
	mu  sync.Mutex
	all [classes]use
	at  map[spot]use
}

// place is that of one stream.
type place struct {
	of    *places
	at    spot
	bytes int // beyond freeBytes
}

// take answers nil when there is no place.
func (p *places) take(c class, address netip.Addr) *place {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := spot{c, address}
	if p.all[c].streams >= limits[c].streams || p.at[at].streams >= limits[c].perAddress {
		return nil
	}
	if p.at == nil {
		p.at = map[spot]use{}
	}
	p.add(at, use{streams: 1})
	return &place{of: p, at: at}
}

// hold tells whether so many bytes of the stream's message may be held.
func (s *place) hold(bytes int) bool {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	more := max(bytes-freeBytes, 0) - s.bytes
	if s.of.all[s.at.class].bytes+more > limits[s.at.class].bytes || s.of.at[s.at].bytes+more > maxState {
		return false
	}
	s.of.add(s.at, use{bytes: more})
	s.bytes += more
	return true
}

func (s *place) free() {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.of.add(s.at, use{streams: -1, bytes: -s.bytes})
	s.bytes = 0
}

func (p *places) add(at spot, more use) {
	all, here := p.all[at.class], p.at[at]
	all.streams, all.bytes = all.streams+more.streams, all.bytes+more.bytes
	here.streams, here.bytes = here.streams+more.streams, here.bytes+more.bytes
	p.all[at.class] = all
	if p.at[at] = here; here == (use{}) {
		delete(p.at, at)
	}
}
