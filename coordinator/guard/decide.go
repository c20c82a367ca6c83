package guard

import (
	"maps"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
)

// Admission is the state of the admission policy that refuses deletes.
type Admission struct {
	// Policy and Binding exist and are not being deleted.
	Policy  bool
	Binding bool
	// Denies is true if the binding enforces the policy.
	Denies bool
	// Expired is true if Expire has relaxed the binding.
	Expired bool
	// OneUser is true if all controllers of Kubernetes act under one name, so that the policy
	// cannot distinguish the one that cleans up from the one that rolls out.
	OneUser bool
}

// Usable reports whether labels and budgets can rely on the policy.
func (a Admission) Usable() bool { return a.Policy && a.Binding && !a.OneUser }

// Facts are the input of a decision about one database cluster.
type Facts struct {
	Objects   kube.ClusterObjects
	Admission Admission
	// Budgets are those of the namespace.
	Budgets []Budget
}

// BudgetStep is what to do about the cluster's own budget.
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
	// Why says why it does not enforce although that is requested. It is empty otherwise.
	Why string
	// ForeignBudget says what to do about a foreign budget. It is empty if there is none.
	ForeignBudget string
	// Refused are the pods, by name, whose eviction foreign budgets refuse now, with the names of
	// the budgets.
	Refused map[string]string
}

func (s State) same(other State) bool {
	return s.Enforcing == other.Enforcing && s.Why == other.Why && s.ForeignBudget == other.ForeignBudget && maps.Equal(s.Refused, other.Refused)
}

// Decision is what to do, and the state before that.
type Decision struct {
	Labels []LabelChange
	Budget BudgetStep
	// Own is the cluster's budget as it was seen, or nil.
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

// modeFor returns the mode that a DatabaseCluster asks for, as far as it is possible.
func modeFor(f Facts) Mode {
	if !f.Admission.Usable() {
		// Labels without a policy would mislead people, and a budget without the policy stops only
		// evictions.
		return Unguarded
	}
	return ModeOf(f.Objects.Cluster)
}

// missing returns the first thing without which nothing is enforced.
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

// own returns the cluster's budget, also one that belongs to a former DatabaseCluster of the same
// name.
func own(budgets []Budget, cluster *v1alpha1.DatabaseCluster) *Budget {
	for i := range budgets {
		if b := &budgets[i]; b.Ours && b.Name == v1alpha1.DerivedName(cluster.Name) {
			return b
		}
	}
	return nil
}
