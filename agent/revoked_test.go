package agent

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/rollcall-dev/rollcall/agent/agenttest"
	"github.com/rollcall-dev/rollcall/agent/config"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// TestAConnectionDoesNotOutliveItsAuthority changes the keys, as after a certificate was stolen.
// The next call on a connection that was made with it is refused, and its streams end. Orders of a
// coordinator of the new authority are accepted.
func TestAConnectionDoesNotOutliveItsAuthority(t *testing.T) {
	r := three(t)
	m := r.members[0]
	key := bytes.Repeat([]byte{3}, 32)
	old := m.as(config.RoleCoordinator)
	_, err := old.GetReport(t.Context(), &rollcallv1.GetReportRequest{}, grpc.WaitForReady(true))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stream, err := old.WatchRoster(ctx, &rollcallv1.WatchRosterRequest{})
	require.NoError(t, err)
	_, err = stream.Recv()
	require.NoError(t, err)
	require.Positive(t, m.agent.keys.Callers.Len())

	m.clients = map[string]*grpc.ClientConn{} // the thief's stay as they are
	r.authority = agenttest.NewAuthority(t)
	r.authority.Mount(m.dir, testNamespace, testCluster, r.file, key)
	for err == nil {
		_, err = stream.Recv()
	}
	require.NoError(t, ctx.Err(), "the stream goes on")
	_, err = old.GetReport(t.Context(), &rollcallv1.GetReportRequest{})
	require.Error(t, err)
	_, err = m.as(config.RoleCoordinator).GetReport(t.Context(), &rollcallv1.GetReportRequest{}, grpc.WaitForReady(true))
	require.NoError(t, err)
}
