package mysql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/sorted"
)

func (e *Engine) peers() []engines.Peer {
	if e.options.Peers == nil {
		return nil
	}
	return e.options.Peers.List()
}

// gather asks all members what they say of themselves; the own server last, so that
// nobody seems to be ahead of it because it was looked at a moment earlier.
func (e *Engine) gather(ctx context.Context, t task, fresh bool) (input, error) {
	list := e.peers()
	v := input{
		claim: t.claim, eligible: t.eligible, notAfter: t.notAfter, wrote: t.wrote, undoing: t.undoing, refusals: t.refusals, limits: e.options.Limits,
		view: view{
			others: make([]member, len(list)), maxLag: e.options.MaxLag, brokenAfter: e.options.Limits.BrokenAfter, external: e.options.Failover != "",
			past: e.past(), // as of before the others are looked at
		},
	}
	e.each(len(list), func(i int) {
		v.others[i] = member{peer: list[i], why: "its agent is away"}
		if list[i].Alive {
			v.others[i] = e.lookAt(ctx, list[i], fresh)
		}
	})
	sorted.By(v.others, byOrdinal)
	v.self = member{state: e.local(ctx), known: true, peer: engines.Peer{Alive: true}}
	if err := ctx.Err(); err != nil {
		return input{}, err
	}
	v.dropped = t.dropped != nil && *t.dropped
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, m := range v.others {
		e.domains.join(m.state.Domains)
	}
	v.domains = e.domains.clone()
	v.again, v.failed = e.again, e.failed
	v.closedElsewhere = e.opened
	v.ran = !e.ran.IsZero() && e.ran.Equal(v.self.state.Started)
	v.chained = e.upstream.see(v.view)
	if v.followed(e.predecessor) {
		e.predecessor = ""
	}
	v.now = time.Now()
	return v, nil
}

// openFirst opens the local server, which nobody asked for, if it still is the heir when
// it is compared as it was before the others were looked at: all that it has more than
// they had it may have got since, from one of them that has opened.
func (e *Engine) openFirst(ctx context.Context, t task) error {
	before := e.local(ctx)
	v, err := e.gather(ctx, t, true)
	if err != nil {
		return err
	}
	v.before = &before
	if a := v.owed(); a.deed != open {
		return nil // what is to be done now is decided anew
	}
	return e.open(ctx, v.self.state)
}

// after looks at the member again: after the own server, which may get what that one
// writes, so that it does not seem to be ahead of it.
func (e *Engine) after(ctx context.Context, v input, name string) member {
	m, listed := v.find(name)
	if !listed {
		return m
	}
	return e.lookAt(ctx, m.peer, true)
}

func (e *Engine) lookAt(ctx context.Context, peer engines.Peer, fresh bool) member {
	m := member{peer: peer}
	// A little longer than it waits for its server, so that it can say that this does
	// not answer.
	ctx, cancel := context.WithTimeout(ctx, e.options.Timeout*5/4)
	defer cancel()
	asked := time.Now()
	data, err := e.options.Peers.Look(ctx, peer.Name(), fresh)
	if err == nil {
		err = json.Unmarshal(data, &m.state)
	}
	switch {
	case err != nil:
		return member{peer: peer, why: engines.OneLine(err.Error())}
	case m.state.Node != peer.Node:
		return member{peer: peer, why: fmt.Sprintf("it calls itself %q", engines.OneLine(m.state.Node))}
	}
	m.known, m.state = true, m.state.heard(asked)
	return m
}

// carryOut does what was decided. An error says nothing about how far it came.
func (e *Engine) carryOut(ctx context.Context, v input, t task, a action) error {
	switch a.deed {
	case start:
		return e.start(ctx, v, t)
	case catchUp:
		return e.catchUp(ctx, v, t, a.to)
	case promote:
		return e.promote(ctx, v, t, a.to)
	case takeBack:
		return e.takeBack(ctx, v, t, a)
	case follow:
		to := e.after(ctx, v, a.to)
		if why := v.cannotFollow(v.self, to); why != "" {
			if t.refusals != nil {
				t.refusals[v.self.name()] = why
			}
			return errors.New(why)
		}
		if err := e.followHere(ctx, v, to, t.notAfter); err != nil {
			return err
		}
		if !to.allows() { // who is given way to, see yield
			return e.drop(ctx, v, t)
		}
		return nil
	case haveFollow:
		answer, err := e.ask(ctx, a.ask[0], stepFollow, body{Primary: a.to}, t)
		if err == nil && answer.Refused != "" {
			t.refusals[a.ask[0]] = answer.Refused
		}
		if err != nil {
			t.refusals[a.ask[0]] = fmt.Sprintf("%s does not answer: %s", a.ask[0], engines.OneLine(err.Error()))
		}
		return nil
	case drop:
		return e.drop(ctx, v, t)
	case elect:
		if err := engines.InTime(t.notAfter); err != nil {
			return err
		}
		return e.server.electPrimary(ctx, a.to)
	case finish:
		return e.takeOver(ctx, v.self.state, v.self.state.Switch.Until)
	case renounce:
		e.keep(nil)
		return nil
	case open:
		return e.openFirst(ctx, t)
	case shut:
		return e.server.stopWrites(ctx, e.options.Limits.StopWithin)
	case resume:
		return e.server.startFollowing(ctx)
	}
	return fmt.Errorf("deed %d is nothing to do", a.deed)
}

// start notes the try everywhere, stops writes, and freezes what was executed. It
// takes everything back when that does not work.
func (e *Engine) start(ctx context.Context, v input, t task) error {
	n := Switch{Claim: t.claim, At: v.now, From: v.self.name(), FromID: v.self.state.ID, Until: v.until()}
	e.keep(&n)
	e.closing()
	intend := t
	intend.notAfter = n.Until
	refusals, errs := make([]string, len(v.others)), make([]error, len(v.others))
	e.each(len(v.others), func(i int) {
		errs[i] = errAway
		if !v.others[i].peer.Alive {
			return
		}
		var a answer
		a, errs[i] = e.ask(ctx, v.others[i].peer.Name(), stepIntend, body{Switch: n}, intend)
		refusals[i] = a.Refused
	})
	if i := slices.IndexFunc(refusals, func(s string) bool { return s != "" }); i >= 0 {
		e.fail(refusals[i])
		return e.drop(ctx, v, t)
	}
	if !slices.Contains(errs, nil) {
		e.fail("nobody has noted that " + v.self.name() + " hands over: " + engines.OneLine(errors.Join(errs...).Error()))
		return e.drop(ctx, v, t)
	}
	if err := engines.InTime(t.notAfter); err != nil {
		return err
	}
	within := min(e.options.Limits.StopWithin, time.Until(n.Until)-2*margin)
	if within <= 0 {
		e.fail("it took too long to tell all members")
		return e.drop(ctx, v, t)
	}
	if err := e.server.stopWrites(ctx, within); err != nil {
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

var errAway = errors.New("its agent is away")

var errStillWriting = errors.New("somebody goes on writing though clients may not")

// freeze ends the connections that are left, those of privileged writers among
// them, and answers what the server has executed once that does not change. What is
// open on MariaDB may still be committed by one of them, on MySQL by nobody.
func (e *Engine) freeze(ctx context.Context) (string, error) {
	for range 5 {
		if _, err := e.server.dropClients(ctx); err != nil {
			return "", err
		}
		before := e.local(ctx)
		if !engines.Sleep(ctx, stillFor) {
			return "", ctx.Err()
		}
		after := e.local(ctx)
		if !before.Serving || !after.Serving || after.Writes != RefusedBySQL {
			return "", fmt.Errorf("writes are not known to be stopped: %s", after.Problem)
		}
		open := after.Writing > 0 && after.Flavor == MariaDB
		if before.Executed == after.Executed && !open && after.SemiSync.Waiting == 0 && after.Executed != "" {
			return after.Executed, nil
		}
	}
	return "", errStillWriting
}

func (e *Engine) catchUp(ctx context.Context, v input, t task, to string) error {
	n := *v.self.state.Switch
	t.notAfter = n.Until
	answer, err := e.ask(ctx, to, stepCatchUp, body{Switch: n}, t)
	if err == nil && answer.Refused != "" {
		err = errors.New(answer.Refused)
	}
	return err
}

// promote tells to to take over. It is noted before it is said: from here on writes
// are not allowed here before it is known that to did not. The answer to the first
// request of a try tells that when it is no: another one may be chosen.
func (e *Engine) promote(ctx context.Context, v input, t task, to string) error {
	n := *v.self.state.Switch
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
			n.Until = time.Now() // another try is another one
		}
		e.keep(&n)
	}
	return err
}

// takeBack allows writes again, once those that may have been told to take over
// have said that they will not. A server that was started again since then may lack
// something, and is opened by Tend only.
func (e *Engine) takeBack(ctx context.Context, v input, t task, a action) error {
	n := Switch{Claim: t.claim, From: v.self.name(), At: v.now, Until: v.now}
	if own := v.self.state.Switch; own != nil {
		n = *own
	} else if noted := v.began(); noted != nil {
		n.Claim = noted.Claim
	}
	t.undo()
	for _, name := range a.ask {
		answer, err := e.ask(ctx, name, stepForget, body{Switch: n}, t)
		if err != nil {
			return err
		}
		m := member{peer: engines.Peer{Node: name}, state: answer.State, known: true}
		if m.allows() || !m.refuses() && !answer.Never {
			return fmt.Errorf("%s does not say that it refuses writes", name)
		}
		if m.serves() && v.took(m) {
			return nil // the next look decides on that
		}
	}
	if v.again.Before(v.now) {
		e.fail(a.words)
	}
	if v.self.state.Writes == RefusedBySQL && v.self.state.Source == nil {
		if err := e.server.allowWrites(ctx); err != nil {
			return err
		}
	}
	return e.drop(ctx, v, t)
}

// drop has everybody forget the try. Who does not hear it forgets by its time.
func (e *Engine) drop(ctx context.Context, v input, t task) error {
	n := v.self.state.Switch
	e.mu.Lock()
	if e.note != nil {
		n = e.note
	}
	e.note = nil
	e.mu.Unlock()
	if noted := v.began(); n == nil && noted != nil { // by an earlier agent
		n = &Switch{Claim: noted.Claim, From: v.self.name(), At: v.now, Until: v.now}
	}
	if n == nil || n.From != v.self.name() {
		return nil
	}
	if t.dropped != nil {
		*t.dropped = true
	}
	t.undo()
	e.each(len(v.others), func(i int) {
		if peer := v.others[i].peer; peer.Alive {
			_, _ = e.ask(ctx, peer.Name(), stepForget, body{Switch: *n}, t)
		}
	})
	return ctx.Err()
}

// fail keeps why a try did not work, and when the next may begin.
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
