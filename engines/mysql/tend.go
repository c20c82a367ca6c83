package mysql

import (
	"fmt"
	"slices"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/sorted"
)

// tended decides what the local member owes the others while no order is in hand.
func tended(v input) action {
	if v.self.serves() && v.self.state.Group != nil {
		return action{deed: done}
	}
	if v.self.serves() && v.mine() {
		v.undoing = true
		return next(v)
	}
	return v.owed()
}

// owed is what a member does without being asked. What is not known permits only
// to follow the one that allows writes.
func (v input) owed() action {
	s := v.self.state
	writers := v.writers()
	switch {
	case !v.self.serves():
		return waiting("%s", v.self.silence())
	case s.Switch != nil && s.Switch.Promoting && s.Switch.From != v.self.name():
		return v.promised(s.Switch)
	case len(writers) > 1 || len(writers) == 1 && s.Writes == Allowed && !v.follows(v.self, writers[0]):
		return waiting("%s both allow writes: somebody must say which is right", engines.Some(names(append(writers, v.self)[:2])))
	case s.Writes == Allowed && len(writers) == 1:
		return action{deed: shut, words: v.self.name() + " follows " + writers[0].name() + " and allowed writes"}
	case s.Writes == Allowed:
		return action{deed: done}
	case len(writers) == 1:
		return v.attach(writers[0])
	}
	return v.vacant()
}

// promised: the local member was told to take over and has not finished. It does so
// within the time of the try, with all that was frozen.
func (v input) promised(n *Switch) action {
	if v.self.state.Writes == Allowed {
		return action{deed: renounce, words: "has taken over"}
	}
	if !v.now.Before(n.Until) {
		return action{deed: renounce, words: "the time to take over from " + n.From + " is over"}
	}
	if ok, why := v.self.has(n.Frozen); !ok {
		return action{deed: renounce, words: "cannot take over from " + n.From + ": " + why}
	}
	return action{deed: finish, words: v.self.name() + " takes over from " + n.From}
}

// attach: primary is the one that allows writes. Who follows another one was left
// behind when that one handed its role over, unless it was to follow a replica.
func (v input) attach(primary member) action {
	self := v.self
	to := action{deed: follow, to: primary.name(), words: self.name() + " follows " + primary.name()}
	if self.state.Source == nil {
		return to
	}
	if v.follows(self, primary) {
		if !self.state.Source.Started && !v.ran {
			return action{deed: resume, words: self.name() + " goes on following " + primary.name()}
		}
		return action{deed: done}
	}
	source, member := v.sourceOf(self)
	switch {
	case !member: // somebody outside: not ours to change
		return action{deed: done}
	case v.chained: // it waits for the one that it was to follow
		return action{deed: done}
	case source.refuses(), !source.serves() && !self.state.Source.Receiving:
		return to
	}
	return action{deed: done}
}

// vacant: nobody is known to allow writes. One member opens when all are known and
// all would decide for the same one: a server that was started again, or the first.
func (v input) vacant() action {
	if len(v.others) == 0 {
		return action{deed: done, words: v.self.name() + " stays read-only: no other member is known, and alone it cannot know that none is there"}
	}
	if v.self.state.Source == nil && v.began() != nil {
		return v.giveUp("an earlier agent began to hand over", names(v.others))
	}
	if v.self.state.Writes == RefusedBySQL && v.self.state.Source == nil {
		return action{deed: done, words: v.self.name() + " was made read-only by somebody"}
	}
	for _, m := range v.all() {
		n := m.state.Switch
		switch {
		case !m.serves() || !m.refuses():
			return waiting("nobody is known to allow writes; %s", m.silence())
		case m.name() != v.self.name() && (!m.peer.Alive || v.now.Sub(m.peer.Since) < v.limits.Quiet):
			return waiting("nobody allows writes; %s's agent has only just come", m.name())
		case n != nil:
			return waiting("nobody allows writes; %s is handing over", n.From)
		case m.state.Writes == RefusedBySQL && m.state.Source == nil:
			return waiting("nobody allows writes; %s was made read-only by somebody", m.name())
		case m.state.Group != nil:
			return waiting("%s is of a group", m.name())
		case m.state.Executed == "":
			return waiting("nobody allows writes; %s does not tell by GTIDs what it has executed", m.name())
		}
		source, member := v.sourceOf(m)
		switch s := m.state.Source; {
		case s == nil:
		case member && anotherID(s, source) && !s.Receiving && v.has(s.ID):
			return waiting("nobody allows writes; %s was told to follow %s and has not reached it yet", m.name(), source.name())
		case !member || anotherID(s, source):
			return action{deed: done, words: fmt.Sprintf("%s follows %s", m.name(), engines.OneLine(s.Host))}
		}
	}
	heir, why := v.heir()
	if heir != v.self.name() {
		return waiting("nobody allows writes; %s", why)
	}
	return action{deed: open, words: why}
}

// heir is the member that has everything that any of them has: one that others
// follow before one that nobody follows, both before a replica; then the lowest
// ordinal. Replicas go on applying, so that there may be none yet.
func (v input) heir() (name, why string) {
	all := v.all()
	if v.before != nil {
		all[0].state.Executed, all[0].state.Received = v.before.Executed, v.before.Received
	}
	sorted.By(all, byOrdinal)
	best, rank := member{}, 3
	for _, m := range all {
		r := 2
		if m.state.Source == nil {
			r = 1
			if slices.ContainsFunc(all, func(o member) bool { return v.follows(o, m) }) {
				r = 0
			}
		}
		complete := !slices.ContainsFunc(all, func(o member) bool { return !m.hasAllOf(o) })
		if complete && r < rank {
			best, rank = m, r
		}
	}
	if rank == 3 {
		return "", "no member has all that the others have"
	}
	return best.name(), best.name() + " has all that any member has"
}
