package engines

import (
	"context"
	"errors"
	"fmt"
)

// ErrOwnAgentOnly is the error of HandoffOnBehalf when Progress says so.
var ErrOwnAgentOnly = errors.New("only its own agent can hand over")

// HandoffOnBehalf makes one round of handing over another member's duties and leaves
// nothing to be undone: once they have moved, it takes back what it marked on the
// way. Repeat it until the answer is not Running.
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
