package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/rollcall-dev/rollcall/agent/agenttest"
	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/memory"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

func (m *member) putBack(knob, undo string) *rollcallv1.RestoreRequest {
	return &rollcallv1.RestoreRequest{
		Fence: &rollcallv1.Fence{ClusterUid: testUID, Epoch: 1}, Knob: knob, Undo: []byte(undo),
		Term: m.term(time.Minute),
	}
}

// A setting of the whole database is told of, written only by an order that names
// it, kept when the one claim ends, and put back by any agent.
func TestSharedSetting(t *testing.T) {
	database := memory.New(memory.Options{Allocation: "all"}, node(0), node(1))
	database.AddGroup("books/shard1", node(0), node(1))
	r := newRing(t, database)
	first, second := r.start(0), r.start(1)
	r.run(first, second)
	first.report(true)
	coordinator := first.as(config.RoleCoordinator)

	planned, err := coordinator.Prepare(t.Context(), first.order(1, "claim-1", nil, false))
	require.NoError(t, err)
	require.Equal(t, memory.Allocation, planned.Knob)
	require.Equal(t, "all", string(planned.KnobUndo))

	order := first.order(1, "claim-1", planned.Undo, true)
	applied, err := coordinator.Prepare(t.Context(), order) // as a coordinator does that knows no knobs
	require.NoError(t, err)
	require.Equal(t, rollcallv1.Drain_DRAIN_PREPARED, applied.Drain)
	require.Equal(t, "all", database.Allocation())
	_, err = coordinator.Restore(t.Context(), &rollcallv1.RestoreRequest{Claim: "claim-1", Fence: order.Fence, Undo: planned.Undo})
	require.NoError(t, err)

	order = first.order(1, "claim-2", nil, false)
	planned, err = coordinator.Prepare(t.Context(), order)
	require.NoError(t, err)
	order.Apply, order.Undo, order.Knob, order.KnobUndo = true, planned.Undo, planned.Knob, planned.KnobUndo
	_, err = coordinator.Prepare(t.Context(), order)
	require.NoError(t, err)
	require.Equal(t, memory.Throttled, database.Allocation())
	_, err = coordinator.Restore(t.Context(), &rollcallv1.RestoreRequest{Claim: "claim-2", Fence: order.Fence, Undo: planned.Undo})
	require.NoError(t, err)
	require.Equal(t, memory.Throttled, database.Allocation(), "others may rely on it")

	for range 2 {
		restored, err := second.as(config.RoleCoordinator).Restore(t.Context(), second.putBack(memory.Allocation, "all"))
		require.NoError(t, err)
		require.True(t, restored.Done)
		require.Equal(t, "all", database.Allocation())
	}
}

func TestWrongOrdersForASharedSetting(t *testing.T) {
	database := memory.New(memory.Options{Allocation: "all"}, node(0))
	r := newRing(t, database)
	m := r.start(0)
	r.run(m)
	m.report(true)
	coordinator := m.as(config.RoleCoordinator)
	for name, c := range map[string]struct {
		change func(*rollcallv1.RestoreRequest)
		code   codes.Code
	}{
		"with a claim":    {func(r *rollcallv1.RestoreRequest) { r.Claim = "c" }, codes.InvalidArgument},
		"long name":       {func(r *rollcallv1.RestoreRequest) { r.Knob = string(make([]byte, engines.MaxKnob+1)) }, codes.InvalidArgument},
		"too much":        {func(r *rollcallv1.RestoreRequest) { r.Undo = make([]byte, engines.MaxUndo+1) }, codes.InvalidArgument},
		"no term":         {func(r *rollcallv1.RestoreRequest) { r.Term = nil }, codes.FailedPrecondition},
		"too late":        {func(r *rollcallv1.RestoreRequest) { r.Term = m.term(-time.Millisecond) }, codes.FailedPrecondition},
		"another knob":    {func(r *rollcallv1.RestoreRequest) { r.Knob = "other" }, codes.Aborted},
		"no fence":        {func(r *rollcallv1.RestoreRequest) { r.Fence = nil }, codes.FailedPrecondition},
		"neither of both": {func(r *rollcallv1.RestoreRequest) { r.Knob = "" }, codes.InvalidArgument},
	} {
		request := m.putBack(memory.Allocation, "changed")
		c.change(request)
		_, err := coordinator.Restore(t.Context(), request)
		agenttest.RequireRefused(t, err, c.code, "")
		require.Equal(t, "all", database.Allocation(), name)
	}
	order := m.order(1, "c", nil, true)
	order.KnobUndo = []byte("undo of nothing")
	_, err := coordinator.Prepare(t.Context(), order)
	agenttest.RequireRefused(t, err, codes.InvalidArgument, "")
}
