package mysql

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// margin is what is left of a try's time below which nobody is asked any more.
const margin = 2 * time.Second

// deed is what is done next.
type deed uint8

const (
	wait deed = iota // for what the words say
	done
	refused
	start      // note the try everywhere, stop the writes here, freeze
	catchUp    // at to: have what is frozen
	promote    // at to: take over
	takeBack   // have ask give up, and allow writes here again
	follow     // here: follow to
	haveFollow // have ask follow to
	drop       // forget the try everywhere
	elect      // group replication: make to the primary
	finish     // here: take over as was promised
	open       // here: allow writes, as nobody else could
	shut       // here: a replica that allows writes refuses them
	resume     // here: start the replication that did not start with the server
	renounce   // here: forget a promise that is over
)

// action is one decision with its reason.
type action struct {
	deed deed
	to   string
	ask  []string
	// words are for people.
	words string
}

func waiting(format string, args ...any) action { return action{words: fmt.Sprintf(format, args...)} }

// next decides what the local member does to hand over its role. It is a function
// of what is seen now: whoever goes on after somebody else decides the same.
func next(v input) action {
	s := v.self.state
	writers := v.writers()
	switch {
	case !v.self.serves():
		return waiting("%s", v.self.silence())
	case s.Group != nil && s.Group.Galera:
		return action{deed: done, words: "every member of Galera takes writes"}
	case s.Group != nil:
		return v.nextInGroup()
	case len(writers) > 1:
		return waiting("%s and %s both allow writes: somebody must say which is right", writers[0].name(), writers[1].name())
	case s.Writes == Allowed && s.Source != nil && len(writers) == 1 && v.follows(v.self, writers[0]):
		return action{deed: done, words: v.self.name() + " is a replica"}
	case s.Writes == Allowed && len(writers) == 1:
		return waiting("%s and %s both allow writes: somebody must say which is right", v.self.name(), writers[0].name())
	case len(writers) == 1:
		return v.forward(writers[0])
	case s.Writes == Allowed && v.mine():
		return action{deed: drop, words: cmp.Or(v.failed, "the try is over")}
	case s.Writes == Allowed && v.undoing:
		return action{deed: done}
	case s.Writes == Allowed:
		return v.begin()
	case v.mine() && s.Source != nil:
		return action{deed: drop, words: v.self.name() + " is a replica"}
	case v.mine():
		return v.onward()
	case s.Source != nil && s.Switch == nil && !v.wrote:
		return action{deed: done, words: v.self.name() + " is a replica"}
	case s.Writes == RefusedBySQL && s.Source == nil && v.wrote && v.closedElsewhere && v.began() == nil:
		return v.closed()
	case s.Writes == RefusedBySQL && s.Source == nil && v.wrote:
		// An earlier agent has stopped the writes, and nobody knows whom it asked.
		return v.giveUp("what an earlier agent began is not known", names(v.others))
	}
	return v.owed()
}

// closed by somebody while the order was in hand: who moves the role by hand does it
// so, and a server that opened again in the middle of that would be a second primary.
func (v input) closed() action {
	words := v.self.name() + " was made read-only by somebody: it stays so until it is opened or follows another one"
	if v.undoing {
		return action{deed: done, words: words}
	}
	return action{words: words}
}

func (v input) begin() action {
	own := v.self.state
	if own.Source != nil {
		return action{deed: refused, words: fmt.Sprintf("%s allows writes and follows %s", v.self.name(), engines.OneLine(own.Source.Host))}
	}
	if len(v.others) == 0 && len(own.Replicas) == 0 {
		return action{deed: done, words: "nobody else is there to take over"}
	}
	if own.StartsWritable {
		return action{deed: refused, words: v.self.name() + " would allow writes beside the new primary when it is started again: its configuration must say read_only, and on MySQL nothing else may be persisted"}
	}
	if n := own.Switch; n != nil {
		return waiting("%s is handing over", n.From)
	}
	if own.Executed == "" {
		return waiting("%s does not tell by GTIDs what it has executed: MySQL needs gtid_mode=ON, and both flavors log_bin", v.self.name())
	}
	for _, m := range v.others {
		if why := v.lost(m); m.serves() && why != "" {
			return waiting("%s", why)
		}
	}
	if v.now.Before(v.again) {
		return waiting("%s; next try in %s", v.failed, engines.Duration(v.again.Sub(v.now)))
	}
	fit, reasons := v.candidates(true)
	switch {
	case len(fit) == 0 && len(v.others) == 0:
		return waiting("no other member is known, though %d follow", len(own.Replicas))
	case len(fit) == 0:
		return waiting("nobody can take over: %s", engines.Some(reasons))
	case own.Busy != "":
		return waiting("%s is busy: %s", v.self.name(), engines.OneLine(own.Busy))
	case own.Writing >= v.limits.LongWrite:
		return waiting("a write that has been open for %s is not ended: it is waited for", engines.Duration(own.Writing))
	case v.until().Sub(v.now) < 2*margin:
		return waiting("too little time is left to hand over")
	}
	return action{deed: start, words: "stopping writes"}
}

// onward goes on with a try: writes are stopped here, and nobody allows them.
func (v input) onward() action {
	n := v.self.state.Switch
	late := !v.now.Before(n.Until.Add(-margin))
	switch {
	case n.Promoting:
		return v.asked(n, late)
	case v.undoing || n.Claim != v.claim:
		return v.giveUp("the switchover was given up", nil)
	case n.Frozen == "":
		return v.giveUp(cmp.Or(v.failed, "writes were not wholly stopped"), nil)
	case late:
		return v.giveUp("nobody was ready in time", nil)
	}
	fit, reasons := v.candidates(false)
	fit = slices.DeleteFunc(fit, func(m member) bool {
		if m.state.Switch.same(n) {
			return false
		}
		reasons = append(reasons, m.name()+" has not noted this try")
		return true
	})
	if len(fit) == 0 {
		return v.giveUp("nobody can take over any more: "+engines.Some(reasons), nil)
	}
	to := choose(fit, n.Frozen)
	if caughtUp, _ := to.has(n.Frozen); !caughtUp {
		return action{deed: catchUp, to: to.name(), words: to.name() + " is catching up"}
	}
	return action{deed: promote, to: to.name(), words: to.name() + " takes over"}
}

// asked: somebody was told to take over and it is not known to have done so. Until
// that is known nothing but that goes on.
func (v input) asked(n *Switch, late bool) action {
	if n.To == "" {
		return v.giveUp("what an earlier agent began is not known", names(v.others))
	}
	to, listed := v.find(n.To)
	switch {
	case !listed:
		return waiting("%s was asked to take over and its agent is not known any more: writes stay stopped until it is", n.To)
	case to.known && !to.serves() && (late || v.undoing || !to.state.Switch.same(n) || !to.state.Switch.Promoting):
		return v.giveUp(to.silence(), []string{n.To})
	case !to.serves():
		return waiting("%s was asked to take over: writes stay stopped until it answers (%s)", n.To, to.silence())
	case v.took(to):
		return v.yield(to)
	case !late && !v.undoing && n.Claim == v.claim && to.state.Switch.same(n):
		return action{deed: promote, to: n.To, words: n.To + " takes over"}
	}
	return v.giveUp(n.To+" did not take over", []string{n.To})
}

// giveUp allows writes here again once all of ask have said that they will not take
// over; who has more has already.
func (v input) giveUp(why string, ask []string) action {
	for _, name := range ask {
		m, _ := v.find(name)
		if !m.serves() && !(m.known && v.mine() && v.self.state.Switch.To == name) {
			return waiting("%s: writes stay stopped until all have said that they did not take over (%s)", why, m.silence())
		}
		if m.serves() && v.took(m) {
			return v.yield(m)
		}
	}
	return action{deed: takeBack, ask: ask, words: why}
}

// yield: the other took writes and refuses them since it was started again. It has
// to be the primary, so the local member follows.
func (v input) yield(to member) action {
	return action{deed: follow, to: to.name(), words: fmt.Sprintf("%s has taken over and was started again: %s follows it", to.name(), v.self.name())}
}

// forward: the other one allows writes; all who followed the local member follow it.
// A replica has given nothing away: whom it and the others follow, and how, is theirs.
func (v input) forward(primary member) action {
	self := v.self
	if !v.wrote && !v.mine() && v.began() == nil && self.state.Source != nil {
		return action{deed: done, words: self.name() + " is a replica"}
	}
	var left []string
	for _, m := range v.others {
		why := v.refusals[m.name()]
		switch {
		case m.name() == primary.name() || m.serves() && (v.follows(m, primary) || !v.leftBehind(m)):
		case why == "" && m.peer.Alive && m.serves():
			return action{deed: haveFollow, to: primary.name(), ask: []string{m.name()}, words: fmt.Sprintf("%s follows %s", m.name(), primary.name())}
		case why != "":
			left = append(left, why)
		default:
			left = append(left, m.silence())
		}
	}
	// The others first: commits wait until one of them follows, and a MySQL that was
	// the source of acknowledgements takes a second to stop being it.
	if !v.follows(self, primary) || !self.state.Source.Started {
		if why := v.refusals[self.name()]; why != "" {
			return v.dropFirst(why)
		}
		return action{deed: follow, to: primary.name(), words: fmt.Sprintf("%s follows %s", self.name(), primary.name())}
	}
	end := primary.name() + " takes writes"
	if len(left) > 0 {
		end += "; " + strings.Join(left, ", ")
	}
	return v.dropFirst(end)
}

// leftBehind: the other follows nobody, or the local member, which has given its role
// away; a chain of replicas, and a server outside, was somebody's wish.
func (v input) leftBehind(m member) bool {
	if m.state.Source == nil || feeds(v.self, m) {
		return true
	}
	source, member := v.sourceOf(m)
	return member && source.refuses() && source.state.Source == nil
}

// dropFirst ends with the words once no try is noted any more.
func (v input) dropFirst(words string) action {
	if v.mine() || v.began() != nil && !v.dropped {
		return action{deed: drop, words: words}
	}
	return action{deed: done, words: words}
}
