package agents

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/rollcall-dev/rollcall/agent/config"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

var search = Key{Namespace: "prod", Name: "search"}

// heartbeat is after what time a roster is sent again.
const heartbeat = 5 * time.Second

// fakeAgent is an agent whose report and roster a test sets.
type fakeAgent struct {
	rollcallv1.UnimplementedAgentServiceServer
	drain          func(*rollcallv1.DrainRequest) (*rollcallv1.DrainResponse, error)
	restore        func(*rollcallv1.RestoreRequest) (*rollcallv1.RestoreResponse, error)
	restoreSetting func(*rollcallv1.RestoreSettingRequest) (*rollcallv1.RestoreSettingResponse, error)

	mu       sync.Mutex
	report   *rollcallv1.Report
	roster   *rollcallv1.Roster
	changed  chan struct{} // closed at each change
	streams  map[string]int
	requests []*rollcallv1.GetReportRequest
	hang     bool // streams send nothing
	began    time.Time
}

func newFakeAgent(pod, uid string) *fakeAgent {
	who := &rollcallv1.Identity{
		Namespace: "prod", Cluster: "search", ClusterUid: "d0", Pod: pod, PodUid: uid, Incarnation: 1,
	}
	return &fakeAgent{
		report: &rollcallv1.Report{
			Identity: who, Sequence: 1, Age: durationpb.New(0), ObservedAt: timestamppb.Now(), Uptime: durationpb.New(0), Node: pod,
			Member: rollcallv1.Membership_MEMBERSHIP_LIVE,
		},
		began:   time.Now(),
		roster:  &rollcallv1.Roster{Identity: who, Sequence: 1},
		changed: make(chan struct{}),
		streams: map[string]int{},
	}
}

// say changes the report.
func (f *fakeAgent) say(change func(*rollcallv1.Report)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	report := proto.Clone(f.report).(*rollcallv1.Report)
	report.Sequence++
	report.ObservedAt, report.Uptime = timestamppb.Now(), durationpb.New(time.Since(f.began))
	change(report)
	f.report = report
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fakeAgent) open(stream string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.streams[stream]
}

func (f *fakeAgent) count(stream string, by int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.streams[stream] += by
}

func (f *fakeAgent) GetReport(_ context.Context, r *rollcallv1.GetReportRequest) (*rollcallv1.Report, error) {
	if r.GetFresh() {
		f.say(func(*rollcallv1.Report) {})
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, r)
	return f.report, nil
}

func (f *fakeAgent) WatchReport(r *rollcallv1.WatchReportRequest, stream grpc.ServerStreamingServer[rollcallv1.Report]) error {
	name := "reports"
	if r.GetAllGroups() {
		name = "all"
	}
	f.count(name, 1)
	defer f.count(name, -1)
	for {
		f.mu.Lock()
		report, changed, hang := f.report, f.changed, f.hang
		f.mu.Unlock()
		if !hang {
			if err := stream.Send(report); err != nil {
				return err
			}
		}
		select {
		case <-stream.Context().Done():
			return stream.Context().Err()
		case <-changed:
		}
	}
}

func (f *fakeAgent) WatchRoster(_ *rollcallv1.WatchRosterRequest, stream grpc.ServerStreamingServer[rollcallv1.Roster]) error {
	f.count("roster", 1)
	defer f.count("roster", -1)
	for {
		f.mu.Lock()
		roster, hang := f.roster, f.hang
		f.mu.Unlock()
		if !hang {
			if err := stream.Send(roster); err != nil {
				return err
			}
		}
		select {
		case <-stream.Context().Done():
			return stream.Context().Err()
		case <-time.After(heartbeat):
		}
	}
}

func (f *fakeAgent) Drain(_ context.Context, r *rollcallv1.DrainRequest) (*rollcallv1.DrainResponse, error) {
	return f.drain(r)
}

func (f *fakeAgent) RestoreSetting(_ context.Context, r *rollcallv1.RestoreSettingRequest) (*rollcallv1.RestoreSettingResponse, error) {
	return f.restoreSetting(r)
}

func (f *fakeAgent) Restore(_ context.Context, r *rollcallv1.RestoreRequest) (*rollcallv1.RestoreResponse, error) {
	return f.restore(r)
}

// pipe is where an agent listens.
type pipe interface {
	net.Listener
	DialContext(ctx context.Context) (net.Conn, error)
}

// network is where fake agents listen, by address.
type network struct {
	t         *testing.T
	authority *authority

	mu        sync.Mutex
	listeners map[string]pipe
	stalls    int // after so many bytes connections of those served from now on say no more
	trickle   bool
	fakes     []*fakeAgent
}

func (n *network) dial(ctx context.Context, address string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listeners[address]
	n.mu.Unlock()
	if l == nil {
		return nil, errors.New("connection refused")
	}
	return l.DialContext(ctx)
}

// serve puts an agent at an address, in place of the one that was there. The
// certificate is for one database cluster.
func (n *network) serve(ip string, cluster Key, f rollcallv1.AgentServiceServer) (stop func()) {
	var listener pipe = bufconn.Listen(1 << 16)
	if n.stalls > 0 {
		listener = stalling{listener, n.stalls}
	}
	if fake, ok := f.(*fakeAgent); ok && n.trickle {
		listener = tricklingPipe{listener}
		n.mu.Lock()
		n.fakes = append(n.fakes, fake)
		n.mu.Unlock()
	}
	server := grpc.NewServer(grpc.ForceServerCodecV2(rawCodec{encoding.GetCodecV2("proto")}), grpc.Creds(credentials.NewTLS(&tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{n.authority.issue(n.t, config.ServerName(cluster.Namespace, cluster.Name))},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    n.authority.pool,
	})))
	rollcallv1.RegisterAgentServiceServer(server, f)
	go func() { _ = server.Serve(listener) }()
	n.mu.Lock()
	n.listeners[net.JoinHostPort(ip, "7947")] = listener
	n.mu.Unlock()
	stop = func() {
		n.mu.Lock()
		if n.listeners[net.JoinHostPort(ip, "7947")] == listener {
			delete(n.listeners, net.JoinHostPort(ip, "7947"))
		}
		n.mu.Unlock()
		server.Stop()
	}
	n.t.Cleanup(stop)
	return stop
}

// authority issues certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return &authority{cert, key, pool}
}

func (a *authority) issue(t *testing.T, name string) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.cert, &key.PublicKey, a.key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// harness is Agents on a fake network.
type harness struct {
	*Agents
	*network
	stop func()

	mu    sync.Mutex
	heard int
}

func start(t *testing.T, change func(*Options)) *harness {
	t.Helper()
	h := &harness{network: &network{t: t, authority: newAuthority(t), listeners: map[string]pipe{}}}
	client := h.authority.issue(t, "coordinator")
	opts := Options{
		TLS: func() (*tls.Config, error) {
			return &tls.Config{Certificates: []tls.Certificate{client}, RootCAs: h.authority.pool}, nil
		},
		Dial:       h.dial,
		BackoffMin: 5 * time.Millisecond, BackoffMax: 50 * time.Millisecond, CallTimeout: time.Minute,
		Logger: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&opts)
	}
	agents, err := New(opts)
	require.NoError(t, err)
	h.Agents = agents
	agents.Subscribe(func(Key) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.heard++
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- agents.Run(ctx) }()
	h.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			require.NoError(t, err)
		case <-time.After(time.Minute):
			t.Error("Run did not end")
		}
	})
	t.Cleanup(h.stop)
	return h
}

func (h *harness) timesHeard() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.heard
}

func eventually(t *testing.T, f func() bool) {
	t.Helper()
	require.Eventually(t, f, 2*time.Minute, 2*time.Millisecond)
}

func following(targets ...Target) Following {
	return Following{ClusterUID: "d0", Agents: targets, Reports: true}
}
