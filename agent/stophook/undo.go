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
	// maxUndos is how many undo bytes are kept: a run adds two at most, and a database that refuses may be asked for ever.
	maxUndos = 16
)

// remember is called before anything is changed.
func (s *Hook) remember(undo []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.record.Undo) == 0 {
		s.record = state.Stop{Started: time.Now(), Grace: s.Grace}
	}
	if kept := s.record.Undo[s.undoing:]; len(undo) > 0 && !slices.ContainsFunc(kept, func(k []byte) bool { return bytes.Equal(k, undo) }) {
		if len(kept) >= maxUndos {
			// What the first run found, of each kind, is what there was before all of them.
			s.record.Undo = slices.Delete(s.record.Undo, s.undoing+2, s.undoing+3)
		}
		s.record.Undo = append(s.record.Undo, undo)
	}
	return s.Store.SaveStop(s.record)
}

// repair undoes the stop hook's work once the database is back, and sweeps once.
func (s *Hook) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.kick:
		}
		pause := time.Duration(0)
		if !s.undoOwn(ctx) {
			pause = undoPause
		} else if !s.sweep(ctx) {
			pause = sweepPause
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// undoOwn answers whether nothing is left to do for now. While a claim is open
// its coordinator decides when what was done is undone.
func (s *Hook) undoOwn(ctx context.Context) bool {
	s.mu.Lock()
	j, _ := s.Drainer.Status()
	if !s.back || s.working() || j.Claim != "" {
		s.mu.Unlock()
		return true
	}
	undos := slices.Clone(s.record.Undo)
	s.Drainer.DropOwn() // under the lock: the next job may be that of a stop
	s.undoing = len(undos)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.undoing = 0
		s.mu.Unlock()
	}()
	for i, undo := range slices.Backward(undos) {
		progress, err := s.Drainer.UndoWhile(ctx, undo, s.mayUndo)
		if err != nil {
			s.Logger.Warn("undo of the stop hook failed and will be repeated", "error", err)
			return false
		}
		if progress.State != engines.Done {
			return false
		}
		s.mu.Lock()
		s.record.Undo = slices.Delete(s.record.Undo, i, i+1)
		s.undoing = i
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping || s.working() || len(s.record.Undo) > 0 {
		return true // stopped again meanwhile
	}
	s.back, s.record = false, state.Stop{}
	if err := s.Store.ClearStop(); err != nil {
		s.Logger.Warn("state is not cleared", "error", err)
	}
	s.Logger.Info("stop hook undone")
	return true
}

// mayUndo: no stop has begun meanwhile, of which nothing must be taken back.
func (s *Hook) mayUndo() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.back && !s.working()
}

// sweep removes what an agent of an earlier pod of this name left behind. Only
// the first agent of a pod may: a later one cannot know which claims are open.
func (s *Hook) sweep(ctx context.Context) bool {
	s.mu.Lock()
	swept, stopping := s.swept, s.stopping
	s.mu.Unlock()
	if j, _ := s.Drainer.Status(); swept || stopping || j.State != rollcallv1.Drain_DRAIN_NONE {
		return true
	}
	if err := s.Drainer.Sweep(ctx); err != nil {
		s.Logger.Warn("sweep failed and will be repeated", "error", err)
		return false
	}
	if err := s.Store.MarkPod(); err != nil {
		s.Logger.Warn("state is not written", "error", err)
	}
	s.mu.Lock()
	s.swept = true
	s.mu.Unlock()
	return true
}
