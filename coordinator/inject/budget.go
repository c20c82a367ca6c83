package inject

import (
	"context"
	"net/netip"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/rollcall-dev/rollcall/agent/door"
)

const (
	// bodiesBytes is the memory for all reviews that are being read or wait, and peerBytes for
	// those of one address, at least the largest review. A typical one has 20 KiB.
	bodiesBytes = 4 * peerBytes
	peerBytes   = maxReview
	// readWait is how long a review may take to arrive after its header. API servers send it at
	// once, and give up after timeoutSeconds, 5 by default.
	readWait = 2 * time.Second
	// roomWait is how long a review waits for room, and again for its turn.
	roomWait = time.Second
	// maxTurns is how many are decoded at a time, but no more than there are processors.
	maxTurns = 2
)

// budget bounds the memory and the processor time of reviews, in total and for each address.
type budget struct {
	all     *semaphore.Weighted // bytes of bodies
	turns   *semaphore.Weighted
	weights *semaphore.Weighted // of what is decoded

	mu    sync.Mutex
	peers map[netip.Prefix]*share
}

// share is the budget of one address, while it has a review.
type share struct {
	bytes *semaphore.Weighted
	users int
}

func newBudget() *budget {
	return &budget{
		all: semaphore.NewWeighted(bodiesBytes), turns: semaphore.NewWeighted(int64(min(maxTurns, runtime.GOMAXPROCS(0)))),
		weights: semaphore.NewWeighted(maxWeight), peers: map[netip.Prefix]*share{},
	}
}

// take waits for room for a review, and returns a function that releases it, or nil if there is
// none in time.
func (b *budget) take(ctx context.Context, remote string, bytes int64) (release func()) {
	var peer netip.Prefix
	if from, err := netip.ParseAddrPort(remote); err == nil {
		peer = door.Peer(from.Addr())
	}
	ctx, cancel := context.WithTimeout(ctx, roomWait)
	defer cancel()
	own := b.enter(peer)
	if own.bytes.Acquire(ctx, bytes) != nil {
		b.leave(peer)
		return nil
	}
	if b.all.Acquire(ctx, bytes) != nil {
		own.bytes.Release(bytes)
		b.leave(peer)
		return nil
	}
	return func() {
		b.all.Release(bytes)
		own.bytes.Release(bytes)
		b.leave(peer)
	}
}

func (b *budget) enter(peer netip.Prefix) *share {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.peers[peer]
	if s == nil {
		s = &share{bytes: semaphore.NewWeighted(peerBytes)}
		b.peers[peer] = s
	}
	s.users++
	return s
}

func (b *budget) leave(peer netip.Prefix) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.peers[peer].users--; b.peers[peer].users == 0 {
		delete(b.peers, peer)
	}
}

// turn waits until a review may be checked.
func (b *budget) turn(ctx context.Context) (release func()) { return wait(ctx, b.turns, 1) }

// work waits, in its turn, until there is room for what it takes to decode it.
func (b *budget) work(ctx context.Context, weight int64) (release func()) {
	return wait(ctx, b.weights, weight)
}

func wait(ctx context.Context, on *semaphore.Weighted, n int64) (release func()) {
	ctx, cancel := context.WithTimeout(ctx, roomWait)
	defer cancel()
	if on.Acquire(ctx, n) != nil {
		return nil
	}
	return func() { on.Release(n) }
}
