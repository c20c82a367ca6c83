package network

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/agent/gossip"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Gossip spreads headlines among the agents. A headline that is lost comes later, after a
// cut of any length, too, as in a mesh that exchanges everything now and then.
type Gossip struct {
	hub    *Hub
	meshes map[string]*mesh // by UID
}

// mesh is one agent's place in it, as agent.Mesh wants it.
type mesh struct {
	g     *Gossip
	agent *Agent
	here  bool // loop only
	// telling is true if a headline of this instant will be told. Loop only.
	telling bool

	mu       sync.Mutex
	headline *rollcallv1.Headline
	entries  map[string]gossip.Entry // by UID
	sequence uint64
	synced   bool
	changed  chan struct{}
}

func (g *Gossip) mesh(a *Agent) *mesh {
	return &mesh{g: g, agent: a, entries: map[string]gossip.Entry{}, changed: make(chan struct{})}
}

// peers are the other members, in order.
func (m *mesh) peers() []*mesh {
	var out []*mesh
	for _, uid := range slices.Sorted(maps.Keys(m.g.meshes)) {
		if peer := m.g.meshes[uid]; peer != m && peer.here {
			out = append(out, peer)
		}
	}
	return out
}

// Run is a member until ctx ends.
func (m *mesh) Run(ctx context.Context) error {
	loop := m.g.hub.loop
	loop.Ask("gossip join "+m.agent.UID, func() {
		m.here = true
		m.g.meshes[m.agent.UID] = m
		if len(m.peers()) == 0 {
			loop.In(loop.Between(100*time.Millisecond, time.Second), func() { m.change(func() { m.synced = true }) })
		}
		for _, peer := range m.peers() {
			m.exchange(peer)
		}
	})
	<-ctx.Done()
	loop.Ask("gossip leave "+m.agent.UID, func() {
		m.here = false
		delete(m.g.meshes, m.agent.UID)
		liveness, low, high := rollcallv1.Liveness_LIVENESS_LEFT, 20*time.Millisecond, 500*time.Millisecond
		if m.agent.killed {
			liveness, low, high = rollcallv1.Liveness_LIVENESS_DEAD, 3*time.Second, 10*time.Second
		}
		for _, peer := range m.peers() {
			loop.In(loop.Between(low, high), func() {
				peer.change(func() {
					if e, ok := peer.entries[m.agent.UID]; ok {
						e.Liveness, e.Since = liveness, time.Now()
						peer.entries[m.agent.UID] = e
					}
				})
			})
		}
	})
	return nil
}

// exchange tells two members all that the other knows.
func (m *mesh) exchange(peer *mesh) {
	loop := m.g.hub.loop
	loop.In(loop.Between(50*time.Millisecond, 600*time.Millisecond), func() {
		if m.g.hub.Blocked(m.agent.Pod, peer.agent.Pod) || m.g.hub.Blocked(peer.agent.Pod, m.agent.Pod) {
			loop.In(5*time.Second, func() {
				if m.here && peer.here {
					m.exchange(peer)
				}
			})
			return
		}
		theirs, ours := peer.known(), m.known() // before anybody wakes
		peer.take(ours...)
		m.change(func() {
			m.keep(theirs)
			m.synced = true
		})
	})
}

// known are a member's headlines, its own among them.
func (m *mesh) known() []gossip.Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]gossip.Entry, 0, len(m.entries)+1)
	for _, e := range m.entries {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b gossip.Entry) int { return cmp.Compare(a.Headline.GetPodUid(), b.Headline.GetPodUid()) })
	return append(out, m.own()...)
}

func (m *mesh) own() []gossip.Entry {
	if m.headline == nil {
		return nil
	}
	return []gossip.Entry{{Headline: m.headline, Liveness: rollcallv1.Liveness_LIVENESS_ALIVE, Since: time.Now()}}
}

// take keeps what is newer than what is known.
func (m *mesh) take(entries ...gossip.Entry) { m.changeIf(func() bool { return m.keep(entries) }) }

// keep tells whether any of it was.
func (m *mesh) keep(entries []gossip.Entry) (news bool) {
	for _, e := range entries {
		uid := e.Headline.GetPodUid()
		old, ok := m.entries[uid]
		if uid == m.agent.UID || ok && cmp.Or(cmp.Compare(old.Headline.GetIncarnation(), e.Headline.GetIncarnation()),
			cmp.Compare(old.Headline.GetSequence(), e.Headline.GetSequence())) >= 0 {
			continue
		}
		m.entries[uid], news = e, true
		for other, o := range m.entries {
			if other != uid && o.Headline.GetPod() == e.Headline.GetPod() && o.Liveness != rollcallv1.Liveness_LIVENESS_ALIVE {
				delete(m.entries, other)
			}
		}
	}
	return news
}

func (m *mesh) change(f func()) {
	m.changeIf(func() bool { f(); return true })
}

func (m *mesh) changeIf(f func() bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !f() {
		return
	}
	m.sequence++
	close(m.changed)
	m.changed = make(chan struct{})
}

// Publish spreads a new headline.
func (m *mesh) Publish(h *rollcallv1.Headline) error {
	m.mu.Lock()
	m.headline = h
	m.mu.Unlock()
	loop := m.g.hub.loop
	loop.Ask("gossip tell "+m.agent.UID, func() {
		if m.telling { // all that is new at one instant is told once
			return
		}
		m.telling = true
		loop.In(0, m.tell)
	})
	return nil
}

// tell spreads the newest headline.
func (m *mesh) tell() {
	m.telling = false
	loop := m.g.hub.loop
	for _, peer := range m.peers() {
		after := loop.Between(20*time.Millisecond, 400*time.Millisecond)
		if loop.Chance(5) || m.g.hub.Blocked(m.agent.Pod, peer.agent.Pod) {
			after += m.later()
		}
		m.tellLater(peer, after)
	}
}

// tellLater tells a peer the newest headline after a while, and goes on to try until there is a way.
func (m *mesh) tellLater(peer *mesh, after time.Duration) {
	m.g.hub.loop.In(after, func() {
		switch {
		case !m.here || !peer.here:
		case m.g.hub.Blocked(m.agent.Pod, peer.agent.Pod):
			m.tellLater(peer, m.later())
		default:
			peer.take(m.latest()...)
		}
	})
}

// later is after how long what was lost is told again.
func (m *mesh) later() time.Duration { return m.g.hub.loop.Between(5*time.Second, 15*time.Second) }

func (m *mesh) latest() []gossip.Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.own()
}

// Roster is a copy of what is known, the own headline among it.
func (m *mesh) Roster() (gossip.Roster, <-chan struct{}) {
	entries := m.known()
	m.mu.Lock()
	defer m.mu.Unlock()
	slices.SortFunc(entries, func(a, b gossip.Entry) int {
		return cmp.Or(cmp.Compare(a.Headline.GetPod(), b.Headline.GetPod()), cmp.Compare(a.Headline.GetPodUid(), b.Headline.GetPodUid()))
	})
	return gossip.Roster{Entries: entries, Sequence: m.sequence, Synced: m.synced}, m.changed
}

// Rekey changes nothing here.
func (m *mesh) Rekey([][]byte) error { return nil }
