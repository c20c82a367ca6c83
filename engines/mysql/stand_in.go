package mysql

import (
	"context"

	"github.com/rollcall-dev/rollcall/engines"
)

// standIn returns for a member whose own agent is not there. A replica has nothing to hand over.
// For a primary nobody else can, as only its own agent stops and opens its server.
func (e *Engine) standIn(ctx context.Context, node string) (engines.Progress, error) {
	v, err := e.gather(ctx, task{}, true)
	if err != nil {
		return engines.Progress{}, err
	}
	if why := v.MayLead(node); why != "" {
		return engines.Progress{State: engines.ProgressRefused, OwnAgentOnly: true, Detail: why +
			": move the role to another member by hand, or, when a pause of all writes does no harm, open the pod's guard and delete it: " +
			"it comes back with an agent (deploy/docs/mysql.md, \"Pods that ran before Rollcall\")"}, nil
	}
	if v.Self.Serves() && v.Self.State.Group != nil {
		return engines.Progress{State: engines.ProgressDone, Detail: "the group elects a primary by itself when " + node + " leaves"}, nil
	}
	return engines.Progress{State: engines.ProgressDone, Detail: node + " is a replica"}, nil
}
