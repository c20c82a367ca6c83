package coordinator

import (
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// listedWithin is how long after the start of this process the claims of a database count whose
// pods are not known yet. Nobody has restarted pods that nobody has ever seen, and more people may
// write a status than may order restarts.
const listedWithin = 2 * time.Minute

// fleet counts the restarts in flight across all database clusters. Sessions decide at the same
// time, so what a plan allows is checked once more, under one lock, before it is claimed. Together
// they never open more than max.
type fleet struct {
	max int // 0 = no limit
	// noted returns the open claims that the DatabaseClusters list. Once the session of a cluster
	// has reported, its number counts instead.
	noted func() map[Key]int
	// maxUnavailable returns how many pods of a cluster can be unavailable. It returns false if not
	// known.
	maxUnavailable func(Key) (int, bool)
	// freed is called when a restart has ended.
	freed func()

	born time.Time

	mu     sync.Mutex
	spoken map[Key]int
	// pods are the most pods that a cluster was seen with at a time. No more claims of it count.
	pods map[Key]int
}

func newFleet(limit int, noted func() map[Key]int, mayBeAway func(Key) (int, bool), freed func()) *fleet {
	return &fleet{max: limit, noted: noted, maxUnavailable: mayBeAway, freed: freed, born: time.Now(), spoken: map[Key]int{}, pods: map[Key]int{}}
}

// state returns what a snapshot says about the fleet.
func (f *fleet) state() model.Fleet {
	f.mu.Lock()
	defer f.mu.Unlock()
	return model.Fleet{Restarts: f.besides(Key{}), Max: f.max}
}

// besides counts the restarts of all clusters but one.
func (f *fleet) besides(key Key) int {
	total := 0
	for k, n := range f.noted() {
		if _, ok := f.spoken[k]; ok || k == key || n == 0 {
			continue
		}
		if pods, known := f.maxUnavailable(k); known || time.Since(f.born) >= listedWithin {
			n = min(n, pods)
		}
		total += n
	}
	for k, n := range f.spoken {
		if k != key {
			total += n
		}
	}
	return total
}

// room returns how many claims a cluster may have open. It returns false if there is no limit.
func (f *fleet) room(key Key) (room int, limited bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.max - f.besides(key), f.max > 0
}

// grant reports whether a cluster may have as many claims open, and counts them from now on if so.
func (f *fleet) grant(key Key, open int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.max > 0 && f.besides(key)+open > f.max {
		return false
	}
	f.spoken[key] = open
	return true
}

// noteClaims notes how many claims of a cluster are open, and how many pods it has.
func (f *fleet) noteClaims(key Key, open, pods int) {
	f.mu.Lock()
	f.pods[key] = max(f.pods[key], pods)
	open = min(open, f.pods[key])
	before, known := f.spoken[key]
	f.spoken[key] = open
	f.mu.Unlock()
	if f.max > 0 && known && open < before {
		f.freed()
	}
}

// forget forgets a cluster whose session has ended. What its DatabaseCluster lists counts again, as
// long as that exists.
func (f *fleet) forget(key Key) {
	f.mu.Lock()
	delete(f.spoken, key)
	delete(f.pods, key)
	f.mu.Unlock()
	if f.max > 0 {
		f.freed()
	}
}
