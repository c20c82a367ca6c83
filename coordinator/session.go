package coordinator

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/act"
	"github.com/rollcall-dev/rollcall/coordinator/rollout"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

const (
	// requestTimeout bounds a request of the session itself.
	requestTimeout = 10 * time.Second
	// beginAgain is the pause before a failed session is restarted.
	beginAgain = time.Second
	// longestWait is the longest time between two passes.
	longestWait = time.Minute
	// maxBreath bounds the pause after a pass, which is twice as long as the pass.
	maxBreath = 50 * time.Millisecond
)

// session leads one DatabaseCluster during one term. Only run's goroutine
// touches it, except for what poke, hint and the refresh of reports do.
type session struct {
	options Options
	fleet   *fleet
	turns   *turns
	key     Key
	term    Term
	log     *slog.Logger

	uid      string
	state    rollout.State
	executor *act.Executor

	requested // passes that were asked for: wait.go
	gathered  // what the next look is compared with: gather.go
	reports   // whose reports are followed: reports.go
	provided  // what the agents need: providing.go
	written   // what the DatabaseCluster says: write.go
}

func newSession(options Options, fleet *fleet, turns *turns, key Key, term Term) *session {
	return &session{
		options: options, fleet: fleet, turns: turns, key: key, term: term,
		log:       options.Logger.With("cluster", key.String()),
		requested: requested{events: make(chan struct{}, 1)},
	}
}

// errOver means that there is nothing to lead any more.
var errOver = errors.New("the DatabaseCluster is gone")

// errSuperseded: another coordinator leads.
var errSuperseded = errors.New("the epoch is another coordinator's")

// run leads until ctx ends or the DatabaseCluster is gone.
func (s *session) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := s.lead(ctx)
		if errors.Is(err, errOver) {
			return
		}
		if err != nil && ctx.Err() == nil {
			s.log.Warn("starting over", "error", err)
		}
		if !pause(ctx, beginAgain) {
			return
		}
	}
}

// passes makes a pass after each event and when a clock says so.
func (s *session) passes(ctx context.Context) error {
	for {
		began := time.Now()
		wake, err := s.pass(ctx, began)
		if err != nil {
			return err
		}
		// A cluster with many events must not take a whole processor.
		if !pause(ctx, min(2*time.Since(began), maxBreath)) {
			return ctx.Err()
		}
		if !s.wait(ctx, wake) {
			return ctx.Err()
		}
	}
}

// pass gathers, steps, executes and writes, once. It returns when to do so again if nothing happens
// before.
func (s *session) pass(ctx context.Context, now time.Time) (wake time.Time, err error) {
	// Gather what Kubernetes and the agents say.
	in, known, err := s.gather(ctx, now)
	switch {
	case err != nil:
		return time.Time{}, err
	case !known:
		return now.Add(time.Second), nil
	}
	// Step: decide, purely, on that and on what came of earlier effects.
	out := s.step(now, in.facts)
	if out.Superseded {
		return time.Time{}, errSuperseded
	}
	// Execute what was decided about claims that are already written. New claims are acted on after
	// they are written. A later step learns the results.
	s.executor.Start(ctx, out.Effects)
	// Write what people and the next leader must know.
	decision := s.decisionOf(now, in, out)
	s.options.Board.Publish(decision)
	follow := s.follow(now, decision, out.RolesDiffer)
	write := s.write(ctx, now, in.objects.Cluster, decision, out)
	return sooner(now.Add(longestWait), in.wake, out.Wake, follow, write), nil
}

// step decides. Sessions decide at the same time, so the room that other clusters leave may be gone
// when it is claimed. Then it decides again with what is left, on the same results.
func (s *session) step(now time.Time, facts rollout.Facts) rollout.Outcome {
	results := s.executor.Results(now)
	for {
		room, limited := s.fleet.room(s.key)
		facts.ClaimLimit, facts.Unlimited = room, !limited
		state, out := rollout.Step(s.state, facts, results, now)
		if len(out.Edits.Add) > 0 && !s.fleet.grant(s.key, len(out.Claims)) {
			continue
		}
		out.NameClaims(&state, s.options.NewID)
		s.state = state
		for _, entry := range out.Log {
			s.log.Log(context.Background(), entry.Level, entry.Message, append(entry.Args, "epoch", facts.Record.Epoch)...)
		}
		s.options.Metrics.note(out)
		return out
	}
}

// decisionOf returns what is shown of a step.
func (s *session) decisionOf(now time.Time, in inputs, out rollout.Outcome) status.Decision {
	return status.Decision{
		Moment: out.Moment, Key: s.key, Idle: s.idle(now, out.Snapshot), SpecError: specErrors(in.objects.Cluster),
		Guard: s.guarded(), Withheld: s.refusedNow(in.objects.Cluster), Refused: s.basis.Agents().Refused,
	}
}
