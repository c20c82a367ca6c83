package run

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
)

// Pool is one StatefulSet of the database.
type Pool struct{ Replicas, Start, Rank int }

// pools of a scenario, of which one is enough.
func (s Scenario) pools() []Pool {
	if len(s.Pools) > 0 {
		return s.Pools
	}
	return []Pool{{Replicas: s.Replicas}}
}

// poolName names the StatefulSets: the first has the name of the cluster.
func poolName(i int) string {
	if i == 0 {
		return name
	}
	return fmt.Sprintf("%s%d", name, i+1)
}

// names are the pods of all pools, in order.
func (s Scenario) names() []string {
	var out []string
	for i, p := range s.pools() {
		for n := range p.Replicas {
			out = append(out, fmt.Sprintf("%s-%d", poolName(i), p.Start+n))
		}
	}
	return out
}

// sets are the StatefulSets that exist.
func (w *world) sets() []*appsv1.StatefulSet {
	var out []*appsv1.StatefulSet
	for i := range w.scenario.pools() {
		if set := w.server.Set(poolName(i)); set != nil {
			out = append(out, set)
		}
	}
	return out
}

// whole: all pools are there.
func (w *world) complete() bool { return len(w.sets()) == len(w.scenario.pools()) }

func (s Scenario) setNames() []string {
	var out []string
	for i := range s.pools() {
		out = append(out, poolName(i))
	}
	return out
}

// maxUnavailable is how many pods may at a limit: where whole units go, one may at least. The
// first pool may have another number of pods than in the beginning.
func (s Scenario) maxUnavailable(limit, first int) int {
	switch s.Kind {
	case AtOnce:
		return 0 // before a person has approved
	case ByZone:
		inZone := map[int]int{}
		for i, p := range s.pools() {
			if i == 0 {
				p.Replicas = first
			}
			for n := range p.Replicas {
				inZone[(p.Start+n)%len(nodes)]++
			}
		}
		for _, n := range inZone {
			limit = max(limit, n)
		}
	}
	return limit
}
