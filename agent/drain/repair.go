package drain

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rollcall-dev/rollcall/agent/counters"
	"github.com/rollcall-dev/rollcall/agent/probe"
	"github.com/rollcall-dev/rollcall/engines"
)

const (
	// repairInterval is the shortest time between two rounds.
	repairInterval = time.Second
	// repairTimeout bounds one round.
	repairTimeout = 30 * time.Second
)

// Results of a round, as the metric names them.
const (
	repairDone        = "done" // nothing is left to do
	repairRunning     = "running"
	repairRefused     = "refused"
	repairFailed      = "failed"
	repairInterrupted = "interrupted" // for an order or a step
)

// RepairOptions are the options of a RepairLoop. All are required.
type RepairOptions struct {
	Drainer *Drainer
	// Allowed reports whether repair is allowed, apart from what the drainer knows.
	Allowed  func() bool
	OnChange func(text string)
	Rounds   *prometheus.CounterVec // by result, from NewRepairMetrics
	Logger   *slog.Logger
}

// NewRepairMetrics counts the rounds.
func NewRepairMetrics(registerer prometheus.Registerer) *prometheus.CounterVec {
	return counters.New(registerer, prometheus.CounterOpts{
		Name: "rollcall_agent_repair_rounds_total",
		Help: "Rounds of the repair loop, which does what members owe each other without an order, by how they ended.",
	}, []string{"result"}, []string{repairDone, repairRunning, repairRefused, repairFailed, repairInterrupted})
}

// RepairLoop lets the adapter do what members must do for each other without an order, such as
// allowing writes on a primary or following one.
//
// Invariants: no repair while a claim is open or a stop hook is at work on this pod, in mode
// Observe, or before the peers were heard; one writer, and every other one goes first; at most one
// round per repairInterval.
type RepairLoop struct {
	RepairOptions

	wake chan struct{}
	last time.Time
	text string
}

func NewRepairLoop(o RepairOptions) *RepairLoop {
	return &RepairLoop{RepairOptions: o, wake: make(chan struct{}, 1)}
}

// OnResult gets every probe of the database and does not block.
func (l *RepairLoop) OnResult(look probe.Result) {
	if look.Err != nil {
		return
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Run makes a round after each successful probe, until ctx ends.
func (l *RepairLoop) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		}
		if wait := repairInterval - time.Since(l.last); wait > 0 && !l.last.IsZero() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
		}
		l.round(ctx)
	}
}

func (l *RepairLoop) round(ctx context.Context) {
	if !l.Allowed() {
		l.report("")
		return
	}
	started := time.Now()
	progress, result, err := l.Drainer.repair(ctx)
	if result == "" {
		l.report("")
		return
	}
	l.last = started
	l.Rounds.WithLabelValues(result).Inc()
	switch result {
	case repairDone:
		l.report("")
	case repairRunning:
		l.report(engines.OneLine(progress.Detail))
	case repairRefused:
		l.report("refused: " + engines.OneLine(progress.Detail))
	case repairFailed:
		l.report("failed: " + engines.OneLine(err.Error()))
	}
}

// report passes a change on to the report and the log.
func (l *RepairLoop) report(text string) {
	if text == l.text {
		return
	}
	l.Logger.Info("repairs by this member changed", "before", l.text, "now", text)
	l.text = text
	l.OnChange(text)
}

// repair makes one round, or none: then result is empty. It waits for nobody, and
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
	progress, err = engine.Repair(ctx)
	switch {
	case err != nil && errors.Is(context.Cause(ctx), context.Canceled):
		return progress, repairInterrupted, err
	case err != nil:
		return progress, repairFailed, err
	case progress.State == engines.ProgressDone:
		return progress, repairDone, nil
	case progress.State == engines.ProgressRefused:
		return progress, repairRefused, nil
	}
	return progress, repairRunning, nil
}

// startRepair takes busy if it is free and there is no job. It holds mu, so that
// whoever finds busy taken also finds how to interrupt.
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
