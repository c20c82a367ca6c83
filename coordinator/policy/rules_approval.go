package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

func (d *decision) needsApproval(c *candidate) *finding {
	u := &d.x.Spec.Update
	switch {
	case d.x.Outage() && !d.approved(model.ApprovedOutage, c.OwnPool.Revision):
		return found("policy.unit is All: everything would go at once, which is an outage", d.approve(model.ApprovedOutage))
	case !c.Agent && (restarts(c.action) || c.action == model.ActionReplace && !c.leaves) && d.asksToAdopt(c):
		return found("it has no agent yet, so it would be restarted without being asked, and update.adopt is Ask",
			d.approve(model.ApprovedAdopt))
	case c.reason == model.ReasonAdopt && !c.Since.IsZero() && c.Since.Add(AdoptAgain).After(d.x.Now):
		return found("it came back without an agent, and is not restarted for one again so soon",
			"the label rollcall.dev/cluster in the pod template and a webhook that answers; then delete the pod, or wait").
			until(c.Since.Add(AdoptAgain))
	case u.ApproveLeader && c.Last && !d.approved(model.ApprovedLeader, c.OwnPool.Revision):
		return found(fmt.Sprintf("it holds %s, and update.approveLeader waits for a person%s", rolesText(c.OwnReport), d.thenInPlace(c)),
			d.approve(model.ApprovedLeader))
	}
	return nil
}

// AdoptAgain is how long a pod must have run without an agent before it is restarted only for
// that: a pod that has just started without one would do so again.
const AdoptAgain = 5 * time.Minute

// approve returns the command with which a person approves.
func (d *decision) approve(what model.Approved) string {
	c := &d.x.Snapshot.Cluster
	return fmt.Sprintf("rollcall approve %s -n %s --what %s", c.Name, c.Namespace, what)
}

// asksToAdopt reports whether a person must approve the adoption first.
func (d *decision) asksToAdopt(c *candidate) bool {
	return d.x.Spec.Update.Adopt == model.AdoptAsk && !d.mayAdopt(c)
}

// mayAdopt reports whether a person approved the adoption. A pod that is restarted only for
// its missing agent and is newer than the approval needs another one: it may have come from
// the last such restart.
func (d *decision) mayAdopt(c *candidate) bool {
	return slices.ContainsFunc(d.x.Snapshot.Cluster.Status.Approvals, func(a model.Approval) bool {
		if a.What != model.ApprovedAdopt || a.Revision != "" && a.Revision != c.OwnPool.Revision {
			return false
		}
		return c.reason != model.ReasonAdopt || a.At.IsZero() || !c.Since.After(a.At.Time)
	})
}

func rolesText(r *model.Report) string {
	if len(r.Roles) == 0 {
		return "a role that goes last"
	}
	return "the role " + strings.Join(slices.Sorted(slices.Values(r.Roles)), ", ")
}

func (d *decision) approved(what model.Approved, revision string) bool {
	for _, a := range d.x.Snapshot.Cluster.Status.Approvals {
		if a.What == what && (a.Revision == "" || a.Revision == revision) {
			return true
		}
	}
	return false
}

// canaryFirst lets the first pods of a pool's new revision go, then waits until they have
// soaked and, if the spec asks for it, been approved.
func (d *decision) canaryFirst(c *candidate) *finding {
	canary := d.x.Spec.Update.Canary
	if canary.Pods <= 0 || !cluster.IsOutdated(c.Pod) || c.leaves {
		return nil
	}
	pool := &d.canary[c.PoolPos]
	if pool.gone+pool.chosen < int(canary.Pods) {
		return nil
	}
	soak := cluster.Span(canary.SoakSeconds)
	soaked := 0
	var next time.Time
	for _, since := range pool.back { // the longest first
		if till := since.Add(soak); till.After(d.x.Now) {
			next = till
			break
		}
		soaked++
	}
	if soaked < int(canary.Pods) {
		f := found(fmt.Sprintf("%d of %d canary pods of revision %s are back and soaked for %s",
			soaked, canary.Pods, c.OwnPool.Revision, seconds(soak)), "the canary pods soaked")
		if len(pool.back) >= int(canary.Pods) {
			return f.until(next)
		}
		if d.lostCanary(c.PoolPos) && len(pool.lost) > 0 {
			p := pool.lost[0]
			f.reason += fmt.Sprintf("; %s is unavailable (%s)%s", p.Name, p.UnavailableReason, cluster.About(p))
			f.unblocks = cluster.OrAdvice(p.Name+" back", p)
		}
		return f
	}
	if canary.Approve && !d.approved(model.ApprovedCanary, c.OwnPool.Revision) {
		return found(fmt.Sprintf("the canary of revision %s waits for a person", c.OwnPool.Revision), d.approve(model.ApprovedCanary))
	}
	return nil
}
