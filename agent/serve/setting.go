package serve

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rollcall-dev/rollcall/engines"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// restoreShared is Restore of a cluster setting.
func (s *Service) restoreShared(ctx context.Context, r *rollcallv1.RestoreRequest) (*rollcallv1.RestoreResponse, error) {
	if r.GetClaim() != "" {
		return nil, status.Error(codes.InvalidArgument, "a claim and a knob are restored by requests of their own")
	}
	shared := engines.Shared{Knob: r.GetKnob(), Undo: r.GetUndo()}
	if err := checkShared(shared); err != nil {
		return nil, err
	}
	notAfter, err := s.endOf(r.GetTerm())
	if err != nil {
		return nil, err
	}
	if err := s.admit(s.Fence.Pass, r.GetFence()); err != nil {
		return nil, err
	}
	progress, err := s.Drainer.RestoreSetting(ctx, shared, notAfter)
	if err != nil {
		return nil, engineError(ctx, err)
	}
	return &rollcallv1.RestoreResponse{Done: progress.State == engines.Done, Detail: progress.Detail}, nil
}

func checkShared(shared engines.Shared) error {
	switch {
	case len(shared.Knob) > engines.MaxKnob:
		return status.Errorf(codes.InvalidArgument, "knob must have at most %d characters", engines.MaxKnob)
	case shared.Knob == "" && len(shared.Undo) > 0:
		return status.Error(codes.InvalidArgument, "knob_undo without a knob")
	case len(shared.Undo) > engines.MaxUndo:
		return status.Errorf(codes.InvalidArgument, "the undo of %s has %d bytes; at most %d are allowed", shared.Knob, len(shared.Undo), engines.MaxUndo)
	}
	return nil
}
