package agent

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rollcall-dev/rollcall/agent/agenttest"
	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/fence"
	"github.com/rollcall-dev/rollcall/agent/peers"
	"github.com/rollcall-dev/rollcall/engines"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

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
	limit := time.Now().Add(time.Minute)
	sent := engines.Step{Name: "promote", Claim: "c", NotAfter: limit, Body: []byte(`{"a":1}`)}
	body, err := first.Step(t.Context(), node(1), sent)
	require.NoError(t, err)
	require.JSONEq(t, `{"a":1}`, string(body))
	require.Len(t, all[1].taken(), 1)
	taken := all[1].taken()[0]
	require.False(t, taken.NotAfter.IsZero())
	require.False(t, taken.NotAfter.After(limit), "not for longer than who asked relies on")
	taken.NotAfter = limit
	require.Equal(t, sent, taken)
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

	// An agent whose pod is drained says that it leaves; one that is gone stays listed.
	coordinator := r.members[1].as(config.RoleCoordinator)
	planned, err := coordinator.PlanDrain(t.Context(), r.members[1].plan(8, "claim-1"))
	require.NoError(t, err)
	_, err = coordinator.Drain(t.Context(), r.members[1].drain(8, "claim-1", planned.Undo))
	require.NoError(t, err)
	eventually(t, "it leaves", func() bool { return first.List()[0].Leaving })
	require.False(t, first.List()[1].Leaving)
	r.members[1].stop()
	eventually(t, "it is gone", func() bool { return !first.List()[0].Alive })
	require.Equal(t, node(1), first.List()[0].Node)
	_, err = first.Look(t.Context(), node(1), false)
	require.ErrorContains(t, err, "no agent that is alive")
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
	fresh := func(role string) error {
		_, err := rollcallv1.NewPeerServiceClient(m.connection(role)).Look(t.Context(), &rollcallv1.LookRequest{Fresh: true})
		return err
	}
	for role, may := range map[string]bool{config.RoleAgent: true, config.RoleCoordinator: true, config.RoleReader: false} {
		if may {
			require.NoError(t, fresh(role), role)
		} else {
			agenttest.RequireRefused(t, fresh(role), codes.PermissionDenied, fence.ReasonRole) // each takes a session of the database
		}
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
				agenttest.RequireRefused(t, c.call(role), codes.PermissionDenied, fence.ReasonRole)
			}
		}
	}
	require.Len(t, all[1].taken(), 1)
	stranger := agenttest.NewAuthority(t).Agent(config.ServerName(testNamespace, testCluster), config.ServerName(testNamespace, testCluster))
	stranger.InsecureSkipVerify = true
	require.Error(t, dial(m.rpc, stranger))
}

func (m *member) step() *rollcallv1.StepRequest {
	v, _ := m.agent.board.Latest()
	return &rollcallv1.StepRequest{
		Step: "promote", Claim: "c", Node: v.Result.Node, AskedBy: "search-9", Fence: &rollcallv1.Fence{ClusterUid: testUID, Epoch: 3},
		Term: &rollcallv1.Term{},
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
		"other node":    {func(s *rollcallv1.StepRequest) { s.Node = node(0) }, codes.FailedPrecondition, fence.ReasonWrongNode},
		"no node":       {func(s *rollcallv1.StepRequest) { s.Node = "" }, codes.FailedPrecondition, fence.ReasonWrongNode},
		"other cluster": {func(s *rollcallv1.StepRequest) { s.Fence.ClusterUid = "x" }, codes.FailedPrecondition, fence.ReasonWrongCluster},
		"no fence":      {func(s *rollcallv1.StepRequest) { s.Fence = nil }, codes.FailedPrecondition, fence.ReasonWrongCluster},
		"stale":         {func(s *rollcallv1.StepRequest) { s.Fence.Epoch = 2 }, codes.FailedPrecondition, fence.ReasonStaleEpoch},
		"no epoch":      {func(s *rollcallv1.StepRequest) { s.Fence.Epoch = 0 }, codes.FailedPrecondition, fence.ReasonStaleEpoch},
		"negative":      {func(s *rollcallv1.StepRequest) { s.Fence.Epoch = -1 }, codes.InvalidArgument, ""},
		"too late":      {func(s *rollcallv1.StepRequest) { s.Term = m.term(-time.Millisecond) }, codes.FailedPrecondition, fence.ReasonExpired},
		"no term":       {func(s *rollcallv1.StepRequest) { s.Term = nil }, codes.FailedPrecondition, fence.ReasonNoTerm},
		"other run":     {func(s *rollcallv1.StepRequest) { s.Term = m.term(time.Minute); s.Term.Incarnation++ }, codes.FailedPrecondition, fence.ReasonOtherRun},
		"no name":       {func(s *rollcallv1.StepRequest) { s.Step = "" }, codes.InvalidArgument, ""},
		"huge claim":    {func(s *rollcallv1.StepRequest) { s.Claim = strings.Repeat("c", 257) }, codes.InvalidArgument, ""},
		"huge":          {func(s *rollcallv1.StepRequest) { s.Body = strings.Repeat("x", engines.MaxStep+1) }, codes.InvalidArgument, ""},
		"huger":         {func(s *rollcallv1.StepRequest) { s.Body = strings.Repeat("x", 2*peers.MaxMessage) }, codes.ResourceExhausted, ""},
	} {
		request := m.step()
		c.change(request)
		_, err := client.Step(t.Context(), request)
		require.Equal(t, c.code, status.Code(err), "%s: %v", name, err)
		agenttest.RequireRefused(t, err, c.code, c.reason)
	}
	_, err = client.Look(t.Context(), &rollcallv1.LookRequest{Node: node(0)})
	agenttest.RequireRefused(t, err, codes.FailedPrecondition, fence.ReasonWrongNode)
	require.Len(t, all[1].taken(), 1)
	_, body := m.get("/metrics", nil)
	require.Contains(t, body, `rollcall_agent_peer_requests_total{request="step",result="ok"} 1`)
	require.Contains(t, body, `rollcall_agent_peer_requests_total{request="look",result="refused"} 1`)
}

// TestMembersThatCannotActTogether checks the answer of a database whose members do nothing
// together.
func TestMembersThatCannotActTogether(t *testing.T) {
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
	var deaf atomic.Bool
	r, all := twins(t, 1, func(o *Options) { o.SyncTimeout, o.NewMesh = time.Hour, hardOfHearing(&deaf) })
	m := r.members[0]
	client := rollcallv1.NewPeerServiceClient(m.connection(config.RoleAgent))
	_, err := client.Step(t.Context(), m.step())
	require.NoError(t, err)
	eventually(t, "it is tended", func() bool { return all[0].repaired() > 0 })
	deaf.Store(true)
	_, err = client.Step(t.Context(), m.step())
	agenttest.RequireRefused(t, err, codes.Unavailable, fence.ReasonNotSynced)
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
	eventually(t, "the connection that was made before has ended, and is made again", func() bool {
		_, err := all[0].peers.Look(t.Context(), node(1), false)
		return err == nil
	})
	asksAnew := func() error { // over a connection of its own
		a := r.members[0].agent
		p := peers.New(peers.Options{Pod: r.members[0].pod, Mesh: a.mesh, Fence: a.fence, Credentials: a.keys.Client()})
		defer p.Close()
		_, err := p.Look(t.Context(), node(1), false)
		return err
	}
	require.NoError(t, asksAnew(), "a new one is made with the new keys")

	// Another cluster's agent at a member's address is told nothing.
	r.authority.Mount(r.members[1].dir, testNamespace, "other", r.file, []byte(strings.Repeat("\x03", 32)))
	eventually(t, "it is another's", func() bool {
		err := asksAnew()
		return err != nil && strings.Contains(err.Error(), "certificate is valid for other.prod.agent.rollcall")
	})
}

func TestInsecureMembers(t *testing.T) {
	_, all := twins(t, 2, func(o *Options) { o.Insecure = true })
	body, err := all[0].peers.Step(t.Context(), node(1), engines.Step{Name: "x", Body: []byte("1")})
	require.NoError(t, err)
	require.Equal(t, "1", string(body))
}

// TestRepairOfAMember checks that pending repairs are reported, and that nothing is repaired in
// mode Observe.
func TestRepairOfAMember(t *testing.T) {
	r, all := twins(t, 1)
	m := r.members[0]
	eventually(t, "it is shown", func() bool { return m.report(false).Repairing == "follows soon" })
	_, body := m.get("/metrics", nil)
	require.Contains(t, body, `rollcall_agent_repair_rounds_total{result="running"}`)
	require.Contains(t, body, `rollcall_agent_repair_rounds_total{result="interrupted"} 0`)

	r.file.Observe = true
	r.authority.Mount(m.dir, testNamespace, testCluster, r.file, []byte(strings.Repeat("\x03", 32)))
	eventually(t, "nothing is owed any more", func() bool { return m.report(true).Repairing == "" })
	before := all[0].repaired()
	for range 20 {
		m.report(true) // each is a look
	}
	require.LessOrEqual(t, all[0].repaired(), before)
}

// Either end's clock may end a call; the error is the same. A host that accepts connections and
// does not answer costs a bounded time.
