package act

import (
	"context"
	"errors"
	"fmt"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// A pod that is written down as empty may go by itself before its volumes are deleted, and
// not be wanted any more when it has gone. A deletion that a former leader sent may still
// be on its way. A pod of its name, once it is wanted again, would come back to these volumes.
// So they are deleted first, and what kept data away is undone after that.

// mayNotDiscard says why nothing is deleted now; empty: it may be.
func mayNotDiscard(at Situation) string {
	why := policy.Forbidden(&at.Snapshot)
	if at.Cluster.DeletionTimestamp != nil {
		why = "the DatabaseCluster is being deleted"
	}
	if why == "" {
		return ""
	}
	return "its volumes are left: " + why
}

// discardUnwanted deletes the claimed volumes of a pod that has gone for good. Once they are
// being deleted no pod starts on them, so whoever is not there after that does not have them.
func (a *Actor) discardUnwanted(ctx context.Context, at Situation, claim model.Claim) func(*run) {
	ctx, cancel := a.bound(ctx)
	defer cancel()
	err := a.deleteVolumes(ctx, at, claim)
	if err == nil {
		switch _, err = a.pods.find(ctx, claim.Pod); {
		case err == nil:
			err = fmt.Errorf("there is a pod %s again", claim.Pod)
		case errors.Is(err, errGone):
			err = nil
		}
	}
	return func(r *run) {
		switch {
		case errors.Is(err, errDeposed):
			a.depose()
		case err != nil:
			r.failed(err)
		default:
			r.succeeded()
			r.heard.Discarded = true
		}
	}
}
