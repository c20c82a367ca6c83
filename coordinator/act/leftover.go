package act

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// A claim may have to end while nobody is there who could undo its prepare: no pod has an
// agent, and pods are adopted only when it is over; or nothing of the database runs, and
// it keeps a correction from its pod. What it has changed is then written down in the
// write that releases it, and undone by the first agent that is there.

// clear undoes what claims have left, and then drops its record.
func (a *Actor) clear(ctx context.Context, at Situation, out *Outcome) {
	listed := map[string]bool{}
	for _, left := range at.Cluster.Status.Leftovers {
		listed[left.Claim] = true
		r := a.leftovers[left.Claim]
		if r == nil {
			r = &run{}
			a.leftovers[left.Claim] = r
		}
		targets := restorers(at.Snapshot, r.errors)
		switch {
		case r.busy:
		case r.heard.Undone:
			out.Edits.Clear = append(out.Edits.Clear, left.Claim)
			continue
		case isOpen(at.Snapshot, left.Claim):
			r.problem = "that claim is open: it is undone when it ends"
		case preparing(at.Snapshot, left.Pod):
			// Undone meanwhile, it could take back what that prepare needs, too.
		case len(targets) == 0:
			r.problem = "no live pod has an agent"
		case at.Now.Before(r.retryAt):
			out.wake(r.retryAt)
		default:
			a.startClearing(ctx, at, left, targets, r)
		}
		if r.problem != "" {
			out.setting(fmt.Sprintf("what was prepared on %s under claim %s", left.Pod, left.Claim), r.problem)
		}
	}
	maps.DeleteFunc(a.leftovers, func(claim string, r *run) bool { return !r.busy && !listed[claim] })
}

// isOpen: what claims leave is noted in the write that ends them, so this is none of it.
func isOpen(s model.Snapshot, id string) bool {
	return slices.ContainsFunc(s.Cluster.Status.Claims, func(c model.Claim) bool { return c.ID == id })
}

// preparing: a pod of that name is claimed anew, and is there; or nothing may come back to the
// volumes that it has left.
func preparing(s model.Snapshot, pod string) bool {
	for _, claim := range s.Cluster.Status.Claims {
		if claim.Pod == pod && prepares(claim) && (replaces(claim) || whereabouts(s, claim) == Here) {
			return true
		}
	}
	return false
}

func (a *Actor) startClearing(ctx context.Context, at Situation, left v1alpha1.Leftover, targets []Target, r *run) {
	r.busy = true
	a.running.Go(func() {
		done, err := a.undoLeftover(ctx, at, left, targets)
		a.tell(func() {
			r.busy = false
			a.outrun(err)
			switch {
			case err != nil:
				r.failed(err)
			case done:
				a.log.Info("what a claim has left is undone", "id", left.Claim, "pod", left.Pod)
				r.succeeded()
				r.heard.Undone = true
			default:
				r.succeeded()
				r.retryAt = time.Now().Add(pollEvery)
			}
		})
	})
}

func (a *Actor) undoLeftover(ctx context.Context, at Situation, left v1alpha1.Leftover, targets []Target) (done bool, err error) {
	return a.throughOne(ctx, at, "undo it", targets, func(ctx context.Context, target Target) (bool, error) {
		return a.options.Agents.Restore(ctx, target, left.Claim, a.options.Epoch, left.Undo)
	})
}
