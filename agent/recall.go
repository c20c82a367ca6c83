package agent

import (
	"context"
	"fmt"
	"time"

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
func (d *drainer) keep(j *job) {
	if j.claim == "" {
		d.forget()
		return
	}
	if !d.peered() {
		return
	}
	cluster, _ := d.fence.seen()
	if err := d.store.saveClaim(claimRecord{
		ClusterUID: cluster, Claim: j.claim, Epoch: j.epoch, Kind: j.kind, Eligible: j.eligible, Undo: j.undo, Until: d.atBoot(j.notAfter),
		Reached: j.reached, Resting: j.resting, Restored: j.restored, Rested: j.rested,
	}); err != nil {
		d.logger.Warn("a restarted agent will not know of this order", "claim", j.claim, "error", err)
	}
}

// forget is called when there is nothing to go on with. Callers hold the lock.
func (d *drainer) forget() {
	if err := d.store.clearClaim(); err != nil {
		d.logger.Warn("state is not cleared", "error", err)
	}
}

// recall takes up the job of an earlier agent of this pod. It is called before
// anything else, and orders find the job in hand at once.
func (d *drainer) recall() {
	r, mine, err := d.store.loadClaim()
	if err != nil {
		d.logger.Warn("what an earlier agent was ordered is not known", "error", err)
	}
	if !mine {
		return
	}
	j := &job{
		claim: r.Claim, kind: r.Kind, epoch: r.Epoch, eligible: r.Eligible, undo: r.Undo, notAfter: d.sinceBoot(r.Until),
		reached: r.Reached, resting: r.Resting, restored: r.Restored, rested: r.Rested,
		state: rollcallv1.Drain_DRAIN_PREPARING, detail: recalled, since: time.Now(),
	}
	if j.rested {
		j.state, j.detail = rollcallv1.Drain_DRAIN_REFUSED, undone
	}
	j.ctx, j.cancel = context.WithCancel(d.ctx)
	d.mu.Lock()
	d.job = j
	d.notify()
	d.mu.Unlock()
	d.logger.Info("an earlier agent of this pod had an order in hand", "claim", j.claim, "epoch", j.epoch)
	d.background(func() { d.resume(j, r.ClusterUID) })
}

// resume goes on with a recalled job once the agent is configured and has heard
// its peers, unless an order has taken its place meanwhile.
func (d *drainer) resume(j *job, cluster string) {
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
	now, _ := d.fence.seen()
	if !d.peered() || now != cluster {
		d.logger.Warn("the order of an earlier agent was for another database", "claim", j.claim)
		d.end()
		d.mu.Unlock()
		return
	}
	d.fence.heard(j.epoch)
	resting, rested := j.resting, j.rested
	d.mu.Unlock()
	switch {
	case rested:
	case resting:
		d.rest(j)
	default:
		d.carryOut(j)
	}
}

// ready tells whether the agent knows its database and its peers.
func (d *drainer) ready() bool {
	cluster, _ := d.fence.seen()
	_, err := d.engine.get()
	return cluster != "" && err == nil && d.heard()
}

// end is of the job in hand. Callers hold the lock.
func (d *drainer) end() {
	d.job.cancel()
	d.job = nil
	d.forget()
	d.notify()
}

// mustRest tells whether the agent itself has to restore a job that comes to
// nothing. Callers hold the lock.
func (d *drainer) mustRest(j *job) bool {
	return d.peered() && j.claim != "" && !j.reached
}

func (d *drainer) peered() bool {
	_, err := peeredOf(d.engine)
	return err == nil
}

// expire waits until the time of a refused job is over. It answers false when
// that job is not in hand any more.
func (d *drainer) expire(j *job) bool {
	for {
		d.mu.Lock()
		changed, until := d.wake, j.notAfter
		there := d.job == j && j.ctx.Err() == nil && j.state == rollcallv1.Drain_DRAIN_REFUSED && d.mustRest(j)
		if there && !until.IsZero() && !time.Now().Before(until) {
			d.startRest(j)
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
func (d *drainer) startRest(j *job) {
	j.resting = true
	if !j.running() {
		j.state, j.since = rollcallv1.Drain_DRAIN_PREPARING, time.Now()
	}
	if !j.restored {
		j.detail = overdue
	}
	d.keep(j)
	d.notify()
	d.logger.Info("drain is undone by the agent itself", "claim", j.claim, "detail", j.detail)
}

// rest repeats Restore until the members are at rest, or the job is not in hand
// any more.
func (d *drainer) rest(j *job) {
	pause := firstPause
	for {
		ctx, cancel := context.WithTimeout(d.ctx, applyTimeout)
		progress, err := d.undo(ctx, j.undo)
		cancel()
		d.mu.Lock()
		if d.ctx.Err() != nil || d.job != j {
			d.mu.Unlock()
			return
		}
		if err == nil && progress.State == engines.Done {
			d.atRest(j)
			d.mu.Unlock()
			return
		}
		why := progress.Detail
		if err != nil {
			why = "failed and will be repeated: " + err.Error()
		}
		if detail := fmt.Sprintf("%s: %s", restingFor(j), why); detail != j.detail {
			j.detail = detail
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

func restingFor(j *job) string {
	if j.restored {
		return "restoring"
	}
	return overdue
}

// atRest is the end of rest. The coordinator whose Restore it was is not waited
// for; one that knows nothing of it finds the order refused. Callers hold the lock.
func (d *drainer) atRest(j *job) {
	d.logger.Info("drain is undone", "claim", j.claim)
	if j.restored {
		d.end()
		return
	}
	j.state, j.detail, j.since = rollcallv1.Drain_DRAIN_REFUSED, undone, time.Now()
	j.resting, j.rested = false, true
	d.keep(j)
	d.notify()
}
