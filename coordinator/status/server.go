package status

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/rollcall-dev/rollcall/agent/door"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
	"github.com/rollcall-dev/rollcall/proto/unread"
)

// The error detail with which a standby answers: its reason, its domain, and the key of the
// leader's address, host:port, in its metadata.
const (
	ReasonNotLeader = "NOT_LEADER"
	ErrorDomain     = "rollcall.dev"
	MetadataLeader  = "leader"
)

// Server serves the CoordinatorService from a Board, with health and reflection, so that grpcurl
// needs no .proto file.
type Server struct {
	grpc     *grpc.Server
	health   *health.Server
	stopping chan struct{}
}

// NewServer returns a Server for what is on the board. Without credentials it speaks plaintext. It
// answers clients that the options admit.
func NewServer(board *Board, creds credentials.TransportCredentials, more ...grpc.ServerOption) *Server {
	options := []grpc.ServerOption{
		// Requests are names, each of which Kubernetes limits to 253 bytes, so they never need to
		// be larger. With these limits one connection holds 4 MiB at most if all windows are full:
		// they do not grow.
		grpc.MaxRecvMsgSize(4 << 10),
		grpc.MaxHeaderListSize(64 << 10), // a token is the largest of them
		grpc.MaxConcurrentStreams(32),    // of one connection, and each command has its own
		grpc.StaticStreamWindowSize(64 << 10),
		grpc.StaticConnWindowSize(64 << 10),
		grpc.ConnectionTimeout(10 * time.Second),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time: time.Minute, Timeout: 20 * time.Second,
			// A client that watches for longer connects again.
			MaxConnectionAge: 30 * time.Minute, MaxConnectionAgeGrace: 15 * time.Minute,
		}),
	}
	if creds == nil {
		creds = insecure.NewCredentials()
	}
	answers := unread.New(unread.Limits{Bytes: maxUnread, ConnectionBytes: maxUnreadEach, Making: 4, Patience: unreadPatience})
	options = append(options, grpc.Creds(keeping{creds, answers}), grpc.ForceServerCodecV2(answers.Codec()),
		grpc.ChainUnaryInterceptor(answers.Unary), grpc.ChainStreamInterceptor(answers.Stream))
	s := &Server{grpc: grpc.NewServer(append(options, more...)...), health: health.NewServer(), stopping: make(chan struct{})}
	rollcallv1.RegisterCoordinatorServiceServer(s.grpc, &service{board: board, stopping: s.stopping})
	healthv1.RegisterHealthServer(s.grpc, s.health)
	s.health.SetServingStatus(rollcallv1.CoordinatorService_ServiceDesc.ServiceName, healthv1.HealthCheckResponse_SERVING)
	reflection.Register(s.grpc)
	return s
}

// Limits of answers that clients have not read.
const (
	maxUnread      = 32 << 20
	maxUnreadEach  = 4 << 20 // of one connection
	unreadPatience = 10 * time.Second
)

// keeping tells the listener's door which clients have shown a certificate, and the tracker of
// answers which connections exist.
type keeping struct {
	credentials.TransportCredentials
	answers *unread.Tracker
}

func (k keeping) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secure, info, err := k.TransportCredentials.ServerHandshake(conn)
	if who, ok := info.(credentials.TLSInfo); ok && err == nil && len(who.State.PeerCertificates) > 0 {
		door.KeepConn(conn)
	}
	if err != nil {
		return secure, info, err
	}
	return k.answers.Track(secure, conn), info, nil
}

func (k keeping) Clone() credentials.TransportCredentials {
	return keeping{k.TransportCredentials.Clone(), k.answers}
}

// stopTimeout bounds how long calls may go on when the server stops.
const stopTimeout = 5 * time.Second

// Run serves on the listener until the context ends, and returns when every
// call has ended. It closes the listener. A Server runs once.
func (s *Server) Run(ctx context.Context, listener net.Listener) error {
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		// Watches do not end by themselves.
		s.health.Shutdown()
		close(s.stopping)
		force := time.AfterFunc(stopTimeout, s.grpc.Stop)
		defer force.Stop()
		s.grpc.GracefulStop()
	})
	err := s.grpc.Serve(listener)
	if stop() {
		s.grpc.Stop()
		return fmt.Errorf("serve gRPC: %w", err)
	}
	<-stopped
	if err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve gRPC: %w", err)
	}
	return nil
}

// service answers from the board and holds nothing itself.
type service struct {
	rollcallv1.UnimplementedCoordinatorServiceServer
	board    *Board
	stopping <-chan struct{}
}

func (s *service) ListClusters(ctx context.Context, req *rollcallv1.ListClustersRequest) (*rollcallv1.ListClustersResponse, error) {
	if err := s.leading(); err != nil {
		return nil, err
	}
	return unread.Made(ctx, func() (*rollcallv1.ListClustersResponse, error) {
		resp := &rollcallv1.ListClustersResponse{}
		for _, d := range s.board.List(req.GetNamespace()) {
			resp.Clusters = append(resp.Clusters, s.cluster(d))
		}
		return resp, nil
	})
}

func (s *service) GetCluster(ctx context.Context, req *rollcallv1.GetClusterRequest) (*rollcallv1.Cluster, error) {
	d, err := s.current(ctx, req.GetNamespace(), req.GetName())
	if err != nil {
		return nil, err
	}
	return unread.Made(ctx, func() (*rollcallv1.Cluster, error) { return s.cluster(d), nil })
}

// cluster returns a decision with what was refused lately, which belongs to no decision.
func (s *service) cluster(d Decision) *rollcallv1.Cluster {
	c := ClusterProto(d)
	if s.board.refusals != nil {
		c.Refusals = s.board.refusals(d.Key)
	}
	return c
}

func (s *service) GetPlan(ctx context.Context, req *rollcallv1.GetPlanRequest) (*rollcallv1.GetPlanResponse, error) {
	d, err := s.current(ctx, req.GetNamespace(), req.GetName())
	if err != nil {
		return nil, err
	}
	return unread.Made(ctx, func() (*rollcallv1.GetPlanResponse, error) {
		return &rollcallv1.GetPlanResponse{Plan: planProto(d.Plan), Text: d.Plan.Text()}, nil
	})
}

func (s *service) GetSnapshot(ctx context.Context, req *rollcallv1.GetSnapshotRequest) (*rollcallv1.GetSnapshotResponse, error) {
	d, err := s.current(ctx, req.GetNamespace(), req.GetName())
	if err != nil {
		return nil, err
	}
	return unread.Made(ctx, func() (*rollcallv1.GetSnapshotResponse, error) { return snapshotOf(d) })
}

func snapshotOf(d Decision) (*rollcallv1.GetSnapshotResponse, error) {
	snapshot, err := json.Marshal(d.Snapshot)
	if err != nil {
		return nil, grpcstatus.Errorf(codes.Internal, "snapshot of %s as JSON: %v", d.Key, err)
	}
	plan, err := json.Marshal(d.Plan)
	if err != nil {
		return nil, grpcstatus.Errorf(codes.Internal, "plan of %s as JSON: %v", d.Key, err)
	}
	return &rollcallv1.GetSnapshotResponse{SnapshotJson: string(snapshot), PlanJson: string(plan)}, nil
}

func (s *service) Explain(ctx context.Context, req *rollcallv1.ExplainRequest) (*rollcallv1.ExplainResponse, error) {
	d, err := s.current(ctx, req.GetNamespace(), req.GetName())
	if err != nil {
		return nil, err
	}
	if req.GetPod() == "" {
		return nil, grpcstatus.Error(codes.InvalidArgument, "pod is empty: must be the name of a pod")
	}
	return unread.Made(ctx, func() (*rollcallv1.ExplainResponse, error) { return explanation(d, req.GetPod()) })
}

func explanation(d Decision, pod string) (*rollcallv1.ExplainResponse, error) {
	e, err := Explain(d, pod)
	if errors.Is(err, ErrNoSuchPod) {
		return nil, grpcstatus.Error(codes.NotFound, err.Error())
	} else if err != nil {
		return nil, grpcstatus.Error(codes.Internal, err.Error())
	}
	resp := &rollcallv1.ExplainResponse{Pod: e.Pod, Verdict: string(e.Verdict), Rule: string(e.Rule), Text: e.Text}
	for _, f := range e.Facts {
		resp.Facts = append(resp.Facts, &rollcallv1.Fact{Name: f.Name, Value: f.Value, AgeSeconds: f.AgeSeconds})
	}
	return resp, nil
}

func (s *service) ListJournal(req *rollcallv1.ListJournalRequest, stream grpc.ServerStreamingServer[rollcallv1.JournalEntry]) error {
	d, err := s.newest(req.GetNamespace(), req.GetName())
	if err != nil {
		return err
	}
	if req.GetLast() < 0 {
		return grpcstatus.Errorf(codes.InvalidArgument, "last is %d: must be a number of entries, or 0 for all", req.GetLast())
	}
	return s.board.Journal(d.Key, int(req.GetLast()), func(entry []byte) error {
		return stream.Send(&rollcallv1.JournalEntry{EntryJson: string(entry)})
	})
}

func (s *service) WatchCluster(req *rollcallv1.WatchClusterRequest, stream grpc.ServerStreamingServer[rollcallv1.Cluster]) error {
	key := Key{Namespace: req.GetNamespace(), Name: req.GetName()}
	changed := s.board.Watch(stream.Context(), key)
	var sent *rollcallv1.Cluster
	for {
		select {
		case <-stream.Context().Done():
			return grpcstatus.FromContextError(stream.Context().Err()).Err()
		case <-s.stopping:
			return grpcstatus.Error(codes.Unavailable, "this coordinator is stopping")
		case <-changed:
		}
		d, err := s.newest(key.Namespace, key.Name)
		if err != nil {
			return err
		}
		next := ClusterProto(d)
		if sent != nil && proto.Equal(lasting(sent), lasting(next)) {
			continue
		}
		if err := stream.Send(next); err != nil {
			return err
		}
		sent = next
	}
}

// lasting returns a cluster without what differs between decisions although nothing has changed:
// times, ages, and forecasts that only count down.
func lasting(c *rollcallv1.Cluster) *rollcallv1.Cluster {
	l := proto.CloneOf(c)
	l.DecidedAt = nil
	if l.Plan != nil {
		l.Plan.Forecast = nil
		l.Plan.RetryAfterSeconds = 0
	}
	for _, p := range l.PodStates {
		p.ReportAgeSeconds = min(p.ReportAgeSeconds, 0)
	}
	return l
}

// lookPatience is how long an idle cluster's agents may take to say how they are.
const lookPatience = 5 * time.Second

// current returns the newest decision. The agents of an idle cluster are asked only when somebody
// wants to see them.
func (s *service) current(ctx context.Context, namespace, name string) (Decision, error) {
	d, err := s.newest(namespace, name)
	if err != nil || !d.Idle {
		return d, err
	}
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	changed := s.board.Watch(ctx, d.Key)
	s.board.Ask(d.Key)
	for err == nil && d.Idle {
		select {
		case <-ctx.Done():
			return d, nil
		case <-s.stopping:
			return d, nil
		case <-changed:
		}
		d, err = s.newest(namespace, name)
	}
	return d, err
}

func (s *service) newest(namespace, name string) (Decision, error) {
	if err := s.leading(); err != nil {
		return Decision{}, err
	}
	if namespace == "" || name == "" {
		return Decision{}, grpcstatus.Error(codes.InvalidArgument, "namespace or name is empty: must be those of a DatabaseCluster")
	}
	key := Key{Namespace: namespace, Name: name}
	d, ok := s.board.Newest(key)
	if !ok {
		return Decision{}, grpcstatus.Errorf(codes.NotFound, "nothing has been decided about DatabaseCluster %s: there is none, or this coordinator has only just been elected", key)
	}
	return d, nil
}

// leading returns nil on the elected coordinator.
func (s *service) leading() error {
	leads, leader := s.board.Leader()
	if leads {
		return nil
	}
	st := grpcstatus.New(codes.Unavailable, "this coordinator is not elected, and nobody is at the moment")
	if leader != "" {
		st = grpcstatus.Newf(codes.Unavailable, "this coordinator is not elected; ask %s", leader)
	}
	detailed, err := st.WithDetails(&errdetails.ErrorInfo{
		Reason:   ReasonNotLeader,
		Domain:   ErrorDomain,
		Metadata: map[string]string{MetadataLeader: leader},
	})
	if err != nil {
		return st.Err()
	}
	return detailed.Err()
}
