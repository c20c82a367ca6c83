package gossip

import (
	"cmp"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/agent/config"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

const (
	// maxEntries bounds what attackers with the key can make an agent remember.
	maxEntries = 2048
	// keepGone is for how long a dead or departed pod's last headline is kept,
	// unless the same pod is back before.
	keepGone = 15 * time.Minute
)

// Entry is one member as this agent knows it. The headline is shared and must
// not be changed.
type Entry struct {
	Headline *rollcallv1.Headline
	Liveness rollcallv1.Liveness
	// Since is when it changed to this liveness.
	Since time.Time

	address netip.AddrPort
	leaving bool
}

// Roster is a copy that does not change any more.
type Roster struct {
	// Entries are sorted by pod, then UID.
	Entries []Entry
	// Sequence grows with every change.
	Sequence uint64
	// Synced means that a full exchange with a peer succeeded since start, or there is no peer.
	Synced bool
}

// Alive counts the members that are alive.
func (r Roster) Alive() int {
	n := 0
	for _, e := range r.Entries {
		if e.Liveness == rollcallv1.Liveness_LIVENESS_ALIVE {
			n++
		}
	}
	return n
}

// Epoch returns the highest epoch that any member, even a departed one, has announced, as far as
// hearsay is believed (TestRumouredEpochsAreBounded).
func (r Roster) Epoch() int64 {
	var highest int64
	for _, e := range r.Entries {
		highest = max(highest, config.HeardEpoch(e.Headline.GetEpoch()))
	}
	return highest
}

// table is the roster as the callbacks of memberlist write it. They are called
// with memberlist's own lock held, so nothing here calls back.
type table struct {
	mu       sync.Mutex
	entries  map[string]Entry // by member name
	sequence uint64
	synced   bool
	named    map[netip.Addr]bool // addresses that the Service names
	changed  chan struct{}       // closed at the next change
}

func newTable() *table {
	return &table{entries: map[string]Entry{}, changed: make(chan struct{})}
}

// put stores what a member says of itself. It returns false if the table is full.
func (t *table) put(name string, address netip.AddrPort, leaving bool, h *rollcallv1.Headline) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	old, known := t.entries[name]
	if !known {
		t.forget(now)
		if len(t.entries) >= maxEntries {
			return false
		}
	}
	e := Entry{Headline: h, Liveness: rollcallv1.Liveness_LIVENESS_ALIVE, Since: old.Since, address: address, leaving: leaving}
	if !known || old.Liveness != e.Liveness {
		e.Since = now
	}
	t.entries[name] = e
	for other, o := range t.entries {
		if other != name && o.Headline.Pod == h.Pod && o.Liveness != rollcallv1.Liveness_LIVENESS_ALIVE {
			delete(t.entries, other)
		}
	}
	t.bump()
	return true
}

// room reports whether a member of that name may be stored.
func (t *table) room(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.entries[name]; known {
		return true
	}
	t.forget(time.Now())
	return len(t.entries) < maxEntries
}

// gone marks a member as left when it had announced that, else as dead.
func (t *table) gone(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, known := t.entries[name]
	if !known || e.Liveness != rollcallv1.Liveness_LIVENESS_ALIVE {
		return
	}
	liveness := rollcallv1.Liveness_LIVENESS_DEAD
	if e.leaving {
		liveness = rollcallv1.Liveness_LIVENESS_LEFT
	}
	e.Liveness, e.Since = liveness, time.Now()
	t.entries[name] = e
	for other, o := range t.entries {
		if other != name && o.Headline.Pod == e.Headline.Pod && o.Liveness == rollcallv1.Liveness_LIVENESS_ALIVE {
			delete(t.entries, name) // the recreated pod is there already
		}
	}
	t.bump()
}

func (t *table) setSynced() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.synced {
		t.synced = true
		t.bump()
	}
}

// forget drops members that have been gone for long. Callers hold the lock.
func (t *table) forget(now time.Time) {
	for name, e := range t.entries {
		if e.Liveness != rollcallv1.Liveness_LIVENESS_ALIVE && now.Sub(e.Since) > keepGone {
			delete(t.entries, name)
		}
	}
}

func (t *table) bump() {
	t.sequence++
	close(t.changed)
	t.changed = make(chan struct{})
}

// copy returns the roster and a channel that is closed when it has changed.
func (t *table) copy() (Roster, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(time.Now())
	r := Roster{Sequence: t.sequence, Synced: t.synced, Entries: make([]Entry, 0, len(t.entries))}
	for _, e := range t.entries {
		r.Entries = append(r.Entries, e)
	}
	slices.SortFunc(r.Entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Headline.Pod, b.Headline.Pod), cmp.Compare(a.Headline.PodUid, b.Headline.PodUid))
	})
	return r, t.changed
}

func (t *table) setNamed(peers []netip.AddrPort) {
	named := map[netip.Addr]bool{}
	for _, p := range peers[:min(len(peers), maxEntries)] {
		named[p.Addr().Unmap()] = true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.named = named
}

// knows reports whether an address belongs to a member, even one that is gone, or is one that the
// Service names.
func (t *table) knows(ip netip.Addr) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.named[ip] {
		return true
	}
	for _, e := range t.entries {
		if e.address.Addr() == ip {
			return true
		}
	}
	return false
}

func (t *table) alive() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, e := range t.entries {
		if e.Liveness == rollcallv1.Liveness_LIVENESS_ALIVE {
			n++
		}
	}
	return n
}

// aliveAt are the addresses of members that are alive.
func (t *table) aliveAt() map[netip.AddrPort]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := map[netip.AddrPort]bool{}
	for _, e := range t.entries {
		if e.Liveness == rollcallv1.Liveness_LIVENESS_ALIVE {
			at[e.address] = true
		}
	}
	return at
}
