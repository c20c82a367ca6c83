package guard

import (
	"maps"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
)

// Admission is what there is of the admission policy that refuses deletes.
type Admission struct {
	// Policy and Binding exist and are not being deleted.
	Policy  bool
	Binding bool
	// Denies is true if the binding has the policy's word count.
	Denies bool
	// Expired is true if the binding was relaxed by Expire.
	Expired bool
	// OneUser is true if all controllers of Kubernetes act under one name, so the policy cannot
	// tell the one that cleans up from the one that rolls.
	OneUser bool
}

// Usable reports whether there is something that labels and budgets can rely on.
func (a Admission) Usable() bool { return a.Policy && a.Binding && !a.OneUser }

// Facts are what is decided from, of one database cluster.
type Facts struct {
	Objects   kube.ClusterObjects
	Admission Admission
	// Budgets of the namespace.
	Budgets []Budget
}

// BudgetStep is what is to be done about the cluster's own budget.
type BudgetStep string

// The steps.
const (
	KeepBudget   BudgetStep = ""
	CreateBudget BudgetStep = "create"
	UpdateBudget BudgetStep = "update"
	DeleteBudget BudgetStep = "delete"
)

// State is what Kubernetes does for one database cluster now.
type State struct {
	// Enforcing is true if evictions and deletes of closed pods are refused.
	Enforcing bool
	// Why it does not although that is asked for; empty otherwise.
	Why string
	// ForeignBudget says what is to be done about a budget of somebody else; empty
	// without one.
	ForeignBudget string
	// Refused are the pods, by name, whose eviction budgets of somebody else refuse
	// now, with the names of these.
	Refused map[string]string
}

func (s State) same(other State) bool {
	return s.Enforcing == other.Enforcing && s.Why == other.Why && s.ForeignBudget == other.ForeignBudget && maps.Equal(s.Refused, other.Refused)
}

// Decision is what is to be done, and how things are before that.
type Decision struct {
	Labels []LabelChange
	Budget BudgetStep
	// Own is the cluster's budget as it was seen; nil means none.
	Own   *Budget
	State State
}

// Decide says what has to be written for one database cluster.
func Decide(f Facts) Decision {
	cluster := f.Objects.Cluster
	asked, mode := ModeOf(cluster), modeFor(f)
	d := Decision{Labels: labelChanges(mode, cluster.Name, cluster.Status.Claims, f.Objects.Pods), Own: own(f.Budgets, cluster)}
	d.State.Refused = refusals(f.Budgets, f.Objects.Pods)
	var other *Budget
	if mode == Closed {
		var pod string
		if other, pod = foreign(f.Budgets, cluster.Name, f.Objects.Pods); other != nil {
			d.State.ForeignBudget = inTheWay(other, pod)
		} else {
			d.State.ForeignBudget = unread(f.Budgets, f.Objects.Pods)
		}
	}
	wanted := mode == Closed && other == nil
	switch {
	case !wanted && d.Own != nil:
		d.Budget = DeleteBudget
	case wanted && d.Own == nil:
		d.Budget = CreateBudget
	case wanted && !d.Own.asMade(cluster.UID):
		d.Budget = UpdateBudget
	}
	if asked == Closed {
		d.State.Why = missing(f.Admission, d, other)
		d.State.Enforcing = d.State.Why == ""
	}
	return d
}

// modeFor is what a DatabaseCluster asks for, as far as it can be had.
func modeFor(f Facts) Mode {
	if !f.Admission.Usable() {
		// Labels that nobody heeds would mislead people, and a budget without the
		// policy stops only those who ask politely.
		return Unguarded
	}
	return ModeOf(f.Objects.Cluster)
}

// missing is the first thing without which nothing is enforced.
func missing(a Admission, d Decision, other *Budget) string {
	switch {
	case a.OneUser:
		return "the controllers of Kubernetes act under one name here (kube-controller-manager without --use-service-account-credentials), " +
			"so those that clean up cannot be told from those that roll"
	case !a.Policy:
		return "there is no ValidatingAdmissionPolicy " + v1alpha1.GuardPolicy + " (guard.enabled in Rollcall's chart)"
	case !a.Binding:
		return "there is no ValidatingAdmissionPolicyBinding " + v1alpha1.GuardPolicy + " (guard.enabled in Rollcall's chart)"
	case a.Expired:
		return "no coordinator was there for too long, so deletes are only audited until one is"
	case !a.Denies:
		return "the ValidatingAdmissionPolicyBinding " + v1alpha1.GuardPolicy + " does not say Deny"
	case other != nil:
		return "PodDisruptionBudget " + other.Name + " of somebody else is in the way of Rollcall's"
	case d.Budget != KeepBudget:
		return "its PodDisruptionBudget is not there yet"
	}
	return ""
}

// own is the cluster's budget, also one that belongs to a DatabaseCluster of
// the same name that is gone.
func own(budgets []Budget, cluster *v1alpha1.DatabaseCluster) *Budget {
	for i := range budgets {
		if b := &budgets[i]; b.Ours && b.Name == v1alpha1.DerivedName(cluster.Name) {
			return b
		}
	}
	return nil
}
