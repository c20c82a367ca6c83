package agent

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/rollcall-dev/rollcall/agent/agenttest"
	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest/freeport"
	"github.com/rollcall-dev/rollcall/engines/memory"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

const (
	testNamespace = "prod"
	testCluster   = "search"
	testUID       = "cluster-uid"

	// otherAgent is an agent of another database cluster, for connection.
	otherAgent = "agent of another"
)

// ring is real agents in one process, each on a loopback address of its own as
// if that were its pod's.
type ring struct {
	t         testing.TB
	database  *memory.Cluster
	authority *agenttest.Authority
	file      config.File
	gossip    uint16
	members   []*member

	mu    sync.Mutex // agents that run ask for their peers while others are added
	peers []netip.AddrPort
}

type member struct {
	ring    *ring
	agent   *Agent
	pod     string
	dir     string
	rpc     string
	web     string
	cancel  context.CancelFunc
	ended   chan struct{}
	err     error
	clients map[string]*grpc.ClientConn
}

func newRing(t testing.TB, database *memory.Cluster) *ring {
	r := &ring{
		t: t, database: database, authority: agenttest.NewAuthority(t),
		file:   config.File{ClusterUID: testUID, Service: "search-rollcall.prod.svc", Engine: "Memory"},
		gossip: gossipPort(t),
	}
	return r
}

// gossipPort returns a port that is free for all agents of a ring.
func gossipPort(t testing.TB) uint16 {
	return uint16(freeport.Take(t, 1, "127.77.1.1", "127.77.1.2", "127.77.1.3")[0])
}

func node(i int) string { return fmt.Sprintf("node%d", i) }

// start runs the agent of pod i, whose database member is node(i).
func (r *ring) start(i int, change ...func(*Options)) *member {
	ip := netip.AddrFrom4([4]byte{127, 77, byte(1 + i/200), byte(1 + i%200)})
	listen := func() net.Listener {
		l, err := net.Listen("tcp", netip.AddrPortFrom(ip, 0).String())
		require.NoError(r.t, err)
		return l
	}
	m := &member{ring: r, pod: fmt.Sprintf("search-%d", i), dir: r.t.TempDir(), ended: make(chan struct{}), clients: map[string]*grpc.ClientConn{}}
	r.authority.Mount(m.dir, testNamespace, testCluster, r.file, bytes.Repeat([]byte{3}, 32))
	o := Options{
		Identity: config.Identity{
			Namespace: testNamespace, Cluster: testCluster, Pod: m.pod, PodUID: fmt.Sprintf("uid-%d", i),
			PodIP: ip, Node: "kube1", Zone: "z1", StopToken: "secret", Grace: 10 * time.Minute,
		},
		NewEngine: func(f config.File, _ engines.Peers) (engines.Engine, error) {
			if f.Engine != "Memory" {
				return nil, fmt.Errorf("engine %q is not supported", f.Engine)
			}
			return r.database.Engine(node(i)), nil
		},
		Version: "test", ConfigDir: m.dir, StateDir: r.t.TempDir(),
		GossipPort: r.gossip, ProbeInterval: 200 * time.Millisecond, ProbeTimeout: time.Minute, SyncTimeout: 5 * time.Second,
		ConfigInterval: 100 * time.Millisecond,
		Peers: func(context.Context, string) ([]netip.AddrPort, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			return slices.Clone(r.peers), nil
		},
		GRPCListener: listen(), HTTPListener: listen(),
		Logger: testLogger(m.pod),
	}
	for _, c := range change {
		c(&o)
	}
	m.rpc, m.web = o.GRPCListener.Addr().String(), o.HTTPListener.Addr().String()
	var err error
	m.agent, err = New(o)
	require.NoError(r.t, err)
	r.members = append(r.members, m)
	if o.GossipPort == r.gossip {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.peers = append(r.peers, netip.AddrPortFrom(ip, r.gossip))
	}
	return m
}

// run starts everybody who was added, and stops them when the test ends.
func (r *ring) run(members ...*member) {
	for _, m := range members {
		var ctx context.Context
		ctx, m.cancel = context.WithCancel(context.Background())
		go func() {
			defer close(m.ended)
			m.err = m.agent.Run(ctx)
		}()
	}
	r.t.Cleanup(func() {
		var all sync.WaitGroup
		for _, m := range members {
			all.Go(m.stop)
		}
		all.Wait()
	})
}

func (m *member) stop() {
	m.cancel()
	<-m.ended
	for _, c := range m.clients {
		_ = c.Close()
	}
	if m.err != nil {
		m.ring.t.Error(m.err)
	}
}

func (m *member) connection(role string) *grpc.ClientConn {
	if c, ok := m.clients[role]; ok {
		return c
	}
	name := config.ServerName(testNamespace, testCluster)
	security := m.ring.authority.Client(name, role)
	switch role {
	case config.RoleAgent:
		security = m.ring.authority.Agent(name, name)
	case otherAgent:
		security = m.ring.authority.Agent(name, config.ServerName(testNamespace, "other"))
	}
	c, err := grpc.NewClient(m.rpc, grpc.WithTransportCredentials(credentials.NewTLS(security)))
	require.NoError(m.ring.t, err)
	m.clients[role] = c
	return c
}

func (m *member) as(role string) rollcallv1.AgentServiceClient {
	return rollcallv1.NewAgentServiceClient(m.connection(role))
}

func (m *member) report(fresh bool) *rollcallv1.Report {
	report, err := m.as(config.RoleReader).GetReport(m.ring.t.Context(), &rollcallv1.GetReportRequest{Fresh: fresh}, grpc.WaitForReady(true))
	require.NoError(m.ring.t, err)
	return report
}

func (m *member) roster() *rollcallv1.Roster {
	roster, err := m.as(config.RoleReader).GetRoster(m.ring.t.Context(), &rollcallv1.GetRosterRequest{}, grpc.WaitForReady(true))
	require.NoError(m.ring.t, err)
	return roster
}

func (m *member) entry(pod string) *rollcallv1.RosterEntry {
	for _, e := range m.roster().Entries {
		if e.Headline.Pod == pod {
			return e
		}
	}
	return &rollcallv1.RosterEntry{Headline: &rollcallv1.Headline{}}
}

func (m *member) plan(epoch int64, claim string) *rollcallv1.PlanDrainRequest {
	return &rollcallv1.PlanDrainRequest{
		Kind: rollcallv1.DrainKind_DRAIN_KIND_HANDOFF, Claim: claim, PodUid: m.agent.options.Identity.PodUID,
		Fence: &rollcallv1.Fence{ClusterUid: testUID, Epoch: epoch}, Term: m.term(time.Minute),
	}
}

func (m *member) drain(epoch int64, claim string, undo []byte) *rollcallv1.DrainRequest {
	return &rollcallv1.DrainRequest{
		Kind: rollcallv1.DrainKind_DRAIN_KIND_HANDOFF, Claim: claim, PodUid: m.agent.options.Identity.PodUID,
		Fence: &rollcallv1.Fence{ClusterUid: testUID, Epoch: epoch}, Undo: undo, Term: m.term(time.Minute),
	}
}

// term returns the term of an order, as a sender that knows the agent's uptime would set it.
func (m *member) term(left time.Duration) *rollcallv1.Term {
	run := m.agent.board.Run
	return &rollcallv1.Term{Incarnation: run.Incarnation, Until: run.Uptime(time.Now().Add(left))}
}

func (m *member) onBehalf(epoch int64, claim, node string) *rollcallv1.HandoffOnBehalfRequest {
	return &rollcallv1.HandoffOnBehalfRequest{
		Claim: claim, Fence: &rollcallv1.Fence{ClusterUid: testUID, Epoch: epoch}, PodUid: m.agent.options.Identity.PodUID, Node: node,
		Term: m.term(time.Minute),
	}
}

func (m *member) get(path string, header http.Header) (int, string) {
	request, err := http.NewRequestWithContext(m.ring.t.Context(), http.MethodGet, "http://"+m.web+path, nil)
	require.NoError(m.ring.t, err)
	request.Header = header
	response, err := http.DefaultClient.Do(request)
	require.NoError(m.ring.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(m.ring.t, err)
	return response.StatusCode, string(body)
}

// three agents over a database with three copies of two shards, all in touch.
func three(t *testing.T) *ring {
	database := memory.New(memory.Options{}, node(0), node(1), node(2))
	database.AddGroup("books/s1", node(0), node(1), node(2))
	database.AddGroup("books/s2", node(0), node(1), node(2))
	return threeOver(t, database)
}

// threeOver are three agents over a database, all in touch.
func threeOver(t *testing.T, database *memory.Cluster) *ring {
	r := newRing(t, database)
	for i := range 3 {
		r.start(i)
	}
	r.run(r.members...)
	for _, m := range r.members {
		seesAll(t, m, len(r.members))
	}
	return r
}

// seesAll waits until m has heard of n members that all are live.
func seesAll(t testing.TB, m *member, n int) {
	t.Helper()
	var heard *rollcallv1.Roster
	defer func() {
		if t.Failed() {
			t.Logf("%s has heard %v", m.pod, heard)
		}
	}()
	eventually(t, m.pod+" sees all live", func() bool {
		heard = m.roster()
		live := 0
		for _, e := range heard.Entries {
			if e.Liveness == rollcallv1.Liveness_LIVENESS_ALIVE && e.Headline.Member == rollcallv1.Membership_MEMBERSHIP_LIVE {
				live++
			}
		}
		return live == n
	})
}

// eventually polls real time. How long it takes decides nothing: the limit ends what
// never happens.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !done(); {
		if time.Now().After(deadline) {
			require.FailNow(t, "never: "+what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func testLogger(pod string) *slog.Logger {
	if os.Getenv("ROLLCALL_TEST_LOG") == "" {
		return nil
	}
	return slog.New(slog.NewTextHandler(os.Stderr, nil)).With("pod", pod)
}
