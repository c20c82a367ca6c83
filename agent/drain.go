package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

const (
	// applyTimeout bounds one call of an adapter; the work itself may take many.
	applyTimeout = time.Minute
	firstPause   = 100 * time.Millisecond
	lastPause    = 2 * time.Second
	// retryRefused is when asking again for the same claim tries again.
	retryRefused = 10 * time.Second
)

// drainer carries out one order at a time.
//
// Invariants: only one call that changes the database runs at any time (busy); a
// job of a claim ends only by Restore of that claim, by an order of a higher
// epoch, or by another order once its own time is over; a claim that is being
// restored, or was, is not prepared again in that epoch; nothing is undone
// without being asked, except what the stop hook did and what members of a Peered
// engine did together and did not end in time.
type drainer struct {
	engine *slot
	logger *slog.Logger
	// translate maps pods to the names that the database has for them.
	translate func(pods []string) []string
	// own names to the database what is done without a claim.
	own string
	// changed is told of every change.
	changed func(drainView)
	// store, fence and heard are for claims of a Peered engine. heard tells whether
	// the peers were.
	store store
	fence *fence
	heard func() bool
	boot  func() (bootTime, error)

	ctx  context.Context // of everything that is done in the background
	busy chan struct{}   // held by whoever calls Plan, Apply, Restore, Step or Tend
	work sync.WaitGroup

	mu        sync.Mutex
	job       *job
	over      overs
	wake      chan struct{} // closed at the next change of job
	interrupt func()        // ends the Tend that holds busy
	stopped   bool
}

func newDrainer(ctx context.Context, engine *slot, own string, translate func([]string) []string, changed func(drainView), logger *slog.Logger) *drainer {
	return &drainer{
		ctx: ctx, engine: engine, own: own, translate: translate, changed: changed, logger: logger,
		busy: make(chan struct{}, 1), wake: make(chan struct{}),
		fence: &fence{raised: func(int64) {}}, heard: func() bool { return true }, boot: bootClock,
	}
}

// run ends when the drainer's context and everything that was started under it
// have ended.
func (d *drainer) run() {
	<-d.ctx.Done()
	d.mu.Lock()
	d.stopped = true
	d.mu.Unlock()
	d.work.Wait()
}

// background runs f under the drainer's context, at once, or not at all when the
// agent is stopping.
func (d *drainer) background(f func()) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.stopped {
		d.work.Go(f)
	}
	return !d.stopped
}

var errStopping = errors.New("the agent is stopping")

// status answers the job in hand and a channel that is closed at its next change.
func (d *drainer) status() (job, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.job == nil {
		return job{state: rollcallv1.Drain_DRAIN_NONE}, d.wake
	}
	return *d.job, d.wake
}

// plan answers what an order will change, and changes nothing.
func (d *drainer) plan(ctx context.Context, o order) (will intent, refused string, err error) {
	d.mu.Lock()
	if j := d.job; j != nil && j.claim == o.claim && j.kind == o.kind && o.claim != "" && !d.over.covers(o.claim, o.epoch) {
		// What the database looks like now is already our own doing.
		will = intent{slices.Clone(j.undo), j.shared}
		d.mu.Unlock()
		return will, "", nil
	}
	refused = d.conflict(o, time.Now())
	d.mu.Unlock()
	if refused != "" {
		return intent{}, refused, nil
	}
	if err := d.take(ctx); err != nil {
		return intent{}, "", err
	}
	defer d.release()
	engine, err := d.engine.get()
	if err != nil {
		return intent{}, "", err
	}
	told := d.engineOrder(o)
	if will.undo, err = engine.Plan(ctx, told); err != nil {
		return intent{}, "", err
	}
	// Without a claim nobody would put back what belongs to the whole database.
	if sharer, ok := engine.(engines.Sharer); ok && o.claim != "" {
		if will.shared, err = sharer.Shared(ctx, told); err != nil {
			return intent{}, "", err
		}
	}
	if n := max(len(will.undo), len(will.shared.Undo)); n > engines.MaxUndo {
		return intent{}, "", fmt.Errorf("undo of %d bytes; at most %d are allowed", n, engines.MaxUndo)
	}
	return will, "", nil
}

// apply starts the order or goes on with it; it answers at once. refused is set
// when another order is in hand. One that is done stays so until it is asked anew:
// then the adapter is called again, and says whether it still is.
func (d *drainer) apply(o order) (refused string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		return "", errStopping
	}
	now := time.Now()
	if refused := d.conflict(o, now); refused != "" {
		return refused, nil
	}
	var checks, reached bool
	if j := d.job; j != nil && j.claim == o.claim && j.kind == o.kind && o.claim != "" {
		j.epoch, j.notAfter, j.eligible, j.shared = o.epoch, o.notAfter, o.eligible, o.shared
		refused := j.state == rollcallv1.Drain_DRAIN_REFUSED
		again := refused && now.Sub(j.since) >= retryRefused
		checks = o.anew && j.state == rollcallv1.Drain_DRAIN_PREPARED
		// The coordinator's successor may want it after a restore that did not finish.
		if ended := j.ctx.Err() != nil; !again && !ended && !checks {
			d.keep(j)
			return "", nil
		}
		o.undo, reached = j.undo, j.reached
	}
	if d.job != nil {
		d.job.cancel()
	}
	j := &job{
		claim: o.claim, kind: o.kind, epoch: o.epoch, eligible: o.eligible, undo: o.undo, shared: o.shared, notAfter: o.notAfter,
		state: rollcallv1.Drain_DRAIN_PREPARING, detail: "started", since: now, checks: checks, reached: checks && reached,
	}
	j.ctx, j.cancel = context.WithCancel(d.ctx)
	d.job = j
	d.keep(j)
	d.notify()
	d.logger.Log(d.ctx, j.level(), "drain started", "claim", j.claim, "kind", j.kind.String())
	d.work.Go(func() { d.carryOut(j) })
	return "", nil
}

// carryOut repeats Apply until the job is done, refused, replaced or out of time.
func (d *drainer) carryOut(j *job) {
	pause := firstPause
	for {
		progress, err := d.step(j)
		d.mu.Lock()
		if j.ctx.Err() != nil || d.job != j {
			d.mu.Unlock()
			return
		}
		before := *j
		j.answered = true
		switch {
		case errors.Is(err, errOutOfTime) && d.mustRest(j):
			d.startRest(j)
			d.mu.Unlock()
			d.rest(j)
			return
		case errors.Is(err, errOutOfTime) && j.reached && !j.checks:
			j.state, j.detail = rollcallv1.Drain_DRAIN_PREPARED, "prepared before the agent restarted"
		case errors.Is(err, errOutOfTime):
			j.state, j.detail = rollcallv1.Drain_DRAIN_REFUSED, err.Error()
		case err != nil:
			j.detail = "failed and will be repeated: " + err.Error()
		case progress.State == engines.Done:
			j.state, j.reached = rollcallv1.Drain_DRAIN_PREPARED, true
		case progress.State == engines.Refused:
			j.state = rollcallv1.Drain_DRAIN_REFUSED
		}
		if err == nil {
			j.detail, j.done, j.total = progress.Detail, progress.Done, progress.Total
		}
		if j.state != before.state {
			j.since = time.Now()
			d.keep(j)
			d.logger.Log(d.ctx, j.level(), "drain ended", "claim", j.claim, "state", j.state.String(), "detail", j.detail,
				"took", j.since.Sub(before.since).String())
		}
		if j.state != before.state || j.detail != before.detail || j.done != before.done || j.total != before.total {
			d.notify()
		}
		running := j.running()
		d.mu.Unlock()
		if !running {
			if d.expire(j) {
				d.rest(j)
			}
			return
		}
		select {
		case <-j.ctx.Done():
			return
		case <-time.After(pause):
			pause = min(2*pause, lastPause)
		}
	}
}

var errOutOfTime = errors.New("the time for this order is over; nothing more is written")

func (d *drainer) step(j *job) (engines.Progress, error) {
	if err := d.take(j.ctx); err != nil {
		return engines.Progress{}, err
	}
	defer d.release()
	d.mu.Lock()
	o := order{claim: j.claim, kind: j.kind, epoch: j.epoch, eligible: j.eligible, shared: j.shared, notAfter: j.notAfter}
	d.mu.Unlock()
	if !o.notAfter.IsZero() && !time.Now().Before(o.notAfter) {
		return engines.Progress{}, errOutOfTime
	}
	engine, err := d.engine.get()
	if err != nil {
		return engines.Progress{}, err
	}
	ctx, cancel := context.WithTimeout(j.ctx, applyTimeout)
	defer cancel()
	return engine.Apply(ctx, d.engineOrder(o), j.undo)
}

// restore undoes a claim: the own one, whose job it ends, or that of a pod that
// is gone, which touches no job. With no undo bytes it takes the job's own. A
// prepare of that claim which is still on its way changes nothing any more. The
// own one of a Peered engine is gone on with though nobody asks again.
func (d *drainer) restore(ctx context.Context, claim string, epoch int64, undo []byte) (engines.Progress, error) {
	d.mu.Lock()
	d.over.add(claim, epoch)
	mine := d.job
	if mine != nil && mine.claim == claim {
		mine.cancel()
		if len(undo) == 0 {
			undo = mine.undo
		}
		if mine.state != rollcallv1.Drain_DRAIN_PREPARING {
			mine.state, mine.since = rollcallv1.Drain_DRAIN_PREPARING, time.Now()
		}
		mine.detail, mine.restored, mine.rested = "restoring", true, false
		if len(mine.undo) == 0 {
			mine.undo = undo
		}
		d.keep(mine)
		d.notify()
	} else {
		mine = nil
	}
	d.mu.Unlock()

	progress, err := d.undo(ctx, undo)
	if mine == nil {
		return progress, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.job != mine:
	case err == nil && progress.State == engines.Done:
		d.end()
		d.logger.Info("drain restored", "claim", claim)
	case d.peered() && !mine.resting && !d.stopped:
		d.startRest(mine)
		d.work.Go(func() { d.rest(mine) })
	}
	return progress, err
}

// undo calls the adapter once.
func (d *drainer) undo(ctx context.Context, undo []byte) (engines.Progress, error) {
	return d.undoWhile(ctx, undo, func() bool { return true })
}

// undoWhile is undo, if that may still be when its turn has come.
func (d *drainer) undoWhile(ctx context.Context, undo []byte, may func() bool) (engines.Progress, error) {
	if len(undo) == 0 {
		return engines.Progress{State: engines.Done, Detail: "nothing to undo"}, nil
	}
	if err := d.take(ctx); err != nil {
		return engines.Progress{}, err
	}
	defer d.release()
	if !may() {
		return engines.Progress{State: engines.Running, Detail: "something else began meanwhile"}, nil
	}
	engine, err := d.engine.get()
	if err != nil {
		return engines.Progress{}, err
	}
	return engine.Restore(ctx, undo)
}

// drop forgets the stop hook's own job, undone or not.
func (d *drainer) drop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.job != nil && d.job.claim == "" {
		d.end()
	}
}

// take waits until nobody writes. What is only tended gives way.
func (d *drainer) take(ctx context.Context) error {
	select {
	case d.busy <- struct{}{}:
		return nil
	default:
	}
	d.mu.Lock()
	if d.interrupt != nil {
		d.interrupt()
	}
	d.mu.Unlock()
	select {
	case d.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("another order is being carried out: %w", ctx.Err())
	}
}

func (d *drainer) release() { <-d.busy }

// notify tells of the job as it is now. Callers hold the lock.
func (d *drainer) notify() {
	close(d.wake)
	d.wake = make(chan struct{})
	v := drainView{state: rollcallv1.Drain_DRAIN_NONE}
	if j := d.job; j != nil {
		v = drainView{state: j.told(), claim: j.claim, detail: j.detail, done: j.done, total: j.total}
	}
	d.changed(v)
}

// open are the claims that this pod is known to have.
func (d *drainer) open() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.job == nil || d.job.claim == "" {
		return nil
	}
	return []string{d.job.claim}
}

// sweep removes leftovers of earlier pods of this name; see engines.Engine.
func (d *drainer) sweep(ctx context.Context) error {
	if err := d.take(ctx); err != nil {
		return err
	}
	defer d.release()
	engine, err := d.engine.get()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	return engine.Sweep(ctx, d.open())
}
