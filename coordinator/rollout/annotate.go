package rollout

import (
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// annotate adds to the snapshot what was found out by acting, and what cannot be done,
// so that the policy holds such pods under a rule with a name.
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

// refuseEvictions marks the pods whose eviction a foreign budget would
// refuse, so that they are not drained in vain. What the StatefulSet controller
// or a delete removes is asked of no budget.
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

// refuseReplacements notes of every pod that should be replaced and has nobody
// who could empty it, or say that it is empty. The policy then holds such pods in words, and what they
// would have taken of a budget is there for others.
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
