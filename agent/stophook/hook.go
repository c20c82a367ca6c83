package stophook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/drain"
	"github.com/rollcall-dev/rollcall/agent/probe"
	"github.com/rollcall-dev/rollcall/agent/state"
	"github.com/rollcall-dev/rollcall/engines"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

const (
	// answerTimeout is how long a database may take to show that it is there. The
	// kubelet also runs the hook before it kills a hung container, and that must not
	// take longer than this.
	answerTimeout = 2 * time.Second
	// recentLook is how old a probe that found the database live may be to prove
	// that it answers. A database hangs for longer before the kubelet kills it.
	recentLook = 5 * time.Second
	// notMemberFor is how long a database may say that it is no member before the
	// hook gives up: an election takes less. When all pods stop at once, nobody is
	// left to take anything over.
	notMemberFor = 10 * time.Second
	// othersLeavingFor is how long the hook continues while all other pods are being
	// stopped too: one that only restarts is usually back sooner.
	othersLeavingFor = 30 * time.Second
	// The margin of the grace period is for the database's own shutdown.
	leastMargin = 5 * time.Second
	mostMargin  = 30 * time.Second
	// stillHere is how long after the end of its grace period a database that never
	// went away counts as not stopped after all.
	stillHere = 30 * time.Second
	// stillHereNothingDone is the same after a hook that handed nothing over for a
	// caller from elsewhere: a database that is being stopped is usually gone by
	// then.
	stillHereNothingDone = 15 * time.Second
)

// Options are the options of a Hook. All are required but Peers.
type Options struct {
	Drainer *drain.Drainer
	Engine  *probe.Slot
	Board   *probe.Board
	Store   state.Store
	Clock   state.Clock
	Grace   time.Duration
	Drain   func() config.Drain
	// Peers returns the other members. Nil means they are unknown.
	Peers   func() []engines.Peer
	Metrics *Metrics
	Logger  *slog.Logger
}

// Hook is the stop hook, and what follows if the pod was not stopped.
//
// Invariants: the hook does nothing if the pod is drained under a claim whose order has not
// expired. It ends within the grace period less a margin; within answerTimeout if the database does
// not answer; and, if its data stays, within notMemberFor once it is no member any more and within
// othersLeavingFor if all others leave too. The agent undoes only what the hook did, and only after
// the database is live again in this same pod. While the database was never away, the hook hands
// over once per cool-down for callers from elsewhere, and once for callers from where the kubelet
// is known to call. If nothing is handed over for callers from elsewhere, their calls announce the
// pod as stopping for only part of the time.
type Hook struct {
	Options

	ctx  context.Context // of all background work
	wake chan struct{}

	mu       sync.Mutex
	run      *stopRun // the newest; its done is closed when it has ended
	record   state.Stop
	ended    time.Time // of the newest run
	stopping bool      // a hook ran and the database is not known to be back
	departed bool      // it was not live since
	back     bool      // it is back and the record is to be undone
	undoing  int       // how many of the record's undo bytes are being undone; the others are new
	swept    bool

	calls      stopCalls
	callsEnded time.Time // of the newest run in this process
	// Of runs for callers from elsewhere that handed nothing over: when the newest
	// ended, and the newest that was announced.
	refused, nothingDone time.Time
}

// stopRun is one run of the hook; callers that come meanwhile share it.
type stopRun struct {
	done chan struct{}
	from string
	// Set when it has ended.
	result, line string
	begun        bool // something is handed over for it

	called        time.Time
	kubeletJoined chan struct{} // closed when the kubelet joins a run of another caller
	kubelet       bool          // a caller from where the kubelet is known to call
	quiet         bool          // not announced, unless something is handed over
	working       bool          // it has begun to work
}

// New takes up what earlier agents of this pod did. ctx is of all background work.
func New(ctx context.Context, o Options) *Hook {
	h := &Hook{Options: o, ctx: ctx, wake: make(chan struct{}, 1)}
	r, mine, err := h.Store.LoadStop()
	if err != nil {
		h.Logger.Warn("cannot read what an earlier stop hook did", "error", err)
	}
	if mine {
		h.record, h.stopping = r, true
		h.ended = endOfHook(r, time.Now())
		h.Board.SetPhase(rollcallv1.Phase_PHASE_STOPPING)
		h.Logger.Info("an earlier agent of this pod ran the stop hook", "started", r.Started)
	}
	h.swept = !h.Store.FirstOfPod()
	h.recallCalls()
	return h
}

// endOfHook is when the hook of an earlier agent has ended at the latest. The clock
// may have been set since that agent wrote down the start: the end is not before
// now, so that the database does not count as back too early, and at most the grace
// period away.
func endOfHook(r state.Stop, now time.Time) time.Time {
	end := r.Started.Add(r.Grace)
	switch {
	case end.Before(now):
		return now
	case end.After(now.Add(r.Grace)):
		return now.Add(r.Grace)
	}
	return end
}

// budget is how long the hook may work.
func (h *Hook) budget() time.Duration {
	margin := min(max(h.Grace/4, leastMargin), mostMargin)
	budget := max(h.Grace-margin, h.Grace/2)
	if limit := h.Drain().TimeoutSeconds; limit > 0 {
		budget = min(budget, time.Duration(limit)*time.Second)
	}
	return budget
}

// Stop runs the hook as for a call from the node, or joins the current run, and says
// what happened. ctx ends the waiting; the work belongs to the agent.
func (h *Hook) Stop(ctx context.Context) string { return h.Call(ctx, FromNode).Line }

// Results of the stop hook, as the metric names them.
const (
	stopPrepared = "drained" // under a claim: nothing to do
	stopDone     = "done"
	stopSilent   = "unreachable" // the database does not answer
	stopRefused  = "refused"
	stopTimeout  = "timeout"
	stopFailed   = "failed"
)

func (h *Hook) perform(ctx context.Context, run *stopRun) (result, line string) {
	start := time.Now()
	deadline := run.called.Add(h.budget())
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()

	if j, _ := h.Drainer.Status(); j.Claim != "" {
		if j.Running() {
			j = h.await(ctx)
		}
		if j.State == rollcallv1.Drain_DRAIN_DRAINED && j.Claim != "" && !j.Expired(time.Now()) {
			return stopPrepared, "drained under claim " + j.Claim
		}
	}
	if problem := h.silent(ctx); problem != "" {
		return stopSilent, "nothing done: " + problem
	}

	led := h.leads()
	kinds := []engines.Kind{engines.Handoff}
	if h.Drain().Evacuate {
		kinds = append(kinds, engines.Evacuate)
	}
	result = stopDone
	for _, kind := range kinds {
		var detail string
		if result, detail = h.one(ctx, run, kind, deadline); result != stopDone {
			line = fmt.Sprintf("%s: %s after %.1f s: %s", kind, result, time.Since(start).Seconds(), detail)
		}
	}
	if result == stopDone {
		line = fmt.Sprintf("%s done in %.1f s", kinds[len(kinds)-1], time.Since(start).Seconds())
		if led {
			h.letServicesFollow(ctx)
		}
	}
	return result, line
}

// one does one drain without a claim.
func (h *Hook) one(ctx context.Context, run *stopRun, kind engines.Kind, deadline time.Time) (result, detail string) {
	o := drain.Order{Kind: kind, NotAfter: deadline}
	will, refused, err := h.Drainer.Plan(ctx, o)
	switch {
	case err != nil:
		return stopFailed, err.Error()
	case refused != "":
		return stopRefused, refused
	}
	o.Undo = will.Undo
	if err := h.remember(will.Undo); err != nil {
		h.Logger.Warn("a restarted agent will not know what the stop hook does", "error", err)
	}
	takeBack := h.begin(run)
	if refused, err = h.Drainer.Drain(o); err != nil {
		takeBack()
		return stopFailed, err.Error()
	} else if refused != "" {
		takeBack()
		return stopRefused, refused
	}
	if !h.Drain().Evacuate { // with Evacuate rather lose time than data
		var stop func()
		ctx, stop = h.whileOthersStay(ctx)
		defer stop()
	}
	j := h.await(ctx)
	switch {
	case j.Running() && (errors.Is(context.Cause(ctx), errNotMember) || errors.Is(context.Cause(ctx), errLastMember)):
		takeBack() // nobody has taken anything over
		return stopSilent, context.Cause(ctx).Error()
	case j.State == rollcallv1.Drain_DRAIN_DRAINED:
		return stopDone, j.Detail
	case j.State == rollcallv1.Drain_DRAIN_REFUSED:
		takeBack()
		return stopRefused, j.Detail
	default:
		return stopTimeout, j.Detail
	}
}

// await returns the current job once it is not running any more, or as it is when
// ctx ends.
func (h *Hook) await(ctx context.Context) drain.Job {
	for {
		j, changed := h.Drainer.Status()
		if !j.Running() {
			return j
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return j
		}
	}
}

// OnResult gets every probe of the database and does not block.
func (h *Hook) OnResult(look probe.Result) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !look.Live() {
		h.departed = h.departed || h.stopping
		h.away(look)
		return
	}
	if h.stopping && h.backAgain(look) {
		h.stopping, h.back = false, true
		h.Board.SetPhase(rollcallv1.Phase_PHASE_WATCHING)
		h.Logger.Info("the database is back in the same pod")
	}
	if h.back || !h.swept {
		select {
		case h.wake <- struct{}{}:
		default:
		}
	}
}

// backAgain reports whether a live probe shows that this pod was not stopped after
// all. The caller holds mu.
func (h *Hook) backAgain(look probe.Result) bool {
	if h.run != nil && !h.run.quiet && !isClosed(h.run.done) || !look.Started.After(h.ended) {
		return false
	}
	stays := h.Grace + stillHere
	if !h.nothingDone.IsZero() {
		stays = stillHereNothingDone
	}
	return h.departed || time.Since(h.ended) > stays
}

// Idle reports whether the hook neither runs nor has anything left to undo.
func (h *Hook) Idle() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.stopping && !h.back
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
