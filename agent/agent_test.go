package agent

import (
	"crypto/tls"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/rollcall-dev/rollcall/agent/agenttest"
	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/fence"
	"github.com/rollcall-dev/rollcall/agent/peers"
	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/memory"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// TestDrainAndRestoreOverTheWire runs three real agents: they report, one drains, the others see
// that in their rosters, and it restores.
func TestDrainAndRestoreOverTheWire(t *testing.T) {
	r := three(t)
	first, second := r.members[0], r.members[1]
	coordinator := first.as(config.RoleCoordinator)

	asked := time.Now()
	report := first.report(true)
	require.Empty(t, report.Error)
	require.Equal(t, "Memory", report.Engine)
	require.Equal(t, node(0), report.Node)
	require.Equal(t, rollcallv1.Membership_MEMBERSHIP_LIVE, report.Member)
	require.Equal(t, rollcallv1.Drain_DRAIN_NONE, report.Drain)
	require.Len(t, report.Groups, 2)
	require.Len(t, report.Groups[0].Members, 3)
	require.LessOrEqual(t, report.Age.AsDuration(), time.Since(asked), "it looked after it was asked")
	require.Equal(t, testUID, report.Identity.ClusterUid)

	// Phase one changes nothing.
	planned, err := coordinator.PlanDrain(t.Context(), first.plan(5, "claim-1"))
	require.NoError(t, err)
	require.NotEmpty(t, planned.Undo)
	require.Equal(t, rollcallv1.Drain_DRAIN_NONE, first.report(true).Drain)
	require.Equal(t, 2, r.database.Leads(node(0)))

	applied, err := coordinator.Drain(t.Context(), first.drain(5, "claim-1", planned.Undo))
	require.NoError(t, err)
	require.Equal(t, rollcallv1.Drain_DRAIN_DRAINED, applied.State, applied.Detail)
	require.Zero(t, r.database.Leads(node(0)))
	require.NotEmpty(t, r.database.Marks())

	report = first.report(true)
	require.Equal(t, rollcallv1.Drain_DRAIN_DRAINED, report.Drain)
	require.Equal(t, "claim-1", report.DrainClaim)
	require.EqualValues(t, 5, report.Epoch)
	eventually(t, "the others know that it is drained", func() bool {
		return second.entry(first.pod).Headline.Drain == rollcallv1.Drain_DRAIN_DRAINED
	})

	// The epoch travels: an older order is refused by an agent that never saw one.
	eventually(t, "the others know the epoch", func() bool { return second.report(false).Epoch == 5 })
	_, err = second.as(config.RoleCoordinator).PlanDrain(t.Context(), second.plan(4, "claim-2"))
	agenttest.RequireRefused(t, err, codes.FailedPrecondition, fence.ReasonStaleEpoch)

	// A second claim has to wait for the first one's end.
	_, err = coordinator.PlanDrain(t.Context(), first.plan(5, "claim-2"))
	agenttest.RequireRefused(t, err, codes.FailedPrecondition, fence.ReasonOtherClaim)
	other, err := coordinator.Drain(t.Context(), first.drain(5, "claim-2", planned.Undo))
	require.NoError(t, err)
	require.Equal(t, rollcallv1.Drain_DRAIN_REFUSED, other.State)
	require.Contains(t, other.Detail, "claim claim-1 is open")

	restored, err := coordinator.Restore(t.Context(), &rollcallv1.RestoreRequest{
		Claim: "claim-1", Fence: &rollcallv1.Fence{ClusterUid: testUID, Epoch: 6}, Undo: planned.Undo,
	})
	require.NoError(t, err)
	require.True(t, restored.Done, restored.Detail)
	require.Empty(t, r.database.Marks())
	require.Equal(t, rollcallv1.Drain_DRAIN_NONE, first.report(true).Drain)
}

// The pod is gone for good: another agent undoes with the bytes of the claim.
func TestAnotherAgentRestores(t *testing.T) {
	r := three(t)
	first, second := r.members[0], r.members[1]
	planned, err := first.as(config.RoleCoordinator).PlanDrain(t.Context(), first.plan(1, "claim-1"))
	require.NoError(t, err)
	_, err = first.as(config.RoleCoordinator).Drain(t.Context(), first.drain(1, "claim-1", planned.Undo))
	require.NoError(t, err)
	require.NotEmpty(t, r.database.Marks())

	first.stop()
	eventually(t, "it has gone", func() bool { // its good-bye may be lost
		return second.entry(first.pod).Liveness != rollcallv1.Liveness_LIVENESS_ALIVE
	})
	restored, err := second.as(config.RoleCoordinator).Restore(t.Context(), &rollcallv1.RestoreRequest{
		Claim: "claim-1", Fence: &rollcallv1.Fence{ClusterUid: testUID, Epoch: 1}, Undo: planned.Undo,
	})
	require.NoError(t, err)
	require.True(t, restored.Done)
	require.Empty(t, r.database.Marks())
	require.Equal(t, rollcallv1.Drain_DRAIN_NONE, second.report(false).Drain)
}

// An agent hands over on behalf of a pod without one, and its own pod stays as it is.
func TestAnotherAgentHandsOver(t *testing.T) {
	r := three(t)
	second := r.members[1]
	require.Equal(t, 2, r.database.Leads(node(0)))
	coordinator := second.as(config.RoleCoordinator)
	answer, err := coordinator.HandoffOnBehalf(t.Context(), second.onBehalf(1, "adopt", node(0)))
	require.NoError(t, err)
	require.True(t, answer.Done, answer.Detail)
	require.Zero(t, r.database.Leads(node(0)))
	require.Empty(t, r.database.Marks(), "nothing is left to be undone")
	require.Equal(t, rollcallv1.Drain_DRAIN_NONE, second.report(true).Drain)

	_, err = coordinator.HandoffOnBehalf(t.Context(), second.onBehalf(1, "adopt", node(1)))
	require.Equal(t, codes.InvalidArgument, status.Code(err), "its own duties are for Drain: %v", err)
	_, err = coordinator.HandoffOnBehalf(t.Context(), second.onBehalf(0, "adopt", node(0)))
	require.Error(t, err)
	_, err = r.members[2].as(config.RoleCoordinator).HandoffOnBehalf(t.Context(), second.onBehalf(1, "adopt", node(0)))
	agenttest.RequireRefused(t, err, codes.FailedPrecondition, fence.ReasonWrongPod)
}

func TestRoles(t *testing.T) {
	r := three(t)
	m := r.members[0]
	calls := map[string]func(*grpc.ClientConn) error{
		"report": func(c *grpc.ClientConn) error {
			_, err := rollcallv1.NewAgentServiceClient(c).GetReport(t.Context(), &rollcallv1.GetReportRequest{})
			return err
		},
		"watch": func(c *grpc.ClientConn) error {
			stream, err := rollcallv1.NewAgentServiceClient(c).WatchRoster(t.Context(), &rollcallv1.WatchRosterRequest{})
			if err != nil {
				return err
			}
			_, err = stream.Recv()
			return err
		},
		"health": func(c *grpc.ClientConn) error {
			_, err := grpc_health_v1.NewHealthClient(c).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
			return err
		},
		"reflection": func(c *grpc.ClientConn) error {
			stream, err := grpc_reflection_v1.NewServerReflectionClient(c).ServerReflectionInfo(t.Context())
			if err != nil {
				return err
			}
			if err := stream.Send(&grpc_reflection_v1.ServerReflectionRequest{
				MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{},
			}); err != nil && err != io.EOF {
				return err
			}
			_, err = stream.Recv()
			return err
		},
		"plan": func(c *grpc.ClientConn) error {
			_, err := rollcallv1.NewAgentServiceClient(c).PlanDrain(t.Context(), m.plan(1, "c"))
			return err
		},
		"restore": func(c *grpc.ClientConn) error {
			_, err := rollcallv1.NewAgentServiceClient(c).Restore(t.Context(), &rollcallv1.RestoreRequest{
				Claim: "another", Fence: &rollcallv1.Fence{ClusterUid: testUID, Epoch: 1},
			})
			return err
		},
		"drain": func(c *grpc.ClientConn) error {
			_, err := rollcallv1.NewAgentServiceClient(c).Drain(t.Context(), m.drain(1, "c", nil))
			return err
		},
		"restore setting": func(c *grpc.ClientConn) error {
			_, err := rollcallv1.NewAgentServiceClient(c).RestoreSetting(t.Context(), m.putBack(memory.Allocation, "all"))
			return err
		},
		"handoff on behalf": func(c *grpc.ClientConn) error {
			_, err := rollcallv1.NewAgentServiceClient(c).HandoffOnBehalf(t.Context(), m.onBehalf(1, "c", node(1)))
			return err
		},
	}
	for name, call := range calls {
		order := slices.Contains([]string{"plan", "drain", "restore", "restore setting", "handoff on behalf"}, name)
		require.NoError(t, call(m.connection(config.RoleCoordinator)), name)
		if order {
			agenttest.RequireRefused(t, call(m.connection(config.RoleReader)), codes.PermissionDenied, fence.ReasonRole)
		} else {
			require.NoError(t, call(m.connection(config.RoleReader)), name)
		}
		for _, role := range []string{"", config.RoleAgent, otherAgent} {
			agenttest.RequireRefused(t, call(m.connection(role)), codes.PermissionDenied, fence.ReasonRole)
		}
		require.Equal(t, codes.Unavailable, status.Code(call(m.connection("none"))), name)
	}

	counted := func(reason string) float64 {
		return testutil.ToFloat64(m.agent.metrics.serve.Callers.WithLabelValues(reason))
	}
	require.EqualValues(t, 3*len(calls)+5, counted("role"), "three with no fitting role for each, and readers that order")
	require.Positive(t, counted("certificate"), "those without one")

	// A role from another authority does not count, and older TLS is refused.
	strangers := counted("certificate")
	stranger := agenttest.NewAuthority(t).Client(config.ServerName(testNamespace, testCluster), config.RoleCoordinator)
	stranger.InsecureSkipVerify = true
	require.Error(t, dial(m.rpc, stranger))
	old := r.authority.Client(config.ServerName(testNamespace, testCluster), config.RoleCoordinator)
	old.MinVersion, old.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	require.Error(t, dial(m.rpc, old))
	eventually(t, "both to be counted", func() bool { return counted("certificate") == strangers+2 })
}

// dial fails when the server does not accept the client, which TLS 1.3 tells with
// the first read.
func dial(address string, c *tls.Config) error {
	c.NextProtos = []string{"h2"}
	conn, err := tls.Dial("tcp", address, c)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := conn.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 1))
	return err
}

func TestRefusedOrders(t *testing.T) {
	r := three(t)
	m := r.members[0]
	for name, c := range map[string]struct {
		change func(*rollcallv1.DrainRequest)
		code   codes.Code
		reason string
	}{
		"other pod":     {func(p *rollcallv1.DrainRequest) { p.PodUid = "uid-9" }, codes.FailedPrecondition, fence.ReasonWrongPod},
		"other cluster": {func(p *rollcallv1.DrainRequest) { p.Fence.ClusterUid = "x" }, codes.FailedPrecondition, fence.ReasonWrongCluster},
		"no epoch":      {func(p *rollcallv1.DrainRequest) { p.Fence.Epoch = 0 }, codes.InvalidArgument, ""},
		"no fence":      {func(p *rollcallv1.DrainRequest) { p.Fence = nil }, codes.FailedPrecondition, fence.ReasonWrongCluster},
		"no claim":      {func(p *rollcallv1.DrainRequest) { p.Claim = "" }, codes.InvalidArgument, ""},
		"no kind":       {func(p *rollcallv1.DrainRequest) { p.Kind = 0 }, codes.InvalidArgument, ""},
		"huge undo":     {func(p *rollcallv1.DrainRequest) { p.Undo = make([]byte, engines.MaxUndo+1) }, codes.InvalidArgument, ""},
		"too late":      {func(p *rollcallv1.DrainRequest) { p.Term = m.term(-time.Millisecond) }, codes.FailedPrecondition, fence.ReasonExpired},
		"no term":       {func(p *rollcallv1.DrainRequest) { p.Term = nil }, codes.FailedPrecondition, fence.ReasonNoTerm},
		"endless":       {func(p *rollcallv1.DrainRequest) { p.Term.Until = nil }, codes.InvalidArgument, ""},
		"other run":     {func(p *rollcallv1.DrainRequest) { p.Term.Incarnation-- }, codes.FailedPrecondition, fence.ReasonOtherRun},
		"huge message":  {func(p *rollcallv1.DrainRequest) { p.Undo = make([]byte, 2*peers.MaxMessage) }, codes.ResourceExhausted, ""},
	} {
		request := m.drain(1, "claim", nil)
		c.change(request)
		_, err := m.as(config.RoleCoordinator).Drain(t.Context(), request)
		agenttest.RequireRefused(t, err, c.code, c.reason)
		require.Equal(t, rollcallv1.Drain_DRAIN_NONE, m.report(false).Drain, name)
	}
	_, err := m.as(config.RoleCoordinator).Restore(t.Context(), &rollcallv1.RestoreRequest{Claim: "claim",
		Fence: m.drain(1, "claim", nil).Fence, Undo: []byte(`{"v":1,"kind":"Handoff","claim":"other","node":"n"}`)})
	require.ErrorContains(t, err, `undo is of claim "other", and the order of claim "claim"`)
	require.Equal(t, 2, r.database.Leads(node(0)), "nothing happened")
}

func TestStreams(t *testing.T) {
	r := three(t)
	m := r.members[0]
	reports, err := m.as(config.RoleReader).WatchReport(t.Context(), &rollcallv1.WatchReportRequest{AllGroups: true})
	require.NoError(t, err)
	first, err := reports.Recv()
	require.NoError(t, err)
	require.True(t, first.AllGroups)

	r.database.Stop(node(2)) // changes what node 0 says of its groups
	next := first
	for next.Verdict != rollcallv1.Verdict_VERDICT_RECOVERABLE { // the same may be said once more meanwhile
		next, err = reports.Recv()
		require.NoError(t, err)
	}
	require.Greater(t, next.Sequence, first.Sequence)

	rosters, err := m.as(config.RoleReader).WatchRoster(t.Context(), &rollcallv1.WatchRosterRequest{})
	require.NoError(t, err)
	roster, err := rosters.Recv()
	require.NoError(t, err)
	require.True(t, roster.Synced)
	require.Equal(t, m.pod, roster.Identity.Pod)
	for found := false; !found; {
		for _, e := range roster.Entries {
			found = found || e.Headline.Pod == "search-2" && e.Headline.Member == rollcallv1.Membership_MEMBERSHIP_NOT_LIVE
		}
		if !found {
			roster, err = rosters.Recv()
			require.NoError(t, err)
		}
	}

	m.cancel() // streams end with the agent, and say so
	for err == nil {
		_, err = reports.Recv()
	}
	require.Equal(t, codes.Unavailable, status.Code(err), err)
	<-m.ended
}

func TestStopHookOverTheWire(t *testing.T) {
	r := three(t)
	m, other := r.members[0], r.members[1]
	for _, header := range []http.Header{{}, {config.StopHeader: {"wrong"}}, {config.StopHeader: {""}}} {
		code, _ := m.get(config.StopPath, header)
		require.Equal(t, http.StatusForbidden, code)
	}
	require.Equal(t, 2, r.database.Leads(node(0)), "nothing happened")

	code, body := m.get(config.StopPath, http.Header{config.StopHeader: {"secret"}})
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, "Handoff done")
	require.Zero(t, r.database.Leads(node(0)))
	eventually(t, "the others know that it stops", func() bool {
		h := other.entry(m.pod).Headline
		return h.Phase == rollcallv1.Phase_PHASE_STOPPING && h.Drain == rollcallv1.Drain_DRAIN_DRAINED
	})
	require.Empty(t, m.report(false).DrainClaim)

	// It was the liveness probe: the database is back in the same pod.
	r.database.Stop(node(0))
	eventually(t, "it is unavailable", func() bool { return m.report(false).Member == rollcallv1.Membership_MEMBERSHIP_NOT_LIVE })
	r.database.Start(node(0))
	eventually(t, "what the hook did is undone", func() bool { return len(r.database.Marks()) == 0 })
	eventually(t, "the others know that it is back", func() bool {
		h := other.entry(m.pod).Headline
		return h.Phase == rollcallv1.Phase_PHASE_WATCHING && h.Drain == rollcallv1.Drain_DRAIN_NONE
	})
}

func TestHealthAndMetrics(t *testing.T) {
	r := three(t)
	m := r.members[0]
	code, _ := m.get("/healthz", nil)
	require.Equal(t, http.StatusOK, code)
	code, body := m.get("/readyz", nil)
	require.Equal(t, http.StatusOK, code, body)
	_, body = m.get("/metrics", nil)
	for _, want := range []string{
		"rollcall_gossip_members 3", `rollcall_gossip_rejected_total{reason="cluster"} 0`,
		`rollcall_build_info{`, "rollcall_certificate_expiry_timestamp_seconds 1", `rollcall_agent_probes_total{result="ok"}`,
		`rollcall_agent_stop_hooks_total{result="done"} 0`, `rollcall_agent_orders_total{order="drain",result="refused"} 0`,
	} {
		require.Contains(t, body, want)
	}
	for path, want := range map[string]int{"/": http.StatusNotFound, "/debug/pprof/": http.StatusNotFound} {
		code, _ := m.get(path, nil)
		require.Equal(t, want, code, path)
	}
}
