package agent

import (
	"log/slog"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/agent/door"
	"github.com/rollcall-dev/rollcall/agent/term"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// board holds the newest view and wakes those who watch it. Watchers read the
// newest view when they get to it, so a slow one misses what lies between and
// never holds up anybody.
type board struct {
	logger *slog.Logger
	// run is this process, which begins with the board.
	run term.Run
	// lately is what the agent has refused.
	lately *door.Refusals

	mu      sync.Mutex
	view    *view
	changed chan struct{} // closed when the digest or the phase is another
}

func newBoard(identity *rollcallv1.Identity, logger *slog.Logger) *board {
	run := term.Run{Incarnation: identity.GetIncarnation(), Started: time.Now()}
	first := view{
		identity: identity,
		run:      run,
		phase:    rollcallv1.Phase_PHASE_STARTING,
		drain:    drainView{state: rollcallv1.Drain_DRAIN_NONE},
	}
	v, _ := first.complete()
	return &board{logger: logger, run: run, view: v, changed: make(chan struct{})}
}

// newest answers the view and a channel that is closed once it is worth reading
// again. A new sighting that says the same is not.
func (b *board) newest() (*view, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.view, b.changed
}

func (b *board) sighted(s sighting) {
	if b.again(s) {
		return
	}
	b.update(true, func(v *view) {
		v.sighting = s
		if s.err == nil && v.phase == rollcallv1.Phase_PHASE_STARTING {
			v.phase = rollcallv1.Phase_PHASE_WATCHING
		}
	})
}

// again takes a sighting that says the same as the last one, as most do, without
// building everything anew.
func (b *board) again(s sighting) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := b.view.sighting
	if last.sequence == 0 || last.err != nil || s.err != nil || last.node != s.node || !sameFacts(last.observation, s.observation) {
		return false
	}
	next := *b.view
	next.sighting = s
	b.view = &next
	return true
}

func (b *board) drained(d drainView) { b.update(false, func(v *view) { v.drain = d }) }

func (b *board) tended(text string) { b.update(false, func(v *view) { v.tending = text }) }

func (b *board) setPhase(p rollcallv1.Phase) { b.update(false, func(v *view) { v.phase = p }) }

func (b *board) setEpoch(epoch int64) { b.update(false, func(v *view) { v.epoch = epoch }) }

// identified is called when the configuration names a cluster or an engine.
func (b *board) identified(identity *rollcallv1.Identity, engine string) {
	b.update(false, func(v *view) { v.identity, v.engine = identity, engine })
}

func (b *board) update(groups bool, change func(*view)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	next := *b.view
	change(&next)
	var (
		v   *view
		err error
	)
	if groups {
		v, err = next.complete()
	} else {
		v, err = next.digested()
	}
	if err != nil {
		// What cannot be told is unknown, and says why.
		b.logger.Warn("observation cannot be told", "error", err)
		next.sighting = sighting{sequence: next.sighting.sequence, started: next.sighting.started, err: err, node: b.view.sighting.node}
		if v, err = next.complete(); err != nil {
			return
		}
	}
	if v.digest != b.view.digest || v.phase != b.view.phase {
		close(b.changed)
		b.changed = make(chan struct{})
	}
	b.view = v
}
