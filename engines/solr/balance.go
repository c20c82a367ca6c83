package solr

import (
	"context"

	"github.com/rollcall-dev/rollcall/engines"
)

// balance spreads replicas over the live nodes, once per claim. Whether the
// command exists is decided by the version, not by how its absence is worded.
func (e *Engine) balance(ctx context.Context, claim string) (engines.Progress, error) {
	self, err := e.api.identity(ctx)
	if err != nil {
		return engines.Progress{}, err
	}
	v, err := parseVersion(self.version)
	if err != nil {
		return engines.Progress{}, err
	}
	if !v.atLeast(balanceSince) {
		return engines.Progress{State: engines.ProgressDone, Detail: "not balanced: Solr " + self.version + " cannot, 9.3 and later can"}, nil
	}
	e.mu.Lock()
	ended := e.balanced[claim]
	e.mu.Unlock()
	if ended {
		return engines.Progress{State: engines.ProgressDone}, nil
	}
	task := balanceTask(claim)
	state, words, err := e.api.task(ctx, task)
	if err != nil {
		return engines.Progress{}, err
	}
	switch state {
	case taskAbsent:
		if err := e.api.balance(ctx, task); err != nil {
			return engines.Progress{}, err
		}
		return engines.Progress{State: engines.ProgressRunning, Detail: "replicas are being balanced"}, nil
	case taskRunning:
		return engines.Progress{State: engines.ProgressRunning, Detail: "replicas are being balanced"}, nil
	}
	if err := e.api.forget(ctx, task); err != nil {
		return engines.Progress{}, err
	}
	e.mu.Lock()
	e.balanced[claim] = true
	e.mu.Unlock()
	progress := engines.Progress{State: engines.ProgressDone}
	if state == taskFailed {
		// Uneven is not broken: nobody waits for it.
		progress.Detail = "balance failed: " + words
	}
	return progress, nil
}
