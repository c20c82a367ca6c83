package agents

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/rollcall-dev/rollcall/agent/config"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// bufferBytes is what a connection keeps for reading. Reports of most databases are of a few
// kilobytes; gRPC's 32 KiB for each of 10,000 connections would be more than everything else
// together.
const bufferBytes = 2 << 10

// maxHeaders bounds the headers of an answer, in bytes. Errors of agents have some hundred.
const maxHeaders = 16 << 10

const (
	// connectTimeout is how long an agent's address, and then its handshake, may take.
	connectTimeout = 3 * time.Second
	// turnTimeout is how long a connection waits for the turn of its handshake, including both.
	turnTimeout = time.Minute
)

// agentConn is the connection to one agent. It exists only while it is used: most agents are followed
// and not called. Agents.mu guards it.
type agentConn struct {
	client rollcallv1.AgentServiceClient
	conn   io.Closer
	users  int
	meter  *meter // nil if gRPC is replaced
}

// borrow returns a client for an agent, until done is called.
func (a *Agents) borrow(g *agent) (client rollcallv1.AgentServiceClient, done func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.borrowLocked(g)
}

// borrowLocked is borrow while mu is held. Nothing is dialled before the first call.
func (a *Agents) borrowLocked(g *agent) (client rollcallv1.AgentServiceClient, done func(), err error) {
	l := &g.conn
	if l.client == nil {
		if a.opts.Connect != nil {
			l.client, l.conn, err = a.opts.Connect(g.cluster.key, g.target)
		} else {
			l.client, l.conn, err = a.open(g)
		}
		if err != nil {
			l.client, l.conn = nil, nil
			return nil, nil, fmt.Errorf("agent of %s/%s at %s: %w", g.cluster.key.Namespace, g.target.Pod, g.target.IP, err)
		}
	}
	return l.client, a.use(l), nil
}

// use keeps a connection open until done is called. mu is held.
func (a *Agents) use(l *agentConn) (done func()) {
	l.users++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if l.users--; l.users == 0 {
			l.close()
		}
	}
}

// close also ends calls that are under way.
func (l *agentConn) close() {
	if l.conn != nil {
		// The only possible error is that the connection was already closed.
		_ = l.conn.Close()
	}
	l.client, l.conn, l.meter = nil, nil, nil
}

// open makes a gRPC client. mu is held.
func (a *Agents) open(g *agent) (rollcallv1.AgentServiceClient, io.Closer, error) {
	c, t := g.cluster, g.target
	m := &meter{agents: a, from: g}
	g.conn.meter = m
	name := config.ServerName(c.key.Namespace, c.key.Name)
	var security credentials.TransportCredentials = insecure.NewCredentials()
	if !a.opts.Plaintext {
		security = a.connections.Credentials(rotating{serverName: name, config: a.opts.TLS, slots: c.slots})
	}
	address := net.JoinHostPort(t.IP, strconv.Itoa(a.opts.Port))
	conn, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(security),
		grpc.WithAuthority(name),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, connectTimeout)
			defer cancel()
			conn, err := a.opts.Dial(ctx, address)
			if err != nil {
				return nil, err
			}
			return m.wrap(conn), nil
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(a.opts.MaxMessage), grpc.ForceCodecV2(a.codec(g, m))),
		//nolint:staticcheck // what takes its place cannot refuse what others have registered
		grpc.WithDecompressor(compressed{a, g}),
		// The windows do not grow. Headers contain no more than the text of an error.
		grpc.WithStaticStreamWindowSize(unsettled),
		grpc.WithStaticConnWindowSize(unsettled),
		grpc.WithMaxHeaderListSize(maxHeaders),
		grpc.WithDisableServiceConfig(),
		grpc.WithNoProxy(),
		grpc.WithIdleTimeout(0),
		grpc.WithReadBufferSize(bufferBytes),
		grpc.WithUserAgent("rollcall-coordinator"),
		grpc.WithConnectParams(grpc.ConnectParams{
			MinConnectTimeout: turnTimeout,
			Backoff: backoff.Config{
				BaseDelay: a.opts.BackoffMin, Multiplier: 1.6, Jitter: 0.2, MaxDelay: a.opts.BackoffMax,
			},
		}),
	)
	if err != nil {
		return nil, nil, err
	}
	return rollcallv1.NewAgentServiceClient(conn), conn, nil
}
