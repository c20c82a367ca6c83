package mysql

import "time"

// input is what one decision is made from: values only.
type input struct {
	view
	limits Limits
	// claim in hand, with the members that may take over (empty: any), the time past
	// which nothing may be started (zero: no limit), and whether the node allowed
	// writes when its undo was planned.
	claim    string
	eligible []string
	notAfter time.Time
	wrote    bool
	// undoing: the order is over; nobody else is asked to take over any more.
	undoing bool

	// before is the local server as it was before the others were looked at; nil: not known.
	before *State
	// again is when the next try may begin, failed why the last one did not work.
	again  time.Time
	failed string
	// ran: replication was seen running here since the server started.
	ran bool
	// chained: the member that the local one follows was a replica all the time.
	chained bool
	// closedElsewhere: this agent has seen the server allow writes, and has not stopped
	// them itself since.
	closedElsewhere bool
	// refusals of members to follow, in this call.
	refusals map[string]string
	// dropped: all were told in this call that the try is over.
	dropped bool
}

// mine: the local member has begun a switchover.
func (v input) mine() bool {
	n := v.self.state.Switch
	return n != nil && n.From == v.self.name()
}

// until is the end of a try that begins now.
func (v input) until() time.Time {
	end := v.now.Add(v.limits.Patience)
	if !v.notAfter.IsZero() && v.notAfter.Before(end) {
		return v.notAfter
	}
	return end
}

// took: the other follows nobody and has what the local member has not, so that it
// must have allowed writes since these were stopped here.
func (v input) took(m member) bool { return m.state.Source == nil && more(m, v.self) }

func names(members []member) []string {
	var out []string
	for _, m := range members {
		out = append(out, m.name())
	}
	return out
}

// began answers the switchover of the local member that another one has noted.
func (v input) began() *Switch {
	for _, m := range v.others {
		if n := m.state.Switch; m.serves() && n != nil && n.From == v.self.name() {
			return n
		}
	}
	return nil
}
