package serve

import (
	"context"
	"log/slog"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/rollcall-dev/rollcall/agent/peers"
	"github.com/rollcall-dev/rollcall/agent/trust"

	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/tap"

	"github.com/rollcall-dev/rollcall/agent/door"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
	"github.com/rollcall-dev/rollcall/proto/unread"
)

const (
	maxStreams = 64
	// maxHeaders and window bound the memory of a connection before it calls a method.
	maxHeaders = 16 << 10
	window     = 64 << 10
	// Readers only look at agents, by hand, so all of them together may take little
	// of an agent's memory: a report may have megabytes. Nobody is refused; whoever
	// has most loses a connection.
	maxReading = 16
	maxUnread  = 4 << 20
)

// GRPCOptions are what the gRPC server serves, and to which clients.
type GRPCOptions struct {
	Service     *Service
	PeerService *PeerService
	// Keys are the certificate and the authorities. Nil means serve everything to everybody,
	// without encryption.
	Keys *trust.Keys
	// ServerName is that of this database cluster's agents, config.ServerName.
	ServerName string
	Metrics    *Metrics
	Refusals   *door.Refusals
	Logger     *slog.Logger
}

// NewGRPC returns a server that is not started.
func NewGRPC(o GRPCOptions) *grpc.Server {
	readers := unread.New(unread.Limits{Bytes: maxUnread, Making: 1, Calls: maxReading, Peer: door.Peer, Ended: func(from net.Addr) {
		o.Metrics.Connections.WithLabelValues("grpc", "reader").Inc()
		o.Refusals.Note("connections: readers", from.String())
	}})
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(peers.MaxMessage),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.MaxHeaderListSize(maxHeaders),
		grpc.StaticStreamWindowSize(window), grpc.StaticConnWindowSize(window),
		grpc.ConnectionTimeout(10 * time.Second),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.ReadBufferSize(8 << 10), grpc.WriteBufferSize(8 << 10),
		grpc.ForceServerCodecV2(readers.Codec()),
	}
	if o.Keys == nil {
		options = append(options, grpc.Creds(insecure.NewCredentials()))
		o.Logger.Warn("INSECURE: gRPC and gossip are open to everybody, without encryption; for development only")
	} else {
		callers := newCallers(o.Metrics.Callers, o.Refusals, o.Logger)
		who := access{o.ServerName, o.Keys, callers}
		options = append(options, grpc.Creds(guarded{o.Keys.Server(), callers, who, readers}),
			grpc.InTapHandle(func(ctx context.Context, call *tap.Info) (context.Context, error) {
				return ctx, who.authorize(ctx, call.FullMethodName)
			}),
			grpc.ChainUnaryInterceptor(who.unary, readers.Unary), grpc.ChainStreamInterceptor(who.stream, readers.Stream))
	}
	server := grpc.NewServer(options...)
	rollcallv1.RegisterAgentServiceServer(server, o.Service)
	rollcallv1.RegisterPeerServiceServer(server, o.PeerService)
	healthy := health.NewServer()
	healthy.SetServingStatus(rollcallv1.AgentService_ServiceDesc.ServiceName, grpc_health_v1.HealthCheckResponse_SERVING)
	grpc_health_v1.RegisterHealthServer(server, healthy)
	reflection.Register(server)
	return server
}
