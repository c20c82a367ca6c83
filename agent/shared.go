package agent

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rollcall-dev/rollcall/engines"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// intent is what carrying out an order will change.
type intent struct {
	undo   []byte
	shared engines.Shared
}

var errNotShared = errors.New("this database has no setting that belongs to all of it")

// restoreShared puts a setting of the whole database back. It touches no job:
// whose claims relied on the setting is for the coordinator to know.
func (d *drainer) restoreShared(ctx context.Context, shared engines.Shared, notAfter time.Time) (engines.Progress, error) {
	if err := d.take(ctx); err != nil {
		return engines.Progress{}, err
	}
	defer d.release()
	if !notAfter.IsZero() && !time.Now().Before(notAfter) {
		return engines.Progress{}, errOutOfTime
	}
	engine, err := d.engine.get()
	if err != nil {
		return engines.Progress{}, err
	}
	sharer, ok := engine.(engines.Sharer)
	if !ok {
		return engines.Progress{}, errNotShared
	}
	ctx, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	return sharer.RestoreShared(ctx, shared, notAfter)
}

// restoreShared is Restore of a knob.
func (s *service) restoreShared(ctx context.Context, r *rollcallv1.RestoreRequest) (*rollcallv1.RestoreResponse, error) {
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
	if err := s.admit(s.fence.pass, r.GetFence()); err != nil {
		return nil, err
	}
	progress, err := s.drainer.restoreShared(ctx, shared, notAfter)
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
