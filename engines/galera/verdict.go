package galera

import (
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// verdict on the whole database, as the local member sees it.
func (a assessment) verdict() engines.Health {
	self := a.Self.State
	switch {
	case !self.Primary && !a.somebodyPrimary():
		return a.outage(engines.Health{Verdict: engines.VerdictYellow, Reason: engines.OneLine(a.unsure)})
	case a.unsure != "":
		return engines.Health{Verdict: engines.VerdictYellow, Reason: engines.OneLine(a.unsure)}
	}
	var moving, gone, unknown []string
	for _, x := range a.voters {
		switch x.counts() {
		case engines.MemberDown:
			if x.inView {
				moving = append(moving, x.name+" has left, or receives a full state transfer")
			} else {
				gone = append(gone, x.name+a.transfer(x))
			}
		case engines.MemberUnknown:
			unknown = append(unknown, x.name+": "+x.Why+x.State.Problem+x.silent())
		case engines.MemberActive:
			if x.copyState() == engines.MemberRecovering {
				moving = append(moving, x.name+" is "+x.State.Words)
			}
		}
	}
	switch {
	case len(moving) > 0:
		return engines.Health{Verdict: engines.VerdictYellow, Reason: engines.OneLine(engines.Some(moving))}
	case len(unknown) > 0:
		return engines.Health{Verdict: engines.VerdictYellow, Reason: engines.OneLine("not known: " + engines.Some(unknown))}
	case len(gone) > 0:
		return engines.Health{Verdict: engines.VerdictRecoverable, Reason: engines.OneLine("not in the primary component: " + engines.Some(gone))}
	}
	return engines.Health{Verdict: engines.VerdictGreen}
}

// silent says what a person has to know of a member of the component whose agent is not heard. Its
// agent may be cut off while the server has ended, so it counts for nothing meanwhile.
func (x voter) silent() string {
	if x.Peer.Alive || x.Peer.Since.IsZero() {
		return ""
	}
	return fmt.Sprintf(" since %s; if its pod has come back without an agent, restart it for one, or wait until %s",
		x.Peer.Since.UTC().Format(time.TimeOnly), x.Peer.Since.Add(missedFor).UTC().Format(time.TimeOnly))
}

// outage is Red with what a person has to know, if no member is in a primary component, and other
// otherwise. Nobody is bootstrapped by Rollcall: who begins without the newest data loses it.
func (a assessment) outage(other engines.Health) engines.Health {
	if a.somebodyPrimary() {
		return other
	}
	best, asked := Member{}, 0
	var silent []string
	for _, m := range append([]Member{a.Self}, a.Others...) {
		switch {
		case m.Serves():
			if asked++; asked == 1 || m.State.Committed > best.State.Committed {
				best = m
			}
		case m.Known && m.State.Down:
			silent = append(silent, m.label())
		default:
			return other // it may be in a primary component
		}
	}
	words := "no member is in a primary component"
	if asked > 0 {
		words += fmt.Sprintf("; of those that answer, %s has the highest sequence number, %d", best.Name(), best.State.Committed)
	}
	if len(silent) > 0 {
		words += fmt.Sprintf("; the server does not run on %s: compare seqno and safe_to_bootstrap in grastate.dat, or what --wsrep-recover prints", engines.Some(silent))
	}
	return engines.Health{Verdict: engines.VerdictRed, Reason: engines.OneLine(words)}
}

// label is the name of a member, or of its pod.
func (m Member) label() string {
	if name := m.Name(); name != "" {
		return name
	}
	return m.Peer.Pod
}

// transfer says what a member that is gone needs when it is back, as far as that is known.
func (a assessment) transfer(x voter) string {
	past, known := a.Before[x.name]
	oldest := a.cached()
	switch {
	case !known || past.Committed < 0 || oldest < 0:
		return ""
	case past.Committed+1 < oldest:
		return fmt.Sprintf(" (a full state transfer follows: the others have the write sets from %d on, and it needs those from %d on)", oldest, past.Committed+1)
	}
	return ""
}

// cached is the oldest write set that a synced member can send; negative means that none tells.
func (a assessment) cached() int64 {
	oldest := int64(-1)
	for _, x := range a.voters {
		if x.synced() && x.State.Cached > 0 && (oldest < 0 || x.State.Cached < oldest) {
			oldest = x.State.Cached
		}
	}
	return oldest
}
