package zookeeper

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/engines"
)

// verdict on the whole database, as the local member sees it.
func (a assessment) verdict() engines.Health {
	yellow := func(words string) engines.Health {
		return engines.Health{Verdict: engines.VerdictYellow, Reason: engines.OneLine(words)}
	}
	switch {
	case a.unsure != "":
		return yellow(a.unsure)
	case a.Self.State.Mode == Standalone:
		return engines.Health{Verdict: engines.VerdictGreen}
	case a.leader == "":
		return yellow("it is not known who leads")
	}
	var moving, gone, unknown []string
	for _, x := range a.members {
		switch {
		case x.mode() == Standalone:
			unknown = append(unknown, x.pod()+" is a server of its own, without an ensemble")
		case x.mode() == Observing && a.votes(x.node):
			unknown = append(unknown, x.node+" has a vote, and says that it is an observer")
		case x.mode() != ModeUnknown:
		case x.Known && x.State.Down:
			gone = append(gone, x.node+" does not run")
		case x.looking() && a.sends(x.node):
			moving = append(moving, x.node+" may be receiving the leader's data")
		case x.looking():
			gone = append(gone, x.node+" has not joined the leader")
		default:
			unknown = append(unknown, x.node+": "+x.why())
		}
	}
	switch {
	case len(moving) > 0:
		return yellow(engines.Some(moving))
	case len(unknown) > 0:
		return yellow("not known: " + engines.Some(unknown))
	case len(gone) > 0:
		return engines.Health{Verdict: engines.VerdictRecoverable, Reason: engines.OneLine(engines.Some(gone))}
	}
	return engines.Health{Verdict: engines.VerdictGreen}
}

// pod names a member by its pod where its node says nothing.
func (x member) pod() string {
	if x.node == standaloneNode {
		return x.Peer.Pod
	}
	return x.node
}

// why says why nothing is known of a member.
func (x member) why() string {
	if x.Known {
		return x.State.Problem
	}
	if x.answer.Why != "" {
		return x.Why + ", and it does not answer itself: " + x.answer.Why
	}
	return x.Why
}

// outage is Red, with what a person has to know, if all agents say that nobody serves.
func (a assessment) outage() engines.Health {
	if !a.nobodyServes() {
		return engines.Health{Reason: a.Self.State.Problem}
	}
	down := 0
	for _, m := range append([]Member{a.Self}, a.Others...) {
		if m.State.Down {
			down++
		}
	}
	all := 1 + len(a.Others)
	return engines.Health{Verdict: engines.VerdictRed, Reason: fmt.Sprintf("nobody leads: %d of %d servers run, and look for a leader", all-down, all)}
}
