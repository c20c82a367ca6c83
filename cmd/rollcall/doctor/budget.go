package doctor

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/database"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// budget finds pods of two PodDisruptionBudgets: the eviction API answers 500 for them, and node
// drains give up.
func budget(f *Facts) []Finding {
	return f.eachSet(func(set *appsv1.StatefulSet) []Finding {
		pod := labels.Set(template(set).Labels)
		var foreign []string
		where := ""
		for i := range f.Budgets {
			b := &f.Budgets[i]
			if b.Name == v1alpha1.DerivedName(ClusterName(set)) || !sameNamespace(b.Namespace, set.Namespace) || b.Spec.Selector == nil || !matches(b.Spec.Selector, pod) {
				continue
			}
			foreign = append(foreign, b.Name)
			if where == "" {
				where = origin(b)
			}
		}
		slices.Sort(foreign)
		chart := database.ChartOf(set)
		disable := "delete it, or have the chart make none" + where
		if chart.Budget != "" {
			disable = "have the chart make none (" + theValue + ")" + where
		}
		path, of := chart.Value(chart.Budget, "")
		switch {
		case len(foreign) == 0:
			return nil
		case len(foreign) > 1:
			return at(value{path, of}, one(Error, fmt.Sprintf("PodDisruptionBudgets %s select its pods: Kubernetes evicts no pod that has two", strings.Join(foreign, " and ")), disable))
		case f.spec(set).Guard == model.GuardOff:
			return nil
		}
		found := at(value{path, of}, one(Warning, theBudgets+", so Rollcall makes none of its own, and the guard does not enforce (no Event GuardEnforced: a rollout of RollingUpdate waits for it): drains by others are bounded by that one, which knows nothing of copies", disable))
		found[0].budgets = foreign
		return found
	})
}

func origin(b *policyv1.PodDisruptionBudget) string {
	if release := b.Annotations["meta.helm.sh/release-name"]; release != "" {
		return ", Helm release " + release
	}
	return ""
}
