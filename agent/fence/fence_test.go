package fence

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/rollcall-dev/rollcall/agent/agenttest"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

func TestFence(t *testing.T) {
	var told []int64
	f := &Fence{OnRaise: func(e int64) { told = append(told, e) }}
	order := func(uid string, epoch int64) *rollcallv1.Fence {
		return &rollcallv1.Fence{ClusterUid: uid, Epoch: epoch}
	}
	agenttest.RequireRefused(t, f.Pass(order("u", 1)), codes.Unavailable, ReasonNotConfigured)
	f.SetCluster("u")
	require.NoError(t, f.Pass(order("u", 3)))
	require.NoError(t, f.Pass(order("u", 3)), "the same epoch again")
	agenttest.RequireRefused(t, f.Pass(order("u", 2)), codes.FailedPrecondition, ReasonStaleEpoch)
	f.Heard(7)
	f.Heard(5)
	agenttest.RequireRefused(t, f.Pass(order("u", 6)), codes.FailedPrecondition, ReasonStaleEpoch)
	require.EqualValues(t, 7, HighestOf(f.Pass(order("u", 6))), "whoever asked learns why")
	require.Zero(t, HighestOf(f.Pass(order("v", 6))), "that was for another reason")
	require.Zero(t, HighestOf(nil))
	require.NoError(t, f.Pass(order("u", 8)))
	agenttest.RequireRefused(t, f.Pass(order("v", 9)), codes.FailedPrecondition, ReasonWrongCluster)
	f.SetCluster("u") // the same: nothing is forgotten
	agenttest.RequireRefused(t, f.Pass(order("u", 7)), codes.FailedPrecondition, ReasonStaleEpoch)
	f.SetCluster("v")
	require.NoError(t, f.Pass(order("v", 1)), "another cluster counts from its own start")
	agenttest.RequireRefused(t, f.Pass(order("v", 0)), codes.InvalidArgument, "")
	agenttest.RequireRefused(t, f.PassStep(order("v", 0)), codes.FailedPrecondition, ReasonStaleEpoch)
	f.SetCluster("w")
	require.NoError(t, f.PassStep(order("w", 0)), "nobody has seen one")
	require.Equal(t, []int64{0, 3, 7, 8, 0, 1, 0}, told)
}
