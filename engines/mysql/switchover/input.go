package switchover

import (
	"time"

	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/mysql/topology"
)

// Input is what one decision is made from: values only.
type Input struct {
	topology.View
	Limits Limits
	// Claim in hand, with the members that may take over (empty: any), the time past
	// which nothing may be started (zero: no limit), and whether the node allowed
	// writes when its undo was planned.
	Claim    string
	Eligible []string
	NotAfter time.Time
	Wrote    bool
	// Undoing: the order is over; nobody else is asked to take over any more.
	Undoing bool

	// Before is the local server as it was before the others were looked at; nil: not known.
	Before *replication.State
	// Again is when the next try may begin, failed why the last one did not work.
	Again  time.Time
	Failed string
	// Ran: replication was seen running here since the server started.
	Ran bool
	// Chained: the member that the local one follows was a replica all the time.
	Chained bool
	// ClosedElsewhere: this agent has seen the server allow writes, and has not stopped
	// them itself since.
	ClosedElsewhere bool
	// Refusals of members to follow, in this call.
	Refusals map[string]string
	// Dropped: all were told in this call that the try is over.
	Dropped bool
}

// Mine: the local member has begun a switchover.
func (v Input) Mine() bool {
	n := v.Self.State.Switch
	return n != nil && n.From == v.Self.Name()
}

// Until is the end of a try that begins now.
func (v Input) Until() time.Time {
	end := v.Now.Add(v.Limits.Patience)
	if !v.NotAfter.IsZero() && v.NotAfter.Before(end) {
		return v.NotAfter
	}
	return end
}

// Took: the other follows nobody and has what the local member has not, so that it
// must have allowed writes since these were stopped here.
func (v Input) Took(m topology.Member) bool { return m.State.Source == nil && topology.More(m, v.Self) }

func names(members []topology.Member) []string {
	var out []string
	for _, m := range members {
		out = append(out, m.Name())
	}
	return out
}

// Began returns the switchover of the local member that another one has noted.
func (v Input) Began() *replication.Switch {
	for _, m := range v.Others {
		if n := m.State.Switch; m.Serves() && n != nil && n.From == v.Self.Name() {
			return n
		}
	}
	return nil
}
