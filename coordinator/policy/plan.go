package policy

import (
	"cmp"
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// restores returns steps that undo claims which were not carried out and are no longer needed: the
// pod still exists and should not go.
func (d *decision) restores() []model.Step {
	if len(d.x.Claims) == 0 {
		return nil
	}
	wanted := make([]bool, len(d.x.Pods))
	for i := range d.order {
		wanted[d.order[i].At] = true
	}
	var steps []model.Step
	for i := range d.x.Pods {
		p := &d.x.Pods[i]
		if p.Claim == nil || wanted[i] || p.Phase == model.PodPhaseMissing || p.Phase == model.PodPhaseTerminating || p.UID != p.Claim.UID {
			continue
		}
		if at := p.Claim.Phase.Order(); at >= 0 && at < model.PhaseGone.Order() {
			prepare := cmp.Or(p.Claim.Prepare, model.PrepareNone)
			steps = append(steps, model.Step{
				Pod: p.Name, UID: p.UID, Action: model.ActionRestore, Prepare: prepare, Reason: p.Claim.Reason, Notes: []string{},
			})
		}
	}
	return steps
}

func (d *decision) plan() model.Plan {
	cluster := d.x.Snapshot.Cluster
	p := model.Plan{
		Version: model.Version,
		Cluster: cluster.Namespace + "/" + cluster.Name,
		Budget:  d.budget,
		Order:   make([]string, 0, len(d.order)),
		Steps:   make([]model.Step, 0, len(d.steps)),
	}
	for i := range d.order {
		p.Order = append(p.Order, d.order[i].Name)
	}
	if len(d.problems) == 0 {
		p.Steps = append(p.Steps, d.restores()...)
	}
	p.Steps = append(p.Steps, d.steps...)
	p.Holds = slices.Insert(d.holds, 0, d.clusterHolds()...)
	p.Lines = d.partitions()
	p.Forecast = d.forecast()
	p.RetryAfterSeconds = d.retryAfter()
	p.Phase = d.phase(&p)
	return p
}

// clusterHolds returns the holds of the whole cluster. If no pod should go, only the rules that may
// be the cause of that are reported.
func (d *decision) clusterHolds() []model.Hold {
	var holds []model.Hold
	for i, f := range d.findings {
		name := rules[i].name
		if f == nil || len(d.order) == 0 && name != model.RuleBadInput && name != model.RulePoolUnobserved {
			continue
		}
		if d.over.of(name, "") != nil || rules[i].sparesBegun && d.allFollow() {
			continue
		}
		holds = append(holds, model.Hold{Rule: name, Group: f.group, Reason: f.reason, Unblocks: f.unblocks})
	}
	return holds
}

func (d *decision) phase(p *model.Plan) model.ClusterPhase {
	claims := len(d.x.Snapshot.Cluster.Status.Claims)
	if d.x.Spec.Update.Paused || d.x.Snapshot.Cluster.Paused {
		return model.ClusterPaused
	}
	if len(p.Order) == 0 && len(p.Steps) == 0 && claims == 0 {
		if len(p.Holds) == 0 && d.upToDate() {
			return model.ClusterDone
		}
		return model.ClusterIdle
	}
	if d.stalled(p, claims) || d.stuck && len(p.Steps) == 0 && claims == 0 {
		return model.ClusterStalled
	}
	if len(p.Steps) > 0 || claims > 0 {
		return model.ClusterRolling
	}
	return model.ClusterWaiting
}

func (d *decision) upToDate() bool {
	if len(d.x.Pools) == 0 {
		return false // the desired state is not known
	}
	for i := range d.x.Pools {
		if d.x.Pools[i].Revision == "" && d.x.Pools[i].Replicas > 0 {
			return false
		}
	}
	return len(d.ledger.Unavailable) == 0
}
