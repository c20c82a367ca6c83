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
	// kubelet runs the hook before it kills a hung container too, and that must
	// not take longer than this.
	answerTimeout = 2 * time.Second
	// recentLook is how old a look that found the database live may be to be proof
	// enough. A database hangs for longer than that before the kubelet kills it.
	recentLook = 5 * time.Second
	// aloneFor is how long a database may say that it is no member before its hook
	// gives up on it: an election takes less. When all pods stop at once, nobody is
	// left to hand anything over to.
	aloneFor = 10 * time.Second
	// lonelyFor is how long a hook goes on while all other pods are being stopped
	// too: one that is only restarted is back in less, mostly.
	lonelyFor = 30 * time.Second
	// The margin of the grace period is left to the database for its own shutdown.
	leastMargin = 5 * time.Second
	mostMargin  = 30 * time.Second
	// stillHere is how long after the end of its grace period a database that
	// never went away is taken for one that was not stopped after all.
	stillHere = 30 * time.Second
	// stillHereVain is the same after a hook that handed nothing over and was called from
	// where the kubelet is not known to call from: a database that is being stopped has gone by then, mostly.
	stillHereVain = 15 * time.Second
)

// stopOptions are what the stop hook works on. All are required but others.
type Options struct {
	Drainer *drain.Drainer
	Engine  *probe.Slot
	Board   *probe.Board
	Store   state.Store
	Clock   state.Clock
	Grace   time.Duration
	Drain   func() config.Drain
	// others are the other members. Nil: nothing is known of them.
	Peers   func() []engines.Peer
	Metrics *Metrics
	Logger  *slog.Logger
}

// stopper is the stop hook, and what follows when the pod was not stopped.
//
// Invariants: the hook does nothing when the pod was prepared under a claim whose order
// is still good; it ends within the grace period less a margin, within answerTimeout when the
// database does not answer, and, when its data stays, within aloneFor when it is
// no member any more and within lonelyFor when all others leave too; only what it did itself is undone, and only after the database
// is live again in this same pod; while the database was never away, it hands over once in each
// cool-down for callers from elsewhere, and once for those from where the kubelet is known to call;
// callers from elsewhere for whom nothing is handed over have the pod said to stop for a part of the time only.
type Hook struct {
	Options

	ctx  context.Context // of everything that is done in the background
	kick chan struct{}

	mu       sync.Mutex
	run      *stopRun // the newest; its done is closed when it has ended
	record   state.Stop
	ended    time.Time // of the newest run
	stopping bool      // a hook ran and the database is not known to be back
	departed bool      // it was seen not live since
	back     bool      // it is back and the record is to be undone
	undoing  int       // so many of the record are being undone, and what is added is another
	swept    bool

	calls      stopCalls
	callsEnded time.Time // of the newest run in this process
	// Of runs for callers from elsewhere that handed nothing over: when the newest ended, and the newest of which others were told.
	refused, vain time.Time
}

// stopRun is one run of the hook; callers that come meanwhile share it.
type stopRun struct {
	done chan struct{}
	from string
	// Of what has ended.
	result, line string
	begun        bool // something is handed over for it

	called  time.Time
	hurry   chan struct{} // closed when one from where the kubelet is known to call has joined
	kubelet bool          // such a one has called
	quiet   bool          // nobody is told that the pod stops, unless something is handed over
	working bool          // it waits for nothing any more
}

// newStopper takes up what earlier agents of this pod did. ctx is of everything
// that is done in the background.
func New(ctx context.Context, o Options) *Hook {
	s := &Hook{Options: o, ctx: ctx, kick: make(chan struct{}, 1)}
	r, mine, err := s.Store.LoadStop()
	if err != nil {
		s.Logger.Warn("what an earlier stop hook did is not known", "error", err)
	}
	if mine {
		s.record, s.stopping = r, true
		s.ended = endOfHook(r, time.Now())
		s.Board.SetPhase(rollcallv1.Phase_PHASE_STOPPING)
		s.Logger.Info("an earlier agent of this pod ran the stop hook", "started", r.Started)
	}
	s.swept = !s.Store.FirstOfPod()
	s.recallCalls()
	return s
}

// endOfHook is when the hook of an earlier agent has ended at the latest. The clock may
// have been set since it wrote down when it began: no end lies before now, so nobody is
// taken for back too early, or further away than the hook's whole time.
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
func (s *Hook) budget() time.Duration {
	margin := min(max(s.Grace/4, leastMargin), mostMargin)
	budget := max(s.Grace-margin, s.Grace/2)
	if limit := s.Drain().TimeoutSeconds; limit > 0 {
		budget = min(budget, time.Duration(limit)*time.Second)
	}
	return budget
}

// hook runs the stop hook, or waits for the one that runs, and answers what
// happened in words. ctx ends the waiting; the work belongs to the agent.
func (s *Hook) Stop(ctx context.Context) string { return s.Call(ctx, FromNode).Line }

// Results of the stop hook, as the metric names them.
const (
	stopPrepared = "prepared" // under a claim, nothing to do
	stopDone     = "done"
	stopSilent   = "silent" // the database does not answer
	stopRefused  = "refused"
	stopTimeout  = "timeout"
	stopFailed   = "failed"
)

func (s *Hook) perform(ctx context.Context, run *stopRun) (result, line string) {
	start := time.Now()
	deadline := run.called.Add(s.budget())
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()

	if j, _ := s.Drainer.Status(); j.Claim != "" {
		if j.Running() {
			j = s.await(ctx)
		}
		if j.State == rollcallv1.Drain_DRAIN_PREPARED && j.Claim != "" && !j.Expired(time.Now()) {
			return stopPrepared, "prepared under claim " + j.Claim
		}
	}
	if problem := s.silent(ctx); problem != "" {
		return stopSilent, "nothing done: " + problem
	}

	kinds := []engines.Kind{engines.Handoff}
	if s.Drain().Evacuate {
		kinds = append(kinds, engines.Evacuate)
	}
	result = stopDone
	for _, kind := range kinds {
		var detail string
		if result, detail = s.one(ctx, run, kind, deadline); result != stopDone {
			line = fmt.Sprintf("%s: %s after %.1f s: %s", kind, result, time.Since(start).Seconds(), detail)
		}
	}
	if result == stopDone {
		line = fmt.Sprintf("%s done in %.1f s", kinds[len(kinds)-1], time.Since(start).Seconds())
	}
	return result, line
}

// one does one drain without a claim.
func (s *Hook) one(ctx context.Context, run *stopRun, kind engines.Kind, deadline time.Time) (result, detail string) {
	o := drain.Order{Kind: kind, NotAfter: deadline}
	will, refused, err := s.Drainer.Plan(ctx, o)
	switch {
	case err != nil:
		return stopFailed, err.Error()
	case refused != "":
		return stopRefused, refused
	}
	o.Undo = will.Undo
	if err := s.remember(will.Undo); err != nil {
		s.Logger.Warn("a restarted agent will not know what the stop hook does", "error", err)
	}
	takeBack := s.begin(run)
	if refused, err = s.Drainer.Drain(o); err != nil {
		takeBack()
		return stopFailed, err.Error()
	} else if refused != "" {
		takeBack()
		return stopRefused, refused
	}
	if !s.Drain().Evacuate { // else time is better lost than data
		var stop func()
		ctx, stop = s.whileOthers(ctx)
		defer stop()
	}
	j := s.await(ctx)
	switch {
	case j.Running() && (errors.Is(context.Cause(ctx), errAlone) || errors.Is(context.Cause(ctx), errLastOne)):
		takeBack() // nobody has taken anything over
		return stopSilent, context.Cause(ctx).Error()
	case j.State == rollcallv1.Drain_DRAIN_PREPARED:
		return stopDone, j.Detail
	case j.State == rollcallv1.Drain_DRAIN_REFUSED:
		takeBack()
		return stopRefused, j.Detail
	default:
		return stopTimeout, j.Detail
	}
}

// await answers the job in hand once it is not running any more, or as it is when
// ctx ends.
func (s *Hook) await(ctx context.Context) drain.Job {
	for {
		j, changed := s.Drainer.Status()
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

// sighted is told of every look at the database and does not block.
func (s *Hook) OnResult(look probe.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !look.Live() {
		s.departed = s.departed || s.stopping
		s.away(look)
		return
	}
	if s.stopping && s.backAgain(look) {
		s.stopping, s.back = false, true
		s.Board.SetPhase(rollcallv1.Phase_PHASE_WATCHING)
		s.Logger.Info("the database is back in the same pod")
	}
	if s.back || !s.swept {
		select {
		case s.kick <- struct{}{}:
		default:
		}
	}
}

// over tells whether a live look shows that this pod was not stopped after all.
// Callers hold the lock.
func (s *Hook) backAgain(look probe.Result) bool {
	if s.run != nil && !s.run.quiet && !isClosed(s.run.done) || !look.Started.After(s.ended) {
		return false
	}
	stays := s.Grace + stillHere
	if !s.vain.IsZero() {
		stays = stillHereVain
	}
	return s.departed || time.Since(s.ended) > stays
}

// idle tells whether no hook ran whose end is still to come.
func (s *Hook) Idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.stopping && !s.back
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
