package drain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/agent/fence"
	"github.com/rollcall-dev/rollcall/agent/probe"
	"github.com/rollcall-dev/rollcall/agent/state"
	"github.com/rollcall-dev/rollcall/engines"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

const (
	// callTimeout bounds one call of an adapter; the work itself may take many.
	callTimeout = time.Minute
	firstPause  = 100 * time.Millisecond
	lastPause   = 2 * time.Second
	// RetryRefused is after how long a refused drain is tried again when it is
	// ordered again. It is meant to equal firstBackoff of coordinator/rollout, after
	// which the pod is claimed again.
	RetryRefused = 10 * time.Second
)

// Options are the options of a Drainer. All are required, but a Store without a directory keeps
// nothing.
type Options struct {
	Engine *probe.Slot
	Logger *slog.Logger
	// Translate maps pods to their names in the database.
	Translate func(pods []string) []string
	// OwnClaim is the claim that the database sees for a drain without one.
	OwnClaim string
	// OnChange gets every change of the current drain.
	OnChange func(probe.DrainStatus)
	// Store, Clock, Fence and PeersHeard are for claims of a Peered engine.
	// PeersHeard reports whether the epochs of the peers are known.
	Store      state.Store
	Clock      state.Clock
	Fence      *fence.Fence
	PeersHeard func() bool
}

// Drainer carries out one order at a time.
//
// Invariants: only one call that changes the database runs at any time (busy). The
// job of a claim ends only with Restore of that claim, an order of a higher epoch,
// or another order once its own term has expired. A claim that is being restored, or
// was, is not drained again in that epoch. Nothing is undone without an order,
// except what the stop hook did, and what members of a Peered engine did together
// and did not finish in time.
type Drainer struct {
	Options

	ctx  context.Context // of all background work
	busy chan struct{}   // held during every adapter call that may write, and during Plan
	work sync.WaitGroup

	mu        sync.Mutex
	job       *Job
	restored  restoredClaims
	wake      chan struct{} // closed at the next change of job
	interrupt func()        // cancels the repair that holds busy
	stopped   bool
}

func New(ctx context.Context, o Options) *Drainer {
	return &Drainer{Options: o, ctx: ctx, busy: make(chan struct{}, 1), wake: make(chan struct{})}
}

// Run waits until ctx has ended, and with it all background work.
func (d *Drainer) Run() {
	<-d.ctx.Done()
	d.mu.Lock()
	d.stopped = true
	d.mu.Unlock()
	d.work.Wait()
}

// Background runs f in its own goroutine, unless the agent is stopping.
func (d *Drainer) Background(f func()) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.stopped {
		d.work.Go(f)
	}
	return !d.stopped
}

var ErrStopping = errors.New("the agent is stopping")

// Status returns the current job and a channel that is closed at its next change.
func (d *Drainer) Status() (Job, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.job == nil {
		return Job{State: rollcallv1.Drain_DRAIN_NONE}, d.wake
	}
	return *d.job, d.wake
}

// Plan returns what an order would change, and changes nothing.
func (d *Drainer) Plan(ctx context.Context, o Order) (will Plan, refused string, err error) {
	d.mu.Lock()
	if j := d.job; j != nil && j.Claim == o.Claim && j.kind == o.Kind && o.Claim != "" && !d.restored.covers(o.Claim, o.Epoch) {
		// The database already shows what this claim did.
		will = Plan{slices.Clone(j.Undo), j.setting}
		d.mu.Unlock()
		return will, "", nil
	}
	refused = d.conflict(o, time.Now())
	d.mu.Unlock()
	if refused != "" {
		return Plan{}, refused, nil
	}
	if err := d.take(ctx); err != nil {
		return Plan{}, "", err
	}
	defer d.release()
	engine, err := d.Engine.Get()
	if err != nil {
		return Plan{}, "", err
	}
	told := d.engineOrder(o)
	if will.Undo, err = engine.PlanDrain(ctx, told); err != nil {
		return Plan{}, "", err
	}
	// Without a claim nobody would restore a setting of the whole database.
	if sharer, ok := engine.(engines.SettingChanger); ok && o.Claim != "" {
		if will.Setting, err = sharer.PlanSetting(ctx, told); err != nil {
			return Plan{}, "", err
		}
	}
	if n := max(len(will.Undo), len(will.Setting.Undo)); n > engines.MaxUndo {
		return Plan{}, "", fmt.Errorf("undo of %d bytes; at most %d are allowed", n, engines.MaxUndo)
	}
	return will, "", nil
}

// Drain starts or continues a drain and returns at once. refused says which other
// order is in the way. A drain that is done stays so until it is ordered with
// Recheck: then the adapter is called again and says whether that is still true.
func (d *Drainer) Drain(o Order) (refused string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		return "", ErrStopping
	}
	now := time.Now()
	if refused := d.conflict(o, now); refused != "" {
		return refused, nil
	}
	var rechecks, drained bool
	if j := d.job; j != nil && j.Claim == o.Claim && j.kind == o.Kind && o.Claim != "" {
		j.ordered(o)
		refused := j.State == rollcallv1.Drain_DRAIN_REFUSED
		again := refused && now.Sub(j.since) >= RetryRefused
		rechecks = o.Recheck && j.State == rollcallv1.Drain_DRAIN_DRAINED
		// The coordinator's successor may order it after a restore that did not
		// finish.
		if ended := j.ctx.Err() != nil; !again && !ended && !rechecks {
			d.keep(j)
			return "", nil
		}
		o.Undo, drained = j.Undo, j.drained
	}
	if d.job != nil {
		d.job.cancel()
	}
	j := &Job{
		Claim: o.Claim, kind: o.Kind, epoch: o.Epoch, eligible: o.Eligible, Undo: o.Undo, setting: o.Setting, primary: o.Primary, notAfter: o.NotAfter,
		keepWrites: o.KeepWrites, again: make(chan struct{}, 1),
		State: rollcallv1.Drain_DRAIN_DRAINING, Detail: "started", since: now, rechecks: rechecks, drained: rechecks && drained,
	}
	j.ctx, j.cancel = context.WithCancel(d.ctx)
	d.job = j
	d.keep(j)
	d.notify()
	d.Logger.Log(d.ctx, j.level(), "drain started", "claim", j.Claim, "kind", j.kind.String())
	d.work.Go(func() { d.carryOut(j) })
	return "", nil
}

// carryOut repeats Drain until the job is done, refused, replaced or expired.
func (d *Drainer) carryOut(j *Job) {
	pause := firstPause
	for {
		progress, keepWrites, err := d.drainOnce(j)
		d.mu.Lock()
		if j.ctx.Err() != nil || d.job != j {
			d.mu.Unlock()
			return
		}
		before := *j
		j.answered = true
		switch {
		case errors.Is(err, errOutOfTime) && d.mustUndo(j):
			d.startUndo(j)
			d.mu.Unlock()
			d.undoUntilDone(j)
			return
		case errors.Is(err, errOutOfTime) && j.drained && !j.rechecks:
			j.State, j.Detail = rollcallv1.Drain_DRAIN_DRAINED, "prepared before the agent restarted"
		case errors.Is(err, errOutOfTime):
			j.State, j.Detail = rollcallv1.Drain_DRAIN_REFUSED, err.Error()
		case err != nil:
			j.Detail = "failed and will be repeated: " + err.Error()
		case progress.State == engines.ProgressDone:
			j.State, j.drained = rollcallv1.Drain_DRAIN_DRAINED, true
		case progress.State == engines.ProgressRefused:
			j.State = rollcallv1.Drain_DRAIN_REFUSED
		}
		if err == nil {
			j.Detail, j.Done, j.Total = progress.Detail, progress.Done, progress.Total
			if keepWrites && j.keepWrites {
				j.Writes = progress.Writes
			}
		}
		if j.State != before.State {
			j.since = time.Now()
			d.keep(j)
			d.Logger.Log(d.ctx, j.level(), "drain ended", "claim", j.Claim, "state", j.State.String(), "detail", j.Detail,
				"took", j.since.Sub(before.since).String())
		}
		if j.State != before.State || j.Detail != before.Detail || j.Done != before.Done || j.Total != before.Total || j.Writes != before.Writes {
			d.notify()
		}
		running := j.Running()
		d.mu.Unlock()
		if !running {
			if d.awaitExpiry(j) {
				d.undoUntilDone(j)
			}
			return
		}
		select {
		case <-j.ctx.Done():
			return
		case <-j.again:
			pause = firstPause
		case <-time.After(pause):
			pause = min(2*pause, lastPause)
		}
	}
}

var errOutOfTime = errors.New("the time for this order is over; nothing more is written")

func (d *Drainer) drainOnce(j *Job) (p engines.Progress, keepWrites bool, err error) {
	if err := d.take(j.ctx); err != nil {
		return engines.Progress{}, false, err
	}
	defer d.release()
	d.mu.Lock()
	o := Order{Claim: j.Claim, Kind: j.kind, Epoch: j.epoch, Eligible: j.eligible, Setting: j.setting, Primary: j.primary, KeepWrites: j.keepWrites, NotAfter: j.notAfter}
	d.mu.Unlock()
	if !o.NotAfter.IsZero() && !time.Now().Before(o.NotAfter) {
		return engines.Progress{}, false, errOutOfTime
	}
	engine, err := d.Engine.Get()
	if err != nil {
		return engines.Progress{}, false, err
	}
	ctx, cancel := context.WithTimeout(j.ctx, callTimeout)
	defer cancel()
	p, err = engine.Drain(ctx, d.engineOrder(o), j.Undo)
	return p, o.KeepWrites, err
}

// Restore undoes a claim: that of the current job, which it ends, or that of a pod
// that is gone, which touches no job. Without undo bytes it uses the job's own. A
// drain of that claim that arrives later changes nothing. Once begun, the restore of
// a Peered engine continues even if nobody asks again.
func (d *Drainer) Restore(ctx context.Context, claim string, epoch int64, undo []byte) (engines.Progress, error) {
	d.mu.Lock()
	d.restored.add(claim, epoch)
	mine := d.job
	if mine != nil && mine.Claim == claim {
		mine.cancel()
		if len(undo) == 0 {
			undo = mine.Undo
		}
		if mine.State != rollcallv1.Drain_DRAIN_DRAINING {
			mine.State, mine.since = rollcallv1.Drain_DRAIN_DRAINING, time.Now()
		}
		mine.Detail, mine.restoring, mine.undone = "restoring", true, false
		if len(mine.Undo) == 0 {
			mine.Undo = undo
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
	case err == nil && progress.State == engines.ProgressDone:
		d.end()
		d.Logger.Info("drain restored", "claim", claim)
	case d.peered() && !mine.undoing && !d.stopped:
		d.startUndo(mine)
		d.work.Go(func() { d.undoUntilDone(mine) })
	}
	return progress, err
}

// undo calls the adapter once.
func (d *Drainer) undo(ctx context.Context, undo []byte) (engines.Progress, error) {
	return d.UndoWhile(ctx, undo, func() bool { return true })
}

// UndoWhile is undo, if still allowed when its turn has come.
func (d *Drainer) UndoWhile(ctx context.Context, undo []byte, may func() bool) (engines.Progress, error) {
	if len(undo) == 0 {
		return engines.Progress{State: engines.ProgressDone, Detail: "nothing to undo"}, nil
	}
	if err := d.take(ctx); err != nil {
		return engines.Progress{}, err
	}
	defer d.release()
	if !may() {
		return engines.Progress{State: engines.ProgressRunning, Detail: "something else began meanwhile"}, nil
	}
	engine, err := d.Engine.Get()
	if err != nil {
		return engines.Progress{}, err
	}
	return engine.Restore(ctx, undo)
}

// DropOwn forgets the stop hook's own job, undone or not.
func (d *Drainer) DropOwn() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.job != nil && d.job.Claim == "" {
		d.end()
	}
}

// notify passes on the job's state. The caller holds mu.
func (d *Drainer) notify() {
	close(d.wake)
	d.wake = make(chan struct{})
	v := probe.DrainStatus{State: rollcallv1.Drain_DRAIN_NONE}
	if j := d.job; j != nil {
		v = probe.DrainStatus{State: j.reported(), Claim: j.Claim, Detail: j.Detail, Done: j.Done, Total: j.Total}
	}
	d.OnChange(v)
}

// open returns the claims that this pod is known to have.
func (d *Drainer) open() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.job == nil || d.job.Claim == "" {
		return nil
	}
	return []string{d.job.Claim}
}

// Sweep removes leftovers of earlier pods of this name; see engines.Engine.
func (d *Drainer) Sweep(ctx context.Context) error {
	if err := d.take(ctx); err != nil {
		return err
	}
	defer d.release()
	engine, err := d.Engine.Get()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return engine.Sweep(ctx, d.open())
}
