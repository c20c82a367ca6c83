package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rollcall-dev/rollcall/engines"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// stepWait is how long a step waits for whatever else writes here. Two members
// that ask each other must not wait for long.
const stepWait = 2 * time.Second

const (
	requestLook = "look"
	requestStep = "step"
)

var (
	errNotPeered = errors.New("the members of this database do nothing together")
	errBusy      = errors.New("this member does something else at the moment")
)

// peerService answers the agents of the other members.
type peerService struct {
	rollcallv1.UnimplementedPeerServiceServer

	service *service
	engine  *slot
}

func (s *peerService) Look(ctx context.Context, r *rollcallv1.LookRequest) (*rollcallv1.LookResponse, error) {
	body, err := s.look(ctx, r)
	s.service.metrics.peerRequests.WithLabelValues(requestLook, resultOf(err)).Inc()
	run := s.service.board.run
	return &rollcallv1.LookResponse{Body: string(body), Incarnation: run.Incarnation, Uptime: run.Uptime(time.Now())}, err
}

func (s *peerService) look(ctx context.Context, r *rollcallv1.LookRequest) ([]byte, error) {
	v, _ := s.service.board.newest()
	if own := v.sighting.node; r.GetNode() != "" && own != "" && r.GetNode() != own {
		return nil, wrongNode(r.GetNode(), own)
	}
	ctx, cancel := context.WithTimeout(ctx, peerTimeout)
	defer cancel()
	engine, err := peeredOf(s.engine)
	if err != nil {
		return nil, peeredError(ctx, err)
	}
	body, err := engine.Look(ctx, r.GetFresh())
	if err != nil {
		return nil, peeredError(ctx, err)
	}
	return bounded(body)
}

func (s *peerService) Step(ctx context.Context, r *rollcallv1.StepRequest) (*rollcallv1.StepResponse, error) {
	body, err := s.step(ctx, r)
	result := resultOf(err)
	s.service.metrics.peerRequests.WithLabelValues(requestStep, result).Inc()
	s.service.logger.Info("step asked for by another member", "step", engines.OneLine(r.GetStep()), "claim", engines.OneLine(r.GetClaim()),
		"by", engines.OneLine(r.GetAskedBy()), "result", result, "error", err)
	return &rollcallv1.StepResponse{Body: string(body)}, err
}

// step lets in what an order would be let in for, from an agent of this database.
func (s *peerService) step(ctx context.Context, r *rollcallv1.StepRequest) ([]byte, error) {
	step := engines.Step{Name: r.GetStep(), Claim: r.GetClaim(), Epoch: r.GetFence().GetEpoch(), Body: []byte(r.GetBody())}
	if err := checkStep(step); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	var err error
	if step.NotAfter, err = s.endOf(r.GetTerm()); err != nil {
		return nil, err
	}
	if _, err := peeredOf(s.engine); err != nil {
		return nil, peeredError(ctx, err)
	}
	v, _ := s.service.board.newest()
	if own := v.sighting.node; own == "" || r.GetNode() != own {
		return nil, wrongNode(r.GetNode(), own)
	}
	if err := s.service.admit(s.service.fence.passStep, r.GetFence()); err != nil {
		return nil, err
	}
	body, err := s.service.drainer.takeStep(ctx, step)
	if err != nil {
		return nil, peeredError(ctx, err)
	}
	return bounded(body)
}

// endOf is the time past which nothing is written for a step; zero is none.
func (s *peerService) endOf(t *rollcallv1.Term) (time.Time, error) {
	if t != nil && t.GetUntil() == nil {
		return time.Time{}, nil
	}
	return s.service.endOf(t)
}

// takeStep has the adapter take a step. What has begun is ended though nobody
// waits for it any more: half a step helps nobody.
func (d *drainer) takeStep(ctx context.Context, step engines.Step) ([]byte, error) {
	waiting, cancel := context.WithTimeout(ctx, stepWait)
	defer cancel()
	if err := d.take(waiting); err != nil {
		return nil, errBusy
	}
	type answer struct {
		body []byte
		err  error
	}
	answers := make(chan answer, 1)
	if !d.background(func() {
		defer d.release()
		body, err := d.peerStep(step)
		answers <- answer{body, err}
	}) {
		d.release()
		return nil, errStopping
	}
	select {
	case a := <-answers:
		return a.body, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// peerStep is called with busy held.
func (d *drainer) peerStep(step engines.Step) ([]byte, error) {
	engine, err := peeredOf(d.engine)
	if err != nil {
		return nil, err
	}
	if err := engines.InTime(step.NotAfter); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(d.ctx, peerTimeout)
	defer cancel()
	return engine.Step(ctx, step)
}

func peeredOf(s *slot) (engines.Peered, error) {
	engine, err := s.get()
	if err != nil {
		return nil, err
	}
	peered, ok := engine.(engines.Peered)
	if !ok {
		return nil, errNotPeered
	}
	return peered, nil
}

func wrongNode(meant, own string) error {
	return refusal(codes.FailedPrecondition, ReasonWrongNode, map[string]string{"node": own},
		"node is %.128q; the member here is %q", meant, own)
}

func peeredError(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, errNotPeered):
		return status.Error(codes.Unimplemented, err.Error())
	case errors.Is(err, errBusy), errors.Is(err, errStopping):
		return refusal(codes.Unavailable, ReasonBusy, nil, "%v", err)
	case errors.Is(err, engines.ErrTooLate):
		return refusal(codes.FailedPrecondition, ReasonExpired, nil, "%v", err)
	}
	return engineError(ctx, err)
}

func bounded(body []byte) ([]byte, error) {
	if len(body) > engines.MaxStep {
		return nil, status.Error(codes.ResourceExhausted, fmt.Sprintf("the answer has %d bytes; at most %d are allowed", len(body), engines.MaxStep))
	}
	return body, nil
}
