package stophook

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/agent/state"
	"github.com/rollcall-dev/rollcall/engines"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

const (
	undoPause  = time.Second
	sweepPause = 10 * time.Second
	// maxUndos is how many undo bytes are kept: a run adds at most two, and a
	// database that refuses may be asked forever.
	maxUndos = 16
)

// remember saves undo bytes before anything changes.
func (h *Hook) remember(undo []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.record.Undo) == 0 {
		h.record = state.Stop{Started: time.Now(), Grace: h.Grace}
	}
	if kept := h.record.Undo[h.undoing:]; len(undo) > 0 && !slices.ContainsFunc(kept, func(k []byte) bool { return bytes.Equal(k, undo) }) {
		if len(kept) >= maxUndos {
			// The first run's, of each kind, say what there was before all of them.
			h.record.Undo = slices.Delete(h.record.Undo, h.undoing+2, h.undoing+3)
		}
		h.record.Undo = append(h.record.Undo, undo)
	}
	return h.Store.SaveStop(h.record)
}

// Run undoes the stop hook's work once the database is back, and sweeps once.
func (h *Hook) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
		}
		pause := time.Duration(0)
		if !h.undoOwn(ctx) {
			pause = undoPause
		} else if !h.sweep(ctx) {
			pause = sweepPause
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// undoOwn returns whether nothing is left to do for now. While a claim is open its
// coordinator decides when that is undone.
func (h *Hook) undoOwn(ctx context.Context) bool {
	h.mu.Lock()
	j, _ := h.Drainer.Status()
	if !h.back || h.working() || j.Claim != "" {
		h.mu.Unlock()
		return true
	}
	undos := slices.Clone(h.record.Undo)
	h.Drainer.DropOwn() // under mu: the next job may be that of a stop
	h.undoing = len(undos)
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		h.undoing = 0
		h.mu.Unlock()
	}()
	for i, undo := range slices.Backward(undos) {
		progress, err := h.Drainer.UndoWhile(ctx, undo, h.mayUndo)
		if err != nil {
			h.Logger.Warn("undo of the stop hook failed and will be repeated", "error", err)
			return false
		}
		if progress.State != engines.ProgressDone {
			return false
		}
		h.mu.Lock()
		h.record.Undo = slices.Delete(h.record.Undo, i, i+1)
		h.undoing = i
		h.mu.Unlock()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopping || h.working() || len(h.record.Undo) > 0 {
		return true // stopped again meanwhile
	}
	h.back, h.record = false, state.Stop{}
	if err := h.Store.ClearStop(); err != nil {
		h.Logger.Warn("state is not cleared", "error", err)
	}
	h.Logger.Info("stop hook undone")
	return true
}

// mayUndo reports whether no stop has begun meanwhile, of which nothing may be
// undone.
func (h *Hook) mayUndo() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.back && !h.working()
}

// sweep removes what an agent of an earlier pod of this name left behind. Only the
// first agent of a pod may: a later one cannot know which claims are open.
func (h *Hook) sweep(ctx context.Context) bool {
	h.mu.Lock()
	swept, stopping := h.swept, h.stopping
	h.mu.Unlock()
	if j, _ := h.Drainer.Status(); swept || stopping || j.State != rollcallv1.Drain_DRAIN_NONE {
		return true
	}
	if err := h.Drainer.Sweep(ctx); err != nil {
		h.Logger.Warn("sweep failed and will be repeated", "error", err)
		return false
	}
	if err := h.Store.MarkPod(); err != nil {
		h.Logger.Warn("state is not written", "error", err)
	}
	h.mu.Lock()
	h.swept = true
	h.mu.Unlock()
	return true
}
