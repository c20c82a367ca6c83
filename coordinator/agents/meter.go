package agents

import (
	"context"
	"errors"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/rollcall-dev/rollcall/coordinator/agents/wire"
)

// Limits of what a connection may deliver before more is read. gRPC keeps the received part of a
// message until the message is complete, and each of thousands of agents may begin one of
// megabytes.
const (
	// unsettled is how many bytes without a complete message any connection may deliver: the window
	// of a stream. Most reports are smaller.
	unsettled = 64 << 10
	// A larger message needs a turn, of which each cluster has one, and all together eight: eight
	// messages of 8 MiB are a quarter of the memory that the chart gives a coordinator. If there
	// are databases in several namespaces, the last two turns are for namespaces that have fewer
	// than two.
	largeInAll        = 8
	largePerCluster   = 1
	largePerNamespace = 2
	// largeFor is how long the rest of a large message may take: 8 MiB at 1 MB/s.
	largeFor = 10 * time.Second
	// frames is what belongs to a message besides its bytes: headers of gRPC, HTTP/2 and TLS,
	// pings, windows.
	frames = 256
)

// Limits of what is read from one cluster's agents in a second. 100 agents that report all of 5,000
// shards each second send 60 MB. Beyond that they wait: only time is lost, and their reports say
// how old they are.
const (
	bytesPerSecond = 64 << 20
	bytesAtOnce    = 16 << 20
)

// Limits of the messages of one stream. An agent observes once a second, reports each change at
// once, and sends its roster ten times a second at most.
const (
	messagesPerSecond = 20
	messagesAtOnce    = 100
)

func newMessages() *rate.Limiter { return rate.NewLimiter(messagesPerSecond, messagesAtOnce) }

var errBroken = errors.New("the connection was ended for what it brought")

// meter counts what the connection of a line delivers, and how much of that was messages.
type meter struct {
	agents *Agents
	from   *agent
	newest atomic.Pointer[metered]
}

// settle notes a complete message.
func (m *meter) settle(bytes int) {
	if c := m.newest.Load(); c != nil {
		c.settle(bytes)
	}
}

// forgive is for a stream that was ended here: the received part of a message will not be
// completed. A stream that the agent ends, or that falls silent, is not forgiven.
func (a *Agents) forgive(g *agent) {
	a.mu.Lock()
	m := g.conn.meter
	a.mu.Unlock()
	if m != nil {
		m.settle(math.MaxInt32)
	}
}

func (m *meter) wrap(conn net.Conn) net.Conn {
	c := &metered{Conn: conn, meter: m}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	m.newest.Store(c)
	return c
}

// metered is a connection that is read only as far as it may deliver more.
type metered struct {
	net.Conn
	meter  *meter
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	pending int
	large   *time.Timer // set while it has a turn for a large message
	waits   func()      // ends the wait for one; nil if it does not wait
	waited  time.Time   // when it did last
}

func (c *metered) Read(p []byte) (int, error) {
	if err := c.turn(); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.mu.Lock()
		c.pending += n
		flood := c.pending > c.meter.agents.opts.MaxMessage+2*unsettled
		c.mu.Unlock()
		if flood {
			c.end(&wire.Refusal{Reason: reasonFlood, Text: "its connection brings bytes that belong to no message"})
			return 0, errBroken
		}
		if c.meter.from.cluster.bytes.WaitN(c.ctx, n) != nil {
			return 0, net.ErrClosed
		}
	}
	return n, err
}

// turn waits until the connection may deliver more.
func (c *metered) turn() error {
	c.mu.Lock()
	if c.pending < unsettled || c.large != nil {
		c.mu.Unlock()
		return nil
	}
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	c.waits = cancel
	c.mu.Unlock()
	taken := c.takeTurn(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits, c.waited = nil, time.Now()
	if taken {
		c.large = time.AfterFunc(largeFor, func() {
			c.end(&wire.Refusal{Reason: reasonSlow, Text: "it has begun a large message and does not end it"})
		})
	}
	if c.ctx.Err() != nil {
		c.leave()
		return net.ErrClosed
	}
	if c.pending < unsettled { // what it has brought was a message after all
		c.leave()
	}
	return nil
}

func (c *metered) takeTurn(ctx context.Context) bool {
	own := c.meter.from.cluster
	select {
	case own.large <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	if c.meter.agents.large.take(ctx, own.key.Namespace) {
		return true
	}
	<-own.large
	return false
}

// quietSince returns the end of a wait for a turn, because an agent can say nothing during it, or
// now while it waits.
func (m *meter) quietSince() time.Time {
	c := m.newest.Load()
	if c == nil {
		return time.Time{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waits != nil {
		return time.Now()
	}
	return c.waited
}

func (c *metered) settle(bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending = max(0, c.pending-bytes-frames); c.pending < unsettled {
		c.leave()
		if c.waits != nil {
			c.waits()
		}
	}
}

// leave gives the turn to another. mu is held.
func (c *metered) leave() {
	if c.large != nil {
		c.large.Stop()
		c.large = nil
		c.meter.agents.large.leave(c.meter.from.cluster.key.Namespace)
		<-c.meter.from.cluster.large
	}
}

// end closes a connection that delivers too much.
func (c *metered) end(why *wire.Refusal) {
	c.meter.agents.refuse(c.meter.from, connection, why)
	_ = c.Close()
}

func (c *metered) Close() error {
	c.cancel()
	c.mu.Lock()
	c.leave()
	c.mu.Unlock()
	return c.Conn.Close()
}
