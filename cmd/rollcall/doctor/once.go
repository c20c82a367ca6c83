package doctor

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
)

// What differs between StatefulSets of one database about which the same is to be said stands in the
// text of a finding as one of these.
const (
	// theSets are the names of the StatefulSets, with spaces between.
	theSets = "\x00sets\x00"
	// theValue is where it is set.
	theValue = "\x00value\x00"
	// theBudgets are PodDisruptionBudgets that select their pods.
	theBudgets = "\x00budgets\x00"
)

// value is where something is set: a path in the values of a chart, or a field. The chart is said
// after all of its paths.
type value struct{ path, of string }

// at says where theValue of the findings is.
func at(v value, found []Finding) []Finding {
	for i := range found {
		found[i].values = []value{v}
	}
	return found
}

// eachSet asks about every StatefulSet. What is the same of several StatefulSets of one database is
// said once.
func (f *Facts) eachSet(ask func(*appsv1.StatefulSet) []Finding) (out []Finding) {
	for i := range f.Sets {
		set := &f.Sets[i]
		for _, found := range ask(set) {
			if found.Object != "" {
				out = append(out, found)
				continue
			}
			found.sets = []*appsv1.StatefulSet{set}
			same := slices.IndexFunc(out, func(o Finding) bool {
				return len(o.sets) > 0 && o.Severity == found.Severity && o.Found == found.Found && o.Fix == found.Fix && f.together(o.sets[0], set)
			})
			if same < 0 {
				out = append(out, found)
				continue
			}
			out[same].sets, out[same].values, out[same].budgets = append(out[same].sets, set), append(out[same].values, found.values...), append(out[same].budgets, found.budgets...)
		}
	}
	for i := range out {
		out[i].fill()
	}
	return out
}

// together reports whether two StatefulSets are of one database.
func (f *Facts) together(a, b *appsv1.StatefulSet) bool { return slices.Contains(f.Family(a), b) }

// fill says what stands for what differs.
func (found *Finding) fill() {
	if len(found.sets) == 0 {
		return
	}
	var names, ids []string
	for _, set := range found.sets {
		names, ids = append(names, set.Name), append(ids, id(set.Namespace, set.Name))
	}
	if found.Object = "StatefulSet " + ids[0]; len(ids) > 1 {
		found.Object = "StatefulSets " + strings.Join(ids, ", ")
	}
	slices.Sort(found.budgets)
	budgets := slices.Compact(found.budgets)
	selected := "PodDisruptionBudget " + strings.Join(budgets, "") + " selects its pods"
	if len(budgets) > 1 {
		selected = "PodDisruptionBudgets " + strings.Join(budgets, " and ") + " select their pods"
	}
	fills := strings.NewReplacer(theSets, strings.Join(names, " "), theValue, inWords(found.values), theBudgets, selected)
	found.Found, found.Fix = fills.Replace(found.Found), fills.Replace(found.Fix)
	found.sets, found.values, found.budgets = nil, nil, nil
}

func inWords(values []value) string {
	var parts []string
	for len(values) > 0 {
		of := values[0].of
		var paths []string
		values = slices.DeleteFunc(slices.Clone(values), func(v value) bool {
			if v.of == of && !slices.Contains(paths, v.path) {
				paths = append(paths, v.path)
			}
			return v.of == of
		})
		parts = append(parts, strings.Join(paths, " and ")+of)
	}
	return strings.Join(parts, ", and ")
}
