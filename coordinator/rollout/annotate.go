package rollout

import (
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// annotate adds to the snapshot what acting has found out, and what cannot be done, so that the
// policy holds such pods under a named rule.
func (a *step) annotate() {
	known := &a.Snapshot.Cluster.Status
	known.LastDeparture, known.LastProgress = asOf(a.now, a.LastDeparture), asOf(a.now, a.s.progress.At())
	a.Snapshot.Pods = slices.Clone(a.Snapshot.Pods)
	for i := range a.Snapshot.Pods {
		pod := &a.Snapshot.Pods[i]
		r := a.s.backoffs[pod.UID]
		if pod.UID == "" || r == nil || !a.Snapshot.Now.Before(r.until) {
			continue
		}
		switch {
		case r.rule != model.RuleVeto:
			pod.Refused = r.rule
		case pod.Report != nil && pod.Report.Veto == "":
			report := *pod.Report
			report.Veto = r.reason
			pod.Report = &report
		}
	}
	a.refuseReplacements()
	a.refuseEvictions()
}

// refuseEvictions marks the pods whose eviction a foreign budget would refuse, so that they are not
// drained for nothing. No budget is asked about what the StatefulSet controller or a delete
// removes.
func (a *step) refuseEvictions() {
	if len(a.ForeignBudgets) == 0 || a.Snapshot.Cluster.Spec.WithDefaults().Update.Method != model.MethodEvict {
		return
	}
	rolling := map[string]bool{}
	for i := range a.Snapshot.Pools {
		rolling[a.Snapshot.Pools[i].Name] = rolls(&a.Snapshot.Pools[i])
	}
	for i := range a.Snapshot.Pods {
		pod := &a.Snapshot.Pods[i]
		if budget := a.ForeignBudgets[pod.Name]; budget != "" && pod.Refused == "" && !rolling[pod.Pool] {
			pod.Refused, pod.RefusedBy = model.RuleForeignBudget, budget
		}
	}
}

// refuseReplacements marks every pod that should be replaced if no agent can empty it or confirm
// that it is empty. The policy then holds such pods with a reason, and their share of a budget is
// free for others.
func (a *step) refuseReplacements() {
	s := &a.Snapshot
	wanted := map[string]bool{}
	for _, name := range policy.Replacements(*s) {
		wanted[name] = true
	}
	for i := range s.Pods {
		pod := &s.Pods[i]
		nobodyEmpties := !hasAgent(pod) && !a.emptiedByOthers(pod)
		nobodySays := !othersHaveAgents(*s, pod.Name) && !isWrittenEmpty(*s, pod)
		if wanted[pod.Name] && (nobodyEmpties || nobodySays) {
			pod.Refused = model.RuleVeto
		}
	}
}
