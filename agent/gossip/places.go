package gossip

import (
	"net/netip"
	"slices"
	"sync"
)

// class is the class of a stream. Each class has its own places and bytes, so that known peers do
// not wait for strangers, and neither keeps this agent from calling others.
type class uint8

const (
	stranger class = iota // comes from an address of no peer that this agent knows
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

// freeBytes is how many bytes of each stream are bounded only by the number of streams, so that no
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
	// far are the strangers from outside the pods' networks, oldest first, as long as they have not
	// shown the key. They make room for strangers from the pods' networks.
	far []*place
}

// place is that of one stream.
type place struct {
	of    *places
	at    spot
	bytes int    // beyond freeBytes
	end   func() // ends the stream; nil means it stays until it ends by itself
	gone  bool
}

// take returns nil when there is no place.
func (p *places) take(c class, address netip.Addr) *place { return p.enter(c, address, nil) }

// takeFar is take for a stranger from outside the pods' networks. end ends its stream if others
// need the place.
func (p *places) takeFar(address netip.Addr, end func()) *place {
	return p.enter(stranger, address, end)
}

func (p *places) enter(c class, address netip.Addr, end func()) *place {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := spot{c, address}
	if p.at[at].streams >= limits[c].perAddress {
		return nil
	}
	if p.all[c].streams >= limits[c].streams && (c != stranger || end != nil || !p.makeRoom(0)) {
		return nil
	}
	if p.at == nil {
		p.at = map[spot]use{}
	}
	p.add(at, use{streams: 1})
	s := &place{of: p, at: at, end: end}
	if end != nil {
		p.far = append(p.far, s)
	}
	return s
}

// makeRoom ends the oldest stream from elsewhere that holds at least this many bytes. Callers hold
// the lock.
func (p *places) makeRoom(bytes int) bool {
	i := slices.IndexFunc(p.far, func(s *place) bool { return s.bytes >= bytes })
	if i < 0 {
		return false
	}
	s := p.far[i]
	s.release()
	s.end()
	return true
}

// hold reports whether this many bytes of the stream's message may be held.
func (s *place) hold(bytes int) bool {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	more := max(bytes-freeBytes, 0) - s.bytes
	if s.gone || s.of.at[s.at].bytes+more > maxState {
		return false
	}
	for s.of.all[s.at.class].bytes+more > limits[s.at.class].bytes {
		if s.at.class != stranger || s.end != nil || !s.of.makeRoom(1) {
			return false
		}
	}
	s.of.add(s.at, use{bytes: more})
	s.bytes += more
	return true
}

// stay keeps this place for the stream, because what arrived had the key.
func (s *place) stay() {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.of.far = slices.DeleteFunc(s.of.far, func(other *place) bool { return other == s })
}

func (s *place) free() {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.release()
}

// release frees the place. Callers hold the lock.
func (s *place) release() {
	if s.gone {
		return
	}
	s.gone = true
	s.of.far = slices.DeleteFunc(s.of.far, func(other *place) bool { return other == s })
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
