package switchover

import (
	"fmt"
	"slices"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/mysql/topology"
	"github.com/rollcall-dev/rollcall/engines/sorted"
)

// Repair decides what the local member does while there is no order.
func Repair(v Input) Action {
	if v.Self.Serves() && v.Grouped() {
		return Action{Kind: Done}
	}
	if v.Self.Serves() && v.Mine() {
		v.Undoing = true
		return Next(v)
	}
	return v.Default()
}

// Default returns what a member does without being asked. If anything is unknown, it may only
// follow the member that allows writes.
func (v Input) Default() Action {
	s := v.Self.State
	writers := v.Writers()
	switch {
	case !v.Self.Serves():
		return waiting("%s", v.Self.Silence())
	case s.Switch != nil && s.Switch.Promoting && s.Switch.From != v.Self.Name():
		return v.promised(s.Switch)
	case v.Kind() == engines.FixedPrimary:
		return v.keep()
	case len(writers) > 1 || len(writers) == 1 && s.Writes == replication.Allowed && !v.Follows(v.Self, writers[0]):
		return waiting("%s both allow writes: somebody must say which is right", engines.Some(names(append(writers, v.Self)[:2])))
	case s.Writes == replication.Allowed && len(writers) == 1:
		return Action{Kind: Shut, Reason: v.Self.Name() + " follows " + writers[0].Name() + " and allowed writes"}
	case s.Writes == replication.Allowed:
		return Action{Kind: Done}
	case len(writers) == 1:
		return v.attach(writers[0])
	}
	return v.vacant()
}

// promised handles a local member that was asked to take over and has not finished. It finishes
// within the time of the try, and only with everything that was frozen.
func (v Input) promised(n *replication.Switch) Action {
	if v.Self.State.Writes == replication.Allowed {
		return Action{Kind: Renounce, Reason: "has taken over"}
	}
	if !v.Now.Before(n.Until) {
		return Action{Kind: Renounce, Reason: "the time to take over from " + n.From + " is over"}
	}
	if ok, why := v.Self.Has(n.Frozen); !ok {
		return Action{Kind: Renounce, Reason: "cannot take over from " + n.From + ": " + why}
	}
	return Action{Kind: Finish, Reason: v.Self.Name() + " takes over from " + n.From}
}

// attach makes members follow primary, the only member that allows writes. A replica of another
// member was left behind when that one handed over, unless it was meant to follow a replica.
func (v Input) attach(primary topology.Member) Action {
	self := v.Self
	to := Action{Kind: Follow, To: primary.Name(), Reason: self.Name() + " follows " + primary.Name()}
	if self.State.Source == nil {
		return to
	}
	if v.Follows(self, primary) {
		if !self.State.Source.Started && !v.Ran {
			return Action{Kind: Resume, Reason: self.Name() + " goes on following " + primary.Name()}
		}
		return Action{Kind: Done}
	}
	source, member := v.SourceOf(self)
	switch {
	case !member: // a source outside the database: not ours to change
		return Action{Kind: Done}
	case v.Chained: // it waits for the replica that it was meant to follow
		return Action{Kind: Done}
	case source.Refuses(), !source.Serves() && !self.State.Source.Receiving:
		return to
	}
	return Action{Kind: Done}
}

// vacant handles the case that no member is known to allow writes. One of them allows writes when
// all are known and all would choose the same one, as after a restart of all servers.
func (v Input) vacant() Action {
	if len(v.Others) == 0 {
		return Action{Kind: Done, Reason: v.Self.Name() + " stays read-only: no other member is known, and alone it cannot know that none is there"}
	}
	if v.Self.State.Source == nil && v.Began() != nil {
		return v.giveUp("an earlier agent began to hand over", names(v.Others))
	}
	if v.Self.State.Writes == replication.RefusedBySQL && v.Self.State.Source == nil {
		return Action{Kind: Done, Reason: v.Self.Name() + " was made read-only by somebody"}
	}
	for _, m := range v.All() {
		n := m.State.Switch
		switch {
		case !m.Serves() || !m.Refuses():
			return waiting("nobody is known to allow writes; %s", m.Silence())
		case m.Name() != v.Self.Name() && (!m.Peer.Alive || v.Now.Sub(m.Peer.Since) < v.Limits.Quiet):
			return waiting("nobody allows writes; %s's agent has only just come", m.Name())
		case n != nil:
			return waiting("nobody allows writes; %s is handing over", n.From)
		case m.State.Writes == replication.RefusedBySQL && m.State.Source == nil:
			return waiting("nobody allows writes; %s was made read-only by somebody", m.Name())
		case m.State.Group != nil:
			return waiting("%s is of a group", m.Name())
		case m.State.Executed == "":
			return waiting("nobody allows writes; %s does not tell by GTIDs what it has executed", m.Name())
		}
		source, member := v.SourceOf(m)
		switch s := m.State.Source; {
		case s == nil:
		case member && topology.AnotherID(s, source) && !s.Receiving && v.Has(s.ID):
			return waiting("nobody allows writes; %s was told to follow %s and has not reached it yet", m.Name(), source.Name())
		case !member || topology.AnotherID(s, source):
			return Action{Kind: Done, Reason: fmt.Sprintf("%s follows %s", m.Name(), engines.OneLine(s.Host))}
		}
	}
	successor, why := v.successor()
	if successor != v.Self.Name() {
		return waiting("nobody allows writes; %s", why)
	}
	return Action{Kind: Open, Reason: why}
}

// successor returns the member that has everything that any member has. It prefers a member that
// others follow, then one that follows nobody, then a replica, and among these the lowest ordinal.
// Replicas may still be applying, so there may be none yet.
func (v Input) successor() (name, why string) {
	all := v.All()
	if v.Before != nil {
		all[0].State.Executed, all[0].State.Received = v.Before.Executed, v.Before.Received
	}
	sorted.By(all, topology.ByOrdinal)
	best, rank := topology.Member{}, 3
	for _, m := range all {
		r := 2
		if m.State.Source == nil {
			r = 1
			if slices.ContainsFunc(all, func(o topology.Member) bool { return v.Follows(o, m) }) {
				r = 0
			}
		}
		complete := !slices.ContainsFunc(all, func(o topology.Member) bool { return !m.HasAllOf(o) })
		if complete && r < rank {
			best, rank = m, r
		}
	}
	if rank == 3 {
		return "", "no member has all that the others have"
	}
	return best.Name(), best.Name() + " has all that any member has"
}
