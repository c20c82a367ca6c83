package serve

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/rollcall-dev/rollcall/agent/agenttest"
	"github.com/rollcall-dev/rollcall/agent/fence"
	"github.com/rollcall-dev/rollcall/engines"
)

func TestNobodyElseCanHandOver(t *testing.T) {
	err := engineError(t.Context(), fmt.Errorf("%w: db-2 follows db-0", engines.ErrOwnAgentOnly))
	agenttest.RequireRefused(t, err, codes.FailedPrecondition, fence.ReasonOwnAgentOnly)
	require.ErrorContains(t, err, "db-2 follows db-0")
}
