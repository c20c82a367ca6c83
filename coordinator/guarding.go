package coordinator

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rollcall-dev/rollcall/coordinator/guard"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

// guard returns what Kubernetes refuses for the cluster now.
func (s *session) guard() guard.State {
	if s.options.Guard == nil {
		return guard.State{}
	}
	return s.options.Guard.State(s.key)
}

func (s *session) guarded() status.Guard {
	state := s.guard()
	return status.Guard{Why: state.Why, ForeignBudget: state.ForeignBudget}
}

// arm makes an expired guard refuse again, before the first claim.
func (s *session) arm(ctx context.Context) error {
	if s.options.Guard == nil {
		return nil
	}
	err := s.options.Guard.Arm(ctx, s.term.Bound, s.key)
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
		// That does not go away by itself. The snapshot says that nothing is enforced.
		s.log.Warn("the guard stays expired", "error", err)
		return nil
	}
	return err
}
