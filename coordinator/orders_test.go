package coordinator

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

func refusedFor(t *testing.T, reason string) error {
	t.Helper()
	s, err := status.New(codes.FailedPrecondition, "db-2 follows db-0").WithDetails(&errdetails.ErrorInfo{Reason: reason})
	require.NoError(t, err)
	return s.Err()
}

func TestRefusalsThatAnActorKnows(t *testing.T) {
	require.ErrorIs(t, judge(refusedFor(t, "STALE_EPOCH")), effect.ErrStaleEpoch)
	var held *effect.OwnAgentOnlyError
	require.ErrorAs(t, judge(refusedFor(t, "OWN_AGENT_ONLY")), &held)
	require.Equal(t, "db-2 follows db-0", held.Why)
	require.False(t, errors.As(judge(refusedFor(t, "BUSY")), &held))
	require.NoError(t, judge(nil))
}

// What the primary does travels with the order. Hold says nothing: a pod of a held primary goes only
// where a person overrides that.
func TestOrdersSayWhatThePrimaryDoes(t *testing.T) {
	for primary, want := range map[model.Primary]rollcallv1.Primary{
		"": rollcallv1.Primary_PRIMARY_UNSPECIFIED, model.PrimaryHold: rollcallv1.Primary_PRIMARY_UNSPECIFIED,
		model.PrimarySwitchover: rollcallv1.Primary_PRIMARY_SWITCHOVER, model.PrimaryRestartInPlace: rollcallv1.Primary_PRIMARY_RESTART_IN_PLACE,
	} {
		require.Equal(t, want, primaryOf(effect.Order{Primary: primary}), primary)
	}
}
