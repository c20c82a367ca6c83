package stophook

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// silent says why there is no database that could hand over, or "".
func (h *Hook) silent(ctx context.Context) string {
	if v, _ := h.Board.Latest(); v.Result.Live() && time.Since(v.Result.Started) <= recentLook {
		return ""
	}
	engine, err := h.Engine.Get()
	if err != nil {
		return err.Error()
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	// The adapter may be blocked by a probe that hangs.
	type answer struct {
		o   engines.Observation
		err error
	}
	answers := make(chan answer, 1)
	h.Drainer.Background(func() {
		o, err := engine.Observe(ctx)
		answers <- answer{o, err}
	})
	select {
	case a := <-answers:
		switch {
		case a.err != nil:
			return "the database does not answer: " + a.err.Error()
		case a.o.Member != engines.MembershipLive:
			return "the database's own membership is " + a.o.Member.String()
		}
		return ""
	case <-ctx.Done():
		return "the database does not answer"
	}
}

var (
	errNotMember  = errors.New("the database is no member any more: there is nobody to hand over to")
	errLastMember = errors.New("all other pods are being stopped or gone: there is nobody to hand over to")
)

// whileOthersStay returns a context that ends once the database has been no member
// for notMemberFor, or all others have been leaving for othersLeavingFor.
func (h *Hook) whileOthersStay(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	h.Drainer.Background(func() {
		var leavingSince time.Time
		for ctx.Err() == nil {
			v, _ := h.Board.Latest()
			if since := v.Result.NotLiveSince; !since.IsZero() && time.Since(since) >= notMemberFor {
				cancel(errNotMember)
			}
			switch {
			case !h.allLeaving():
				leavingSince = time.Time{}
			case leavingSince.IsZero():
				leavingSince = time.Now()
			case time.Since(leavingSince) >= othersLeavingFor:
				cancel(errLastMember)
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	})
	return ctx, func() { cancel(nil) }
}

// allLeaving reports whether other agents are known and none of them stays.
func (h *Hook) allLeaving() bool {
	if h.Peers == nil {
		return false
	}
	others := h.Peers()
	return len(others) > 0 && !slices.ContainsFunc(others, func(p engines.Peer) bool { return p.Alive && !p.Leaving })
}
