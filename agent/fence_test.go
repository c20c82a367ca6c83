package agent

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

func TestFence(t *testing.T) {
	var told []int64
	f := &fence{raised: func(e int64) { told = append(told, e) }}
	order := func(uid string, epoch int64) *rollcallv1.Fence {
		return &rollcallv1.Fence{ClusterUid: uid, Epoch: epoch}
	}
	requireRefused(t, f.pass(order("u", 1)), codes.Unavailable, ReasonNotConfigured)
	f.belong("u")
	require.NoError(t, f.pass(order("u", 3)))
	require.NoError(t, f.pass(order("u", 3)), "the same epoch again")
	requireRefused(t, f.pass(order("u", 2)), codes.FailedPrecondition, ReasonStaleEpoch)
	f.heard(7)
	f.heard(5)
	requireRefused(t, f.pass(order("u", 6)), codes.FailedPrecondition, ReasonStaleEpoch)
	require.EqualValues(t, 7, highestOf(f.pass(order("u", 6))), "whoever asked learns why")
	require.Zero(t, highestOf(f.pass(order("v", 6))), "that was for another reason")
	require.Zero(t, highestOf(nil))
	require.NoError(t, f.pass(order("u", 8)))
	requireRefused(t, f.pass(order("v", 9)), codes.FailedPrecondition, ReasonWrongCluster)
	f.belong("u") // the same: nothing is forgotten
	requireRefused(t, f.pass(order("u", 7)), codes.FailedPrecondition, ReasonStaleEpoch)
	f.belong("v")
	require.NoError(t, f.pass(order("v", 1)), "another cluster counts from its own start")
	requireRefused(t, f.pass(order("v", 0)), codes.InvalidArgument, "")
	requireRefused(t, f.passStep(order("v", 0)), codes.FailedPrecondition, ReasonStaleEpoch)
	f.belong("w")
	require.NoError(t, f.passStep(order("w", 0)), "nobody has seen one")
	require.Equal(t, []int64{0, 3, 7, 8, 0, 1, 0}, told)
}
