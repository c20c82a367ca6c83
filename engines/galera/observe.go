package galera

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/rollcall-dev/rollcall/engines"
)

// Observe is pure: values in, facts out, and Unknown for the rest.
func Observe(v View) engines.Observation {
	a := assess(v)
	self := v.Self.State
	o := engines.Observation{Node: self.Node, Version: self.Version, Topology: engines.Galera}
	switch {
	case self.Down:
		o.Member = engines.MembershipNotLive
		o.Health = a.outage(engines.Health{Reason: self.Problem})
		return o
	case !self.Serving:
		o.Health.Reason = self.Problem
		return o
	}
	o.Member = a.standing(self)
	o.Settled = a.unsure == "" && v.Self.synced() && self.Desynced == 0
	o.Groups, o.Nodes, o.Health = a.groups(), a.nodes(), a.verdict()
	o.Busy, o.Veto = a.busy(), a.veto()
	return o
}

// The groups.
const (
	componentGroup = "primary-component"
	dataGroup      = "data"
)

// groups: the primary component, in which each member has as many votes as it has weight, and the
// data. Members that are gone keep their votes, though Galera forgets those that left: the next
// ones to go must leave a majority of all.
func (a assessment) groups() []engines.Group {
	component := engines.Group{ID: componentGroup, Kind: engines.GroupQuorum}
	data := engines.Group{ID: dataGroup, Kind: engines.GroupShard}
	for _, x := range a.voters {
		votes, copied := x.counts(), x.copyState()
		if a.unsure != "" {
			votes, copied = engines.MemberUnknown, engines.MemberUnknown
		}
		for i := range min(x.weight, maxVotes/len(a.voters)) {
			id := x.name
			if i > 0 {
				id = fmt.Sprintf("%s/%d", x.name, i+1)
			}
			component.Members = append(component.Members, engines.Member{ID: id, Node: x.name, State: votes})
		}
		if !x.arbitrator {
			m := engines.Member{ID: x.name, Node: x.name, State: copied}
			if s := x.State; copied == engines.MemberRecovering && s.Expected > 0 {
				m.Progress = min(1, float64(s.Received)/float64(s.Expected))
			}
			data.Members = append(data.Members, m)
		}
	}
	component.MinAvailable = len(component.Members)/2 + 1
	return []engines.Group{component, data}
}

// nodes are all members, including the local one and the arbitrators.
func (a assessment) nodes() []engines.Node {
	var out []engines.Node
	for _, x := range a.voters {
		address := x.name
		for _, s := range a.Self.State.Seen {
			if s.Name == x.name {
				address = cmp.Or(s.Address, x.name)
			}
		}
		out = append(out, engines.Node{Name: x.name, Address: address, State: a.membership(x)})
	}
	return out
}

// busy says what the local member does for others, or for itself.
func (a assessment) busy() string {
	s := a.Self.State
	switch {
	case !s.Primary:
		return ""
	case s.Phase == Donor:
		if to := a.receivers(); to != "" {
			return fmt.Sprintf("sends all of its data to %s (%s)", to, s.Words)
		}
		return fmt.Sprintf("is desynced, as for a backup (%s)", s.Words)
	case s.Phase == Joining && s.Expected > 0:
		return fmt.Sprintf("receives an incremental state transfer: %d of %d write sets", s.Received, s.Expected)
	case s.Phase == Joining:
		return fmt.Sprintf("waits for a state transfer (%s)", s.Words)
	case s.Phase == Joined:
		return fmt.Sprintf("has received a state transfer and catches up (%s)", s.Words)
	case s.Desynced > 0:
		return "is desynced on purpose (wsrep_desync)"
	}
	return ""
}

// receivers are the members that are in the component and do not serve yet: who receives a full
// state transfer does not listen before it is complete.
func (a assessment) receivers() string {
	var out []string
	for _, x := range a.voters {
		if x.inView && x.agent && (x.Known && x.State.Down || x.Serves() && x.State.Phase == Joining) {
			out = append(out, x.name)
		}
	}
	return strings.Join(out, " and ")
}

// veto is what a restart would make worse.
func (a assessment) veto() string {
	if a.Self.State.SplitBrain {
		return "pc.ignore_sb or pc.ignore_quorum is on: the members go on without a majority, so their data may part while one restarts"
	}
	return ""
}
