package unread

import (
	"context"
	"net"
	"net/netip"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	encodingproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"
)

// Track tracks a connection: a server's credentials call it after the handshake,
// and return what it returns. raw is the connection below TLS.
func (t *Tracker) Track(secure, raw net.Conn) net.Conn {
	c := &connection{Conn: secure, raw: raw, tracker: t}
	if from := raw.RemoteAddr(); from != nil {
		c.from = from.String()
	}
	if from, err := netip.ParseAddrPort(c.from); err == nil && t.limits.Peer != nil {
		c.peer = t.limits.Peer(from.Addr())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.connections[c.from] = c
	return c
}

// Close forgets what was not read.
func (c *connection) Close() error {
	c.tracker.mu.Lock()
	c.tracker.forget(c)
	c.tracker.grant()
	c.tracker.mu.Unlock()
	return c.Conn.Close()
}

// Codec encodes answers so that the tracker knows when they have been sent, and
// each into as much memory as it needs. gRPC's own takes 1 MiB for a message of
// more than 32 KiB, such as the report of 1,000 replicas, and its pool loses that
// with every second collection: a third of an agent's heap.
func (t *Tracker) Codec() encoding.CodecV2 {
	return codec{encoding.GetCodecV2(encodingproto.Name), t}
}

type codec struct {
	encoding.CodecV2
	tracker *Tracker
}

func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	message, ok := v.(proto.Message)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	own := c.tracker.sending(v)
	data, err := proto.Marshal(message)
	switch {
	case err != nil:
		if own != nil {
			own.release()
		}
		return nil, err
	case own == nil:
		return mem.BufferSlice{mem.SliceBuffer(data)}, nil
	}
	return mem.BufferSlice{mem.NewBuffer(&data, own)}, nil
}

// of starts the call of a context; nil if its connection is not tracked.
func (t *Tracker) of(ctx context.Context) *call {
	p, ok := peer.FromContext(ctx)
	if !ok || p.Addr == nil {
		return nil
	}
	return t.start(p.Addr)
}

type callKey struct{}

// Unary is an interceptor of the server.
func (t *Tracker) Unary(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	own := t.of(ctx)
	if own == nil {
		return handler(ctx, request)
	}
	defer t.returned(own)
	// The size of a compressed answer would be unknown.
	if err := grpc.SetSendCompressor(ctx, encoding.Identity); err != nil {
		return nil, err
	}
	answer, err := handler(context.WithValue(ctx, callKey{}, calling{t, own}), request)
	message, ok := answer.(proto.Message)
	switch {
	case err != nil && own.made != nil:
		own.made.release()
	case err != nil || !ok:
	case own.made != nil:
		t.send(answer, own.made)
	default:
		err = t.account(ctx, own, message)
	}
	return answer, err
}

// account charges a call for an answer that exists already.
func (t *Tracker) account(ctx context.Context, c *call, answer proto.Message) error {
	size := proto.Size(answer)
	if size <= leastBytes {
		return nil
	}
	if err := t.reserve(ctx, c); err != nil {
		return err
	}
	if charged := t.charge(c, size); charged != nil {
		t.send(answer, charged)
	}
	return nil
}

type calling struct {
	tracker *Tracker
	call    *call
}

// Made makes an answer of a unary call once there is room for it. It is for
// answers that take much memory to make; all others are accounted for when they
// are sent.
func Made[Answer proto.Message](ctx context.Context, build func() (Answer, error)) (answer Answer, err error) {
	c, ok := ctx.Value(callKey{}).(calling)
	if !ok {
		return build()
	}
	if err := c.tracker.reserve(ctx, c.call); err != nil {
		return answer, err
	}
	if answer, err = build(); err != nil {
		c.tracker.charge(c.call, 0)
		return answer, err
	}
	c.call.made = c.tracker.charge(c.call, proto.Size(answer))
	return answer, nil
}

// Stream is an interceptor of the server.
func (t *Tracker) Stream(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	own := t.of(stream.Context())
	if own == nil {
		return handler(server, stream)
	}
	defer t.returned(own)
	if err := grpc.SetSendCompressor(stream.Context(), encoding.Identity); err != nil {
		return err
	}
	return handler(server, &tracked{stream, t, own})
}

// tracked is a stream of answers.
type tracked struct {
	grpc.ServerStream
	tracker *Tracker
	call    *call
}

func (s *tracked) SendMsg(m any) error {
	if answer, ok := m.(proto.Message); ok {
		if err := s.tracker.account(s.Context(), s.call, answer); err != nil {
			return err
		}
	}
	return s.ServerStream.SendMsg(m)
}
