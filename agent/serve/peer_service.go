package serve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rollcall-dev/rollcall/agent/drain"
	"github.com/rollcall-dev/rollcall/agent/fence"
	"github.com/rollcall-dev/rollcall/agent/peers"
	"github.com/rollcall-dev/rollcall/agent/probe"
	"github.com/rollcall-dev/rollcall/engines"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

const (
	requestLook = "look"
	requestStep = "step"
)

// PeerService answers the agents of the other members.
type PeerService struct {
	rollcallv1.UnimplementedPeerServiceServer

	Service *Service
	Engine  *probe.Slot
}

func (s *PeerService) Look(ctx context.Context, r *rollcallv1.LookRequest) (*rollcallv1.LookResponse, error) {
	body, err := s.look(ctx, r)
	s.Service.Metrics.peerRequests.WithLabelValues(requestLook, resultOf(err)).Inc()
	run := s.Service.Board.Run
	return &rollcallv1.LookResponse{Body: string(body), Incarnation: run.Incarnation, Uptime: run.Uptime(time.Now())}, err
}

func (s *PeerService) look(ctx context.Context, r *rollcallv1.LookRequest) ([]byte, error) {
	v, _ := s.Service.Board.Latest()
	if own := v.Result.Node; r.GetNode() != "" && own != "" && r.GetNode() != own {
		return nil, wrongNode(r.GetNode(), own)
	}
	ctx, cancel := context.WithTimeout(ctx, peers.Timeout)
	defer cancel()
	engine, err := s.Engine.Peered()
	if err != nil {
		return nil, peeredError(ctx, err)
	}
	body, err := engine.Look(ctx, r.GetFresh())
	if err != nil {
		return nil, peeredError(ctx, err)
	}
	return bounded(body)
}

func (s *PeerService) Step(ctx context.Context, r *rollcallv1.StepRequest) (*rollcallv1.StepResponse, error) {
	body, err := s.step(ctx, r)
	result := resultOf(err)
	s.Service.Metrics.peerRequests.WithLabelValues(requestStep, result).Inc()
	s.Service.Logger.Info("step asked for by another member", "step", engines.OneLine(r.GetStep()), "claim", engines.OneLine(r.GetClaim()),
		"by", engines.OneLine(r.GetAskedBy()), "result", result, "error", err)
	return &rollcallv1.StepResponse{Body: string(body)}, err
}

// step accepts what an order would be accepted for, from an agent of this database.
func (s *PeerService) step(ctx context.Context, r *rollcallv1.StepRequest) ([]byte, error) {
	step := engines.Step{Name: r.GetStep(), Claim: r.GetClaim(), Epoch: r.GetFence().GetEpoch(), Body: []byte(r.GetBody())}
	if err := peers.CheckStep(step); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	var err error
	if step.NotAfter, err = s.endOf(r.GetTerm()); err != nil {
		return nil, err
	}
	if _, err := s.Engine.Peered(); err != nil {
		return nil, peeredError(ctx, err)
	}
	v, _ := s.Service.Board.Latest()
	if own := v.Result.Node; own == "" || r.GetNode() != own {
		return nil, wrongNode(r.GetNode(), own)
	}
	if err := s.Service.admit(s.Service.Fence.PassStep, r.GetFence()); err != nil {
		return nil, err
	}
	body, err := s.Service.Drainer.Step(ctx, step)
	if err != nil {
		return nil, peeredError(ctx, err)
	}
	return bounded(body)
}

// endOf is Service.endOf. A term without an end has none.
func (s *PeerService) endOf(t *rollcallv1.Term) (time.Time, error) {
	if t != nil && t.GetUntil() == nil {
		return time.Time{}, nil
	}
	return s.Service.endOf(t)
}

func wrongNode(meant, own string) error {
	return fence.Refuse(codes.FailedPrecondition, fence.ReasonWrongNode, map[string]string{"node": own},
		"node is %.128q; the member here is %q", meant, own)
}

func peeredError(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, probe.ErrNotPeered):
		return status.Error(codes.Unimplemented, err.Error())
	case errors.Is(err, drain.ErrBusy), errors.Is(err, drain.ErrStopping):
		return fence.Refuse(codes.Unavailable, fence.ReasonBusy, nil, "%v", err)
	case errors.Is(err, engines.ErrTooLate):
		return fence.Refuse(codes.FailedPrecondition, fence.ReasonExpired, nil, "%v", err)
	}
	return engineError(ctx, err)
}

func bounded(body []byte) ([]byte, error) {
	if len(body) > engines.MaxStep {
		return nil, status.Error(codes.ResourceExhausted, fmt.Sprintf("the answer has %d bytes; at most %d are allowed", len(body), engines.MaxStep))
	}
	return body, nil
}
