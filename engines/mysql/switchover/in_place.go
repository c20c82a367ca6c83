package switchover

import (
	"strings"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/mysql/topology"
)

// inPlace decides for a primary that keeps its role. Nothing is written to any server: it waits until
// the replicas have what the local member had before they were looked at, and can follow again.
func (v Input) inPlace() Action {
	own := v.Self.State
	switch {
	case own.Writes == replication.Allowed && v.Ringed(v.Self) && !v.Undoing:
		return waiting("%s takes writes and follows a server that follows it: somebody must say which is the primary", v.Self.Name())
	case own.Source != nil:
		return Action{Kind: Done, Reason: v.Self.Name() + " is a replica"}
	case v.Undoing:
		return Action{Kind: Done}
	case own.Writes != replication.Allowed:
		return Action{Kind: Done, Reason: v.Self.Name() + " refuses writes"}
	case v.Primary == engines.Switchover:
		return waiting("%s is to hand over its role, and as it looks now nobody else may have it", v.Self.Name())
	case own.Busy != "":
		return waiting("%s is busy: %s", v.Self.Name(), engines.OneLine(own.Busy))
	case own.Writing >= v.Limits.LongWrite:
		return waiting("a write that has been open for %s is not ended: it is waited for", engines.Duration(own.Writing))
	case len(v.Others) == 0 && len(own.Replicas) > 0:
		return waiting("no other member is known, though %d follow", len(own.Replicas))
	}
	wanted := own
	if v.Wanted != nil {
		wanted = *v.Wanted
	}
	var lacking, without []string
	for _, m := range v.Others {
		switch {
		case m.Allows() && m.State.Source == nil:
			return waiting("%s and %s both allow writes: somebody must say which is right", v.Self.Name(), m.Name())
		case m.Delayed():
		case m.Known && m.State.Down, v.broken(m):
			without = append(without, m.Name())
		default:
			if why := v.Lacks(m, v.Self, wanted); why != "" {
				lacking = append(lacking, why)
			}
		}
	}
	switch {
	case len(lacking) > 0 && v.Waited:
		return Action{Kind: Done, Reason: "it is stopped in place, and was not waited for any longer: " + engines.Some(lacking)}
	case len(lacking) > 0:
		return waiting("it restarts in place once its replicas have everything: %s", engines.Some(lacking))
	case len(v.Others) == 0:
		return Action{Kind: Done, Reason: "it restarts in place, and nobody else is there"}
	case len(without) > 0:
		return Action{Kind: Done, Reason: "it restarts in place: its replicas have everything, without " + strings.Join(without, ", ")}
	}
	return Action{Kind: Done, Reason: "it restarts in place: its replicas have everything"}
}

// broken reports whether the replica has not replicated for so long that it is not waited for.
func (v Input) broken(m topology.Member) bool {
	halted := m.State.Halted
	return m.Serves() && !halted.IsZero() && m.State.Looked.Sub(halted) >= v.BrokenAfter
}

// keep decides what a member does without being asked where the primary keeps its role. Nobody
// follows another server than before, and no replica allows writes.
func (v Input) keep() Action {
	self := v.Self
	s := self.State
	switch {
	case s.Source != nil:
		return v.resume()
	case s.Writes == replication.Allowed:
		return Action{Kind: Done}
	case s.Writes == replication.RefusedBySQL:
		return Action{Kind: Done, Reason: self.Name() + " was made read-only by somebody"}
	case len(v.Others) == 0:
		return Action{Kind: Done, Reason: self.Name() + " stays read-only: no other member is known, and alone it cannot know that none is there"}
	}
	for _, m := range v.Others {
		if why := v.objects(m); why != "" {
			return waiting("%s stays read-only: %s", self.Name(), why)
		}
	}
	return Action{Kind: Open, Reason: "all follow " + self.Name()}
}

// resume starts a replica's threads that did not start with its server.
func (v Input) resume() Action {
	s := v.Self.State
	for _, m := range v.Writers() {
		if m.State.Source == nil && v.FollowsFixed(v.Self, m) && !s.Source.Started && !v.Ran {
			return Action{Kind: Resume, Reason: v.Self.Name() + " goes on following " + m.Name()}
		}
	}
	return Action{Kind: Done}
}

// objects explains why the local member, which started read-only, may not be the fixed primary, or
// may have lost something. Without GTIDs a replica that has more cannot connect.
func (v Input) objects(m topology.Member) string {
	switch s := m.State; {
	case !m.Serves():
		return m.Silence()
	case !m.Peer.Alive || v.Now.Sub(m.Peer.Since) < v.Limits.Quiet:
		return m.Name() + "'s agent has only just come"
	case s.Switch != nil:
		return s.Switch.From + " is handing over"
	case s.Source == nil || !v.FollowsFixed(m, v.Self):
		return m.Name() + " does not follow it"
	case s.Executed != "" && v.Self.State.Executed != "":
		if !v.first().HasAllOf(m) {
			return m.Name() + " has what it has not"
		}
	case !s.Source.Receiving || s.Source.Failure != "":
		return m.Name() + " is not connected to it"
	}
	return ""
}

// first is the local member as it was before the others were looked at.
func (v Input) first() topology.Member {
	m := v.Self
	if v.Before != nil {
		m.State.Executed, m.State.Received = v.Before.Executed, v.Before.Received
	}
	return m
}
