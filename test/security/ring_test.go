package security

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rollcall-dev/rollcall/agent"
	"github.com/rollcall-dev/rollcall/agent/agenttest"
	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/gossip"
	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest/freeport"
	"github.com/rollcall-dev/rollcall/engines/memory"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
	"github.com/rollcall-dev/rollcall/test/locked"
)

const (
	namespace  = "prod"
	cluster    = "search"
	clusterUID = "cluster-uid"
)

var gossipKey = bytes.Repeat([]byte{3}, 32)

func host(i int) string { return fmt.Sprintf("127.79.1.%d", i+1) }
func node(i int) string { return fmt.Sprintf("node%d", i) }
func pod(i int) string  { return fmt.Sprintf("search-%d", i) }
func uid(i int) string  { return fmt.Sprintf("uid-%d", i) }

// victim is three agents of one database, each at an address of its own.
type victim struct {
	t         *testing.T
	authority *agenttest.Authority
	database  *memory.Cluster
	gossip    uint16
	peers     []netip.AddrPort
	rpc, web  []string
	log       locked.Buffer
}

func three(t *testing.T) *victim {
	v := &victim{
		t: t, authority: agenttest.NewAuthority(t), database: memory.New(memory.Options{}, node(0), node(1), node(2)),
		gossip: uint16(freeport.Take(t, 1, host(0), host(1), host(2), host(3))[0]),
	}
	v.database.AddGroup("books/s1", node(0), node(1), node(2))
	v.database.AddGroup("books/s2", node(1), node(0), node(2))
	for i := range 3 {
		v.peers = append(v.peers, netip.AddrPortFrom(netip.MustParseAddr(host(i)), v.gossip))
	}
	for i := range 3 {
		v.start(i)
	}
	v.eventually("all are in touch", func() bool {
		for i := range 3 {
			roster, err := v.as(i, config.RoleReader).GetRoster(t.Context(), &rollcallv1.GetRosterRequest{}, grpc.WaitForReady(true))
			if err != nil || !roster.Synced || len(roster.Entries) != 3 {
				return false
			}
		}
		return true
	})
	for i := range 3 {
		_, err := v.as(i, config.RoleReader).GetReport(t.Context(), &rollcallv1.GetReportRequest{Fresh: true}, grpc.WaitForReady(true))
		require.NoError(t, err)
	}
	return v
}

func (v *victim) start(i int) {
	dir := v.t.TempDir()
	v.authority.Mount(dir, namespace, cluster, config.File{ClusterUID: clusterUID, Service: "search", Engine: "Memory"}, gossipKey)
	rpc, web := listen(v.t, host(i)), listen(v.t, host(i))
	a, err := agent.New(agent.Options{
		Identity: config.Identity{
			Namespace: namespace, Cluster: cluster, Pod: pod(i), PodUID: uid(i), PodIP: netip.MustParseAddr(host(i)),
			Node: "kube1", Zone: "z1", StopToken: "secret", Grace: 10 * time.Minute,
		},
		NewEngine: func(config.File, engines.Peers) (engines.Engine, error) { return v.database.Engine(node(i)), nil },
		Version:   "test", ConfigDir: dir, StateDir: v.t.TempDir(), GossipPort: v.gossip,
		ProbeInterval: 200 * time.Millisecond, ProbeTimeout: time.Minute, SyncTimeout: 5 * time.Second,
		Peers:        func(context.Context, string) ([]netip.AddrPort, error) { return v.peers, nil },
		GRPCListener: rpc, HTTPListener: web, Logger: slog.New(slog.NewTextHandler(&v.log, nil)),
	})
	require.NoError(v.t, err)
	v.rpc, v.web = append(v.rpc, rpc.Addr().String()), append(v.web, web.Addr().String())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	v.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			v.t.Error(err)
		}
	})
}

func listen(t *testing.T, ip string) net.Listener {
	l, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	require.NoError(t, err)
	return l
}

func (v *victim) eventually(what string, done func() bool) {
	v.t.Helper()
	require.Eventually(v.t, done, 2*time.Minute, 20*time.Millisecond, what)
}

// ask is a connection to agent i with that TLS; nil is none.
func (v *victim) ask(i int, c *tls.Config) rollcallv1.AgentServiceClient {
	connection, err := grpc.NewClient(v.rpc[i], grpc.WithTransportCredentials(credentials.NewTLS(c)))
	require.NoError(v.t, err)
	v.t.Cleanup(func() { _ = connection.Close() })
	return rollcallv1.NewAgentServiceClient(connection)
}

func (v *victim) as(i int, role string) rollcallv1.AgentServiceClient {
	return v.ask(i, v.authority.Client(config.ServerName(namespace, cluster), role))
}

// order is one that agent i would take from its coordinator, good for a minute.
func (v *victim) order(i int, epoch int64, claim string) *rollcallv1.DrainRequest {
	v.t.Helper()
	report, err := v.as(i, config.RoleReader).GetReport(v.t.Context(), &rollcallv1.GetReportRequest{})
	require.NoError(v.t, err)
	return &rollcallv1.DrainRequest{
		Term: &rollcallv1.Term{Incarnation: report.GetIdentity().GetIncarnation(), Until: durationpb.New(report.GetUptime().AsDuration() + time.Minute)},
		Kind: rollcallv1.DrainKind_DRAIN_KIND_HANDOFF, Claim: claim, PodUid: uid(i),
		Fence: &rollcallv1.Fence{ClusterUid: clusterUID, Epoch: epoch},
	}
}

// plan asks what order would change.
func (v *victim) plan(i int, epoch int64, claim string) *rollcallv1.PlanDrainRequest {
	v.t.Helper()
	o := v.order(i, epoch, claim)
	return &rollcallv1.PlanDrainRequest{Term: o.Term, Kind: o.Kind, Claim: o.Claim, PodUid: o.PodUid, Fence: o.Fence}
}

// handedOver makes the real coordinator drain agent i in that epoch.
func (v *victim) handedOver(i int, epoch int64) {
	v.t.Helper()
	coordinator := v.as(i, config.RoleCoordinator)
	planned, err := coordinator.PlanDrain(v.t.Context(), v.plan(i, epoch, "true"))
	require.NoError(v.t, err)
	request := v.order(i, epoch, "true")
	request.Undo = planned.Undo
	done, err := coordinator.Drain(v.t.Context(), request)
	require.NoError(v.t, err)
	require.Equal(v.t, rollcallv1.Drain_DRAIN_DRAINED, done.State)
	require.Zero(v.t, v.database.Leads(node(i)))
}

// metric is the line of agent i's metrics that begins so.
func (v *victim) metric(i int, name string) string {
	response, err := http.Get("http://" + v.web[i] + "/metrics")
	require.NoError(v.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(v.t, err)
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, name+" "); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// thief joins with the stolen key, as a pod that is not there.
func (v *victim) thief() (tell func(epoch int64)) {
	mesh, err := gossip.New(gossip.Options{
		Namespace: namespace, Cluster: cluster, ClusterUID: clusterUID, Pod: "search-9", PodUID: "uid-9",
		Address: netip.AddrPortFrom(netip.MustParseAddr(host(3)), v.gossip), Keys: [][]byte{gossipKey},
		Peers:   func(context.Context) ([]netip.AddrPort, error) { return v.peers, nil },
		Metrics: gossip.NewMetrics(prometheus.NewRegistry()), Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(v.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = mesh.Run(ctx) }()
	v.t.Cleanup(func() { cancel(); <-ended })
	sequence := uint64(1)
	return func(epoch int64) {
		sequence++
		require.NoError(v.t, mesh.Publish(&rollcallv1.Headline{
			Pod: "search-9", PodUid: "uid-9", Incarnation: 1, Sequence: sequence, Epoch: epoch,
		}))
		v.eventually("the agents have heard it", func() bool {
			for i := range 3 {
				roster, err := v.as(i, config.RoleReader).GetRoster(v.t.Context(), &rollcallv1.GetRosterRequest{})
				if err != nil {
					return false
				}
				heard := false
				for _, e := range roster.Entries {
					heard = heard || e.Headline.Pod == "search-9" && e.Headline.Epoch == epoch
				}
				if !heard {
					return false
				}
			}
			return true
		})
	}
}

func refusedBy(t *testing.T, err error, reason string) {
	t.Helper()
	require.Equal(t, codes.FailedPrecondition, status.Code(err), "%v", err)
	require.Contains(t, fmt.Sprint(status.Convert(err).Details()), reason)
}
