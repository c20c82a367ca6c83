package status

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rollcall-dev/rollcall/coordinator/gauges"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// holds is rollcall_holds: for each cluster one series for each rule. Nearly all of them are 0, and
// a gauge for each would take more memory than everything else that is kept about a cluster at
// rest, so the series are created when they are collected.
type holds struct {
	prometheus.Collector

	mu sync.Mutex
	// held are the rules of the newest plan that hold any pod, by cluster.
	held map[string]map[model.Rule]int
}

func newHolds() *holds {
	h := &holds{held: map[string]map[model.Rule]int{}}
	h.Collector = gauges.New(prometheus.NewDesc("rollcall_holds", "Holds of the newest plan by rule: one for each pod, and one more where the whole cluster is held.",
		[]string{"cluster", "rule"}, nil), func(set func(float64, ...string)) {
		h.mu.Lock()
		defer h.mu.Unlock()
		for cluster, held := range h.held {
			for _, rule := range model.Rules() {
				set(float64(held[rule]), cluster, string(rule))
			}
		}
	})
	return h
}

// show replaces what is reported about a cluster.
func (h *holds) show(cluster string, plan model.Plan) {
	var held map[model.Rule]int
	if len(plan.Holds) > 0 {
		held = map[model.Rule]int{}
	}
	for _, hold := range plan.Holds {
		held[hold.Rule]++
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held[cluster] = held
}

func (h *holds) forget(cluster string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.held, cluster)
}
