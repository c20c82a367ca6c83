// Package unread bounds the answers of a gRPC server that its clients have not
// read: gRPC keeps each of them in memory until it has been sent.
package unread

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/status"
)

// leastBytes is the size up to which answers do not count. gRPC does not tell when
// it has sent them.
const leastBytes = 1 << 10

// Limits are of a Tracker. They bound only connections that are tracked.
type Limits struct {
	// Bytes, and ConnectionBytes of one connection, is how many bytes of answers may
	// be unread before another answer is made. ConnectionBytes 0: no limit.
	Bytes, ConnectionBytes int
	// Making is how many answers are made at a time, at most one per connection.
	Making int
	// Calls is how many calls there may be, counting those whose answers have not
	// been sent. 0: no limit.
	Calls int
	// Patience is how long a connection may read nothing while others wait for room;
	// then it ends. With 0 somebody's connection ends at once: of the peer that has
	// most, the one whose call began first.
	Patience time.Duration
	// Peer is whom an address belongs to. Required with Calls, and without Patience.
	Peer func(netip.Addr) netip.Prefix
	// Ended gets the address of a connection that was ended to make room. Optional.
	Ended func(net.Addr)
}

// Tracker counts answers from when they are made until they have been sent.
type Tracker struct {
	limits Limits

	mu            sync.Mutex
	bytes, making int
	connections   map[string]*connection // by remote address
	calls         []*call                // by start
	waiting       []*turn
	charges       map[any]*charge // by answers that are not encoded yet
	again         *time.Timer
}

// New returns a tracker of no connections.
func New(limits Limits) *Tracker {
	return &Tracker{limits: limits, connections: map[string]*connection{}, charges: map[any]*charge{}}
}

// connection is a client's.
type connection struct {
	net.Conn
	tracker *Tracker
	raw     net.Conn // below TLS
	from    string
	peer    netip.Prefix

	bytes  int
	making bool
	since  time.Time // when it last read, or had nothing to read
	ended  bool
}

// call lasts until its handler has returned and its answers have been sent.
type call struct {
	connection *connection
	open       int
	bytes      int
	// made is the charge of an answer that Made has made, and the handler has not
	// returned yet.
	made *charge
}

// turn is a call that waits to make an answer.
type turn struct {
	call    *call
	granted chan struct{}
}

// charge is for one answer until it has been sent.
type charge struct {
	tracker *Tracker
	call    *call
	bytes   int
	once    sync.Once
}

// start begins a call; nil if its connection is not tracked.
func (t *Tracker) start(from net.Addr) *call {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.connections[from.String()]
	if c == nil {
		return nil
	}
	started := &call{connection: c, open: 1}
	t.calls = append(t.calls, started)
	if t.limits.Calls > 0 && len(t.calls) > t.limits.Calls {
		t.endMost(func(*call) int { return 1 })
	}
	return started
}

// returned ends the handler of a call.
func (t *Tracker) returned(c *call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.close(c)
}

// close ends the handler or an answer of a call. mu is held.
func (t *Tracker) close(c *call) {
	if c.open--; c.open == 0 {
		t.calls = slices.DeleteFunc(t.calls, func(other *call) bool { return other == c })
	}
}

// reserve waits until an answer may be made.
func (t *Tracker) reserve(ctx context.Context, c *call) error {
	own := &turn{c, make(chan struct{})}
	t.mu.Lock()
	t.waiting = append(t.waiting, own)
	t.grant()
	t.mu.Unlock()
	select {
	case <-own.granted:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.waiting, own); i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
	} else {
		t.making, c.connection.making = t.making-1, false
		t.grant()
	}
	return status.FromContextError(ctx.Err()).Err()
}

// charge charges a call for the answer that was made, of that many bytes. It
// returns nil if that does not count.
func (t *Tracker) charge(c *call, bytes int) *charge {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.making, c.connection.making = t.making-1, false
	defer t.grant()
	if bytes <= leastBytes || c.connection.ended {
		return nil
	}
	if c.connection.bytes == 0 {
		c.connection.since = time.Now()
	}
	c.open++
	t.add(c, bytes)
	return &charge{tracker: t, call: c, bytes: bytes}
}

// add counts bytes of a call. mu is held.
func (t *Tracker) add(c *call, bytes int) {
	t.bytes += bytes
	c.connection.bytes += bytes
	c.bytes += bytes
}

// send has the charge released when that answer has been encoded and sent.
func (t *Tracker) send(answer any, c *charge) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !c.call.connection.ended {
		t.charges[answer] = c
	}
}

// sending takes the charge of an answer that is encoded.
func (t *Tracker) sending(answer any) *charge {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.charges[answer]
	delete(t.charges, answer)
	return c
}

func (c *charge) release() {
	c.once.Do(func() {
		t := c.tracker
		t.mu.Lock()
		defer t.mu.Unlock()
		if c.call.connection.ended {
			return
		}
		t.add(c.call, -c.bytes)
		c.call.connection.since = time.Now()
		t.close(c.call)
		t.grant()
	})
}

// Get and Put make a charge the pool of its answer's bytes: gRPC puts them back
// when it has sent them.
func (c *charge) Get(n int) *[]byte { b := make([]byte, n); return &b }
func (c *charge) Put(*[]byte)       { c.release() }

// grant grants turns, first to the connections that have least unread. mu is held.
func (t *Tracker) grant() {
	for t.making < t.limits.Making && t.bytes < t.limits.Bytes {
		next := -1
		for i, w := range t.waiting {
			c := w.call.connection
			if c.making || t.limits.ConnectionBytes > 0 && c.bytes >= t.limits.ConnectionBytes {
				continue
			}
			if next < 0 || c.bytes < t.waiting[next].call.connection.bytes {
				next = i
			}
		}
		if next < 0 {
			return
		}
		w := t.waiting[next]
		t.waiting = slices.Delete(t.waiting, next, next+1)
		t.making, w.call.connection.making = t.making+1, true
		close(w.granted)
	}
	if t.bytes >= t.limits.Bytes && len(t.waiting) > 0 && t.makeRoom() {
		t.grant()
	}
}

// makeRoom ends a connection, or sees to it that one is ended later. mu is held.
func (t *Tracker) makeRoom() bool {
	if t.limits.Patience == 0 {
		return t.endMost(func(c *call) int { return c.bytes })
	}
	var idle *connection
	for _, c := range t.connections {
		if c.bytes > 0 && (idle == nil || c.since.Before(idle.since)) {
			idle = c
		}
	}
	if idle == nil {
		return false
	}
	if left := t.limits.Patience - time.Since(idle.since); left > 0 {
		if t.again == nil {
			t.again = time.AfterFunc(left, func() {
				t.mu.Lock()
				defer t.mu.Unlock()
				t.again = nil
				t.grant()
			})
		}
		return false
	}
	t.end(idle)
	return true
}

// endMost ends a connection of the peer that has most, by what a call counts. mu
// is held.
func (t *Tracker) endMost(counts func(*call) int) bool {
	of, most := map[netip.Prefix]int{}, 0
	for _, c := range t.calls {
		of[c.connection.peer] += counts(c)
		most = max(most, of[c.connection.peer])
	}
	i := slices.IndexFunc(t.calls, func(c *call) bool { return of[c.connection.peer] == most && counts(c) > 0 })
	if i < 0 {
		return false
	}
	t.end(t.calls[i].connection)
	return true
}

// end ends a connection to make room. mu is held.
func (t *Tracker) end(c *connection) {
	t.forget(c)
	if t.limits.Ended != nil {
		t.limits.Ended(c.raw.RemoteAddr())
	}
	go func() { _ = c.raw.Close() }() // Close waits for a write in progress
}

// forget drops a connection and all that is unread. mu is held.
func (t *Tracker) forget(c *connection) {
	if c.ended {
		return
	}
	c.ended = true
	t.bytes -= c.bytes
	if t.connections[c.from] == c {
		delete(t.connections, c.from)
	}
	t.calls = slices.DeleteFunc(t.calls, func(of *call) bool { return of.connection == c })
	for answer, owed := range t.charges {
		if owed.call.connection == c {
			delete(t.charges, answer)
		}
	}
}
