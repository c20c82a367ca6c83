package coordinator

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rollcall-dev/rollcall/coordinator/guard"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

// guard is what Kubernetes refuses for the cluster now.
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

// refuseEvictions marks the pods whose eviction a budget of somebody else would
// refuse, so that they are not prepared in vain. What the StatefulSet controller
// or a delete removes is asked of no budget.
func (s *session) refuseEvictions(snapshot *model.Snapshot) {
	if snapshot.Cluster.Spec.WithDefaults().Update.Method != model.Evict {
		return
	}
	refused := s.guard().Refused
	if len(refused) == 0 {
		return
	}
	rolls := map[string]bool{}
	for _, pool := range snapshot.Pools {
		rolls[pool.Name] = pool.Strategy == model.RollingUpdateStrategy
	}
	for i := range snapshot.Pods {
		pod := &snapshot.Pods[i]
		if budget := refused[pod.Name]; budget != "" && pod.Refused == "" && !rolls[pod.Pool] {
			pod.Refused, pod.RefusedBy = model.ForeignBudget, budget
		}
	}
}

// arm has an expired guard refuse again, before the first claim.
func (s *session) arm(ctx context.Context) error {
	if s.options.Guard == nil {
		return nil
	}
	err := s.options.Guard.Arm(ctx, s.term.Bound, s.key)
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
		// That does not pass by itself. The snapshot says that nothing is enforced.
		s.log.Warn("the guard stays expired", "error", err)
		return nil
	}
	return err
}
