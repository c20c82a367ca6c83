package serve

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rollcall-dev/rollcall/agent/drain"
	"github.com/rollcall-dev/rollcall/agent/fence"
	"github.com/rollcall-dev/rollcall/engines"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

const (
	// longPoll is how long a request waits for a drain before it returns the
	// progress.
	longPoll    = time.Second
	maxEligible = 4096
)

func (s *Service) Prepare(ctx context.Context, r *rollcallv1.PrepareRequest) (*rollcallv1.PrepareResponse, error) {
	name := orderPlan
	if r.GetApply() {
		name = orderPrepare
	}
	response, err := s.prepare(ctx, r)
	s.counted(name, err)
	return response, err
}

func (s *Service) prepare(ctx context.Context, r *rollcallv1.PrepareRequest) (*rollcallv1.PrepareResponse, error) {
	o := drain.Order{
		Claim: r.GetClaim(), Epoch: r.GetFence().GetEpoch(), Eligible: r.GetEligible(), Undo: r.GetUndo(),
		Setting: engines.Shared{Knob: r.GetKnob(), Undo: r.GetKnobUndo()}, Recheck: r.GetAnew(),
	}
	switch r.GetKind() {
	case rollcallv1.PrepareKind_PREPARE_KIND_HANDOFF:
		o.Kind = engines.Handoff
	case rollcallv1.PrepareKind_PREPARE_KIND_EVACUATE:
		o.Kind = engines.Evacuate
	default:
		return nil, status.Error(codes.InvalidArgument, "kind must be PREPARE_KIND_HANDOFF or PREPARE_KIND_EVACUATE")
	}
	if err := checkOrder(o.Claim, o.Undo); err != nil {
		return nil, err
	}
	if err := checkShared(o.Setting); err != nil {
		return nil, err
	}
	var err error
	if r.GetNode() != "" {
		err = s.checkOtherPod(r)
	} else {
		err = s.checkPod(r.GetPodUid())
	}
	if err != nil {
		return nil, err
	}
	if o.NotAfter, err = s.mayOrder(r); err != nil {
		return nil, err
	}
	switch {
	case r.GetNode() != "":
		return s.drainOnBehalf(ctx, o, r.GetNode(), r.GetApply())
	case !r.GetApply():
		return s.plan(ctx, o)
	}
	refused, err := s.Drainer.Drain(o)
	if err != nil {
		return nil, engineError(ctx, err)
	}
	if refused != "" {
		return &rollcallv1.PrepareResponse{Drain: rollcallv1.Drain_DRAIN_REFUSED, Detail: refused}, nil
	}
	return s.progress(ctx, o.Claim), nil
}

func (s *Service) plan(ctx context.Context, o drain.Order) (*rollcallv1.PrepareResponse, error) {
	will, refused, err := s.Drainer.Plan(ctx, o)
	switch {
	case err != nil:
		return nil, engineError(ctx, err)
	case refused != "":
		// This is an error: an answer without undo bytes would mean that there is
		// nothing to undo.
		return nil, fence.Refuse(codes.FailedPrecondition, fence.ReasonOtherClaim, nil, "%s", refused)
	}
	response := &rollcallv1.PrepareResponse{
		Undo: will.Undo, Drain: rollcallv1.Drain_DRAIN_NONE, Knob: will.Setting.Knob, KnobUndo: will.Setting.Undo,
	}
	if j, _ := s.Drainer.Status(); j.Claim == o.Claim {
		response.Drain, response.Detail = j.State, j.Detail
	}
	return response, nil
}

// progress returns once the claim's job has ended, or after longPoll with what it is
// waiting for.
func (s *Service) progress(ctx context.Context, claim string) *rollcallv1.PrepareResponse {
	limit := time.NewTimer(longPoll)
	defer limit.Stop()
	for {
		j, changed := s.Drainer.Status()
		if j.Claim != claim {
			return &rollcallv1.PrepareResponse{Drain: rollcallv1.Drain_DRAIN_REFUSED, Detail: "another order took this one's place"}
		}
		response := &rollcallv1.PrepareResponse{
			Undo: j.Undo, Drain: j.State, Detail: j.Detail,
			Done: uint32(max(0, j.Done)), Total: uint32(max(0, j.Total)),
		}
		if !j.Running() {
			return response
		}
		select {
		case <-changed:
		case <-limit.C:
			return response
		case <-ctx.Done():
			return response
		case <-s.Stopping:
			return response
		}
	}
}

func (s *Service) Restore(ctx context.Context, r *rollcallv1.RestoreRequest) (*rollcallv1.RestoreResponse, error) {
	response, err := s.restore(ctx, r)
	s.counted(orderRestore, err)
	return response, err
}

func (s *Service) restore(ctx context.Context, r *rollcallv1.RestoreRequest) (*rollcallv1.RestoreResponse, error) {
	if r.GetKnob() != "" {
		return s.restoreShared(ctx, r)
	}
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
	return &rollcallv1.RestoreResponse{Done: progress.State == engines.Done, Detail: progress.Detail}, nil
}
