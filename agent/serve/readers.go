package serve

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"

	"github.com/rollcall-dev/rollcall/agent/door"
)

// Readers only look at agents, by hand, so all of them together may take little of
// an agent's memory: gRPC keeps each answer until it has been read, and a report may
// have megabytes.
const (
	// maxReading is how many calls of readers there may be, counting those whose
	// answer has not been sent.
	maxReading = 16
	// maxUnsent is how many bytes of answers to readers may be unsent before the
	// next answer is encoded.
	maxUnsent = 4 << 20
)

// readers bounds the calls of those who have the role reader and no other. Nobody is
// refused: whoever has most loses a connection, and among equals the one whose call
// began first.
type readers struct {
	ended func(from net.Addr) // gets the address of a connection that was ended

	making sync.Mutex // one answer is encoded at a time
	mu     sync.Mutex
	calls  []*reading // by start
	unsent int
	// answers that are not encoded yet
	answers map[any]*reading
}

// reading is a call until all its answers have been sent.
type reading struct {
	readers *readers
	conn    *readerConn
	open    int // the handler, and each answer
	unsent  int
}

// readerConn is a connection of a reader.
type readerConn struct {
	net.Conn
	raw     net.Conn // below TLS
	peer    netip.Prefix
	readers *readers
}

// readerInfo is how a call finds its connection.
type readerInfo struct {
	credentials.TLSInfo
	conn *readerConn
}

func newReaders(ended func(net.Addr)) *readers {
	return &readers{ended: ended, answers: map[any]*reading{}}
}

// take makes a connection a reader's.
func (r *readers) take(secure, raw net.Conn, info credentials.AuthInfo) (net.Conn, credentials.AuthInfo) {
	tls, ok := info.(credentials.TLSInfo)
	if !ok {
		return secure, info
	}
	c := &readerConn{Conn: secure, raw: raw, readers: r}
	if from, err := netip.ParseAddrPort(raw.RemoteAddr().String()); err == nil {
		c.peer = door.Peer(from.Addr())
	}
	return c, readerInfo{tls, c}
}

// Close forgets what the reader has not read.
func (c *readerConn) Close() error {
	c.readers.mu.Lock()
	c.readers.forget(c)
	c.readers.mu.Unlock()
	return c.Conn.Close()
}

// begin returns nil if the caller is no reader.
func (r *readers) begin(ctx context.Context) *reading {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	info, ok := p.AuthInfo.(readerInfo)
	if !ok {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	own := &reading{readers: r, conn: info.conn, open: 1}
	r.calls = append(r.calls, own)
	if len(r.calls) > maxReading {
		r.makeRoom(func(*reading) int { return 1 })
	}
	return own
}

// makeRoom ends a connection of whoever has most, by what a call counts. mu is held.
func (r *readers) makeRoom(counts func(*reading) int) bool {
	of, most := map[netip.Prefix]int{}, 0
	for _, c := range r.calls {
		of[c.conn.peer] += counts(c)
		most = max(most, of[c.conn.peer])
	}
	i := slices.IndexFunc(r.calls, func(c *reading) bool { return of[c.conn.peer] == most && counts(c) > 0 })
	if i < 0 {
		return false
	}
	conn := r.calls[i].conn
	r.forget(conn)
	r.ended(conn.raw.RemoteAddr())
	go func() { _ = conn.raw.Close() }() // Close waits for a write in progress
	return true
}

// forget drops the calls of a connection. mu is held.
func (r *readers) forget(conn *readerConn) {
	r.calls = slices.DeleteFunc(r.calls, func(c *reading) bool {
		if c.conn == conn {
			r.unsent -= c.unsent
			c.unsent, c.open = 0, 0
		}
		return c.conn == conn
	})
	for answer, c := range r.answers {
		if c.conn == conn {
			delete(r.answers, answer)
		}
	}
}

// answer notes that an answer will be encoded.
func (c *reading) answer(m any) {
	c.readers.mu.Lock()
	defer c.readers.mu.Unlock()
	if c.open > 0 {
		c.open++
		c.readers.answers[m] = c
	}
}

// done ends the handler, or an answer of that size that has been sent.
func (c *reading) done(size int) {
	r := c.readers
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.open == 0 {
		return // its connection is gone
	}
	c.open--
	c.unsent -= size
	r.unsent -= size
	if c.open == 0 {
		r.calls = slices.DeleteFunc(r.calls, func(other *reading) bool { return other == c })
	}
}

func (r *readers) unary(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	own := r.begin(ctx)
	if own == nil {
		return handler(ctx, request)
	}
	defer own.done(0)
	answer, err := handler(ctx, request)
	if err == nil {
		own.answer(answer)
	}
	return answer, err
}

func (r *readers) stream(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	own := r.begin(stream.Context())
	if own == nil {
		return handler(server, stream)
	}
	defer own.done(0)
	return handler(server, readerStream{stream, own})
}

type readerStream struct {
	grpc.ServerStream
	call *reading
}

func (s readerStream) SendMsg(m any) error {
	s.call.answer(m)
	return s.ServerStream.SendMsg(m)
}

// codec counts the answers to readers until they are sent.
func (r *readers) codec(inner encoding.CodecV2) encoding.CodecV2 { return readerCodec{inner, r} }

type readerCodec struct {
	encoding.CodecV2
	readers *readers
}

func (c readerCodec) Marshal(v any) (mem.BufferSlice, error) {
	r := c.readers
	r.mu.Lock()
	own := r.answers[v]
	delete(r.answers, v)
	r.mu.Unlock()
	message, ok := v.(proto.Message)
	if own == nil || !ok {
		return c.CodecV2.Marshal(v)
	}
	r.making.Lock()
	defer r.making.Unlock()
	r.mu.Lock()
	for r.unsent >= maxUnsent && r.makeRoom(func(c *reading) int { return c.unsent }) {
	}
	r.mu.Unlock()
	text, err := proto.Marshal(message)
	if err != nil || mem.IsBelowBufferPoolingThreshold(cap(text)) {
		own.done(0)
		return mem.BufferSlice{mem.SliceBuffer(text)}, err
	}
	r.mu.Lock()
	if own.open > 0 {
		own.unsent, r.unsent = own.unsent+len(text), r.unsent+len(text)
	}
	r.mu.Unlock()
	return mem.BufferSlice{mem.NewBuffer(&text, sent{own, len(text)})}, nil
}

// sent is the pool to which the bytes of an answer return once they have been sent.
type sent struct {
	call *reading
	size int
}

func (s sent) Get(n int) *[]byte { b := make([]byte, n); return &b }
func (s sent) Put(*[]byte)       { s.call.done(s.size) }
