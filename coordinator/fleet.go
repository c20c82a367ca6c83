package coordinator

import (
	"sync"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// fleet counts the restarts in flight across all database clusters. Sessions
// decide at the same time, so what a plan allows is asked for once more, under
// one lock, before it is claimed: together they never open more than max.
type fleet struct {
	max int // 0 = no limit
	// noted are the open claims that the DatabaseClusters tell of; of a cluster
	// whose session has spoken, that counts instead.
	noted func() map[Key]int
	// freed is called when a restart has ended.
	freed func()

	mu     sync.Mutex
	spoken map[Key]int
}

func newFleet(limit int, noted func() map[Key]int, freed func()) *fleet {
	return &fleet{max: limit, noted: noted, freed: freed, spoken: map[Key]int{}}
}

// state is what a snapshot says of the fleet.
func (f *fleet) state() policy.Fleet {
	f.mu.Lock()
	defer f.mu.Unlock()
	return policy.Fleet{Restarts: f.besides(Key{}), Max: f.max}
}

// besides counts the restarts of all clusters but one.
func (f *fleet) besides(key Key) int {
	total := 0
	for k, n := range f.noted() {
		if _, ok := f.spoken[k]; !ok && k != key {
			total += n
		}
	}
	for k, n := range f.spoken {
		if k != key {
			total += n
		}
	}
	return total
}

// grant answers whether a cluster may have as many claims open, and counts them
// from now on if so.
func (f *fleet) grant(key Key, open int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.max > 0 && f.besides(key)+open > f.max {
		return false
	}
	f.spoken[key] = open
	return true
}

// settle is told how many claims of a cluster are open.
func (f *fleet) settle(key Key, open int) {
	f.mu.Lock()
	before, known := f.spoken[key]
	f.spoken[key] = open
	f.mu.Unlock()
	if f.max > 0 && known && open < before {
		f.freed()
	}
}

// forget is for a cluster whose session has ended: what it noted in its
// DatabaseCluster counts again, as long as that exists.
func (f *fleet) forget(key Key) {
	f.mu.Lock()
	delete(f.spoken, key)
	f.mu.Unlock()
	if f.max > 0 {
		f.freed()
	}
}
