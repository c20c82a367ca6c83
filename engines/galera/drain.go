package galera

import (
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// departure decides whether a member can leave now. It has no duties to give away: a server that
// gets SIGTERM leaves the component by itself, and the others go on at once. So a drain changes
// nothing. It waits until the member is no donor, and refuses nothing that waiting may permit.
//
// What is wanted of the others is what the primary component needs if the member does not leave in
// peace but is killed in the middle: more than half of all weights, without it.
type departure struct {
	assessment
	node string
	// since is when this drain was tried first, and longest how long open transactions are waited
	// for.
	since   time.Time
	longest time.Duration
}

func (d departure) decide() engines.Progress {
	wait := func(format string, args ...any) engines.Progress {
		return engines.Progress{State: engines.ProgressRunning, Detail: engines.OneLine(fmt.Sprintf(format, args...))}
	}
	x, known := d.find(d.node)
	switch {
	case d.unsure != "" && d.node == d.Self.Name() && d.standing(d.Self.State) == engines.MembershipNotLive:
		return engines.Progress{State: engines.ProgressDone, Detail: "it is in no component"}
	case d.unsure != "":
		return wait("%s", d.unsure)
	case !known:
		return engines.Progress{State: engines.ProgressDone, Detail: "it is no member"}
	}
	if !x.inView {
		return engines.Progress{State: engines.ProgressDone, Detail: "it is in no component"}
	}
	have, all, copies := 0, 0, 0
	for _, other := range d.voters {
		all += other.weight
		if other.name == d.node || other.counts() != engines.MemberActive || d.before(other) {
			continue
		}
		have += other.weight
		if other.copyState() == engines.MemberActive && !other.arbitrator {
			copies++
		}
	}
	switch {
	case x.State.Phase == Donor || x.Serves() && x.State.Desynced > 0:
		return wait("%s is %s: it is waited for", d.node, x.State.Words)
	case 2*have <= all:
		return wait("without %s %d of %d votes would be left, and no primary component", d.node, have, all)
	case copies == 0:
		return wait("no other member is synced")
	}
	if own := d.Self.State; d.node == d.Self.Name() && own.Writing >= longWrite {
		if waited := d.Now.Sub(d.since); waited < d.longest {
			return wait("a transaction with changes has been open for %s; it is waited for up to %s", engines.Duration(own.Writing), engines.Duration(d.longest))
		}
	}
	return engines.Progress{State: engines.ProgressDone, Detail: d.absence()}
}

// longWrite is the age of an open transaction from which on it is waited for: shorter ones end
// before the server has begun to stop.
const longWrite = time.Second

// before reports whether another member that is leaving goes first. All members agree on the order,
// so one of them goes.
func (d departure) before(other voter) bool {
	if !other.Peer.Leaving {
		return false
	}
	self, _ := d.find(d.node)
	return other.name < self.name
}

// absence says for how long the member may be away before it needs a full state transfer.
func (d departure) absence() string {
	oldest, last := d.cached(), d.Self.State.Committed
	if oldest < 0 || last < oldest {
		return "the others keep no write sets: it will need a full state transfer"
	}
	return fmt.Sprintf("the others keep %d write sets: after more than that without it, it will need a full state transfer", last-oldest+1)
}
