package status

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
)

// Verdicts of a whole decision, as values of a label.
const (
	verdictGo   = "go"
	verdictHold = "hold"
	verdictIdle = "idle"
)

// noRule is the label of decisions without a holding rule.
const noRule = ""

// states of a pod that are counted, as values of a label.
var states = []struct {
	name  string
	count func(PodCounts) int32
}{
	{"desired", func(c PodCounts) int32 { return c.Desired }},
	{"current", func(c PodCounts) int32 { return c.Current }},
	{"updated", func(c PodCounts) int32 { return c.Updated }},
	{"ready", func(c PodCounts) int32 { return c.Ready }},
	{"unavailable", func(c PodCounts) int32 { return c.Away }},
	{"failed", func(c PodCounts) int32 { return c.Failed }},
}

// stateOverdue is the state of pods that have not served for longer than a start may take, and are
// not counted as failed.
const stateOverdue = "overdue"

// metrics show decisions. Label values are names of clusters, pools and rules
// only, never text from a database or an agent. It is an Observer.
type metrics struct {
	pods         *prometheus.GaugeVec
	holds        *holds
	decisions    *prometheus.CounterVec
	stalled      *prometheus.GaugeVec
	lastProgress *prometheus.GaugeVec
	current      *prometheus.GaugeVec
	updated      *prometheus.GaugeVec
	partition    *prometheus.GaugeVec
	moved        *prometheus.GaugeVec
}

// NewMetrics returns an Observer that shows decisions as metrics. It panics if the registerer has
// metrics of these names already.
func NewMetrics(registerer prometheus.Registerer) Observer { return newMetrics(registerer) }

func newMetrics(registerer prometheus.Registerer) *metrics {
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "rollcall", Name: name, Help: help}, labels)
	}
	m := &metrics{
		pods:         gauge("pods", "Pods of a database cluster by state. A pod can be in several states.", "cluster", "state"),
		holds:        newHolds(),
		stalled:      gauge("stalled", "1 while a rollout is stalled, with the rule that has held it longest; none while it is not.", "cluster", "rule"),
		lastProgress: gauge("last_progress_timestamp_seconds", "When a claim changed its phase or a pod became better.", "cluster"),
		current:      gauge("current_replicas", "Pods of a pool that run another revision than its update revision.", "cluster", "pool"),
		updated:      gauge("updated_replicas", "Pods of a pool that run its update revision.", "cluster", "pool"),
		partition:    gauge("partition", "Partition of a pool with the RollingUpdate strategy.", "cluster", "pool"),
		moved: gauge("last_partition_updated_timestamp_seconds",
			"When the partition of a pool with the RollingUpdate strategy changed last, whoever changed it; before this leader has seen a change, when the cluster made progress last.", "cluster", "pool"),
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "rollcall",
			Name:      "decisions_total",
			Help:      "Decisions: go when something may go, hold with the first rule when nothing may, idle when nothing should.",
		}, []string{"verdict", "rule"}),
	}
	m.decisions.WithLabelValues(verdictGo, noRule)
	m.decisions.WithLabelValues(verdictIdle, noRule)
	for _, rule := range model.Rules() {
		m.decisions.WithLabelValues(verdictHold, string(rule))
	}
	registerer.MustRegister(m.pods, m.holds, m.stalled, m.decisions, m.lastProgress, m.current, m.updated, m.partition, m.moved)
	return m
}

// Decided shows a decision.
func (m *metrics) Decided(previous *Decision, next Decision) {
	cluster := next.Key.String()
	for _, s := range states {
		m.pods.WithLabelValues(cluster, s.name).Set(float64(s.count(next.Pods)))
	}
	m.pods.WithLabelValues(cluster, stateOverdue).Set(float64(progress.CountOverdue(&next.Moment)))
	m.holds.show(cluster, next.Plan)
	m.decisions.WithLabelValues(verdictOf(next.Plan)).Inc()
	m.stall(cluster, next)

	m.lastProgress.WithLabelValues(cluster).Set(timestamp(next.Snapshot.Cluster.Status.LastProgress))
	m.pools(cluster, previous, next)
}

// stall shows one rule, and forgets the one that held before.
func (m *metrics) stall(cluster string, next Decision) {
	m.stalled.DeletePartialMatch(prometheus.Labels{"cluster": cluster})
	if s := StallOf(next); s != nil {
		m.stalled.WithLabelValues(cluster, s.Rule).Set(1)
	}
}

func (m *metrics) pools(cluster string, previous *Decision, next Decision) {
	if previous != nil {
		for _, pool := range previous.Snapshot.Pools {
			if _, still := next.Pool(pool.Name); !still {
				m.forget(prometheus.Labels{"cluster": cluster, "pool": pool.Name})
			}
		}
	}
	for _, pool := range next.Snapshot.Pools {
		var current, update int
		for _, pod := range next.Snapshot.Pods {
			switch {
			case pod.Pool != pool.Name || !progress.Exists(pod):
			case progress.Updated(pod, pool):
				update++
			default:
				current++
			}
		}
		m.current.WithLabelValues(cluster, pool.Name).Set(float64(current))
		m.updated.WithLabelValues(cluster, pool.Name).Set(float64(update))
		if pool.Strategy == model.StrategyRollingUpdate {
			m.partition.WithLabelValues(cluster, pool.Name).Set(float64(pool.Partition))
			m.partitionsMoved(cluster, previous, next, pool)
		} else {
			m.partition.DeleteLabelValues(cluster, pool.Name)
			m.moved.DeleteLabelValues(cluster, pool.Name)
		}
	}
}

// partitionsMoved notes when a pool's partition changed.
func (m *metrics) partitionsMoved(cluster string, previous *Decision, next Decision, pool model.Pool) {
	var before model.Pool
	known := false
	if previous != nil {
		before, known = previous.Pool(pool.Name)
	}
	switch {
	case !known || before.Strategy != model.StrategyRollingUpdate:
		m.moved.WithLabelValues(cluster, pool.Name).Set(timestamp(next.Snapshot.Cluster.Status.LastProgress))
	case before.Partition != pool.Partition:
		m.moved.WithLabelValues(cluster, pool.Name).Set(timestamp(&next.Snapshot.Now))
	}
}

// timestamp returns a time as a metric, 0 if there is none.
func timestamp(at *model.Time) float64 {
	if at == nil || at.IsZero() {
		return 0
	}
	return float64(at.UnixMilli()) / 1e3
}

// Gone forgets a cluster.
func (m *metrics) Gone(key Key) {
	m.holds.forget(key.String())
	m.forget(prometheus.Labels{"cluster": key.String()})
}

func (m *metrics) forget(labels prometheus.Labels) {
	for _, vec := range []*prometheus.GaugeVec{m.pods, m.stalled, m.lastProgress, m.current, m.updated, m.partition, m.moved} {
		vec.DeletePartialMatch(labels)
	}
}

func verdictOf(p model.Plan) (verdict, rule string) {
	if len(p.Steps) > 0 {
		return verdictGo, noRule
	}
	if len(p.Holds) > 0 {
		return verdictHold, string(p.Holds[0].Rule)
	}
	return verdictIdle, noRule
}
