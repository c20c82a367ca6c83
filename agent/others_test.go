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

// TestAnotherAgentEmpties: the member of a pod whose agent does not run is emptied by a
// neighbour's, which stays as it is.
func TestAnotherAgentEmpties(t *testing.T) {
	database := memory.New(memory.Options{}, node(0), node(1), node(2))
	database.AddGroup("books/s1", node(0), node(1))
	database.AddGroup("books/s2", node(0), node(2))
	r := threeOver(t, database)
	first, second := r.members[0], r.members[1]
	coordinator := second.as(config.RoleCoordinator)
	order := func(apply bool, change func(*rollcallv1.PrepareRequest)) (*rollcallv1.PrepareResponse, error) {
		q := first.order(1, "move", nil, apply)
		q.Kind, q.Node = rollcallv1.PrepareKind_PREPARE_KIND_EVACUATE, node(0)
		q.Term = second.term(time.Minute)
		if change != nil {
			change(q)
		}
		return coordinator.Prepare(t.Context(), q)
	}
	first.stop()
	planned, err := order(false, nil)
	require.NoError(t, err)
	require.NotEmpty(t, planned.Undo)
	require.Equal(t, rollcallv1.Drain_DRAIN_NONE, planned.Drain)
	require.Equal(t, 2, r.database.Hosts(node(0)), "it has only been asked")
	eventually(t, "it is empty", func() bool {
		answer, err := order(true, func(q *rollcallv1.PrepareRequest) { q.Undo = planned.Undo })
		require.NoError(t, err)
		return answer.Drain == rollcallv1.Drain_DRAIN_PREPARED
	})
	require.Zero(t, r.database.Hosts(node(0)))
	require.Equal(t, rollcallv1.Drain_DRAIN_NONE, second.report(true).Drain, "its own pod stays")

	for says, change := range map[string]func(*rollcallv1.PrepareRequest){
		"must be another member than this one":  func(q *rollcallv1.PrepareRequest) { q.Node = node(1) },
		"must be that of another pod than this": func(q *rollcallv1.PrepareRequest) { q.PodUid = second.agent.options.Identity.PodUID },
		"pod_uid is \"\"":                       func(q *rollcallv1.PrepareRequest) { q.PodUid = "" },
		"only for PREPARE_KIND_EVACUATE":        func(q *rollcallv1.PrepareRequest) { q.Kind = rollcallv1.PrepareKind_PREPARE_KIND_HANDOFF },
	} {
		_, err := order(true, change)
		agenttest.RequireRefused(t, err, codes.InvalidArgument, "")
		require.ErrorContains(t, err, says)
	}
	_, err = order(true, func(q *rollcallv1.PrepareRequest) { q.Node = "" })
	agenttest.RequireRefused(t, err, codes.FailedPrecondition, fence.ReasonWrongPod) // as an agent does that knows no node
	_, err = order(true, func(q *rollcallv1.PrepareRequest) { q.Fence.Epoch = 0 })
	require.Error(t, err)

	restored, err := coordinator.Restore(t.Context(), &rollcallv1.RestoreRequest{
		Claim: "move", Fence: &rollcallv1.Fence{ClusterUid: testUID, Epoch: 1}, Undo: planned.Undo,
	})
	require.NoError(t, err)
	require.True(t, restored.Done)
	_, err = order(true, func(q *rollcallv1.PrepareRequest) { q.Undo = planned.Undo })
	require.ErrorContains(t, err, "claim move: the claim is restored; this order came too late")
}
