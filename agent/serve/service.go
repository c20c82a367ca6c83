package serve

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rollcall-dev/rollcall/agent/drain"
	"github.com/rollcall-dev/rollcall/agent/fence"
	"github.com/rollcall-dev/rollcall/agent/gossip"
	"github.com/rollcall-dev/rollcall/agent/peers"
	"github.com/rollcall-dev/rollcall/agent/probe"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

const (
	// rosterGap is the shortest time between two messages of one roster stream.
	rosterGap = 100 * time.Millisecond
)

// Orders, as the metric names them.
const (
	orderPlanDrain       = "plan_drain"
	orderDrain           = "drain"
	orderRestore         = "restore"
	orderRestoreSetting  = "restore_setting"
	orderHandoffOnBehalf = "handoff_on_behalf"
)

// Service is the AgentService of gRPC.
type Service struct {
	rollcallv1.UnimplementedAgentServiceServer

	Board     *probe.Board
	Prober    *probe.Prober
	Drainer   *drain.Drainer
	Fence     *fence.Fence
	Mesh      *peers.Keeper
	Heartbeat time.Duration
	Metrics   *Metrics
	Logger    *slog.Logger
	// Stopping ends streams before the server is stopped.
	Stopping <-chan struct{}
}

func (s *Service) GetReport(ctx context.Context, r *rollcallv1.GetReportRequest) (*rollcallv1.Report, error) {
	if r.GetFresh() {
		if _, err := s.Prober.Fresh(ctx); err != nil {
			return nil, status.Error(codes.DeadlineExceeded, err.Error())
		}
	}
	v, _ := s.Board.Latest()
	return s.Board.Report(v, r.GetAllGroups()), nil
}

func (s *Service) WatchReport(r *rollcallv1.WatchReportRequest, stream grpc.ServerStreamingServer[rollcallv1.Report]) error {
	for {
		v, changed := s.Board.Latest()
		if err := stream.Send(s.Board.Report(v, r.GetAllGroups())); err != nil {
			return err
		}
		if err := s.wait(stream.Context(), changed); err != nil {
			return err
		}
	}
}

func (s *Service) GetRoster(context.Context, *rollcallv1.GetRosterRequest) (*rollcallv1.Roster, error) {
	roster, _ := s.roster()
	return roster, nil
}

func (s *Service) WatchRoster(_ *rollcallv1.WatchRosterRequest, stream grpc.ServerStreamingServer[rollcallv1.Roster]) error {
	for {
		roster, changed := s.roster()
		if err := stream.Send(roster); err != nil {
			return err
		}
		select {
		case <-time.After(rosterGap):
		case <-stream.Context().Done():
		}
		if err := s.wait(stream.Context(), changed); err != nil {
			return err
		}
	}
}

// wait returns nil when it is time for the next message of a stream.
func (s *Service) wait(ctx context.Context, changed <-chan struct{}) error {
	timer := time.NewTimer(s.Heartbeat)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	case <-s.Stopping:
		return status.Error(codes.Unavailable, "the agent is stopping")
	}
	return nil
}

func (s *Service) roster() (*rollcallv1.Roster, <-chan struct{}) {
	known, changed := s.Mesh.Roster()
	v, _ := s.Board.Latest()
	return protoRoster(v.Identity, known, time.Now()), changed
}

func protoRoster(identity *rollcallv1.Identity, known gossip.Roster, now time.Time) *rollcallv1.Roster {
	r := &rollcallv1.Roster{
		Identity: identity,
		Sequence: known.Sequence,
		Synced:   known.Synced,
		Entries:  make([]*rollcallv1.RosterEntry, 0, len(known.Entries)),
	}
	for _, e := range known.Entries {
		r.Entries = append(r.Entries, &rollcallv1.RosterEntry{
			Headline: e.Headline, Liveness: e.Liveness, Since: durationpb.New(now.Sub(e.Since)),
		})
	}
	return r
}
