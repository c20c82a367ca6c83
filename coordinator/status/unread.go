package status

import (
	"cmp"
	"context"
	"net"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	encodingproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/stats"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Of answers that are made, or have not been sent yet: gRPC keeps what somebody does not read.
const (
	// answerLarge is from where on an answer counts. gRPC does not tell when smaller ones were sent.
	answerLarge = 1 << 10
	// unreadInAll and unreadEach, of one connection, are how many bytes of them there may be before another is made.
	unreadInAll = 32 << 20
	unreadEach  = 4 << 20
	// makingInAll are made at a time, of one connection one.
	makingInAll = 4
	// unreadFor is how long answers may stay unread while others wait for room.
	unreadFor = 10 * time.Second
)

// unread counts the answers that are in memory.
type unread struct {
	mu            sync.Mutex
	bytes, making int
	waiting       []*turn
	readers       map[*reader]bool // those that have some
	charges       map[any]*charge  // by answers that are not encoded yet
	sockets       map[string]net.Conn
	again         *time.Timer
}

// reader is a connection.
type reader struct {
	socket net.Conn // nil: it is not known
	bytes  int
	making bool
	since  time.Time // when it read, or had nothing to read
	ended  bool
}

// turn is to make an answer.
type turn struct {
	of      *reader
	granted chan struct{}
}

// charge is for one answer until it has been sent.
type charge struct {
	unread *unread
	of     *reader
	bytes  int
	once   sync.Once
}

func newUnread() *unread {
	return &unread{readers: map[*reader]bool{}, charges: map[any]*charge{}, sockets: map[string]net.Conn{}}
}

// options put it into a server. They are to be the first.
func (u *unread) options() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.StatsHandler(connections{u}), grpc.ForceServerCodecV2(charging{encoding.GetCodecV2(encodingproto.Name), u}),
		grpc.ChainUnaryInterceptor(u.unary), grpc.ChainStreamInterceptor(u.stream),
	}
}

// begin waits until an answer may be made.
func (u *unread) begin(ctx context.Context, r *reader) error {
	t := &turn{r, make(chan struct{})}
	u.mu.Lock()
	u.waiting = append(u.waiting, t)
	u.grant()
	u.mu.Unlock()
	select {
	case <-t.granted:
		return nil
	case <-ctx.Done():
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if i := slices.Index(u.waiting, t); i >= 0 {
		u.waiting = slices.Delete(u.waiting, i, i+1)
	} else {
		u.making, r.making = u.making-1, false
		u.grant()
	}
	return grpcstatus.FromContextError(ctx.Err()).Err()
}

// end charges what was made; nil: nothing was.
func (u *unread) end(r *reader, answer proto.Message) *charge {
	bytes := 0
	if answer != nil {
		bytes = proto.Size(answer)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.making, r.making = u.making-1, false
	defer u.grant()
	if bytes <= answerLarge || r.ended {
		return nil
	}
	if r.bytes == 0 {
		r.since = time.Now()
	}
	u.bytes, r.bytes = u.bytes+bytes, r.bytes+bytes
	u.readers[r] = true
	return &charge{unread: u, of: r, bytes: bytes}
}

// sends has the charge go with an answer that will be encoded.
func (u *unread) sends(answer any, c *charge) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.charges[answer] = c
}

func (c *charge) release() {
	c.once.Do(func() {
		u, r := c.unread, c.of
		u.mu.Lock()
		defer u.mu.Unlock()
		if r.ended {
			return
		}
		u.bytes, r.bytes, r.since = u.bytes-c.bytes, r.bytes-c.bytes, time.Now()
		if r.bytes == 0 {
			delete(u.readers, r)
		}
		u.grant()
	})
}

// Get and Put make a charge the pool of its answer's bytes: they are put back when they have been sent.
func (c *charge) Get(n int) *[]byte { b := make([]byte, n); return &b }
func (c *charge) Put(*[]byte)       { c.release() }

// grant lets those make answers who may, and of them who has least unread first. mu is held.
func (u *unread) grant() {
	for u.making < makingInAll && u.bytes < unreadInAll {
		next := -1
		for i, t := range u.waiting {
			if !t.of.making && t.of.bytes < unreadEach && (next < 0 || t.of.bytes < u.waiting[next].of.bytes) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		t := u.waiting[next]
		u.waiting = slices.Delete(u.waiting, next, next+1)
		u.making, t.of.making = u.making+1, true
		close(t.granted)
	}
	if u.bytes >= unreadInAll && len(u.waiting) > 0 {
		u.makeRoom()
	}
}

// makeRoom ends the connection that has not read for longest, once that is too long. mu is held.
func (u *unread) makeRoom() {
	var idle *reader
	for r := range u.readers {
		if r.socket != nil && (idle == nil || r.since.Before(idle.since)) {
			idle = r
		}
	}
	if idle == nil {
		return
	}
	if left := unreadFor - time.Since(idle.since); left > 0 {
		if u.again == nil {
			u.again = time.AfterFunc(left, func() {
				u.mu.Lock()
				defer u.mu.Unlock()
				u.again = nil
				u.grant()
			})
		}
		return
	}
	socket := idle.socket
	u.ended(idle)
	go func() { _ = socket.Close() }() // to close is to wait for a write that is under way
	u.grant()
}

// ended is for a connection with all that is unread. mu is held.
func (u *unread) ended(r *reader) {
	r.ended = true
	u.bytes -= r.bytes
	delete(u.readers, r)
	for answer, c := range u.charges {
		if c.of == r {
			delete(u.charges, answer)
		}
	}
}

// connections tells when they begin and end.
type connections struct{ unread *unread }

type readerKey struct{}

func (c connections) TagConn(ctx context.Context, info *stats.ConnTagInfo) context.Context {
	c.unread.mu.Lock()
	defer c.unread.mu.Unlock()
	return context.WithValue(ctx, readerKey{}, &reader{socket: c.unread.sockets[info.RemoteAddr.String()]})
}

func (c connections) HandleConn(ctx context.Context, s stats.ConnStats) {
	if _, ends := s.(*stats.ConnEnd); !ends {
		return
	}
	if r, ok := ctx.Value(readerKey{}).(*reader); ok {
		c.unread.mu.Lock()
		defer c.unread.mu.Unlock()
		if !r.ended {
			c.unread.ended(r)
			c.unread.grant()
		}
	}
}

func (connections) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }
func (connections) HandleRPC(context.Context, stats.RPCStats)                       {}

// socket remembers one until it is closed, so that it can be ended.
func (u *unread) socket(raw, secure net.Conn) net.Conn {
	from := cmp.Or(raw.RemoteAddr(), net.Addr(&net.TCPAddr{})).String()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sockets[from] = raw
	return &socket{secure, func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.sockets[from] == raw {
			delete(u.sockets, from)
		}
	}}
}

type socket struct {
	net.Conn
	forget func()
}

func (s *socket) Close() error {
	s.forget()
	return s.Conn.Close()
}

// charging encodes answers so that it is known when they have been sent.
type charging struct {
	encoding.CodecV2
	unread *unread
}

func (c charging) Marshal(v any) (mem.BufferSlice, error) {
	c.unread.mu.Lock()
	own := c.unread.charges[v]
	delete(c.unread.charges, v)
	c.unread.mu.Unlock()
	message, ok := v.(proto.Message)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	// gRPC's own codec takes 1 MiB for what is larger than 32 KiB.
	data, err := proto.Marshal(message)
	switch {
	case own == nil:
		return mem.BufferSlice{mem.SliceBuffer(data)}, err
	case err != nil:
		own.release()
		return nil, err
	}
	return mem.BufferSlice{mem.NewBuffer(&data, own)}, nil
}

// answering is a call.
type answering struct {
	unread *unread
	reader *reader
	charge *charge
}

type answeringKey struct{}

func (u *unread) unary(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	a := &answering{unread: u, reader: readerOf(ctx)}
	// What is compressed could not be followed.
	if err := grpc.SetSendCompressor(ctx, encoding.Identity); err != nil {
		return nil, err
	}
	answer, err := handler(context.WithValue(ctx, answeringKey{}, a), request)
	switch {
	case a.charge == nil:
	case err != nil:
		a.charge.release()
	default:
		u.sends(answer, a.charge)
	}
	return answer, err
}

func readerOf(ctx context.Context) *reader {
	if r, ok := ctx.Value(readerKey{}).(*reader); ok {
		return r
	}
	return &reader{}
}

// made makes an answer when there is room for it.
func made[Answer proto.Message](ctx context.Context, build func() (Answer, error)) (answer Answer, err error) {
	a, ok := ctx.Value(answeringKey{}).(*answering)
	if !ok {
		return build()
	}
	if err := a.unread.begin(ctx, a.reader); err != nil {
		return answer, err
	}
	if answer, err = build(); err != nil {
		a.unread.end(a.reader, nil)
		return answer, err
	}
	a.charge = a.unread.end(a.reader, answer)
	return answer, nil
}

func (u *unread) stream(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if err := grpc.SetSendCompressor(stream.Context(), encoding.Identity); err != nil {
		return err
	}
	return handler(server, &charged{stream, u, readerOf(stream.Context())})
}

// charged is a stream of answers.
type charged struct {
	grpc.ServerStream
	unread *unread
	reader *reader
}

func (s *charged) SendMsg(m any) error {
	message, ok := m.(proto.Message)
	if !ok || proto.Size(message) <= answerLarge {
		return s.ServerStream.SendMsg(m)
	}
	if err := s.unread.begin(s.Context(), s.reader); err != nil {
		return err
	}
	if c := s.unread.end(s.reader, message); c != nil {
		s.unread.sends(m, c)
	}
	return s.ServerStream.SendMsg(m)
}
