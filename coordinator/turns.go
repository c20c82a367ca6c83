package coordinator

import (
	"slices"
	"sync"
	"time"
)

const (
	// agentsAtOnce is how many agents' reports are followed for first looks across all clusters,
	// which takes about 25 MiB.
	agentsAtOnce = 250
	// turnPatience is how long a first look may take while others wait for theirs.
	turnPatience = 30 * time.Second
)

// turns bounds first looks. A coordinator that begins to lead, or sees many new databases, has
// nothing to do for most of them but to find that they are healthy. If all their agents were asked
// at once, thousands of connections would take too much memory and time. Clusters with work do not
// ask for a turn.
type turns struct {
	max  int
	poke func(Key)

	mu      sync.Mutex
	holders map[Key]turn
	queue   []waiter
}

type turn struct {
	agents int
	since  time.Time
}

type waiter struct {
	key    Key
	agents int
}

func newTurns(limit int, poke func(Key)) *turns {
	return &turns{max: limit, poke: poke, holders: map[Key]turn{}}
}

// ask returns whether a cluster's reports may be followed, and until when if others wait (zero if
// none does). A cluster that has had its turn and may not go on must leave. One without need gets a
// turn, and keeps it, only while no other waits. One that has grown makes room.
func (t *turns) ask(now time.Time, key Key, agents int, need bool) (may bool, until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if held, ok := t.holders[key]; ok {
		held.agents = agents
		t.holders[key] = held
		switch {
		case !t.fits(0):
			return false, time.Time{}
		case len(t.queue) == 0:
			return true, time.Time{}
		}
		end := held.since.Add(turnPatience)
		return need && now.Before(end), end
	}
	at := slices.IndexFunc(t.queue, func(w waiter) bool { return w.key == key })
	switch {
	case at >= 0 && !need:
		t.queue = slices.Delete(t.queue, at, at+1)
	case at < 0 && (need || len(t.queue) == 0 && t.fits(agents)):
		t.queue = append(t.queue, waiter{key: key, agents: agents})
	}
	t.advance(now, key)
	_, may = t.holders[key]
	if !may && at < 0 && need {
		for holder := range t.holders {
			t.poke(holder) // another cluster waits now
		}
	}
	return may, time.Time{}
}

// over reports whether a cluster that cannot be looked at has had its turn while others wait for
// theirs.
func (t *turns) over(now time.Time, key Key) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	held, ok := t.holders[key]
	return ok && len(t.queue) > 0 && !now.Before(held.since.Add(turnPatience))
}

// leave removes a cluster whose reports are not followed any more.
func (t *turns) leave(now time.Time, key Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.holders, key)
	t.queue = slices.DeleteFunc(t.queue, func(w waiter) bool { return w.key == key })
	t.advance(now, key)
}

// advance gives turns to the clusters that have waited longest. mu is held.
func (t *turns) advance(now time.Time, asks Key) {
	for len(t.queue) > 0 && t.fits(t.queue[0].agents) {
		next := t.queue[0]
		t.queue = t.queue[1:]
		t.holders[next.key] = turn{agents: next.agents, since: now}
		if next.key != asks {
			t.poke(next.key)
		}
	}
}

// fits reports whether that many more may be asked. A cluster that has more agents than the limit
// goes alone.
func (t *turns) fits(agents int) bool {
	total := agents
	for _, held := range t.holders {
		total += held.agents
	}
	return total <= t.max || len(t.holders) == 0 || agents == 0 && len(t.holders) == 1
}
