package serve

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rollcall-dev/rollcall/agent/drain"
	"github.com/rollcall-dev/rollcall/engines"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// checkOther checks that an order on behalf of another member names one that is not
// this pod's.
func (s *Service) checkOther(node string) error {
	v, _ := s.Board.Latest()
	if node == "" || node == v.Result.Node {
		return status.Errorf(codes.InvalidArgument, "node is %.128q; it must be another member than this one, %q", node, v.Result.Node)
	}
	return nil
}

// checkOtherPod checks that the order is for another pod, whose member is to be
// evacuated. An older agent refuses that pod's UID.
func (s *Service) checkOtherPod(r *rollcallv1.PrepareRequest) error {
	v, _ := s.Board.Latest()
	switch {
	case r.GetKind() != rollcallv1.PrepareKind_PREPARE_KIND_EVACUATE:
		return status.Error(codes.InvalidArgument, "node is only for PREPARE_KIND_EVACUATE; Relieve hands over for another member")
	case r.GetPodUid() == "" || r.GetPodUid() == v.Identity.PodUid:
		return status.Errorf(codes.InvalidArgument, "pod_uid is %.64q; with node it must be that of another pod than this one, %s", r.GetPodUid(), v.Identity.PodUid)
	}
	return s.checkOther(r.GetNode())
}

// drainOnBehalf makes one round of evacuating a member whose pod has no running
// agent.
func (s *Service) drainOnBehalf(ctx context.Context, o drain.Order, node string, apply bool) (*rollcallv1.PrepareResponse, error) {
	if !apply {
		undo, err := s.Drainer.PlanOnBehalf(ctx, o, node)
		if err != nil {
			return nil, engineError(ctx, err)
		}
		return &rollcallv1.PrepareResponse{Undo: undo, Drain: rollcallv1.Drain_DRAIN_NONE}, nil
	}
	progress, err := s.Drainer.DrainOnBehalf(ctx, o, node)
	if err != nil {
		return nil, engineError(ctx, err)
	}
	response := &rollcallv1.PrepareResponse{
		Undo: o.Undo, Drain: rollcallv1.Drain_DRAIN_PREPARING, Detail: progress.Detail,
		Done: uint32(max(0, progress.Done)), Total: uint32(max(0, progress.Total)),
	}
	switch progress.State {
	case engines.Done:
		response.Drain = rollcallv1.Drain_DRAIN_PREPARED
	case engines.Refused:
		response.Drain = rollcallv1.Drain_DRAIN_REFUSED
	}
	return response, nil
}

// Relieve hands over for a member whose pod has no agent.
func (s *Service) Relieve(ctx context.Context, r *rollcallv1.RelieveRequest) (*rollcallv1.RelieveResponse, error) {
	response, err := s.relieve(ctx, r)
	s.counted(orderRelieve, err)
	return response, err
}

func (s *Service) relieve(ctx context.Context, r *rollcallv1.RelieveRequest) (*rollcallv1.RelieveResponse, error) {
	o := drain.Order{Claim: r.GetClaim(), Epoch: r.GetFence().GetEpoch(), Eligible: r.GetEligible()}
	if err := checkOrder(o.Claim, nil); err != nil {
		return nil, err
	}
	if err := s.checkOther(r.GetNode()); err != nil {
		return nil, err
	}
	err := s.checkPod(r.GetPodUid())
	if err != nil {
		return nil, err
	}
	if o.NotAfter, err = s.mayOrder(r); err != nil {
		return nil, err
	}
	progress, err := s.Drainer.HandoffOnBehalf(ctx, o, r.GetNode())
	if err != nil {
		return nil, engineError(ctx, err)
	}
	return &rollcallv1.RelieveResponse{Done: progress.State != engines.Running, Detail: progress.Detail}, nil
}
