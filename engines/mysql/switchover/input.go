package switchover

import (
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/mysql/topology"
)

// Input is what a decision is made from. It has values only.
type Input struct {
	topology.View
	Limits Limits
	// Claim is the claim of the order, with the members that may take over (empty means any), the
	// time past which nothing may be started (zero means no limit), and whether the node allowed
	// writes when its undo was planned.
	Claim    string
	Eligible []string
	NotAfter time.Time
	Wrote    bool
	// Primary is what the order is to do with the role; Unknown means by the topology.
	Primary engines.Primary
	// Undoing means that the order is over, and no other member is asked to take over.
	Undoing bool

	// Wanted is what the replicas of a primary that keeps its role must have before it goes; nil means
	// what it has now.
	Wanted *replication.State
	// Waited means that they were waited for as long as the stop hook may: the pod goes anyway.
	Waited bool
	// Before is the local server before the others were looked at; nil means not known.
	Before *replication.State
	// Again is when the next try may begin, Failed why the last one failed.
	Again  time.Time
	Failed string
	// Ran means that replication has been running here since the server started.
	Ran bool
	// Chained means that the source of the local member has been a replica all the time.
	Chained bool
	// ClosedElsewhere means that this agent saw the server allow writes, and did not stop them
	// itself.
	ClosedElsewhere bool
	// Refusals are the refusals of members to follow in this call.
	Refusals map[string]string
	// Dropped means that all members were told in this call that the try is over.
	Dropped bool
}

// Mine reports whether the local member has begun a switchover.
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

// Took reports whether the other member follows nobody and has more than the local one, so that it
// must have allowed writes after they were stopped here.
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
