package agent

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rollcall-dev/rollcall/engines"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// checkOther: an order for another member names it, and it is not this pod's.
func (s *service) checkOther(node string) error {
	v, _ := s.board.newest()
	if node == "" || node == v.sighting.node {
		return status.Errorf(codes.InvalidArgument, "node is %.128q; it must be another member than this one, %q", node, v.sighting.node)
	}
	return nil
}

// checkOtherPod: the order is for another pod, whose member is to be emptied. An agent
// that knows of no such orders refuses the pod's UID.
func (s *service) checkOtherPod(r *rollcallv1.PrepareRequest) error {
	v, _ := s.board.newest()
	switch {
	case r.GetKind() != rollcallv1.PrepareKind_PREPARE_KIND_EVACUATE:
		return status.Error(codes.InvalidArgument, "node is only for PREPARE_KIND_EVACUATE; Relieve hands over for another member")
	case r.GetPodUid() == "" || r.GetPodUid() == v.identity.PodUid:
		return status.Errorf(codes.InvalidArgument, "pod_uid is %.64q; with node it must be that of another pod than this one, %s", r.GetPodUid(), v.identity.PodUid)
	}
	return s.checkOther(r.GetNode())
}

// emptyOther makes one round of emptying a member whose pod has no agent that runs.
func (s *service) emptyOther(ctx context.Context, o order, node string, apply bool) (*rollcallv1.PrepareResponse, error) {
	if !apply {
		undo, err := s.drainer.planOther(ctx, o, node)
		if err != nil {
			return nil, engineError(ctx, err)
		}
		return &rollcallv1.PrepareResponse{Undo: undo, Drain: rollcallv1.Drain_DRAIN_NONE}, nil
	}
	progress, err := s.drainer.applyOther(ctx, o, node)
	if err != nil {
		return nil, engineError(ctx, err)
	}
	response := &rollcallv1.PrepareResponse{
		Undo: o.undo, Drain: rollcallv1.Drain_DRAIN_PREPARING, Detail: progress.Detail,
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
func (s *service) Relieve(ctx context.Context, r *rollcallv1.RelieveRequest) (*rollcallv1.RelieveResponse, error) {
	response, err := s.relieve(ctx, r)
	s.counted(orderRelieve, err)
	return response, err
}

func (s *service) relieve(ctx context.Context, r *rollcallv1.RelieveRequest) (*rollcallv1.RelieveResponse, error) {
	o := order{claim: r.GetClaim(), epoch: r.GetFence().GetEpoch(), eligible: r.GetEligible()}
	if err := checkOrder(o.claim, nil); err != nil {
		return nil, err
	}
	if err := s.checkOther(r.GetNode()); err != nil {
		return nil, err
	}
	err := s.checkPod(r.GetPodUid())
	if err != nil {
		return nil, err
	}
	if o.notAfter, err = s.mayOrder(r); err != nil {
		return nil, err
	}
	progress, err := s.drainer.relieve(ctx, o, r.GetNode())
	if err != nil {
		return nil, engineError(ctx, err)
	}
	return &rollcallv1.RelieveResponse{Done: progress.State != engines.Running, Detail: progress.Detail}, nil
}
