package solr

import (
	"context"
	"errors"
	"fmt"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// evacuate hands over what the node leads and then moves every replica off it. It is Done only if
// no collection names the node any more, neither for replicas that still have to go nor for
// replicas that somebody else is creating there.
func (e *Engine) evacuate(ctx context.Context, order engines.Order, node string) (engines.Progress, error) {
	state, err := e.api.clusterStatus(ctx, "")
	if err != nil {
		return engines.Progress{}, err
	}
	task := evacuateTask(order.Claim)
	status, words, err := e.api.task(ctx, task)
	if err != nil {
		return engines.Progress{}, err
	}
	left := state.hosted(node)
	if status == taskCompleted || status == taskFailed {
		if err := engines.InTime(order.NotAfter); err != nil {
			return engines.Progress{}, err
		}
		// Forgotten before it is asked for again: an id can be used once.
		if err := e.api.forget(ctx, task); err != nil {
			return engines.Progress{}, err
		}
	}
	running := func(detail string) engines.Progress {
		return engines.Progress{State: engines.ProgressRunning, Detail: detail, Total: left}
	}
	switch {
	case status == taskRunning:
		return running(fmt.Sprintf("%d replicas are still on the node", left)), nil
	case left == 0:
		return engines.Progress{State: engines.ProgressDone}, nil
	case status == taskFailed:
		return running(fmt.Sprintf("%d replicas are still on the node, trying again: %s", left, words)), nil
	case len(state.live) < 2:
		return engines.Progress{State: engines.ProgressRefused, Detail: fmt.Sprintf("no other live node can take the %d replicas of %s", left, node)}, nil
	}
	// A leader's copy that is deleted under load takes acknowledged documents with
	// it (DESIGN.md), so the node leads nothing any more when its copies go.
	if led, err := e.handoff(ctx, order, node); err != nil || led.State != engines.ProgressDone {
		led.Detail = "first: " + led.Detail
		return led, err
	}
	if err := engines.InTime(order.NotAfter); err != nil {
		return engines.Progress{}, err
	}
	err = e.api.replaceNode(ctx, node, task)
	var refused *web.StatusError
	if errors.As(err, &refused) && !denied(err) {
		// Also "exists already", when two agents ask at once; the next round looks.
		return running(fmt.Sprintf("%d replicas are still on the node: %v", left, err)), nil
	}
	if err != nil {
		return engines.Progress{}, err
	}
	return running(fmt.Sprintf("%d replicas are to be moved", left)), nil
}
