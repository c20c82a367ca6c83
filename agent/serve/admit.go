package serve

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rollcall-dev/rollcall/agent/fence"
	"github.com/rollcall-dev/rollcall/agent/peers"
	"github.com/rollcall-dev/rollcall/agent/probe"
	"github.com/rollcall-dev/rollcall/agent/term"
	"github.com/rollcall-dev/rollcall/engines"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// orderRequest is what all requests have in common that order this pod to write.
type orderRequest interface {
	GetFence() *rollcallv1.Fence
	GetEligible() []string
	GetTerm() *rollcallv1.Term
}

// mayOrder checks an order and returns the end of its term, after which nothing may
// be written for it.
func (s *Service) mayOrder(r orderRequest) (notAfter time.Time, err error) {
	if n := len(r.GetEligible()); n > maxEligible {
		return notAfter, status.Errorf(codes.InvalidArgument, "eligible names %d pods; at most %d are allowed", n, maxEligible)
	}
	if notAfter, err = s.endOf(r.GetTerm()); err != nil {
		return notAfter, err
	}
	return notAfter, s.admit(s.Fence.Pass, r.GetFence())
}

// checkPod checks that the order is for this very pod.
func (s *Service) checkPod(uid string) error {
	v, _ := s.Board.Latest()
	if uid == v.Identity.PodUid {
		return nil
	}
	return fence.Refuse(codes.FailedPrecondition, fence.ReasonWrongPod, map[string]string{"pod_uid": v.Identity.PodUid},
		"pod_uid is %.64q; this is pod %s with UID %s", uid, v.Identity.Pod, v.Identity.PodUid)
}

// endOf returns the end of a term that has not expired.
func (s *Service) endOf(t *rollcallv1.Term) (time.Time, error) {
	end, err := s.Board.Run.End(t)
	late := time.Since(end)
	switch {
	case errors.Is(err, term.ErrNone):
		return end, fence.Refuse(codes.FailedPrecondition, fence.ReasonNoTerm, nil, "%v", err)
	case errors.Is(err, term.ErrOtherRun):
		return end, fence.Refuse(codes.FailedPrecondition, fence.ReasonOtherRun, nil, "%v", err)
	case err != nil:
		return end, status.Error(codes.InvalidArgument, err.Error())
	case late >= 0:
		return end, fence.Refuse(codes.FailedPrecondition, fence.ReasonExpired, nil, "the order was good until %s ago; it was too long under way", late.Round(time.Millisecond))
	}
	return end, nil
}

// admit checks the fence. An agent that has just started may not know the highest
// epoch yet, so it hears its peers first.
func (s *Service) admit(pass func(*rollcallv1.Fence) error, f *rollcallv1.Fence) error {
	if !s.Mesh.Heard() {
		return fence.Refuse(codes.Unavailable, fence.ReasonNotSynced, nil, "this agent has just started and has not heard from its peers yet")
	}
	roster, _ := s.Mesh.Roster()
	s.Fence.Heard(roster.Epoch())
	return pass(f)
}

func (s *Service) counted(name string, err error) {
	result := resultOf(err)
	switch result {
	case resultRefused:
		s.Logger.Info("order refused", "order", name, "error", err)
	case resultFailed:
		s.Logger.Warn("order failed", "order", name, "error", err)
	}
	s.Metrics.orders.WithLabelValues(name, result).Inc()
}

// resultOf is the result of a request in metrics.
func resultOf(err error) string {
	switch status.Code(err) {
	case codes.OK:
		return resultOK
	case codes.FailedPrecondition, codes.InvalidArgument, codes.PermissionDenied, codes.Unavailable, codes.Unimplemented:
		return resultRefused
	}
	return resultFailed
}

func checkOrder(claim string, undo []byte) error {
	switch {
	case claim == "" || len(claim) > peers.MaxClaim:
		return status.Errorf(codes.InvalidArgument, "claim must have 1 to %d characters", peers.MaxClaim)
	case len(undo) > engines.MaxUndo:
		return status.Errorf(codes.InvalidArgument, "undo has %d bytes; at most %d are allowed", len(undo), engines.MaxUndo)
	}
	return nil
}

// engineError gives an adapter's failure a code that a caller can act on. All of
// them may be retried.
func engineError(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, probe.ErrNoEngine):
		return fence.Refuse(codes.Unavailable, fence.ReasonNotConfigured, nil, "%v", err)
	case errors.Is(err, engines.ErrOwnAgentOnly):
		return fence.Refuse(codes.FailedPrecondition, fence.ReasonOwnAgentOnly, nil, "%v", err)
	case ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded):
		return status.Error(codes.DeadlineExceeded, err.Error())
	default:
		return status.Error(codes.Aborted, err.Error())
	}
}
