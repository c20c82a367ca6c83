package drain

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rollcall-dev/rollcall/agent/probe"
	"github.com/rollcall-dev/rollcall/engines"
)

const (
	// tendEvery is the least time between two rounds.
	repairInterval = time.Second
	// tendTimeout bounds one.
	repairTimeout = 30 * time.Second
)

// Results of a round of tending, as the metric names them.
const (
	repairDone        = "done" // nothing is owed
	repairRunning     = "running"
	repairRefused     = "refused"
	repairFailed      = "failed"
	repairInterrupted = "interrupted" // an order or a step had to be taken
)

// tenderOptions are what a tender works with. All are required.
type RepairOptions struct {
	Drainer *Drainer
	// may answers whether it is allowed, but for what the drainer knows.
	Allowed  func() bool
	OnChange func(text string)
	Rounds   *prometheus.CounterVec // by result, of newTendMetrics
	Logger   *slog.Logger
}

// newTendMetrics counts the rounds.
func NewRepairMetrics(registerer prometheus.Registerer) *prometheus.CounterVec {
	rounds := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rollcall_agent_repair_rounds_total",
		Help: "Rounds of the repair loop, which does what members owe each other without an order, by how they ended.",
	}, []string{"result"})
	for _, r := range []string{repairDone, repairRunning, repairRefused, repairFailed, repairInterrupted} {
		rounds.WithLabelValues(r)
	}
	registerer.MustRegister(rounds)
	return rounds
}

// tender has the adapter do what members owe each other while no order is in hand.
//
// Invariants: nothing is tended while a claim is open or a stop hook at work on
// this pod, in mode Observe, or before peers were heard; one writer, and everybody
// else goes first; once in tendEvery at most.
type RepairLoop struct {
	RepairOptions

	wake chan struct{}
	last time.Time
	text string
}

func NewRepairLoop(o RepairOptions) *RepairLoop {
	return &RepairLoop{RepairOptions: o, wake: make(chan struct{}, 1)}
}

// sighted is told of every look at the database and does not block.
func (t *RepairLoop) OnResult(look probe.Result) {
	if look.Err != nil {
		return
	}
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// run tends after looks, until ctx ends.
func (t *RepairLoop) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.wake:
		}
		if wait := repairInterval - time.Since(t.last); wait > 0 && !t.last.IsZero() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
		}
		t.round(ctx)
	}
}

func (t *RepairLoop) round(ctx context.Context) {
	if !t.Allowed() {
		t.report("")
		return
	}
	started := time.Now()
	progress, result, err := t.Drainer.repair(ctx)
	if result == "" {
		t.report("")
		return
	}
	t.last = started
	t.Rounds.WithLabelValues(result).Inc()
	switch result {
	case repairDone:
		t.report("")
	case repairRunning:
		t.report(engines.OneLine(progress.Detail))
	case repairRefused:
		t.report("refused: " + engines.OneLine(progress.Detail))
	case repairFailed:
		t.report("failed: " + engines.OneLine(err.Error()))
	}
}

// say tells a change to who reads the report or the log.
func (t *RepairLoop) report(text string) {
	if text == t.text {
		return
	}
	t.Logger.Info("what this member owes the others", "before", t.text, "now", text)
	t.text = text
	t.OnChange(text)
}

// tend makes one round, or none: then result is empty. It waits for nobody, and
// ends as soon as somebody waits for it.
func (d *Drainer) repair(ctx context.Context) (progress engines.Progress, result string, err error) {
	engine, err := d.Engine.Peered()
	if err != nil {
		return progress, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, repairTimeout)
	defer cancel()
	if !d.startRepair(cancel) {
		return progress, "", nil
	}
	defer d.endRepair()
	progress, err = engine.Tend(ctx)
	switch {
	case err != nil && context.Cause(ctx) == context.Canceled:
		return progress, repairInterrupted, err
	case err != nil:
		return progress, repairFailed, err
	case progress.State == engines.Done:
		return progress, repairDone, nil
	case progress.State == engines.Refused:
		return progress, repairRefused, nil
	}
	return progress, repairRunning, nil
}

// startTending takes busy when it is free and no job is in hand. Under the lock,
// so that whoever finds it taken finds whom to interrupt.
func (d *Drainer) startRepair(interrupt func()) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped || d.job != nil && !d.job.undone {
		return false
	}
	select {
	case d.busy <- struct{}{}:
		d.interrupt = interrupt
		return true
	default:
		return false
	}
}

func (d *Drainer) endRepair() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.interrupt = nil
	d.release()
}
