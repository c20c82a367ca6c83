package peers

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/rollcall-dev/rollcall/agent/fence"
	"github.com/rollcall-dev/rollcall/agent/gossip"
	"github.com/rollcall-dev/rollcall/engines"
)

func TestWhoseClockEndsACall(t *testing.T) {
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	for _, ctx := range []context.Context{t.Context(), late} {
		err := peerError(ctx, "n1", status.Error(codes.DeadlineExceeded, "hung"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "n1: hung")
	}
	require.NotErrorIs(t, peerError(t.Context(), "n1", status.Error(codes.Aborted, "hung")), context.DeadlineExceeded)
}

func TestSilentPeerIsBounded(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	keeper := NewKeeper(0, nil)
	keeper.mesh = &rosterOf{entries: []gossip.Entry{entry("p1", "1", "n1", silent.Addr().String(), true)}}
	p := New(Options{Pod: "p0", Mesh: keeper, Fence: &fence.Fence{}, Credentials: insecure.NewCredentials()})
	defer p.Close()
	p.timeout = 300 * time.Millisecond
	_, err = p.Look(t.Context(), "n1", true)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = p.Step(t.Context(), "n1", engines.Step{Name: "x"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
