package drain

import (
	"context"
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/agent/state"
	"github.com/rollcall-dev/rollcall/engines"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Claims of a Peered engine are not left half done: members that wait for each other
// refuse writes meanwhile, and there may be no coordinator to ask again. So the job
// is saved, and continued by the next process. Once its term expires before it was
// drained, or once a Restore was begun, the agent itself repeats Restore until the
// adapter says that it is done.

const (
	recallPause = 200 * time.Millisecond
	recalled    = "the agent has restarted; it hears its peers first"
	// overdue is the detail of a job whose term has expired.
	overdue = "the time for this order is over; it is undone"
	undone  = "the time for this order was over before it was done; it is undone"
)

// keep saves the job, if its engine needs that. The caller holds mu.
func (d *Drainer) keep(j *Job) {
	if j.Claim == "" {
		d.forget()
		return
	}
	if !d.peered() {
		return
	}
	cluster, _ := d.Fence.Seen()
	until, err := d.Clock.At(j.notAfter)
	if err != nil {
		d.Logger.Warn("cannot store when this order ends; a restarted agent will treat it as expired", "error", err)
	}
	if err := d.Store.SaveClaim(state.Claim{
		ClusterUID: cluster, Claim: j.Claim, Epoch: j.epoch, Kind: j.kind, Eligible: j.eligible, Undo: j.Undo, Until: until,
		Drained: j.drained, Undoing: j.undoing, Restoring: j.restoring, Undone: j.undone, KeepWrites: j.keepWrites,
	}); err != nil {
		d.Logger.Warn("a restarted agent will not know of this order", "claim", j.Claim, "error", err)
	}
}

// forget removes the saved job. The caller holds mu.
func (d *Drainer) forget() {
	if err := d.Store.ClearClaim(); err != nil {
		d.Logger.Warn("state is not cleared", "error", err)
	}
}

// Resume takes up the job of an earlier agent of this pod. It must be called first,
// so that orders find the job at once.
func (d *Drainer) Resume() {
	r, mine, err := d.Store.LoadClaim()
	if err != nil {
		d.Logger.Warn("cannot read the order of an earlier agent", "error", err)
	}
	if !mine {
		return
	}
	j := &Job{
		Claim: r.Claim, kind: r.Kind, epoch: r.Epoch, eligible: r.Eligible, Undo: r.Undo, notAfter: d.Clock.Time(r.Until),
		drained: r.Drained, undoing: r.Undoing, restoring: r.Restoring, undone: r.Undone,
		keepWrites: r.KeepWrites, again: make(chan struct{}, 1),
		State: rollcallv1.Drain_DRAIN_DRAINING, Detail: recalled, since: time.Now(),
	}
	if j.undone {
		j.State, j.Detail = rollcallv1.Drain_DRAIN_REFUSED, undone
	}
	j.ctx, j.cancel = context.WithCancel(d.ctx)
	d.mu.Lock()
	d.job = j
	d.notify()
	d.mu.Unlock()
	d.Logger.Info("an earlier agent of this pod had an order in hand", "claim", j.Claim, "epoch", j.epoch)
	d.Background(func() { d.resume(j, r.ClusterUID) })
}

// resume continues a recalled job once the agent is configured and has heard its
// peers, unless another order has replaced it meanwhile.
func (d *Drainer) resume(j *Job, cluster string) {
	for !d.ready() {
		select {
		case <-j.ctx.Done():
			return
		case <-time.After(recallPause):
		}
	}
	d.mu.Lock()
	if d.job != j || j.ctx.Err() != nil {
		d.mu.Unlock()
		return
	}
	now, _ := d.Fence.Seen()
	if !d.peered() || now != cluster {
		d.Logger.Warn("the order of an earlier agent was for another database", "claim", j.Claim)
		d.end()
		d.mu.Unlock()
		return
	}
	d.Fence.Heard(j.epoch)
	undoing, undone := j.undoing, j.undone
	d.mu.Unlock()
	switch {
	case undone:
	case undoing:
		d.undoUntilDone(j)
	default:
		d.carryOut(j)
	}
}

// ready reports whether the agent knows its database and its peers.
func (d *Drainer) ready() bool {
	cluster, _ := d.Fence.Seen()
	_, err := d.Engine.Get()
	return cluster != "" && err == nil && d.PeersHeard()
}

// end ends the current job. The caller holds mu.
func (d *Drainer) end() {
	d.job.cancel()
	d.job = nil
	d.forget()
	d.notify()
}

// mustUndo reports whether the agent itself has to restore a job that did not
// succeed. The caller holds mu.
func (d *Drainer) mustUndo(j *Job) bool {
	return d.peered() && j.Claim != "" && !j.drained
}

func (d *Drainer) peered() bool {
	_, err := d.Engine.Peered()
	return err == nil
}

// awaitExpiry waits until the term of a refused job has expired. It returns false if
// that job was replaced.
func (d *Drainer) awaitExpiry(j *Job) bool {
	for {
		d.mu.Lock()
		changed, until := d.wake, j.notAfter
		there := d.job == j && j.ctx.Err() == nil && j.State == rollcallv1.Drain_DRAIN_REFUSED && d.mustUndo(j)
		if there && !until.IsZero() && !time.Now().Before(until) {
			d.startUndo(j)
			d.mu.Unlock()
			return true
		}
		d.mu.Unlock()
		if !there || until.IsZero() {
			return false // without an end only its coordinator can restore it
		}
		select {
		case <-j.ctx.Done():
			return false
		case <-changed:
		case <-time.After(time.Until(until)):
		}
	}
}

// startUndo notes that the agent restores the job. The caller holds mu, and calls
// undoUntilDone afterwards.
func (d *Drainer) startUndo(j *Job) {
	j.undoing = true
	if !j.Running() {
		j.State, j.since = rollcallv1.Drain_DRAIN_DRAINING, time.Now()
	}
	if !j.restoring {
		j.Detail = overdue
	}
	d.keep(j)
	d.notify()
	d.Logger.Info("drain is undone by the agent itself", "claim", j.Claim, "detail", j.Detail)
}

// undoUntilDone repeats Restore until it is done, or the job was replaced.
func (d *Drainer) undoUntilDone(j *Job) {
	pause := firstPause
	for {
		ctx, cancel := context.WithTimeout(d.ctx, callTimeout)
		progress, err := d.undo(ctx, j.Undo)
		cancel()
		d.mu.Lock()
		if d.ctx.Err() != nil || d.job != j {
			d.mu.Unlock()
			return
		}
		if err == nil && progress.State == engines.ProgressDone {
			d.endUndo(j)
			d.mu.Unlock()
			return
		}
		why := progress.Detail
		if err != nil {
			why = "failed and will be repeated: " + err.Error()
		}
		if detail := fmt.Sprintf("%s: %s", undoReason(j), why); detail != j.Detail {
			j.Detail = detail
			d.notify()
		}
		d.mu.Unlock()
		select {
		case <-d.ctx.Done():
			return
		case <-time.After(pause):
			pause = min(2*pause, lastPause)
		}
	}
}

func undoReason(j *Job) string {
	if j.restoring {
		return "restoring"
	}
	return overdue
}

// endUndo notes that the job is restored. If a coordinator had begun the restore,
// nobody waits for another request from it; else the order stays refused for whoever
// asks. The caller holds mu.
func (d *Drainer) endUndo(j *Job) {
	d.Logger.Info("drain is undone", "claim", j.Claim)
	if j.restoring {
		d.end()
		return
	}
	j.State, j.Detail, j.since = rollcallv1.Drain_DRAIN_REFUSED, undone, time.Now()
	j.undoing, j.undone = false, true
	d.keep(j)
	d.notify()
}
