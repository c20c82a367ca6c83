package engines

import (
	"context"
	"errors"
	"fmt"
)

// ErrOwnAgentOnly is the error of HandoffOnBehalf if Progress.OwnAgentOnly is set.
var ErrOwnAgentOnly = errors.New("only its own agent can hand over")

// HandoffOnBehalf does one round of handing over the duties of another member. It leaves nothing to
// undo: once the duties have moved, it removes its own marks. Repeat it until it no longer returns
// ProgressRunning.
func HandoffOnBehalf(ctx context.Context, e Engine, order Order) (Progress, error) {
	undo, err := e.PlanDrain(ctx, order)
	if err != nil {
		return Progress{}, err
	}
	progress, err := e.Drain(ctx, order, undo)
	if err != nil || progress.State == ProgressRunning {
		return progress, err
	}
	if restored, err := e.Restore(ctx, undo); err != nil || restored.State != ProgressDone {
		return restored, err
	}
	if progress.State == ProgressRefused && progress.OwnAgentOnly {
		return progress, fmt.Errorf("%w: %s", ErrOwnAgentOnly, progress.Detail)
	}
	return progress, nil
}
