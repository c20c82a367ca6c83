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
// evacuated.
func (s *Service) checkOtherPod(r drainRequest) error {
	v, _ := s.Board.Latest()
	switch {
	case r.GetKind() != rollcallv1.DrainKind_DRAIN_KIND_EVACUATE:
		return status.Error(codes.InvalidArgument, "node is only for DRAIN_KIND_EVACUATE; HandoffOnBehalf hands over for another member")
	case r.GetPodUid() == "" || r.GetPodUid() == v.Identity.PodUid:
		return status.Errorf(codes.InvalidArgument, "pod_uid is %.64q; with node it must be that of another pod than this one, %s", r.GetPodUid(), v.Identity.PodUid)
	}
	return s.checkOther(r.GetNode())
}

// drainOnBehalf makes one round of evacuating a member whose pod has no running
// agent.
func (s *Service) drainOnBehalf(ctx context.Context, o drain.Order, node string) (*rollcallv1.DrainResponse, error) {
	progress, err := s.Drainer.DrainOnBehalf(ctx, o, node)
	if err != nil {
		return nil, engineError(ctx, err)
	}
	state := rollcallv1.Drain_DRAIN_DRAINING
	switch progress.State {
	case engines.ProgressDone:
		state = rollcallv1.Drain_DRAIN_DRAINED
	case engines.ProgressRefused:
		state = rollcallv1.Drain_DRAIN_REFUSED
	}
	return drainResponse(state, progress), nil
}

// HandoffOnBehalf is an RPC.
func (s *Service) HandoffOnBehalf(ctx context.Context, r *rollcallv1.HandoffOnBehalfRequest) (*rollcallv1.HandoffOnBehalfResponse, error) {
	response, err := s.handoffOnBehalf(ctx, r)
	s.counted(orderHandoffOnBehalf, err)
	return response, err
}

func (s *Service) handoffOnBehalf(ctx context.Context, r *rollcallv1.HandoffOnBehalfRequest) (*rollcallv1.HandoffOnBehalfResponse, error) {
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
	return &rollcallv1.HandoffOnBehalfResponse{Done: progress.State != engines.ProgressRunning, Detail: progress.Detail}, nil
}
