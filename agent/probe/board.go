package probe

import (
	"log/slog"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rollcall-dev/rollcall/agent/door"
	"github.com/rollcall-dev/rollcall/agent/term"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Board holds the latest snapshot and wakes its watchers. A watcher reads the latest
// snapshot when it gets to it, so a slow one skips some and delays nobody.
type Board struct {
	logger *slog.Logger
	// Run identifies this process. It begins with the board.
	Run term.Run
	// Refusals are what the agent has refused recently. Nil means none.
	Refusals *door.Refusals

	mu      sync.Mutex
	view    *Snapshot
	changed chan struct{} // closed when the digest or the phase changes
}

func NewBoard(identity *rollcallv1.Identity, logger *slog.Logger) *Board {
	run := term.Run{Incarnation: identity.GetIncarnation(), Started: time.Now()}
	first := Snapshot{
		Identity: identity,
		run:      run,
		Phase:    rollcallv1.Phase_PHASE_STARTING,
		drain:    DrainStatus{State: rollcallv1.Drain_DRAIN_NONE},
	}
	v, _ := first.complete()
	return &Board{logger: logger, Run: run, view: v, changed: make(chan struct{})}
}

// Latest returns the snapshot and a channel that is closed once there is news. A new
// result with the same facts is not.
func (b *Board) Latest() (*Snapshot, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.view, b.changed
}

func (b *Board) SetResult(s Result) {
	if b.again(s) {
		return
	}
	b.update(true, func(v *Snapshot) {
		v.Result = s
		if s.Err == nil && v.Phase == rollcallv1.Phase_PHASE_STARTING {
			v.Phase = rollcallv1.Phase_PHASE_WATCHING
		}
	})
}

// again takes a result with the same facts as the last one, as most have, without
// rebuilding everything.
func (b *Board) again(s Result) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := b.view.Result
	if last.Sequence == 0 || last.Err != nil || s.Err != nil || last.Node != s.Node || !sameFacts(last.Observation, s.Observation) {
		return false
	}
	next := *b.view
	next.Result = s
	b.view = &next
	return true
}

func (b *Board) SetDrain(d DrainStatus) { b.update(false, func(v *Snapshot) { v.drain = d }) }

func (b *Board) SetRepair(text string) { b.update(false, func(v *Snapshot) { v.repairing = text }) }

func (b *Board) SetPhase(p rollcallv1.Phase) { b.update(false, func(v *Snapshot) { v.Phase = p }) }

func (b *Board) SetEpoch(epoch int64) { b.update(false, func(v *Snapshot) { v.epoch = epoch }) }

// SetIdentity is called when the configuration names a cluster or an engine.
func (b *Board) SetIdentity(identity *rollcallv1.Identity, engine string) {
	b.update(false, func(v *Snapshot) { v.Identity, v.engine = identity, engine })
}

func (b *Board) update(groups bool, change func(*Snapshot)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	next := *b.view
	change(&next)
	var (
		v   *Snapshot
		err error
	)
	if groups {
		v, err = next.complete()
	} else {
		v, err = next.digested()
	}
	if err != nil {
		// What cannot be encoded is unknown, and the report says why.
		b.logger.Warn("observation cannot be told", "error", err)
		next.Result = Result{Sequence: next.Result.Sequence, Started: next.Result.Started, Err: err, Node: b.view.Result.Node}
		if v, err = next.complete(); err != nil {
			return
		}
	}
	if v.Digest != b.view.Digest || v.Phase != b.view.Phase {
		close(b.changed)
		b.changed = make(chan struct{})
	}
	b.view = v
}

// Report renders a snapshot for sending, with the recent refusals. These are not in
// the digest, since being refused must not wake up others; they go with the next
// report.
func (b *Board) Report(v *Snapshot, allGroups bool) *rollcallv1.Report {
	now := time.Now()
	r := v.Report(now, allGroups)
	for _, refused := range b.Refusals.Lately() {
		r.Refusals = append(r.Refusals, &rollcallv1.Refusal{
			Pod: r.GetIdentity().GetPod(), What: refused.What, Count: refused.Count,
			Since: durationpb.New(now.Sub(refused.First)), Last: durationpb.New(now.Sub(refused.Last)), From: refused.From,
		})
	}
	return r
}
