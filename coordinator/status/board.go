// Package status is what the coordinator says: to people, to Prometheus, to tracing and in
// events. A Board holds its newest decisions; everything else reads them there.
package status

import (
	"cmp"
	"context"
	"slices"
	"sync"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Board holds the newest decision about every database cluster, and a journal
// of those before, for everyone who wants to see them. The coordinator's loop publishes; servers read.
//
// Only the elected coordinator publishes. While it is not elected a Board is
// empty and knows where the elected one is, so that nobody is shown what was
// true before.
//
// Safe for concurrent use.
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

// Observer is told of each decision as it is published, and of clusters that
// are gone. Calls for one cluster come one at a time and in order; an Observer
// must not block and must not call the Board.
type Observer interface {
	// Decided is called with the decision before, which is nil for the first.
	Decided(previous *Decision, next Decision)
	Gone(key Key)
}

// NewBoard is the Board of a standby coordinator.
func NewBoard(observers ...Observer) *Board {
	return &Board{
		observers: observers,
		decisions: map[Key]Decision{},
		histories: map[Key]*history{},
		watches:   map[*watch]struct{}{},
	}
}

// RefusedBy says who knows what was refused lately about a cluster. It must be called
// before anybody is served.
func (b *Board) RefusedBy(f func(Key) []*rollcallv1.Refusal) { b.refusals = f }

// Lead makes this coordinator the elected one.
func (b *Board) Lead() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.leading, b.leader = true, ""
	b.notify(func(Key) bool { return true })
}

// Follow makes this coordinator a standby and forgets all decisions. The
// address of the elected one, host:port, may be empty while nobody is.
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

// Leader says whether this coordinator is the elected one, and otherwise the
// address of that, as far as it is known.
func (b *Board) Leader() (leading bool, leader string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.leading, b.leader
}

// Publish replaces the decision about its cluster. On a standby it does
// nothing: a decision that comes late is nobody's any more.
func (b *Board) Publish(d Decision) {
	history := b.historyOf(d.Key)
	if history == nil {
		return
	}
	history.note(d) // which takes its time, and holds up nobody else
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

// historyOf is the journal of a cluster, begun if there is none yet; nil on a standby.
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

// Newest is the newest decision about a cluster.
func (b *Board) Newest(key Key) (Decision, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d, ok := b.decisions[key]
	return d, ok
}

// List is the newest decision about every cluster of a namespace, or of all
// when it is empty, sorted by namespace and name.
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

// Journal calls f with the last entries of a cluster's journal as JSON, oldest
// first; most = 0 means all that are kept.
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

// OnAsk has f called with the key of each cluster about which somebody wants to
// know what its agents say now. It must be called before anything is served; f
// must return at once.
func (b *Board) OnAsk(f func(Key)) { b.asked = f }

// Ask tells that somebody wants to know.
func (b *Board) Ask(key Key) {
	if b.asked != nil {
		b.asked(key)
	}
}

// Watch is signalled whenever the decision about a cluster, or who leads, may
// have changed, and at once to begin with. Signals that nobody has taken are
// one signal. The watch ends with the context.
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
