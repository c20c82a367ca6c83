package agent

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/rollcall-dev/rollcall/agent/agenttest"
	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/gossip"
	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/memory"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// twin is a member of the memory database that does things together with others:
// it notes what it is asked.
type twin struct {
	engines.Engine
	peers engines.Peers

	mu    sync.Mutex
	steps []engines.Step
	tends int
	hang  bool
}

func (w *twin) Look(ctx context.Context, fresh bool) ([]byte, error) {
	if w.hangs() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if fresh {
		return []byte(`"fresh"`), nil
	}
	return []byte(`"known"`), nil
}

func (w *twin) Step(ctx context.Context, step engines.Step) ([]byte, error) {
	if w.hangs() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.steps = append(w.steps, step)
	return step.Body, nil
}

func (w *twin) Tend(context.Context) (engines.Progress, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tends++
	return engines.Progress{State: engines.Running, Detail: "follows soon"}, nil
}

func (w *twin) hangs() bool { w.mu.Lock(); defer w.mu.Unlock(); return w.hang }

func (w *twin) hung(hang bool) { w.mu.Lock(); defer w.mu.Unlock(); w.hang = hang }

func (w *twin) taken() []engines.Step {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]engines.Step(nil), w.steps...)
}

func (w *twin) tended() int { w.mu.Lock(); defer w.mu.Unlock(); return w.tends }

// twins are agents whose engines are twins, all in touch.
func twins(t *testing.T, n int, change ...func(*Options)) (*ring, []*twin) {
	var nodes []string
	for i := range n {
		nodes = append(nodes, node(i))
	}
	database := memory.New(memory.Options{}, nodes...)
	database.AddGroup("books/s1", nodes...)
	r := newRing(t, database)
	all := make([]*twin, n)
	for i := range n {
		all[i] = &twin{Engine: database.Engine(node(i))}
		r.start(i, append([]func(*Options){func(o *Options) {
			o.NewEngine = func(_ config.File, p engines.Peers) (engines.Engine, error) {
				all[i].peers = p
				return all[i], nil
			}
		}}, change...)...)
	}
	r.run(r.members...)
	for i := range n {
		eventually(t, "all are alive and named", func() bool {
			found := 0
			if roster, _ := r.members[i].agent.mesh.roster(); roster.Synced {
				for _, e := range roster.Entries {
					if e.Headline.GetNode() != "" && e.Liveness == rollcallv1.Liveness_LIVENESS_ALIVE {
						found++
					}
				}
			}
			return found == n
		})
	}
	return r, all
}

func TestMembersAskEachOther(t *testing.T) {
	r, all := twins(t, 3)
	first := all[0].peers
	list := first.List()
	require.Len(t, list, 2)
	for i, p := range list {
		require.WithinDuration(t, time.Now(), p.Since, time.Minute)
		p.Since = time.Time{}
		require.Equal(t, engines.Peer{Pod: r.members[i+1].pod, Node: node(i + 1), Alive: true}, p)
	}

	for fresh, want := range map[bool]string{true: `"fresh"`, false: `"known"`} {
		body, err := first.Look(t.Context(), node(1), fresh)
		require.NoError(t, err)
		require.Equal(t, want, string(body))
	}

	// No coordinator has ever ordered anything: as in a stop hook.
	limit := time.Now().Add(time.Minute).UTC()
	sent := engines.Step{Name: "promote", Claim: "c", NotAfter: limit, Body: []byte(`{"a":1}`)}
	body, err := first.Step(t.Context(), node(1), sent)
	require.NoError(t, err)
	require.JSONEq(t, `{"a":1}`, string(body))
	require.Equal(t, []engines.Step{sent}, all[1].taken())
	require.Empty(t, all[2].taken())

	// With an epoch of its own, which raises the other's fence.
	sent = engines.Step{Name: "follow", Epoch: 7}
	_, err = first.Step(t.Context(), node(1), sent)
	require.NoError(t, err)
	sent.Body = []byte{}
	require.Equal(t, sent, all[1].taken()[1])
	eventually(t, "all know the epoch", func() bool { return r.members[0].report(false).Epoch == 7 })
	_, err = first.Step(t.Context(), node(1), engines.Step{Name: "stale", Epoch: 6})
	require.ErrorContains(t, err, "an order of epoch 7 has been seen")
	_, err = first.Step(t.Context(), node(1), engines.Step{Name: "highest"})
	require.NoError(t, err)
	require.EqualValues(t, 7, all[1].taken()[2].Epoch)

	for name, c := range map[string]struct {
		node string
		step engines.Step
		want string
	}{
		"nobody":  {"node9", engines.Step{Name: "x"}, "no agent that is alive"},
		"no node": {"", engines.Step{Name: "x"}, "no agent that is alive"},
		"itself":  {node(0), engines.Step{Name: "x"}, "no agent that is alive"},
		"no name": {node(1), engines.Step{}, "must have a name"},
		"huge":    {node(1), engines.Step{Name: "x", Body: make([]byte, engines.MaxStep+1)}, "at most 65536"},
		"late":    {node(1), engines.Step{Name: "x", NotAfter: time.Now().Add(-time.Second)}, "too late"},
	} {
		_, err := first.Step(t.Context(), c.node, c.step)
		require.ErrorContains(t, err, c.want, name)
	}
	_, err = first.Step(t.Context(), node(1), engines.Step{Name: "large", Body: []byte(strings.Repeat("x", engines.MaxStep))})
	require.NoError(t, err, "what is allowed arrives, and the answer too")

	// A hung member costs the time that there is, and no more.
	all[1].hung(true)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = first.Look(ctx, node(1), true)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = first.Step(ctx, node(1), engines.Step{Name: "x"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	all[1].hung(false)

	// One that is prepared says that it leaves; one that is gone stays listed.
	coordinator := r.members[1].as(config.RoleCoordinator)
	planned, err := coordinator.Prepare(t.Context(), r.members[1].order(8, "claim-1", nil, false))
	require.NoError(t, err)
	_, err = coordinator.Prepare(t.Context(), r.members[1].order(8, "claim-1", planned.Undo, true))
	require.NoError(t, err)
	eventually(t, "it leaves", func() bool { return first.List()[0].Leaving })
	require.False(t, first.List()[1].Leaving)
	r.members[1].stop()
	eventually(t, "it is gone", func() bool { return !first.List()[0].Alive })
	require.Equal(t, node(1), first.List()[0].Node)
	_, err = first.Look(t.Context(), node(1), false)
	require.ErrorContains(t, err, "no agent that is alive")
	require.Empty(t, first.(*peers).links, "no connection is kept to it")
}

func TestWhoMayAskMembers(t *testing.T) {
	r, all := twins(t, 2)
	m := r.members[1]
	look := func(role string) error {
		_, err := rollcallv1.NewPeerServiceClient(m.connection(role)).Look(t.Context(), &rollcallv1.LookRequest{})
		return err
	}
	step := func(role string) error {
		_, err := rollcallv1.NewPeerServiceClient(m.connection(role)).Step(t.Context(), m.step())
		return err
	}
	for role, may := range map[string]struct{ look, step bool }{
		config.RoleAgent:       {true, true},
		config.RoleCoordinator: {true, false},
		config.RoleReader:      {true, false},
		otherAgent:             {false, false},
		"":                     {false, false},
	} {
		for _, c := range []struct {
			may  bool
			call func(string) error
		}{{may.look, look}, {may.step, step}} {
			if c.may {
				require.NoError(t, c.call(role), role)
			} else {
				requireRefused(t, c.call(role), codes.PermissionDenied, ReasonRole)
			}
		}
	}
	require.Len(t, all[1].taken(), 1)
	stranger := agenttest.NewAuthority(t).Agent(config.ServerName(testNamespace, testCluster), config.ServerName(testNamespace, testCluster))
	stranger.InsecureSkipVerify = true
	require.Error(t, dial(m.rpc, stranger))
}

func (m *member) step() *rollcallv1.StepRequest {
	v, _ := m.agent.board.newest()
	return &rollcallv1.StepRequest{
		Step: "promote", Claim: "c", Node: v.sighting.node, AskedBy: "search-9", Fence: &rollcallv1.Fence{ClusterUid: testUID, Epoch: 3},
	}
}

func TestRefusedSteps(t *testing.T) {
	r, all := twins(t, 2)
	m := r.members[1]
	client := rollcallv1.NewPeerServiceClient(m.connection(config.RoleAgent))
	_, err := client.Step(t.Context(), m.step())
	require.NoError(t, err)
	for name, c := range map[string]struct {
		change func(*rollcallv1.StepRequest)
		code   codes.Code
		reason string
	}{
		"other node":    {func(s *rollcallv1.StepRequest) { s.Node = node(0) }, codes.FailedPrecondition, ReasonWrongNode},
		"no node":       {func(s *rollcallv1.StepRequest) { s.Node = "" }, codes.FailedPrecondition, ReasonWrongNode},
		"other cluster": {func(s *rollcallv1.StepRequest) { s.Fence.ClusterUid = "x" }, codes.FailedPrecondition, ReasonWrongCluster},
		"no fence":      {func(s *rollcallv1.StepRequest) { s.Fence = nil }, codes.FailedPrecondition, ReasonWrongCluster},
		"stale":         {func(s *rollcallv1.StepRequest) { s.Fence.Epoch = 2 }, codes.FailedPrecondition, ReasonStaleEpoch},
		"no epoch":      {func(s *rollcallv1.StepRequest) { s.Fence.Epoch = 0 }, codes.FailedPrecondition, ReasonStaleEpoch},
		"negative":      {func(s *rollcallv1.StepRequest) { s.Fence.Epoch = -1 }, codes.InvalidArgument, ""},
		"too late":      {func(s *rollcallv1.StepRequest) { s.NotAfter = past() }, codes.FailedPrecondition, ReasonExpired},
		"no name":       {func(s *rollcallv1.StepRequest) { s.Step = "" }, codes.InvalidArgument, ""},
		"huge claim":    {func(s *rollcallv1.StepRequest) { s.Claim = strings.Repeat("c", maxClaim+1) }, codes.InvalidArgument, ""},
		"huge":          {func(s *rollcallv1.StepRequest) { s.Body = strings.Repeat("x", engines.MaxStep+1) }, codes.InvalidArgument, ""},
		"huger":         {func(s *rollcallv1.StepRequest) { s.Body = strings.Repeat("x", 2*maxRequestBytes) }, codes.ResourceExhausted, ""},
	} {
		request := m.step()
		c.change(request)
		_, err := client.Step(t.Context(), request)
		require.Equal(t, c.code, status.Code(err), "%s: %v", name, err)
		requireRefused(t, err, c.code, c.reason)
	}
	_, err = client.Look(t.Context(), &rollcallv1.LookRequest{Node: node(0)})
	requireRefused(t, err, codes.FailedPrecondition, ReasonWrongNode)
	require.Len(t, all[1].taken(), 1)
	_, body := m.get("/metrics", nil)
	require.Contains(t, body, `rollcall_agent_peer_requests_total{request="step",result="ok"} 1`)
	require.Contains(t, body, `rollcall_agent_peer_requests_total{request="look",result="refused"} 1`)
}

// A database whose members do nothing together says so.
func TestMembersThatDoNothingTogether(t *testing.T) {
	r := three(t)
	m := r.members[0]
	client := rollcallv1.NewPeerServiceClient(m.connection(config.RoleAgent))
	_, err := client.Look(t.Context(), &rollcallv1.LookRequest{})
	require.Equal(t, codes.Unimplemented, status.Code(err), err)
	_, err = client.Step(t.Context(), m.step())
	require.Equal(t, codes.Unimplemented, status.Code(err), err)
	require.ErrorContains(t, err, "do nothing together")
}

func TestNoStepBeforePeersWereHeard(t *testing.T) {
	r, all := twins(t, 1)
	m := r.members[0]
	client := rollcallv1.NewPeerServiceClient(m.connection(config.RoleAgent))
	_, err := client.Step(t.Context(), m.step())
	require.NoError(t, err)
	eventually(t, "it is tended", func() bool { return all[0].tended() > 0 })
	m.agent.mesh.mu.Lock()
	m.agent.mesh.mesh, m.agent.mesh.since = nil, time.Now().Add(time.Hour)
	m.agent.mesh.mu.Unlock()
	_, err = client.Step(t.Context(), m.step())
	requireRefused(t, err, codes.Unavailable, ReasonNotSynced)
	_, err = client.Look(t.Context(), &rollcallv1.LookRequest{})
	require.NoError(t, err)
}

// Certificates and authorities change under agents that ask each other.
func TestMembersFollowRotation(t *testing.T) {
	r, all := twins(t, 2)
	_, err := all[0].peers.Look(t.Context(), node(1), false)
	require.NoError(t, err)
	r.authority = agenttest.NewAuthority(t)
	for _, m := range r.members {
		r.authority.Mount(m.dir, testNamespace, testCluster, r.file, []byte(strings.Repeat("\x03", 32)))
		m.clients = map[string]*grpc.ClientConn{}
	}
	for _, m := range r.members {
		eventually(t, "the new authority counts", func() bool {
			_, err := m.as(config.RoleReader).GetReport(t.Context(), &rollcallv1.GetReportRequest{})
			return err == nil
		})
	}
	_, err = all[0].peers.Look(t.Context(), node(1), false)
	require.NoError(t, err, "a connection that was made before goes on")
	p := all[0].peers.(*peers)
	p.mu.Lock()
	for uid, l := range p.links {
		require.NoError(t, l.connection.Close())
		delete(p.links, uid)
	}
	p.mu.Unlock()
	_, err = all[0].peers.Look(t.Context(), node(1), false)
	require.NoError(t, err, "a new one is made with the new keys")

	// Another cluster's agent at a member's address is told nothing.
	r.authority.Mount(r.members[1].dir, testNamespace, "other", r.file, []byte(strings.Repeat("\x03", 32)))
	eventually(t, "it is another's", func() bool {
		p.mu.Lock()
		for uid, l := range p.links {
			_ = l.connection.Close()
			delete(p.links, uid)
		}
		p.mu.Unlock()
		_, err = p.Look(t.Context(), node(1), false)
		return err != nil && strings.Contains(err.Error(), "certificate is valid for other.prod.agent.rollcall")
	})
}

func TestInsecureMembers(t *testing.T) {
	_, all := twins(t, 2, func(o *Options) { o.Insecure = true })
	body, err := all[0].peers.Step(t.Context(), node(1), engines.Step{Name: "x", Body: []byte("1")})
	require.NoError(t, err)
	require.Equal(t, "1", string(body))
}

// What is owed is shown, and nothing is tended in mode Observe.
func TestTendingOfAMember(t *testing.T) {
	r, all := twins(t, 1)
	m := r.members[0]
	eventually(t, "it is shown", func() bool { return m.report(false).Tending == "follows soon" })
	_, body := m.get("/metrics", nil)
	require.Contains(t, body, `rollcall_agent_tends_total{result="running"}`)
	require.Contains(t, body, `rollcall_agent_tends_total{result="interrupted"} 0`)

	r.file.Observe = true
	r.authority.Mount(m.dir, testNamespace, testCluster, r.file, []byte(strings.Repeat("\x03", 32)))
	eventually(t, "nothing is owed any more", func() bool { return m.report(true).Tending == "" })
	before := all[0].tended()
	for range 20 {
		m.report(true) // each is a look
	}
	require.LessOrEqual(t, all[0].tended(), before)
}

// rosterOf is a Mesh that knows what a test says.
type rosterOf struct {
	Mesh
	entries []gossip.Entry
}

func (m *rosterOf) Roster() (gossip.Roster, <-chan struct{}) {
	return gossip.Roster{Entries: m.entries, Synced: true}, nil
}

func entry(pod, uid, node, address string, alive bool) gossip.Entry {
	e := gossip.Entry{
		Headline: &rollcallv1.Headline{Pod: pod, PodUid: uid, Node: node, Address: address}, Liveness: rollcallv1.Liveness_LIVENESS_DEAD,
	}
	if alive {
		e.Liveness = rollcallv1.Liveness_LIVENESS_ALIVE
	}
	return e
}

func TestWhoIsListed(t *testing.T) {
	mesh := &rosterOf{}
	keeper := newMeshKeeper(0, nil)
	keeper.mesh = mesh
	p := newPeers("p0", keeper, &fence{}, insecure.NewCredentials())
	names := func() (out []string) {
		for _, k := range p.List() {
			text := k.Pod + "=" + k.Node
			if !k.Alive {
				text += "!"
			}
			if k.Leaving {
				text += "?"
			}
			out = append(out, text)
		}
		return out
	}
	mesh.entries = []gossip.Entry{entry("p0", "0", "n0", "127.0.0.1:1", true), entry("p1", "1", "n1", "127.0.0.1:1", true), entry("p2", "2", "n2", "127.0.0.1:2", false)}
	require.Equal(t, []string{"p1=n1", "p2=n2!"}, names())
	_, err := p.client("n1")
	require.NoError(t, err)
	first := p.links["1"]
	_, err = p.client("n1")
	require.NoError(t, err)
	require.Same(t, first, p.links["1"], "one connection")

	// Its agent has restarted, elsewhere, and its database does not answer.
	mesh.entries[1] = entry("p1", "1", "", "127.0.0.1:3", true)
	require.Equal(t, []string{"p1=n1", "p2=n2!"}, names())
	require.Empty(t, p.links)
	_, err = p.client("n1")
	require.NoError(t, err)
	require.NotSame(t, first, p.links["1"])

	// Two lives of one pod: the one that is alive counts.
	mesh.entries = append(mesh.entries, entry("p2", "2b", "n2", "127.0.0.1:4", true))
	require.Equal(t, []string{"p1=n1", "p2=n2"}, names())
	for _, c := range []struct {
		change func(h *rollcallv1.Headline)
		want   string
	}{
		{func(h *rollcallv1.Headline) { h.Phase = rollcallv1.Phase_PHASE_STOPPING }, "p1=n1?"},
		{func(h *rollcallv1.Headline) { h.Drain = rollcallv1.Drain_DRAIN_PREPARING }, "p1=n1?"},
		{func(h *rollcallv1.Headline) { h.Drain = rollcallv1.Drain_DRAIN_PREPARED }, "p1=n1?"},
		{func(h *rollcallv1.Headline) { h.Drain = rollcallv1.Drain_DRAIN_REFUSED }, "p1=n1"},
	} {
		mesh.entries[1] = entry("p1", "1", "n1", "127.0.0.1:3", true)
		c.change(mesh.entries[1].Headline)
		require.Equal(t, c.want, names()[0])
	}

	for what, e := range map[string]gossip.Entry{
		"both p3 and p4 say":     entry("p4", "4", "n3", "127.0.0.1:4", true),
		"does not tell where":    entry("p4", "4", "n4", "", true),
		"no agent that is alive": entry("p4", "4", "n5", "127.0.0.1:4", false),
	} {
		mesh.entries = []gossip.Entry{entry("p3", "3", "n3", "127.0.0.1:3", true), e}
		_, err := p.client(e.Headline.Node)
		require.ErrorContains(t, err, what)
	}
	mesh.entries = nil
	require.Empty(t, names())
	require.Empty(t, p.nodes, "nobody is remembered for ever")

	p.close()
	mesh.entries = []gossip.Entry{entry("p1", "1", "n1", "127.0.0.1:1", true)}
	_, err = p.client("n1")
	require.ErrorContains(t, err, "stopping")
}

// A host that takes connections and says nothing costs a bounded time.
func TestSilentPeerIsBounded(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	keeper := newMeshKeeper(0, nil)
	keeper.mesh = &rosterOf{entries: []gossip.Entry{entry("p1", "1", "n1", silent.Addr().String(), true)}}
	p := newPeers("p0", keeper, &fence{}, insecure.NewCredentials())
	defer p.close()
	p.timeout = 300 * time.Millisecond
	_, err = p.Look(t.Context(), "n1", true)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = p.Step(t.Context(), "n1", engines.Step{Name: "x"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
