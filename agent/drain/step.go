package drain

import (
	"context"
	"errors"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

const (
	// stepWait is how long a step waits for another writer. Two members that ask
	// each other must not wait for long.
	stepWait = 2 * time.Second
	// stepTimeout bounds one step, as peers.Timeout does for the agent that asked.
	stepTimeout = 10 * time.Second
)

var ErrBusy = errors.New("this member does something else at the moment")

// Step has the adapter take a step that another member asked for. Once begun it is
// finished even if the caller goes away: half a step helps nobody.
func (d *Drainer) Step(ctx context.Context, step engines.Step) ([]byte, error) {
	waiting, cancel := context.WithTimeout(ctx, stepWait)
	defer cancel()
	if err := d.take(waiting); err != nil {
		return nil, ErrBusy
	}
	type answer struct {
		body []byte
		err  error
	}
	answers := make(chan answer, 1)
	if !d.Background(func() {
		defer d.release()
		body, err := d.peerStep(step)
		answers <- answer{body, err}
	}) {
		d.release()
		return nil, ErrStopping
	}
	select {
	case a := <-answers:
		return a.body, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// peerStep is called while holding busy.
func (d *Drainer) peerStep(step engines.Step) ([]byte, error) {
	engine, err := d.Engine.Peered()
	if err != nil {
		return nil, err
	}
	if err := engines.InTime(step.NotAfter); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(d.ctx, stepTimeout)
	defer cancel()
	return engine.Step(ctx, step)
}
