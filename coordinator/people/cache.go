package people

import (
	"crypto/sha256"
	"time"

	utilcache "k8s.io/apimachinery/pkg/util/cache"
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

// cache remembers answers for a short time, and never more than maxEntries: those that were
// asked for last.
type cache[K comparable, V any] struct{ answers *utilcache.LRUExpireCache }

func newCache[K comparable, V any](clock utilcache.Clock) cache[K, V] {
	return cache[K, V]{utilcache.NewLRUExpireCacheWithClock(maxEntries, clock)}
}

func (c cache[K, V]) get(key K) (V, bool) {
	value, ok := c.answers.Get(key)
	answer, _ := value.(V)
	return answer, ok
}

// put keeps an answer for less than so long: the library's own end is inclusive.
func (c cache[K, V]) put(key K, value V, keep time.Duration) { c.answers.Add(key, value, keep-1) }
