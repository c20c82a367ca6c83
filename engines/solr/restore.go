package solr

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// Restore undoes what the order did, from any node of the cluster. Leaders stay where they are;
// only the properties go.
func (e *Engine) Restore(ctx context.Context, undoBytes []byte) (engines.Progress, error) {
	planned, err := engines.DecodeUndo(undoBytes)
	if err != nil {
		return engines.Progress{}, err
	}
	progress, err := e.unmark(ctx, func(m mark) bool { return m.claim == planned.Claim && m.node == planned.Node })
	if err != nil || progress.State != engines.ProgressDone || planned.Kind != engines.Evacuate.String() {
		return progress, err
	}
	return e.restoreEvacuated(ctx, planned)
}

// Sweep removes marks of this node whose claims are no longer open. Asynchronous tasks cannot be
// listed; each claim forgets its own.
func (e *Engine) Sweep(ctx context.Context, keep []string) error {
	self, err := e.api.identity(ctx)
	if err != nil {
		return err
	}
	progress, err := e.unmark(ctx, func(m mark) bool { return m.node == self.node && !slices.Contains(keep, m.claim) })
	if err != nil {
		return err
	}
	if progress.State != engines.ProgressDone {
		return fmt.Errorf("sweep: %s", progress.Detail)
	}
	return nil
}

// release is one mark to be removed.
type release struct {
	at place
	// drop preferredLeader from the marked replica, or give it back to prior, or (both empty) leave
	// it, because somebody else has changed it since.
	drop  bool
	prior string
}

// planRelease is pure. It returns what to undo for the marks that ours selects.
func planRelease(state *clusterState, ours func(mark) bool) []release {
	var out []release
	for _, col := range state.collections {
		for _, s := range col.shards {
			for _, r := range s.replicas {
				m, ok := parseMark(r.mark)
				if !ok || !ours(m) {
					continue
				}
				todo := release{at: place{col.name, s.name, r.name}}
				switch {
				case !r.preferred:
				case m.prior != "" && m.prior != r.name && s.has(m.prior):
					todo.prior = m.prior
				case m.prior != r.name:
					todo.drop = true
				}
				out = append(out, todo)
			}
		}
	}
	return out
}

func (s shard) has(name string) bool {
	return slices.ContainsFunc(s.replicas, func(r replica) bool { return r.name == name })
}

func (e *Engine) unmark(ctx context.Context, ours func(mark) bool) (engines.Progress, error) {
	state, err := e.api.clusterStatus(ctx, "")
	if err != nil {
		return engines.Progress{}, err
	}
	todo := planRelease(state, ours)
	if len(todo) == 0 {
		return engines.Progress{State: engines.ProgressDone}, nil
	}
	byName := make(map[string]release, len(todo))
	names := make([]string, len(todo))
	for i, r := range todo {
		names[i] = r.at.String()
		byName[names[i]] = r
	}
	changeErr := e.each(names, func(name string) error { return e.release(ctx, byName[name]) })
	if ctx.Err() != nil {
		return engines.Progress{}, ctx.Err()
	}
	if denied(changeErr) {
		return engines.Progress{}, changeErr
	}
	// The local node sees the change a little later than it was accepted.
	deadline := time.Now().Add(e.options.Timeout)
	for {
		if state, err = e.api.clusterStatus(ctx, ""); err != nil {
			return engines.Progress{}, err
		}
		left := planRelease(state, ours)
		if len(left) == 0 {
			return engines.Progress{State: engines.ProgressDone}, nil
		}
		if changeErr != nil || time.Now().After(deadline) {
			detail := fmt.Sprintf("%d of %d marks are still there", len(left), len(todo))
			if changeErr != nil {
				detail += ": " + changeErr.Error()
			}
			return engines.Progress{State: engines.ProgressRunning, Detail: detail, Done: len(todo) - len(left), Total: len(todo)}, nil
		}
		if !engines.Sleep(ctx, e.options.Poll) {
			return engines.Progress{}, ctx.Err()
		}
	}
}

// release removes the mark last: while it is there, the rest can be repeated.
func (e *Engine) release(ctx context.Context, r release) error {
	var err error
	switch {
	case r.prior != "":
		err = e.api.addReplicaProperty(ctx, place{r.at.collection, r.at.shard, r.prior}, propertyPreferred, "true")
	case r.drop:
		err = e.api.deleteReplicaProperty(ctx, r.at, propertyPreferred)
	}
	if err != nil {
		return fmt.Errorf("release %s: %w", r.at, err)
	}
	if err := e.api.deleteReplicaProperty(ctx, r.at, propertyMark); err != nil {
		return fmt.Errorf("release %s: %w", r.at, err)
	}
	return nil
}

// restoreEvacuated forgets the claim's tasks and, if configured, spreads the replicas again.
func (e *Engine) restoreEvacuated(ctx context.Context, planned engines.Undo) (engines.Progress, error) {
	state, words, err := e.api.task(ctx, evacuateTask(planned.Claim))
	if err != nil {
		return engines.Progress{}, err
	}
	switch state {
	case taskRunning:
		// A move in progress cannot be cancelled; it ends by itself.
		return engines.Progress{State: engines.ProgressRunning, Detail: "waiting for replicas to be moved: " + words}, nil
	case taskCompleted, taskFailed:
		if err := e.api.forget(ctx, evacuateTask(planned.Claim)); err != nil {
			return engines.Progress{}, err
		}
	}
	// What the evacuation has moved away would otherwise never come back.
	progress, err := e.balance(ctx, planned.Claim)
	var refused *web.StatusError
	if errors.As(err, &refused) && !denied(err) {
		return engines.Progress{State: engines.ProgressRunning, Detail: "balance: " + err.Error()}, nil
	}
	return progress, err
}
