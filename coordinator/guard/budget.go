package guard

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/pki"
)

// neverEnough is more pods than any database has, so no eviction leaves that many. Unlike
// maxUnavailable: 0 it does not become more lenient while a StatefulSet is scaled down.
const neverEnough = 1_000_000

// Budget is what is kept of a PodDisruptionBudget.
type Budget struct {
	Namespace string
	Name      string
	UID       types.UID
	// Ours is true if Rollcall created it.
	Ours bool
	// Owner is the UID of the DatabaseCluster that our budget belongs to.
	Owner types.UID
	// Closed is true if our budget refuses every eviction, as Rollcall creates it.
	Closed bool
	// Expired is true if Expire has relaxed our budget.
	Expired bool
	// Full is true if it allows no disruption now, according to its controller for its newest spec.
	Full bool
	// Source is where a foreign budget comes from, as far as it says.
	Source source

	selects labels.Selector
	// unread is the size of a selector that is too long to be kept. What it selects is not known,
	// and selects is empty.
	unread int
}

// maxUID and maxSource bound what is kept of texts that the author of a budget chooses.
const (
	maxUID    = 64
	maxSource = 512
)

// asMade reports whether our budget is as Rollcall creates it for a DatabaseCluster.
func (b *Budget) asMade(cluster types.UID) bool { return b.Closed && !b.Expired && b.Owner == cluster }

// source is what a foreign budget says about its origin.
type source struct {
	// release and chart of Helm.
	release, chart string
	// owner as Kind/name.
	owner string
}

// budgetOf reduces a PodDisruptionBudget.
func budgetOf(pdb *policyv1.PodDisruptionBudget) *Budget {
	b := &Budget{Namespace: pdb.Namespace, Name: pdb.Name, UID: pdb.UID, selects: labels.Nothing()}
	owner := metav1.GetControllerOf(pdb)
	cluster, named := strings.CutSuffix(pdb.Name, v1alpha1.DerivedName(""))
	if named && pdb.Labels[pki.LabelPartOf] == pki.PartOf && pdb.Labels[v1alpha1.LabelCluster] == cluster {
		b.Ours = true
		b.Expired = pdb.Annotations[v1alpha1.AnnotationGuardExpired] != ""
		if owner != nil && len(owner.UID) <= maxUID {
			b.Owner = owner.UID
		}
		b.Closed = isClosed(pdb, cluster)
		return b
	}
	if size := kube.SelectorSize(pdb.Spec.Selector); size > kube.MaxSelector {
		b.unread = size
	} else if s, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector); err == nil {
		b.selects = s // one that cannot be read selects nothing; the API server admits no such budget
	}
	b.Full = pdb.Status.DisruptionsAllowed == 0 && pdb.Status.ObservedGeneration == pdb.Generation
	b.Source = source{release: v1alpha1.Cut(pdb.Annotations["meta.helm.sh/release-name"], maxSource), chart: pdb.Labels["helm.sh/chart"]}
	if owner != nil {
		b.Source.owner = v1alpha1.Cut(owner.Kind+"/"+owner.Name, maxSource)
	}
	return b
}

func isClosed(pdb *policyv1.PodDisruptionBudget, cluster string) bool {
	spec, want := pdb.Spec, budgetSpec(cluster)
	return spec.MinAvailable != nil && *spec.MinAvailable == *want.MinAvailable && spec.MaxUnavailable == nil &&
		spec.UnhealthyPodEvictionPolicy != nil && *spec.UnhealthyPodEvictionPolicy == *want.UnhealthyPodEvictionPolicy &&
		spec.Selector != nil && len(spec.Selector.MatchExpressions) == 0 && maps.Equal(spec.Selector.MatchLabels, want.Selector.MatchLabels)
}

// budgetSpec refuses every eviction of a closed pod. A pod whose guard is open is not selected, so
// no budget of ours applies to it. A pod that is not Ready stays as well: Rollcall knows whether it
// is still a copy.
func budgetSpec(cluster string) policyv1.PodDisruptionBudgetSpec {
	many, healthy := intstr.FromInt32(neverEnough), policyv1.IfHealthyBudget
	return policyv1.PodDisruptionBudgetSpec{
		MinAvailable:               &many,
		UnhealthyPodEvictionPolicy: &healthy,
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{
			v1alpha1.LabelGuard: v1alpha1.GuardClosed, v1alpha1.LabelGuardCluster: cluster,
		}},
	}
}

// makeClosed gives a budget our labels, owner and spec.
func makeClosed(pdb *policyv1.PodDisruptionBudget, cluster *v1alpha1.DatabaseCluster) {
	if pdb.Labels == nil {
		pdb.Labels = map[string]string{}
	}
	pdb.Labels[pki.LabelPartOf], pdb.Labels[v1alpha1.LabelCluster] = pki.PartOf, cluster.Name
	delete(pdb.Annotations, v1alpha1.AnnotationGuardExpired)
	pdb.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.Kind, Name: cluster.Name, UID: cluster.UID, Controller: new(true),
	}}
	pdb.Spec = budgetSpec(cluster.Name)
}

// foreign returns the first foreign budget, by name, that conflicts with ours, and the first pod
// that it selects: a pod may have one budget only, and with two every eviction fails. It returns
// nil if there is none.
func foreign(budgets []Budget, cluster string, pods []kube.Pod) (*Budget, string) {
	byName := slices.SortedFunc(slices.Values(budgets), func(a, b Budget) int { return strings.Compare(a.Name, b.Name) })
	var sets []labels.Set
	for i := range byName {
		b := &byName[i]
		if b.Ours {
			continue
		}
		if b.Name == v1alpha1.DerivedName(cluster) {
			return b, ""
		}
		for j := range pods {
			if len(sets) <= j {
				sets = append(sets, pods[j].Labels())
			}
			if pods[j].ManyLabels && !b.selects.Empty() {
				continue // not known; unread reports it
			}
			if b.selects.Matches(sets[j]) {
				return b, pods[j].Name
			}
		}
	}
	return nil, ""
}

// unread reports the first foreign budget, by name, of which it is not known whether it selects a
// pod, and what that means. It returns an empty text if there is none. Rollcall's own budget stays:
// without it nothing might refuse an eviction, and with both every eviction fails.
func unread(budgets []Budget, pods []kube.Pod) string {
	var found *Budget
	what := ""
	for i := range budgets {
		b := &budgets[i]
		if b.Ours || found != nil && found.Name <= b.Name {
			continue
		}
		many := slices.IndexFunc(pods, func(p kube.Pod) bool { return p.ManyLabels })
		switch {
		case b.unread > 0:
			found = b
			what = fmt.Sprintf("its selector takes %d KiB, and Rollcall reads none above %d KiB. Give it a shorter one", b.unread>>10, kube.MaxSelector>>10)
		case many >= 0:
			found = b
			what = fmt.Sprintf("pod %s has more labels than Rollcall reads. Take some off its StatefulSet's template", pods[many].Name)
		}
	}
	if found == nil {
		return ""
	}
	return fmt.Sprintf("Whether PodDisruptionBudget %s of somebody else selects pods of this database is not known: %s, or switch the budget off: "+
		"kubectl -n %s delete poddisruptionbudget %s. Until then Rollcall's own budget stays, and nobody can evict pods that both select.",
		found.Name, what, found.Namespace, found.Name)
}

// refusals returns the foreign budgets that refuse the eviction of a Ready pod now, by the pod's
// name: one that is full, or several of them, with which every eviction fails. A pod that is not
// Ready may go despite a full one.
func refusals(budgets []Budget, pods []kube.Pod) map[string]string {
	var others []*Budget
	for i := range budgets {
		if b := &budgets[i]; !b.Ours {
			others = append(others, b)
		}
	}
	if len(others) == 0 {
		return nil
	}
	slices.SortFunc(others, func(a, b *Budget) int { return strings.Compare(a.Name, b.Name) })
	refused := map[string]string{}
	for i := range pods {
		pod := &pods[i]
		if pod.Phase != kube.Ready {
			continue
		}
		var names []string
		full := false
		set := pod.Labels()
		for _, b := range others {
			if b.selects.Matches(set) {
				names, full = append(names, b.Name), full || b.Full
			}
		}
		if full || len(names) > 1 {
			refused[pod.Name] = strings.Join(names, " and ")
		}
	}
	return refused
}

// inTheWay says what is wrong with a foreign budget, and how to fix it.
func inTheWay(b *Budget, pod string) string {
	what := fmt.Sprintf("PodDisruptionBudget %s selects %s, and a pod may have one budget only: Rollcall makes none, so evictions are "+
		"refused or let through by that one alone.", b.Name, pod)
	if pod == "" {
		what = fmt.Sprintf("PodDisruptionBudget %s has the name of Rollcall's and was made by somebody else: Rollcall makes none, so it "+
			"refuses no eviction.", b.Name)
	}
	switch s := b.Source; {
	case s.release != "" || s.chart != "":
		what += fmt.Sprintf(" It comes from Helm release %s (chart %s): switch it off in its values, in most charts with pdb.create=false, "+
			"podDisruptionBudget.enabled=false or podDisruptionBudget=null.", orUnknown(s.release), orUnknown(s.chart))
	case s.owner != "":
		what += fmt.Sprintf(" It belongs to %s: switch it off there.", s.owner)
	default:
		what += fmt.Sprintf(" Switch it off where it comes from (in a chart usually pdb.create=false or podDisruptionBudget.enabled=false), "+
			"then: kubectl -n %s delete poddisruptionbudget %s", b.Namespace, b.Name)
	}
	return what
}

func orUnknown(name string) string {
	if name == "" {
		return "unknown"
	}
	return name
}
