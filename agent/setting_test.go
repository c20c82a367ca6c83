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

func (m *member) putBack(setting, undo string) *rollcallv1.RestoreSettingRequest {
	return &rollcallv1.RestoreSettingRequest{
		Fence: &rollcallv1.Fence{ClusterUid: testUID, Epoch: 1}, Setting: setting, SettingUndo: []byte(undo),
		Term: m.term(time.Minute),
	}
}

// A setting of the whole database is told of, written only by an order that names
// it, kept when the one claim ends, and put back by any agent.
func TestClusterSetting(t *testing.T) {
	database := memory.New(memory.Options{Allocation: "all"}, node(0), node(1))
	database.AddGroup("books/shard1", node(0), node(1))
	r := newRing(t, database)
	first, second := r.start(0), r.start(1)
	r.run(first, second)
	first.report(true)
	coordinator := first.as(config.RoleCoordinator)

	planned, err := coordinator.PlanDrain(t.Context(), first.plan(1, "claim-1"))
	require.NoError(t, err)
	require.Equal(t, memory.Allocation, planned.Setting)
	require.Equal(t, "all", string(planned.SettingUndo))

	order := first.drain(1, "claim-1", planned.Undo)
	applied, err := coordinator.Drain(t.Context(), order) // names no setting
	require.NoError(t, err)
	require.Equal(t, rollcallv1.Drain_DRAIN_DRAINED, applied.State)
	require.Equal(t, "all", database.Allocation())
	_, err = coordinator.Restore(t.Context(), &rollcallv1.RestoreRequest{Claim: "claim-1", Fence: order.Fence, Undo: planned.Undo})
	require.NoError(t, err)

	planned, err = coordinator.PlanDrain(t.Context(), first.plan(1, "claim-2"))
	require.NoError(t, err)
	order = first.drain(1, "claim-2", planned.Undo)
	order.Setting, order.SettingUndo = planned.Setting, planned.SettingUndo
	_, err = coordinator.Drain(t.Context(), order)
	require.NoError(t, err)
	require.Equal(t, memory.Throttled, database.Allocation())
	_, err = coordinator.Restore(t.Context(), &rollcallv1.RestoreRequest{Claim: "claim-2", Fence: order.Fence, Undo: planned.Undo})
	require.NoError(t, err)
	require.Equal(t, memory.Throttled, database.Allocation(), "others may rely on it")

	for range 2 {
		restored, err := second.as(config.RoleCoordinator).RestoreSetting(t.Context(), second.putBack(memory.Allocation, "all"))
		require.NoError(t, err)
		require.True(t, restored.Done)
		require.Equal(t, "all", database.Allocation())
	}
}

func TestWrongOrdersForASetting(t *testing.T) {
	database := memory.New(memory.Options{Allocation: "all"}, node(0))
	r := newRing(t, database)
	m := r.start(0)
	r.run(m)
	m.report(true)
	coordinator := m.as(config.RoleCoordinator)
	for name, c := range map[string]struct {
		change func(*rollcallv1.RestoreSettingRequest)
		code   codes.Code
	}{
		"long name":    {func(r *rollcallv1.RestoreSettingRequest) { r.Setting = string(make([]byte, engines.MaxSettingName+1)) }, codes.InvalidArgument},
		"too much":     {func(r *rollcallv1.RestoreSettingRequest) { r.SettingUndo = make([]byte, engines.MaxUndo+1) }, codes.InvalidArgument},
		"no term":      {func(r *rollcallv1.RestoreSettingRequest) { r.Term = nil }, codes.FailedPrecondition},
		"too late":     {func(r *rollcallv1.RestoreSettingRequest) { r.Term = m.term(-time.Millisecond) }, codes.FailedPrecondition},
		"another name": {func(r *rollcallv1.RestoreSettingRequest) { r.Setting = "other" }, codes.Aborted},
		"no fence":     {func(r *rollcallv1.RestoreSettingRequest) { r.Fence = nil }, codes.FailedPrecondition},
		"no name":      {func(r *rollcallv1.RestoreSettingRequest) { r.Setting = "" }, codes.InvalidArgument},
	} {
		request := m.putBack(memory.Allocation, "changed")
		c.change(request)
		_, err := coordinator.RestoreSetting(t.Context(), request)
		agenttest.RequireRefused(t, err, c.code, "")
		require.Equal(t, "all", database.Allocation(), name)
	}
	order := m.drain(1, "c", nil)
	order.SettingUndo = []byte("undo of nothing")
	_, err := coordinator.Drain(t.Context(), order)
	agenttest.RequireRefused(t, err, codes.InvalidArgument, "")
}
