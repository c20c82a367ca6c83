package agent

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/engines"
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
		requireRefused(t, err, codes.InvalidArgument, "")
		require.ErrorContains(t, err, says)
	}
	_, err = order(true, func(q *rollcallv1.PrepareRequest) { q.Node = "" })
	requireRefused(t, err, codes.FailedPrecondition, ReasonWrongPod) // as an agent does that knows no node
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

// TestOthersAreNotEmptied: not by an adapter that does not say that it can.
func TestOthersAreNotEmptied(t *testing.T) {
	draining(t, &fakeEngine{}, func(t *testing.T, d *drainer) {
		_, err := d.planOther(t.Context(), order{claim: "move", kind: engines.Evacuate, epoch: 1}, "n2")
		require.ErrorIs(t, err, engines.ErrOwnAgentOnly)
		require.ErrorContains(t, err, "a member of Fake is emptied from its own pod")
		requireRefused(t, engineError(t.Context(), err), codes.FailedPrecondition, ReasonOwnAgentOnly)
	})
}

// emptier can empty others, and notes whom.
type emptier struct {
	fakeEngine
	orders []engines.Order
}

func (e *emptier) Facts() engines.Facts { return engines.Facts{Name: "Fake", EvacuatesOthers: true} }

func (e *emptier) Apply(_ context.Context, o engines.Order, undo []byte) (engines.Progress, error) {
	e.orders = append(e.orders, o)
	return engines.Progress{State: engines.Running, Detail: string(undo), Done: 1, Total: 3}, nil
}

// TestOthersWaitForTheirTurn: one writer at a time, and the job stays as it is.
func TestOthersWaitForTheirTurn(t *testing.T) {
	e := &emptier{}
	draining(t, e, func(t *testing.T, d *drainer) {
		require.NoError(t, d.take(t.Context()))
		o := order{claim: "move", kind: engines.Evacuate, epoch: 1, undo: []byte("u"), eligible: []string{"db-2"}, notAfter: time.Now().Add(time.Minute)}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := d.applyOther(ctx, o, "n2")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Empty(t, e.orders)
		d.release()
		progress, err := d.applyOther(t.Context(), o, "n2")
		require.NoError(t, err)
		require.Equal(t, engines.Progress{State: engines.Running, Detail: "u", Done: 1, Total: 3}, progress)
		require.Equal(t, []engines.Order{{Kind: engines.Evacuate, Claim: "move", Node: "n2", Eligible: []string{"db-2"}, Epoch: 1, NotAfter: o.notAfter}}, e.orders)
		require.Nil(t, d.job)
	})
}
