package agents

import (
	"context"
	"slices"
	"sync"
)

// turns are for large messages. Waiting clusters are served in order of arrival, those of the
// namespace with the fewest first.
type turns struct {
	mu sync.Mutex
	// followed and taken count followed clusters and turns, by namespace.
	followed, taken map[string]int
	all             int
	waiting         []*waiter
}

type waiter struct {
	namespace string
	granted   chan struct{}
}

func newTurns() *turns { return &turns{followed: map[string]int{}, taken: map[string]int{}} }

// follow adds by clusters of a namespace.
func (t *turns) follow(namespace string, by int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	add(t.followed, namespace, by)
	t.grant()
}

// take waits for a turn, and reports whether it got one before ctx ended.
func (t *turns) take(ctx context.Context, namespace string) bool {
	w := &waiter{namespace, make(chan struct{})}
	t.mu.Lock()
	t.waiting = append(t.waiting, w)
	t.grant()
	t.mu.Unlock()
	select {
	case <-w.granted:
		return true
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.waiting, w)
	if i < 0 {
		return true // at this very moment
	}
	t.waiting = slices.Delete(t.waiting, i, i+1)
	return false
}

// leave returns a turn.
func (t *turns) leave(namespace string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all--
	add(t.taken, namespace, -1)
	t.grant()
}

// grant gives available turns to those that wait. mu is held.
func (t *turns) grant() {
	for {
		next := -1
		for i, w := range t.waiting {
			if t.may(w.namespace) && (next < 0 || t.taken[w.namespace] < t.taken[t.waiting[next].namespace]) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		w := t.waiting[next]
		t.waiting = slices.Delete(t.waiting, next, next+1)
		t.all++
		add(t.taken, w.namespace, 1)
		close(w.granted)
	}
}

// may reports whether a namespace may have a turn: the last ones are for namespaces that have few,
// unless there is only one. mu is held.
func (t *turns) may(namespace string) bool {
	free := largeInAll - t.all
	return free > largePerNamespace || free > 0 && (t.taken[namespace] < largePerNamespace || len(t.followed) == 1)
}

func add(counts map[string]int, key string, by int) {
	if counts[key] += by; counts[key] == 0 {
		delete(counts, key)
	}
}
