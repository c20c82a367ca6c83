// Package status is what the coordinator says: to people, to Prometheus, to tracing and in events.
// A Board holds its newest decisions, and everything else reads them there.
package status

import (
	"cmp"
	"context"
	"slices"
	"sync"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Board holds the newest decision about every database cluster, and a journal of those before, for
// everyone who wants to see them. The coordinator's loop publishes; servers read.
//
// Only the elected coordinator publishes. While it is not elected a Board is empty and knows where
// the elected one is, so that it shows nothing outdated.
//
// A Board is safe for concurrent use.
type Board struct {
	observers []Observer
	asked     func(Key)
	refusals  func(Key) []*rollcallv1.Refusal

	mu        sync.Mutex
	leading   bool
	leader    string
	decisions map[Key]Decision
	histories map[Key]*history
	watches   map[*watch]struct{}
}

// Observer is notified of each decision as it is published, and of clusters that are gone. Calls
// for one cluster come one at a time and in order. An Observer must not block and must not call the
// Board.
type Observer interface {
	// Decided is called with the previous decision, which is nil for the first one.
	Decided(previous *Decision, next Decision)
	Gone(key Key)
}

// NewBoard returns the Board of a standby coordinator.
func NewBoard(observers ...Observer) *Board {
	return &Board{
		observers: observers,
		decisions: map[Key]Decision{},
		histories: map[Key]*history{},
		watches:   map[*watch]struct{}{},
	}
}

// RefusedBy sets the source of what was refused lately about a cluster. It must be called before
// anything is served.
func (b *Board) RefusedBy(f func(Key) []*rollcallv1.Refusal) { b.refusals = f }

// Lead makes this coordinator the elected one.
func (b *Board) Lead() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.leading, b.leader = true, ""
	b.notify(func(Key) bool { return true })
}

// Follow makes this coordinator a standby and forgets all decisions. The address of the elected
// one, host:port, may be empty while none is elected.
func (b *Board) Follow(leader string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key := range b.decisions {
		b.gone(key)
	}
	clear(b.histories)
	b.leading, b.leader = false, leader
	b.notify(func(Key) bool { return true })
}

// Leader returns whether this coordinator is the elected one, and otherwise the address of that
// one, as far as it is known.
func (b *Board) Leader() (leading bool, leader string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.leading, b.leader
}

// Publish replaces the decision about its cluster. On a standby it does nothing, because a late
// decision no longer counts.
func (b *Board) Publish(d Decision) {
	history := b.historyOf(d.Key)
	if history == nil {
		return
	}
	history.note(d) // this takes its time, and delays nothing else
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.leading {
		return
	}
	var previous *Decision
	if p, ok := b.decisions[d.Key]; ok {
		previous = &p
	}
	b.decisions[d.Key] = d
	for _, o := range b.observers {
		o.Decided(previous, d)
	}
	b.notify(func(k Key) bool { return k == d.Key })
}

// historyOf returns the journal of a cluster, and begins it if there is none. It returns nil on a
// standby.
func (b *Board) historyOf(key Key) *history {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.leading {
		return nil
	}
	if b.histories[key] == nil {
		b.histories[key] = &history{}
		for _, h := range b.histories {
			h.share(historyShare(len(b.histories)))
		}
	}
	return b.histories[key]
}

// Remove forgets a cluster that is gone.
func (b *Board) Remove(key Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.decisions[key]; !ok {
		return
	}
	b.gone(key)
	b.notify(func(k Key) bool { return k == key })
}

// Newest returns the newest decision about a cluster.
func (b *Board) Newest(key Key) (Decision, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d, ok := b.decisions[key]
	return d, ok
}

// List returns the newest decision about every cluster of a namespace, or of all if it is empty,
// sorted by namespace and name.
func (b *Board) List(namespace string) []Decision {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []Decision
	for key, d := range b.decisions {
		if namespace == "" || key.Namespace == namespace {
			list = append(list, d)
		}
	}
	slices.SortFunc(list, func(x, y Decision) int {
		return cmp.Or(cmp.Compare(x.Key.Namespace, y.Key.Namespace), cmp.Compare(x.Key.Name, y.Key.Name))
	})
	return list
}

// Journal calls f with the last entries of a cluster's journal as JSON, oldest first. If most is 0
// it calls f with all that are kept.
func (b *Board) Journal(key Key, most int, f func(entry []byte) error) error {
	b.mu.Lock()
	h := b.histories[key]
	b.mu.Unlock()
	if h == nil {
		return nil
	}
	for _, packed := range h.newest(most) {
		entry, err := unpack(packed)
		if err != nil {
			return err
		}
		if err := f(entry); err != nil {
			return err
		}
	}
	return nil
}

// OnAsk sets the function that is called with the key of each cluster whose agents somebody wants
// to hear from now. It must be called before anything is served. f must return at once.
func (b *Board) OnAsk(f func(Key)) { b.asked = f }

// Ask reports that somebody wants to know what the agents of a cluster say now.
func (b *Board) Ask(key Key) {
	if b.asked != nil {
		b.asked(key)
	}
}

// Watch returns a channel that is signalled whenever the decision about a cluster, or the leader,
// may have changed, and once at the beginning. Pending signals are merged. The watch ends with the
// context.
func (b *Board) Watch(ctx context.Context, key Key) <-chan struct{} {
	w := &watch{key: key, changed: make(chan struct{}, 1)}
	w.changed <- struct{}{}
	b.mu.Lock()
	b.watches[w] = struct{}{}
	b.mu.Unlock()
	context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.watches, w)
	})
	return w.changed
}

type watch struct {
	key     Key
	changed chan struct{}
}

func (b *Board) gone(key Key) {
	delete(b.decisions, key)
	delete(b.histories, key)
	for _, o := range b.observers {
		o.Gone(key)
	}
}

func (b *Board) notify(concerns func(Key) bool) {
	for w := range b.watches {
		if concerns(w.key) {
			select {
			case w.changed <- struct{}{}:
			default:
			}
		}
	}
}
