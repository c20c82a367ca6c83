package serve

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/rollcall-dev/rollcall/agent/peers"
	"github.com/rollcall-dev/rollcall/agent/probe"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// counted is the agent's end of a stream.
type counted[Message any] struct {
	grpc.ServerStream
	ctx  context.Context
	sent int
}

func (c *counted[Message]) Context() context.Context { return c.ctx }

func (c *counted[Message]) Send(*Message) error {
	c.sent++
	return nil
}

// TestStreamsAreNeverSilentForLong checks that streams send something often, because a stream that
// is silent for 15 s counts as hung.
func TestStreamsAreNeverSilentForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logger := slog.New(slog.DiscardHandler)
		s := &Service{Board: probe.NewBoard(&rollcallv1.Identity{Pod: "search-0"}, logger), Mesh: peers.NewKeeper(0, logger), Heartbeat: 5 * time.Second, Stopping: t.Context().Done()}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		reports, rosters := &counted[rollcallv1.Report]{ctx: ctx}, &counted[rollcallv1.Roster]{ctx: ctx}
		go func() { _ = s.WatchReport(&rollcallv1.WatchReportRequest{}, reports) }()
		go func() { _ = s.WatchRoster(&rollcallv1.WatchRosterRequest{}, rosters) }()
		<-ctx.Done()
		synctest.Wait()
		require.GreaterOrEqual(t, reports.sent, 11)
		require.GreaterOrEqual(t, rosters.sent, 11)
	})
}
