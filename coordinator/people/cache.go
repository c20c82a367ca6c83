package people

import (
	"crypto/sha256"
	"sync"
	"time"
)

// Limits of what is remembered. A permission that is revoked is gone after keepAllowed at the
// latest, and a new one counts after keepRefused.
const (
	keepAllowed = 10 * time.Second
	keepRefused = 3 * time.Second
	maxEntries  = 4096
)

// digest stands for a token wherever one is remembered.
type digest [sha256.Size]byte

// cache remembers answers for a short time, and never more than maxEntries.
type cache[K comparable, V any] struct {
	mu      sync.Mutex
	entries map[K]entry[V]
}

type entry[V any] struct {
	value V
	until time.Time
}

func (c *cache[K, V]) get(key K, now time.Time) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if !ok || !now.Before(e.until) {
		var none V
		return none, false
	}
	return e.value, true
}

func (c *cache[K, V]) put(key K, value V, until, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil {
		c.entries = map[K]entry[V]{}
	}
	if len(c.entries) >= maxEntries {
		for k, e := range c.entries {
			if !now.Before(e.until) {
				delete(c.entries, k)
			}
		}
	}
	if len(c.entries) >= maxEntries {
		// Somebody sends a great many: all are checked again.
		clear(c.entries)
	}
	c.entries[key] = entry[V]{value, until}
}
