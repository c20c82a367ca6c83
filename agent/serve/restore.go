package serve

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rollcall-dev/rollcall/engines"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Restore is an RPC.
func (s *Service) Restore(ctx context.Context, r *rollcallv1.RestoreRequest) (*rollcallv1.RestoreResponse, error) {
	response, err := s.restore(ctx, r)
	s.counted(orderRestore, err)
	return response, err
}

func (s *Service) restore(ctx context.Context, r *rollcallv1.RestoreRequest) (*rollcallv1.RestoreResponse, error) {
	if err := checkOrder(r.GetClaim(), r.GetUndo()); err != nil {
		return nil, err
	}
	if err := s.admit(s.Fence.Pass, r.GetFence()); err != nil {
		return nil, err
	}
	if of := engines.ClaimOf(r.GetUndo()); of != "" && of != r.GetClaim() {
		return nil, status.Errorf(codes.InvalidArgument, "undo is of claim %.64q, and the order of claim %.64q", of, r.GetClaim())
	}
	progress, err := s.Drainer.Restore(ctx, r.GetClaim(), r.GetFence().GetEpoch(), r.GetUndo())
	if err != nil {
		return nil, engineError(ctx, err)
	}
	return &rollcallv1.RestoreResponse{Done: progress.State == engines.ProgressDone, Detail: progress.Detail}, nil
}

// RestoreSetting is an RPC.
func (s *Service) RestoreSetting(ctx context.Context, r *rollcallv1.RestoreSettingRequest) (*rollcallv1.RestoreSettingResponse, error) {
	response, err := s.restoreSetting(ctx, r)
	s.counted(orderRestoreSetting, err)
	return response, err
}

func (s *Service) restoreSetting(ctx context.Context, r *rollcallv1.RestoreSettingRequest) (*rollcallv1.RestoreSettingResponse, error) {
	setting := engines.Setting{Name: r.GetSetting(), Undo: r.GetSettingUndo()}
	if setting.Name == "" {
		return nil, status.Error(codes.InvalidArgument, "setting is empty")
	}
	if err := checkSetting(setting); err != nil {
		return nil, err
	}
	notAfter, err := s.endOf(r.GetTerm())
	if err != nil {
		return nil, err
	}
	if err := s.admit(s.Fence.Pass, r.GetFence()); err != nil {
		return nil, err
	}
	progress, err := s.Drainer.RestoreSetting(ctx, setting, notAfter)
	if err != nil {
		return nil, engineError(ctx, err)
	}
	return &rollcallv1.RestoreSettingResponse{Done: progress.State == engines.ProgressDone, Detail: progress.Detail}, nil
}

func checkSetting(setting engines.Setting) error {
	switch {
	case len(setting.Name) > engines.MaxSettingName:
		return status.Errorf(codes.InvalidArgument, "setting must have at most %d characters", engines.MaxSettingName)
	case setting.Name == "" && len(setting.Undo) > 0:
		return status.Error(codes.InvalidArgument, "setting_undo without a setting")
	case len(setting.Undo) > engines.MaxUndo:
		return status.Errorf(codes.InvalidArgument, "the undo of %s has %d bytes; at most %d are allowed", setting.Name, len(setting.Undo), engines.MaxUndo)
	}
	return nil
}
