package agent

import (
	"context"
	"log/slog"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

const (
	// tendEvery is the least time between two rounds.
	tendEvery = time.Second
	// tendTimeout bounds one.
	tendTimeout = 30 * time.Second
)

// Results of a round of tending, as the metric names them.
const (
	tendDone        = "done" // nothing is owed
	tendRunning     = "running"
	tendRefused     = "refused"
	tendFailed      = "failed"
	tendInterrupted = "interrupted" // an order or a step had to be taken
)

// tender has the adapter do what members owe each other while no order is in hand.
//
// Invariants: nothing is tended while a claim is open or a stop hook at work on
// this pod, in mode Observe, or before peers were heard; one writer, and everybody
// else goes first; once in tendEvery at most.
type tender struct {
	drainer *drainer
	// may answers whether it is allowed, but for what the drainer knows.
	may     func() bool
	tell    func(text string)
	metrics *metrics
	logger  *slog.Logger

	kick chan struct{}
	last time.Time
	text string
}

func newTender(d *drainer, may func() bool, tell func(string), m *metrics, logger *slog.Logger) *tender {
	return &tender{drainer: d, may: may, tell: tell, metrics: m, logger: logger, kick: make(chan struct{}, 1)}
}

// sighted is told of every look at the database and does not block.
func (t *tender) sighted(look sighting) {
	if look.err != nil {
		return
	}
	select {
	case t.kick <- struct{}{}:
	default:
	}
}

// run tends after looks, until ctx ends.
func (t *tender) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.kick:
		}
		if wait := tendEvery - time.Since(t.last); wait > 0 && !t.last.IsZero() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
		}
		t.round(ctx)
	}
}

func (t *tender) round(ctx context.Context) {
	if !t.may() {
		t.say("")
		return
	}
	started := time.Now()
	progress, result, err := t.drainer.tend(ctx)
	if result == "" {
		t.say("")
		return
	}
	t.last = started
	t.metrics.tends.WithLabelValues(result).Inc()
	switch result {
	case tendDone:
		t.say("")
	case tendRunning:
		t.say(engines.OneLine(progress.Detail))
	case tendRefused:
		t.say("refused: " + engines.OneLine(progress.Detail))
	case tendFailed:
		t.say("failed: " + engines.OneLine(err.Error()))
	}
}

// say tells a change to who reads the report or the log.
func (t *tender) say(text string) {
	if text == t.text {
		return
	}
	t.logger.Info("what this member owes the others", "before", t.text, "now", text)
	t.text = text
	t.tell(text)
}

// tend makes one round, or none: then result is empty. It waits for nobody, and
// ends as soon as somebody waits for it.
func (d *drainer) tend(ctx context.Context) (progress engines.Progress, result string, err error) {
	engine, err := peeredOf(d.engine)
	if err != nil {
		return progress, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, tendTimeout)
	defer cancel()
	if !d.startTending(cancel) {
		return progress, "", nil
	}
	defer d.endTending()
	progress, err = engine.Tend(ctx)
	switch {
	case err != nil && context.Cause(ctx) == context.Canceled:
		return progress, tendInterrupted, err
	case err != nil:
		return progress, tendFailed, err
	case progress.State == engines.Done:
		return progress, tendDone, nil
	case progress.State == engines.Refused:
		return progress, tendRefused, nil
	}
	return progress, tendRunning, nil
}

// startTending takes busy when it is free and no job is in hand. Under the lock,
// so that whoever finds it taken finds whom to interrupt.
func (d *drainer) startTending(interrupt func()) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped || d.job != nil && !d.job.rested {
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

func (d *drainer) endTending() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.interrupt = nil
	d.release()
}
