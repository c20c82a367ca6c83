package engines

import (
	"context"
	"errors"
	"fmt"
)

// ErrOwnAgentOnly is what Relieve answers when Progress says so.
var ErrOwnAgentOnly = errors.New("only its own agent can hand over")

// Relieve makes one round of handing over duties and leaves nothing to be
// undone: once they have moved, what was marked on the way is taken back.
// Repeat it until the answer is not Running.
func Relieve(ctx context.Context, e Engine, order Order) (Progress, error) {
	undo, err := e.Plan(ctx, order)
	if err != nil {
		return Progress{}, err
	}
	progress, err := e.Apply(ctx, order, undo)
	if err != nil || progress.State == Running {
		return progress, err
	}
	if restored, err := e.Restore(ctx, undo); err != nil || restored.State != Done {
		return restored, err
	}
	if progress.State == Refused && progress.OwnAgentOnly {
		return progress, fmt.Errorf("%w: %s", ErrOwnAgentOnly, progress.Detail)
	}
	return progress, nil
}
