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

// drainRequest is what PlanDrain and Drain have in common.
type drainRequest interface {
	orderRequest
	GetKind() rollcallv1.DrainKind
	GetClaim() string
	GetPodUid() string
	GetNode() string
	GetPrimary() rollcallv1.Primary
}

// drainOrder checks a request and returns the order in it.
func (s *Service) drainOrder(r drainRequest, undo []byte, setting engines.Setting) (drain.Order, error) {
	o := drain.Order{Claim: r.GetClaim(), Epoch: r.GetFence().GetEpoch(), Eligible: r.GetEligible(), Undo: undo, Setting: setting}
	switch r.GetPrimary() {
	case rollcallv1.Primary_PRIMARY_UNSPECIFIED:
	case rollcallv1.Primary_PRIMARY_SWITCHOVER:
		o.Primary = engines.Switchover
	case rollcallv1.Primary_PRIMARY_RESTART_IN_PLACE:
		o.Primary = engines.RestartInPlace
	default:
		return o, status.Error(codes.InvalidArgument, "primary must be PRIMARY_SWITCHOVER, PRIMARY_RESTART_IN_PLACE or nothing")
	}
	switch r.GetKind() {
	case rollcallv1.DrainKind_DRAIN_KIND_HANDOFF:
		o.Kind = engines.Handoff
	case rollcallv1.DrainKind_DRAIN_KIND_EVACUATE:
		o.Kind = engines.Evacuate
	default:
		return o, status.Error(codes.InvalidArgument, "kind must be DRAIN_KIND_HANDOFF or DRAIN_KIND_EVACUATE")
	}
	if err := checkOrder(o.Claim, o.Undo); err != nil {
		return o, err
	}
	if err := checkSetting(setting); err != nil {
		return o, err
	}
	var err error
	if r.GetNode() != "" {
		err = s.checkOtherPod(r)
	} else {
		err = s.checkPod(r.GetPodUid())
	}
	if err != nil {
		return o, err
	}
	o.NotAfter, err = s.mayOrder(r)
	return o, err
}

// PlanDrain is an RPC.
func (s *Service) PlanDrain(ctx context.Context, r *rollcallv1.PlanDrainRequest) (*rollcallv1.PlanDrainResponse, error) {
	response, err := s.planDrain(ctx, r)
	s.counted(orderPlanDrain, err)
	return response, err
}

func (s *Service) planDrain(ctx context.Context, r *rollcallv1.PlanDrainRequest) (*rollcallv1.PlanDrainResponse, error) {
	o, err := s.drainOrder(r, nil, engines.Setting{})
	if err != nil {
		return nil, err
	}
	if node := r.GetNode(); node != "" {
		undo, err := s.Drainer.PlanOnBehalf(ctx, o, node)
		if err != nil {
			return nil, engineError(ctx, err)
		}
		return &rollcallv1.PlanDrainResponse{Undo: undo}, nil
	}
	planned, refused, err := s.Drainer.Plan(ctx, o)
	switch {
	case err != nil:
		return nil, engineError(ctx, err)
	case refused != "":
		// Return an error: an answer without undo bytes would mean that there is nothing to undo.
		return nil, fence.Refuse(codes.FailedPrecondition, fence.ReasonOtherClaim, nil, "%s", refused)
	}
	return &rollcallv1.PlanDrainResponse{Undo: planned.Undo, Setting: planned.Setting.Name, SettingUndo: planned.Setting.Undo}, nil
}

// Drain is an RPC.
func (s *Service) Drain(ctx context.Context, r *rollcallv1.DrainRequest) (*rollcallv1.DrainResponse, error) {
	response, err := s.drain(ctx, r)
	s.counted(orderDrain, err)
	return response, err
}

func (s *Service) drain(ctx context.Context, r *rollcallv1.DrainRequest) (*rollcallv1.DrainResponse, error) {
	o, err := s.drainOrder(r, r.GetUndo(), engines.Setting{Name: r.GetSetting(), Undo: r.GetSettingUndo()})
	if err != nil {
		return nil, err
	}
	if node := r.GetNode(); node != "" {
		return s.drainOnBehalf(ctx, o, node)
	}
	o.Recheck, o.KeepWrites = r.GetRecheck(), r.GetKeepWrites()
	refused, err := s.Drainer.Drain(o)
	if err != nil {
		return nil, engineError(ctx, err)
	}
	if refused != "" {
		return &rollcallv1.DrainResponse{State: rollcallv1.Drain_DRAIN_REFUSED, Detail: refused}, nil
	}
	return s.progress(ctx, o.Claim), nil
}

// progress returns once the claim's job has ended, or after longPoll with what it is
// waiting for.
func (s *Service) progress(ctx context.Context, claim string) *rollcallv1.DrainResponse {
	limit := time.NewTimer(longPoll)
	defer limit.Stop()
	for {
		j, changed := s.Drainer.Status()
		if j.Claim != claim {
			return &rollcallv1.DrainResponse{State: rollcallv1.Drain_DRAIN_REFUSED, Detail: "another order took this one's place"}
		}
		response := drainResponse(j.State, engines.Progress{Detail: j.Detail, Done: j.Done, Total: j.Total, Writes: j.Writes})
		if !j.Running() || j.Writes != engines.WritesUnknown {
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

// drainResponse renders progress.
func drainResponse(state rollcallv1.Drain, p engines.Progress) *rollcallv1.DrainResponse {
	return &rollcallv1.DrainResponse{
		State: state, Detail: p.Detail, Done: uint32(max(0, p.Done)), Total: uint32(max(0, p.Total)),
		Writes: writesOf(p.Writes),
	}
}

func writesOf(w engines.Writes) rollcallv1.Writes {
	switch w {
	case engines.WritesKept:
		return rollcallv1.Writes_WRITES_KEPT
	case engines.WritesReady:
		return rollcallv1.Writes_WRITES_READY
	}
	return rollcallv1.Writes_WRITES_MAY_STOP
}
