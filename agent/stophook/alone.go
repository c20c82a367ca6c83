package stophook

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// silent answers why there is no database to hand anything over, or "".
func (s *Hook) silent(ctx context.Context) string {
	if v, _ := s.Board.Latest(); v.Result.Live() && time.Since(v.Result.Started) <= recentLook {
		return ""
	}
	engine, err := s.Engine.Get()
	if err != nil {
		return err.Error()
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	// An adapter may be held up by a look that hangs already.
	type answer struct {
		o   engines.Observation
		err error
	}
	answers := make(chan answer, 1)
	s.Drainer.Background(func() {
		o, err := engine.Observe(ctx)
		answers <- answer{o, err}
	})
	select {
	case a := <-answers:
		switch {
		case a.err != nil:
			return "the database does not answer: " + a.err.Error()
		case a.o.Member != engines.Live:
			return "the database's own membership is " + a.o.Member.String()
		}
		return ""
	case <-ctx.Done():
		return "the database does not answer"
	}
}

var (
	errAlone   = errors.New("the database is no member any more: there is nobody to hand over to")
	errLastOne = errors.New("all other pods are being stopped or gone: there is nobody to hand over to")
)

// whileOthers ends when the database has been no member for aloneFor, or all
// others have been on their way out for lonelyFor.
func (s *Hook) whileOthers(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	s.Drainer.Background(func() {
		var lonely time.Time
		for ctx.Err() == nil {
			v, _ := s.Board.Latest()
			if since := v.Result.NotLiveSince; !since.IsZero() && time.Since(since) >= aloneFor {
				cancel(errAlone)
			}
			switch {
			case !s.allLeave():
				lonely = time.Time{}
			case lonely.IsZero():
				lonely = time.Now()
			case time.Since(lonely) >= lonelyFor:
				cancel(errLastOne)
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	})
	return ctx, func() { cancel(nil) }
}

// allLeave: other agents are known, and none of them stays.
func (s *Hook) allLeave() bool {
	if s.Peers == nil {
		return false
	}
	others := s.Peers()
	return len(others) > 0 && !slices.ContainsFunc(others, func(p engines.Peer) bool { return p.Alive && !p.Leaving })
}
