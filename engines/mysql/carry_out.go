package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/mysql/switchover"
	"github.com/rollcall-dev/rollcall/engines/mysql/topology"
)

// openFirst allows writes on the local server without an order, if it still is the successor when
// compared by its state before the others were looked at. Anything newer may have come since from a
// member that has allowed writes.
func (e *Engine) openFirst(ctx context.Context, t task) error {
	before := e.local(ctx)
	v, err := e.gather(ctx, t, true)
	if err != nil {
		return err
	}
	v.Before = &before
	if a := v.Default(); a.Kind != switchover.Open {
		return nil // the next action is decided again
	}
	return e.open(ctx, v.Self.State)
}

// carryOut carries out a decision. An error does not say how far it came.
func (e *Engine) carryOut(ctx context.Context, v switchover.Input, t task, a switchover.Action) error {
	switch a.Kind {
	case switchover.Start:
		return e.start(ctx, v, t)
	case switchover.CatchUp:
		return e.catchUp(ctx, v, t, a.To)
	case switchover.Promote:
		return e.promote(ctx, v, t, a.To)
	case switchover.TakeBack:
		return e.takeBack(ctx, v, t, a)
	case switchover.Follow:
		return e.followPrimary(ctx, v, t, a.To)
	case switchover.HaveFollow:
		e.haveFollow(ctx, t, a)
		return nil
	case switchover.Drop:
		return e.drop(ctx, v, t)
	case switchover.Elect:
		if err := engines.InTime(t.notAfter); err != nil {
			return err
		}
		return e.server.ElectPrimary(ctx, a.To)
	case switchover.Finish:
		return e.takeOver(ctx, v.Self.State, v.Self.State.Switch.Until)
	case switchover.Renounce:
		e.keep(nil)
		return nil
	case switchover.Open:
		return e.openFirst(ctx, t)
	case switchover.Shut:
		return e.server.StopWrites(ctx, e.options.Limits.StopWithin)
	case switchover.Resume:
		return e.server.StartFollowing(ctx)
	}
	return fmt.Errorf("action %d is unknown", a.Kind)
}

// followPrimary makes the local server a replica of the member, which is looked at once more.
func (e *Engine) followPrimary(ctx context.Context, v switchover.Input, t task, name string) error {
	to := e.after(ctx, v, name)
	if why := v.CannotFollow(v.Self, to); why != "" {
		if t.refusals != nil {
			t.refusals[v.Self.Name()] = why
		}
		return errors.New(why)
	}
	if err := e.followHere(ctx, v, to, t.notAfter); err != nil {
		return err
	}
	if !to.Allows() { // the local member gives way to it
		return e.drop(ctx, v, t)
	}
	return nil
}

// haveFollow asks another member to follow the new primary, and notes if it does not.
func (e *Engine) haveFollow(ctx context.Context, t task, a switchover.Action) {
	name := a.Ask[0]
	switch answer, err := e.ask(ctx, name, stepFollow, body{Primary: a.To}, t); {
	case err != nil:
		t.refusals[name] = fmt.Sprintf("%s does not answer: %s", name, engines.OneLine(err.Error()))
	case answer.Refused != "":
		t.refusals[name] = answer.Refused
	}
}

// start notes the try everywhere, stops writes, and freezes what was executed. If that
// fails it takes everything back.
func (e *Engine) start(ctx context.Context, v switchover.Input, t task) error {
	n := replication.Switch{Claim: t.claim, At: v.Now, From: v.Self.Name(), FromID: v.Self.State.ID, Until: v.Until()}
	e.keep(&n)
	e.closing()
	intend := t
	intend.notAfter = n.Until
	refusals, errs := make([]string, len(v.Others)), make([]error, len(v.Others))
	e.each(len(v.Others), func(i int) {
		errs[i] = errAway
		if !v.Others[i].Peer.Alive {
			return
		}
		var a answer
		a, errs[i] = e.ask(ctx, v.Others[i].Peer.Name(), stepIntend, body{Switch: n}, intend)
		refusals[i] = a.Refused
	})
	if i := slices.IndexFunc(refusals, func(s string) bool { return s != "" }); i >= 0 {
		e.fail(refusals[i])
		return e.drop(ctx, v, t)
	}
	if !slices.Contains(errs, nil) {
		e.fail("nobody has noted that " + v.Self.Name() + " hands over: " + engines.OneLine(errors.Join(errs...).Error()))
		return e.drop(ctx, v, t)
	}
	if err := engines.InTime(t.notAfter); err != nil {
		return err
	}
	within := min(e.options.Limits.StopWithin, time.Until(n.Until)-2*switchover.Margin)
	if within <= 0 {
		e.fail("it took too long to tell all members")
		return e.drop(ctx, v, t)
	}
	if err := e.server.StopWrites(ctx, within); err != nil {
		e.fail(engines.OneLine(err.Error()))
		return err // what is known of the server then decides
	}
	frozen, err := e.freeze(ctx)
	if err != nil {
		e.fail(engines.OneLine(err.Error()))
		return err
	}
	n.Frozen = frozen
	e.keep(&n)
	return nil
}

var errAway = errors.New("its agent is unavailable")

var errStillWriting = errors.New("somebody goes on writing though clients may not")

// freeze ends the remaining connections, including those of privileged writers, and
// returns what the server has executed once that stays the same. An open transaction may
// still be committed on MariaDB, and not on MySQL.
func (e *Engine) freeze(ctx context.Context) (string, error) {
	for range 5 {
		if _, err := e.server.DropClients(ctx); err != nil {
			return "", err
		}
		before := e.local(ctx)
		if !engines.Sleep(ctx, stillFor) {
			return "", ctx.Err()
		}
		after := e.local(ctx)
		if !before.Serving || !after.Serving || after.Writes != replication.RefusedBySQL {
			return "", fmt.Errorf("writes are not known to be stopped: %s", after.Problem)
		}
		open := after.Writing > 0 && after.Flavor == replication.MariaDB
		if before.Executed == after.Executed && !open && after.SemiSync.Waiting == 0 && after.Executed != "" {
			return after.Executed, nil
		}
	}
	return "", errStillWriting
}

func (e *Engine) catchUp(ctx context.Context, v switchover.Input, t task, to string) error {
	n := *v.Self.State.Switch
	t.notAfter = n.Until
	answer, err := e.ask(ctx, to, stepCatchUp, body{Switch: n}, t)
	if err == nil && answer.Refused != "" {
		err = errors.New(answer.Refused)
	}
	return err
}

// promote asks a member to take over, and notes that first: from then on writes are not allowed
// here until it is known that the member did not take over. If the first request of a try is
// refused, another member may be chosen.
func (e *Engine) promote(ctx context.Context, v switchover.Input, t task, to string) error {
	n := *v.Self.State.Switch
	first := !n.Promoting
	n.To, n.Promoting = to, true
	e.keep(&n)
	t.notAfter = n.Until
	answer, err := e.ask(ctx, to, stepPromote, body{Switch: n}, t)
	if err == nil && answer.Refused != "" {
		e.fail(answer.Refused)
		if first {
			n.To, n.Promoting = "", false
		} else {
			n.Until = time.Now() // a new try has a new identity
		}
		e.keep(&n)
	}
	return err
}

// takeBack allows writes again once all members that may have been asked to take over have said
// that they will not. A server that was restarted since may lack something; only Repair allows
// writes on it.
func (e *Engine) takeBack(ctx context.Context, v switchover.Input, t task, a switchover.Action) error {
	n := replication.Switch{Claim: t.claim, From: v.Self.Name(), At: v.Now, Until: v.Now}
	if own := v.Self.State.Switch; own != nil {
		n = *own
	} else if noted := v.Began(); noted != nil {
		n.Claim = noted.Claim
	}
	t.undo()
	for _, name := range a.Ask {
		answer, err := e.ask(ctx, name, stepForget, body{Switch: n}, t)
		if err != nil {
			return err
		}
		m := topology.Member{Peer: engines.Peer{Node: name}, State: answer.State, Known: true}
		if m.Allows() || !m.Refuses() && !answer.Never {
			return fmt.Errorf("%s does not say that it refuses writes", name)
		}
		if m.Serves() && v.Took(m) {
			return nil // the next look decides on that
		}
	}
	if v.Again.Before(v.Now) {
		e.fail(a.Reason)
	}
	if v.Self.State.Writes == replication.RefusedBySQL && v.Self.State.Source == nil {
		if err := e.server.AllowWrites(ctx); err != nil {
			return err
		}
	}
	return e.drop(ctx, v, t)
}

// drop makes all members forget the try. A member that does not hear it forgets the try when its
// time is over.
func (e *Engine) drop(ctx context.Context, v switchover.Input, t task) error {
	n := v.Self.State.Switch
	e.mu.Lock()
	if e.note != nil {
		n = e.note
	}
	e.note = nil
	e.mu.Unlock()
	if noted := v.Began(); n == nil && noted != nil { // by an earlier agent
		n = &replication.Switch{Claim: noted.Claim, From: v.Self.Name(), At: v.Now, Until: v.Now}
	}
	if n == nil || n.From != v.Self.Name() {
		return nil
	}
	if t.dropped != nil {
		*t.dropped = true
	}
	t.undo()
	e.each(len(v.Others), func(i int) {
		if peer := v.Others[i].Peer; peer.Alive {
			_, _ = e.ask(ctx, peer.Name(), stepForget, body{Switch: *n}, t)
		}
	})
	return ctx.Err()
}

// fail keeps why a try failed, and when the next may begin.
func (e *Engine) fail(why string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now, l := time.Now(), e.options.Limits
	if now.Sub(e.again) > l.RetryMost {
		e.inARow = 0 // long ago
	}
	e.failed, e.again = why, now.Add(min(l.RetryAfter<<min(e.inARow, 10), l.RetryMost))
	e.inARow++
}
