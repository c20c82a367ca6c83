package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/rollcall-dev/rollcall/agent/agenttest"
	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/fence"
	"github.com/rollcall-dev/rollcall/engines/memory"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// TestAnotherAgentEmpties checks that the member of a pod whose agent does not run is emptied by a
// neighbour's, which stays as it is.
func TestAnotherAgentEmpties(t *testing.T) {
	database := memory.New(memory.Options{}, node(0), node(1), node(2))
	database.AddGroup("books/s1", node(0), node(1))
	database.AddGroup("books/s2", node(0), node(2))
	r := threeOver(t, database)
	first, second := r.members[0], r.members[1]
	coordinator := second.as(config.RoleCoordinator)
	order := func(change func(*rollcallv1.DrainRequest)) (*rollcallv1.DrainResponse, error) {
		q := first.drain(1, "move", nil)
		q.Kind, q.Node = rollcallv1.DrainKind_DRAIN_KIND_EVACUATE, node(0)
		q.Term = second.term(time.Minute)
		change(q)
		return coordinator.Drain(t.Context(), q)
	}
	first.stop()
	plan := first.plan(1, "move")
	plan.Kind, plan.Node, plan.Term = rollcallv1.DrainKind_DRAIN_KIND_EVACUATE, node(0), second.term(time.Minute)
	planned, err := coordinator.PlanDrain(t.Context(), plan)
	require.NoError(t, err)
	require.NotEmpty(t, planned.Undo)
	require.Equal(t, 2, r.database.Hosts(node(0)), "it has only been asked")
	eventually(t, "it is empty", func() bool {
		answer, err := order(func(q *rollcallv1.DrainRequest) { q.Undo = planned.Undo })
		require.NoError(t, err)
		return answer.State == rollcallv1.Drain_DRAIN_DRAINED
	})
	require.Zero(t, r.database.Hosts(node(0)))
	require.Equal(t, rollcallv1.Drain_DRAIN_NONE, second.report(true).Drain, "its own pod stays")

	for says, change := range map[string]func(*rollcallv1.DrainRequest){
		"must be another member than this one":  func(q *rollcallv1.DrainRequest) { q.Node = node(1) },
		"must be that of another pod than this": func(q *rollcallv1.DrainRequest) { q.PodUid = second.agent.options.Identity.PodUID },
		"pod_uid is \"\"":                       func(q *rollcallv1.DrainRequest) { q.PodUid = "" },
		"only for DRAIN_KIND_EVACUATE":          func(q *rollcallv1.DrainRequest) { q.Kind = rollcallv1.DrainKind_DRAIN_KIND_HANDOFF },
	} {
		_, err := order(change)
		agenttest.RequireRefused(t, err, codes.InvalidArgument, "")
		require.ErrorContains(t, err, says)
	}
	_, err = order(func(q *rollcallv1.DrainRequest) { q.Node = "" })
	agenttest.RequireRefused(t, err, codes.FailedPrecondition, fence.ReasonWrongPod) // as an agent does that knows no node
	_, err = order(func(q *rollcallv1.DrainRequest) { q.Fence.Epoch = 0 })
	require.Error(t, err)

	restored, err := coordinator.Restore(t.Context(), &rollcallv1.RestoreRequest{
		Claim: "move", Fence: &rollcallv1.Fence{ClusterUid: testUID, Epoch: 1}, Undo: planned.Undo,
	})
	require.NoError(t, err)
	require.True(t, restored.Done)
	_, err = order(func(q *rollcallv1.DrainRequest) { q.Undo = planned.Undo })
	require.ErrorContains(t, err, "claim move: the claim is restored; this order came too late")
}
