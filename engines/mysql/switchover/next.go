// Package switchover decides the next action of a handover of the primary's role, and of the
// repairs after it. It is pure, so members that see the same decide the same.
package switchover

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/mysql/topology"
)

// Margin is the time before the end of a try in which no member is asked for anything any more.
const Margin = 2 * time.Second

// Kind is the kind of an action.
type Kind uint8

// The kinds of actions.
const (
	Wait Kind = iota // for what the reason says
	Done
	Refused
	Start      // note the try everywhere, stop the writes here, freeze
	CatchUp    // at to: have what is frozen
	Promote    // at to: take over
	TakeBack   // have ask give up, and allow writes here again
	Follow     // here: follow to
	HaveFollow // have ask follow to
	Drop       // forget the try everywhere
	Elect      // group replication: make to the primary
	Finish     // here: take over as was promised
	Open       // here: allow writes, as nobody else could
	Shut       // here: a replica that allows writes must refuse them
	Resume     // here: start the replication that did not start with the server
	Renounce   // here: forget a promise that is over
)

// Action is one decision with its reason.
type Action struct {
	Kind Kind
	To   string
	Ask  []string
	// Reason is for people.
	Reason string
}

func waiting(format string, args ...any) Action { return Action{Reason: fmt.Sprintf(format, args...)} }

// Next decides what the local member does to hand over its role. It depends only on what is seen
// now, so an agent that continues another's work decides the same.
func Next(v Input) Action {
	s := v.Self.State
	writers := v.Writers()
	switch {
	case !v.Self.Serves():
		return waiting("%s", v.Self.Silence())
	case s.Group != nil:
		return v.nextInGroup()
	case v.InPlace() && !v.Mine() && v.Began() == nil && (s.Writes == replication.Allowed || !v.Wrote):
		return v.inPlace()
	case v.InPlace() && !v.Undoing:
		v.Undoing = true // what was begun before the primary was told to stay is undone
		return Next(v)
	case len(writers) > 1:
		return waiting("%s and %s both allow writes: somebody must say which is right", writers[0].Name(), writers[1].Name())
	case s.Writes == replication.Allowed && s.Source != nil && len(writers) == 1 && v.Follows(v.Self, writers[0]):
		return Action{Kind: Done, Reason: v.Self.Name() + " is a replica"}
	case s.Writes == replication.Allowed && len(writers) == 1:
		return waiting("%s and %s both allow writes: somebody must say which is right", v.Self.Name(), writers[0].Name())
	case len(writers) == 1:
		return v.forward(writers[0])
	case s.Writes == replication.Allowed && v.Mine():
		return Action{Kind: Drop, Reason: cmp.Or(v.Failed, "the try is over")}
	case s.Writes == replication.Allowed && v.Undoing:
		return Action{Kind: Done}
	case s.Writes == replication.Allowed:
		return v.begin()
	case v.Mine() && s.Source != nil:
		return Action{Kind: Drop, Reason: v.Self.Name() + " is a replica"}
	case v.Mine():
		return v.onward()
	case s.Source != nil && s.Switch == nil && !v.Wrote:
		return Action{Kind: Done, Reason: v.Self.Name() + " is a replica"}
	case s.Writes == replication.RefusedBySQL && s.Source == nil && v.Wrote && v.ClosedElsewhere && v.Began() == nil:
		return v.closed()
	case s.Writes == replication.RefusedBySQL && s.Source == nil && v.Wrote:
		// An earlier agent has stopped the writes, and it is unknown which members it asked.
		return v.giveUp("what an earlier agent began is not known", names(v.Others))
	}
	return v.Default()
}

// closed handles a server that somebody made read-only during the order, as people do who move the
// role by hand. If the server allowed writes again in the middle of that, it would be a second
// primary.
func (v Input) closed() Action {
	words := v.Self.Name() + " was made read-only by somebody: it stays so until it is opened or follows another one"
	if v.Undoing {
		return Action{Kind: Done, Reason: words}
	}
	return Action{Reason: words}
}

// Keeps says what is known of the writes of clients if an action that would stop them, or have the
// pod stopped, is not carried out. It returns Unknown for an action that stops none, or goes on with
// what has stopped them.
func (v Input) Keeps(a Action) engines.Writes {
	s := v.Self.State
	takes := v.Self.Allows() && s.Source == nil && !v.Mine()
	switch {
	case !takes || v.Began() != nil:
		return engines.WritesUnknown
	case a.Kind == Start, a.Kind == Elect, a.Kind == Done && s.Group == nil && v.InPlace():
		return engines.WritesReady
	case a.Kind == Wait:
		return engines.WritesKept
	}
	return engines.WritesUnknown
}

func (v Input) begin() Action {
	own := v.Self.State
	if own.Source != nil {
		return Action{Kind: Refused, Reason: fmt.Sprintf("%s allows writes and follows %s", v.Self.Name(), engines.OneLine(own.Source.Host))}
	}
	if v.Primary == engines.RestartInPlace {
		return waiting("%s is to restart in place, and as it looks now a replica may take over its role", v.Self.Name())
	}
	if own.StartsWritable {
		return Action{Kind: Refused, Reason: v.Self.Name() + " would allow writes beside the new primary when it is started again: its configuration must say read_only, and on MySQL nothing else may be persisted"}
	}
	if n := own.Switch; n != nil {
		return waiting("%s is handing over", n.From)
	}
	if why := v.Self.Powerless(); why != "" {
		return waiting("%s", why)
	}
	if own.Unlogged != "" {
		return waiting("%s cannot hand over: %s", v.Self.Name(), engines.OneLine(own.Unlogged))
	}
	if own.Executed == "" {
		return waiting("%s does not tell by GTIDs what it has executed: MySQL needs gtid_mode=ON, and both flavors log_bin", v.Self.Name())
	}
	for _, m := range v.Others {
		if why := v.lost(m); m.Serves() && why != "" {
			return waiting("%s", why)
		}
	}
	if v.Now.Before(v.Again) {
		return waiting("%s; next try in %s", v.Failed, engines.Duration(v.Again.Sub(v.Now)))
	}
	fit, reasons := v.candidates(true)
	switch {
	case len(fit) == 0 && len(v.Others) == 0:
		return waiting("no other member is known, though %d follow", len(own.Replicas))
	case len(fit) == 0:
		return waiting("nobody can take over: %s", engines.Some(reasons))
	case own.Busy != "":
		return waiting("%s is busy: %s", v.Self.Name(), engines.OneLine(own.Busy))
	case own.Writing >= v.Limits.LongWrite:
		return waiting("a write that has been open for %s is not ended: it is waited for", engines.Duration(own.Writing))
	case v.Until().Sub(v.Now) < 2*Margin:
		return waiting("too little time is left to hand over")
	}
	return Action{Kind: Start, Reason: "stopping writes"}
}

// onward continues a try in which writes are stopped here, and no member allows them.
func (v Input) onward() Action {
	n := v.Self.State.Switch
	late := !v.Now.Before(n.Until.Add(-Margin))
	switch {
	case n.Promoting:
		return v.asked(n, late)
	case v.Undoing || n.Claim != v.Claim:
		return v.giveUp("the switchover was given up", nil)
	case n.Frozen == "":
		return v.giveUp(cmp.Or(v.Failed, "writes were not wholly stopped"), nil)
	case late:
		return v.giveUp("nobody was ready in time", nil)
	}
	fit, reasons := v.candidates(false)
	fit = slices.DeleteFunc(fit, func(m topology.Member) bool {
		if m.State.Switch.Same(n) {
			return false
		}
		reasons = append(reasons, m.Name()+" has not noted this try")
		return true
	})
	if len(fit) == 0 {
		return v.giveUp("nobody can take over any more: "+engines.Some(reasons), nil)
	}
	to := choose(fit, n.Frozen)
	if caughtUp, _ := to.Has(n.Frozen); !caughtUp {
		return Action{Kind: CatchUp, To: to.Name(), Reason: to.Name() + " is catching up"}
	}
	return Action{Kind: Promote, To: to.Name(), Reason: to.Name() + " takes over"}
}

// asked handles a member that was asked to take over and is not known to have done so. Until that
// is known, nothing else happens.
func (v Input) asked(n *replication.Switch, late bool) Action {
	if n.To == "" {
		return v.giveUp("what an earlier agent began is not known", names(v.Others))
	}
	to, listed := v.Find(n.To)
	switch {
	case !listed:
		return waiting("%s was asked to take over and its agent is not known any more: writes stay stopped until it is", n.To)
	case to.Known && !to.Serves() && (late || v.Undoing || !to.State.Switch.Same(n) || !to.State.Switch.Promoting):
		return v.giveUp(to.Silence(), []string{n.To})
	case !to.Serves():
		return waiting("%s was asked to take over: writes stay stopped until it answers (%s)", n.To, to.Silence())
	case v.Took(to):
		return v.yield(to)
	case !late && !v.Undoing && n.Claim == v.Claim && to.State.Switch.Same(n):
		return Action{Kind: Promote, To: n.To, Reason: n.To + " takes over"}
	}
	return v.giveUp(n.To+" did not take over", []string{n.To})
}

// giveUp allows writes here again once all members in ask have said that they will not take over. A
// member with more transactions has taken over already.
func (v Input) giveUp(why string, ask []string) Action {
	for _, name := range ask {
		m, _ := v.Find(name)
		if !m.Serves() && !(m.Known && v.Mine() && v.Self.State.Switch.To == name) {
			return waiting("%s: writes stay stopped until all have said that they did not take over (%s)", why, m.Silence())
		}
		if m.Serves() && v.Took(m) {
			return v.yield(m)
		}
	}
	return Action{Kind: TakeBack, Ask: ask, Reason: why}
}

// yield follows a member that took writes and has refused them since a restart. It has to be the
// primary.
func (v Input) yield(to topology.Member) Action {
	return Action{Kind: Follow, To: to.Name(), Reason: fmt.Sprintf("%s has taken over and was started again: %s follows it", to.Name(), v.Self.Name())}
}

// forward handles the case that another member allows writes: all members that followed the local
// member follow it. A replica has given nothing away, so its own source, and that of the others,
// stay as they are.
func (v Input) forward(primary topology.Member) Action {
	self := v.Self
	if !v.Wrote && !v.Mine() && v.Began() == nil && self.State.Source != nil {
		return Action{Kind: Done, Reason: self.Name() + " is a replica"}
	}
	var left []string
	for _, m := range v.Others {
		why := v.Refusals[m.Name()]
		switch {
		case m.Name() == primary.Name() || m.Serves() && (v.Follows(m, primary) || !v.leftBehind(m)):
		case why == "" && m.Peer.Alive && m.Serves():
			return Action{Kind: HaveFollow, To: primary.Name(), Ask: []string{m.Name()}, Reason: fmt.Sprintf("%s follows %s", m.Name(), primary.Name())}
		case why != "":
			left = append(left, why)
		default:
			left = append(left, m.Silence())
		}
	}
	// The others first: commits wait until one of them follows, and a MySQL that was
	// the source of acknowledgements takes a second to stop being it.
	if !v.Follows(self, primary) || !self.State.Source.Started {
		if why := v.Refusals[self.Name()]; why != "" {
			return v.dropFirst(why)
		}
		return Action{Kind: Follow, To: primary.Name(), Reason: fmt.Sprintf("%s follows %s", self.Name(), primary.Name())}
	}
	end := primary.Name() + " takes writes"
	if len(left) > 0 {
		end += "; " + strings.Join(left, ", ")
	}
	return v.dropFirst(end)
}

// leftBehind reports whether the member follows nobody, or the local member, which has given its
// role away. A chain of replicas, or a source outside the database, was somebody's choice.
func (v Input) leftBehind(m topology.Member) bool {
	if m.State.Source == nil || topology.Feeds(v.Self, m) {
		return true
	}
	source, member := v.SourceOf(m)
	return member && source.Refuses() && source.State.Source == nil
}

// dropFirst returns Done once no try is noted any more, and Drop before that.
func (v Input) dropFirst(words string) Action {
	if v.Mine() || v.Began() != nil && !v.Dropped {
		return Action{Kind: Drop, Reason: words}
	}
	return Action{Kind: Done, Reason: words}
}
