package mysql

import (
	"context"
	"slices"

	"github.com/rollcall-dev/rollcall/engines"
)

// standIn answers for a member whose own agent is not there to hand over: a replica
// has nothing to hand over. For a primary nobody can, as only its own agent opens and
// stops its server.
func (e *Engine) standIn(ctx context.Context, node string) (engines.Progress, error) {
	v, err := e.gather(ctx, task{}, true)
	if err != nil {
		return engines.Progress{}, err
	}
	if why := v.mayLead(node); why != "" {
		return engines.Progress{State: engines.Refused, OwnAgentOnly: true, Detail: why +
			": move the role to another member by hand, or, when a pause of all writes does no harm, open the pod's guard and delete it: " +
			"it comes back with an agent (deploy/docs/mysql.md, \"Pods that ran before Rollcall\")"}, nil
	}
	return engines.Progress{State: engines.Done, Detail: node + " is a replica"}, nil
}

// mayLead says why a member that does not tell may be the primary; empty: another one
// is known to be, or what all of them receive comes from another one.
func (v view) mayLead(node string) string {
	silent := member{peer: engines.Peer{Node: node}}
	if v.self.serves() && v.self.state.Group != nil {
		return "" // the group elects
	}
	for _, m := range v.all() {
		if m.name() == node && m.serves() {
			silent = m
		}
	}
	if silent.refuses() && silent.state.Source != nil {
		return ""
	}
	if slices.ContainsFunc(v.all(), func(m member) bool { return m.name() != node && m.allows() }) {
		return ""
	}
	fed := false
	for _, m := range v.all() {
		switch {
		case m.name() == node || !m.serves() || m.state.Source == nil:
		case sends(silent, m):
			return m.name() + " follows " + node + ", which has no agent"
		default:
			source, member := v.sourceOf(m)
			fed = fed || m.state.Source.Receiving && !(member && source.serves())
		}
	}
	if fed {
		return ""
	}
	return "nobody knows which member takes writes, and " + node + " has no agent"
}
