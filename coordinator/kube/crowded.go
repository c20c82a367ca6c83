package kube

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

const (
	// maxSharing is how many StatefulSets of a namespace may select the same pod. Each of them
	// receives every change of it, complete and at the same time, and a pod may have 1.5 MiB.
	maxSharing = 16
	// maxSets is how many StatefulSets of a namespace are checked for pods that they share.
	maxSets = 2000
)

// exactly returns the labels for which a selector requires one value, as sorted text, "a=b,c=d".
func exactly(set *appsv1.StatefulSet) string {
	selector := set.Spec.Selector
	if selector == nil {
		return ""
	}
	exact := maps.Clone(selector.MatchLabels)
	for i := range selector.MatchExpressions {
		if e := &selector.MatchExpressions[i]; e.Operator == metav1.LabelSelectorOpIn && len(e.Values) == 1 {
			if exact == nil {
				exact = map[string]string{}
			}
			exact[e.Key] = e.Values[0]
		}
	}
	return labels.Set(exact).String()
}

// demands returns those labels.
func (p *Pool) demands() labels.Set {
	set, _ := labels.ConvertSelectorToLabelsMap(p.exact) // labels are plain text
	return set
}

// mayShare reports whether both may select the same pod: nothing that they require excludes it.
func mayShare(a, b labels.Set) bool {
	for key, value := range a {
		if other, ok := b[key]; ok && other != value {
			return false
		}
	}
	return true
}

// crowdedOf returns the pools of one namespace that are not watched, and why: maxSharing older ones
// may select the same pods.
func crowdedOf(pools []Pool) map[types.UID]string {
	slices.SortFunc(pools, func(a, b Pool) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name)) })
	var taken []labels.Set
	oldest := ""
	crowded := map[types.UID]string{}
	for i := range pools {
		p := &pools[i]
		if len(taken) == maxSets {
			crowded[p.UID] = fmt.Sprintf("its namespace has more than %d StatefulSets with the label %s", maxSets, v1alpha1.LabelCluster)
			continue
		}
		shared, demands := 0, p.demands()
		for _, other := range taken {
			if mayShare(demands, other) {
				if shared++; shared == maxSharing {
					break
				}
			}
		}
		if shared == maxSharing {
			crowded[p.UID] = fmt.Sprintf("its spec.selector may find the pods of %d other StatefulSets of its namespace, such as %s: make it again with a label in "+
				"spec.selector.matchLabels of which no other has the value, or take its label %s off", maxSharing, oldest, v1alpha1.LabelCluster)
			continue
		}
		taken, oldest = append(taken, demands), cmp.Or(oldest, p.Name)
	}
	return crowded
}

// mayFollow returns the pools whose pods can be listed.
func (c *Cache) mayFollow() []Pool {
	var all []Pool
	for _, key := range c.Clusters() {
		if c.tooMany(key) > 0 {
			continue
		}
		for _, pool := range c.poolsOf(key) {
			if pool.refused() == "" {
				all = append(all, pool)
			}
		}
	}
	return all
}

// crowd determines which pools are not watched, and returns them.
func (c *Cache) crowd(all []Pool) map[types.UID]string {
	byNamespace := map[string][]Pool{}
	for _, pool := range all {
		byNamespace[pool.Namespace] = append(byNamespace[pool.Namespace], pool)
	}
	crowded := map[types.UID]string{}
	for _, pools := range byNamespace {
		if len(pools) > maxSharing {
			maps.Copy(crowded, crowdedOf(pools))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.crowded = crowded
	return crowded
}

// refused says why the pods of a pool are not listed. It is empty if they are.
func (c *Cache) refused(pool Pool) string {
	if why := pool.refused(); why != "" {
		return why
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.crowded[pool.UID]
}
