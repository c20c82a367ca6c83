package drain

import (
	"context"
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/agent/state"
	"github.com/rollcall-dev/rollcall/engines"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Claims of a Peered engine are not left half done: members that wait for each
// other refuse writes meanwhile, and there may be no coordinator to ask again. So
// the job is kept beside the process and gone on with by the next one; once its
// time is over before it was prepared, or a Restore was begun, the agent restores
// by itself, again and again until the adapter says that the members are at rest.

const (
	recallPause = 200 * time.Millisecond
	recalled    = "the agent has restarted; it hears its peers first"
	// overdue is the reason of a job that ran out of its time.
	overdue = "the time for this order is over; it is undone"
	undone  = "the time for this order was over before it was done; it is undone"
)

// keep writes the job down as it is now, if its engine wants that. Callers hold
// the lock.
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
		d.Logger.Warn("a restarted agent will take the time of this order for over", "error", err)
	}
	if err := d.Store.SaveClaim(state.Claim{
		ClusterUID: cluster, Claim: j.Claim, Epoch: j.epoch, Kind: j.kind, Eligible: j.eligible, Undo: j.Undo, Until: until,
		Drained: j.drained, Undoing: j.undoing, Restoring: j.restoring, Undone: j.undone,
	}); err != nil {
		d.Logger.Warn("a restarted agent will not know of this order", "claim", j.Claim, "error", err)
	}
}

// forget is called when there is nothing to go on with. Callers hold the lock.
func (d *Drainer) forget() {
	if err := d.Store.ClearClaim(); err != nil {
		d.Logger.Warn("state is not cleared", "error", err)
	}
}

// recall takes up the job of an earlier agent of this pod. It is called before
// anything else, and orders find the job in hand at once.
func (d *Drainer) Recall() {
	r, mine, err := d.Store.LoadClaim()
	if err != nil {
		d.Logger.Warn("what an earlier agent was ordered is not known", "error", err)
	}
	if !mine {
		return
	}
	j := &Job{
		Claim: r.Claim, kind: r.Kind, epoch: r.Epoch, eligible: r.Eligible, Undo: r.Undo, notAfter: d.Clock.Time(r.Until),
		drained: r.Drained, undoing: r.Undoing, restoring: r.Restoring, undone: r.Undone,
		State: rollcallv1.Drain_DRAIN_PREPARING, Detail: recalled, since: time.Now(),
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

// resume goes on with a recalled job once the agent is configured and has heard
// its peers, unless an order has taken its place meanwhile.
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
	resting, rested := j.undoing, j.undone
	d.mu.Unlock()
	switch {
	case rested:
	case resting:
		d.undoUntilDone(j)
	default:
		d.carryOut(j)
	}
}

// ready tells whether the agent knows its database and its peers.
func (d *Drainer) ready() bool {
	cluster, _ := d.Fence.Seen()
	_, err := d.Engine.Get()
	return cluster != "" && err == nil && d.PeersHeard()
}

// end is of the job in hand. Callers hold the lock.
func (d *Drainer) end() {
	d.job.cancel()
	d.job = nil
	d.forget()
	d.notify()
}

// mustRest tells whether the agent itself has to restore a job that comes to
// nothing. Callers hold the lock.
func (d *Drainer) mustUndo(j *Job) bool {
	return d.peered() && j.Claim != "" && !j.drained
}

func (d *Drainer) peered() bool {
	_, err := d.Engine.Peered()
	return err == nil
}

// expire waits until the time of a refused job is over. It answers false when
// that job is not in hand any more.
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
			return false // without an end it waits for its coordinator
		}
		select {
		case <-j.ctx.Done():
			return false
		case <-changed:
		case <-time.After(time.Until(until)):
		}
	}
}

// startRest notes that the job is being restored from now on. Callers hold the
// lock, and call rest afterwards.
func (d *Drainer) startUndo(j *Job) {
	j.undoing = true
	if !j.Running() {
		j.State, j.since = rollcallv1.Drain_DRAIN_PREPARING, time.Now()
	}
	if !j.restoring {
		j.Detail = overdue
	}
	d.keep(j)
	d.notify()
	d.Logger.Info("drain is undone by the agent itself", "claim", j.Claim, "detail", j.Detail)
}

// rest repeats Restore until the members are at rest, or the job is not in hand
// any more.
func (d *Drainer) undoUntilDone(j *Job) {
	pause := firstPause
	for {
		ctx, cancel := context.WithTimeout(d.ctx, applyTimeout)
		progress, err := d.undo(ctx, j.Undo)
		cancel()
		d.mu.Lock()
		if d.ctx.Err() != nil || d.job != j {
			d.mu.Unlock()
			return
		}
		if err == nil && progress.State == engines.Done {
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

// atRest is the end of rest. The coordinator whose Restore it was is not waited
// for; one that knows nothing of it finds the order refused. Callers hold the lock.
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
