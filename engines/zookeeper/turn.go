package zookeeper

import (
	"sync"
	"time"
)

// Turn is how far a server's agent is with draining it. Agents tell it each other directly: of two that
// decide at once at least one sees the other, whatever has been gossiped so far.
type Turn uint8

const (
	// NoTurn means that it is not drained, or that its agent does not tell.
	NoTurn Turn = iota
	// Deciding means that its agent has asked the others, and is about to say whether it may leave.
	Deciding
	// Waiting means that it was told to wait.
	Waiting
	// Granted means that it was told that it may leave.
	Granted
)

// waitingLasts is for how long one that was told to wait is expected to ask again.
const waitingLasts = 10 * time.Second

// turn is that of the local server.
type turn struct {
	mu    sync.Mutex
	now   Turn
	claim string
	since time.Time
}

// begin is called before the others are asked. granted means that it may leave already.
func (t *turn) begin(claim string) (granted bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.claim = claim
	if t.now == Granted {
		return true
	}
	t.now, t.since = Deciding, time.Now()
	return false
}

// end is called when it is known whether it may leave.
func (t *turn) end(granted bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now, t.since = Waiting, time.Now()
	if granted {
		t.now = Granted
	}
}

// stay is called when the drain of a claim is undone.
func (t *turn) stay(claim string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.claim == claim {
		t.now = NoTurn
	}
}

// left is called when the server does not run: who is back has not been told anything.
func (t *turn) left() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now == Granted {
		t.now = NoTurn
	}
}

func (t *turn) told() Turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now == Waiting && time.Since(t.since) > waitingLasts {
		return NoTurn
	}
	return t.now
}

// before reports whether another member that is leaving goes first: one that may leave already, or that
// may be told so at this moment; and of those that wait the one with the lowest number. One that leaves, and
// whose agent lives and does not tell its turn, may have been told before its agent was started again.
func (d departure) before(other member) bool {
	switch now := other.State.Turn; {
	case other.Known && now == Granted:
		return true
	case d.granted && other.Known && now != NoTurn:
		return false
	case other.Known && now == Waiting:
		return byID(other.node, d.node) < 0
	case other.Known && now == Deciding:
		return true
	}
	return other.Peer.Leaving && (other.Peer.Alive || byID(other.node, d.node) < 0)
}
