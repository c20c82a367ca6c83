package status

import (
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

func TestMetricsOfADecision(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m := newMetrics(registry)
	require.Equal(t, len(model.Rules())+2, testutil.CollectAndCount(m.decisions), "zero values are there from the beginning")

	m.Decided(nil, search(t))
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP rollcall_pods Pods of a database cluster by state. A pod can be in several states.
# TYPE rollcall_pods gauge
rollcall_pods{cluster="prod/search",state="unavailable"} 0
rollcall_pods{cluster="prod/search",state="current"} 2
rollcall_pods{cluster="prod/search",state="desired"} 3
rollcall_pods{cluster="prod/search",state="failed"} 0
rollcall_pods{cluster="prod/search",state="overdue"} 0
rollcall_pods{cluster="prod/search",state="ready"} 3
rollcall_pods{cluster="prod/search",state="updated"} 1
# HELP rollcall_current_replicas Pods of a pool that run another revision than its update revision.
# TYPE rollcall_current_replicas gauge
rollcall_current_replicas{cluster="prod/search",pool="search"} 2
# HELP rollcall_updated_replicas Pods of a pool that run its update revision.
# TYPE rollcall_updated_replicas gauge
rollcall_updated_replicas{cluster="prod/search",pool="search"} 1
# HELP rollcall_last_progress_timestamp_seconds When a claim changed its phase or a pod became better.
# TYPE rollcall_last_progress_timestamp_seconds gauge
rollcall_last_progress_timestamp_seconds{cluster="prod/search"} 1.79517588e+09
`), "rollcall_pods", "rollcall_current_replicas", "rollcall_updated_replicas", "rollcall_last_progress_timestamp_seconds"))
	require.Equal(t, 1.0, testutil.ToFloat64(m.decisions.WithLabelValues(verdictGo, noRule)))
	require.Equal(t, 1.0, heldBy(t, m.holds, model.RuleLeaderLast))
	require.Equal(t, len(model.Rules()), testutil.CollectAndCount(m.holds))
	require.Zero(t, testutil.CollectAndCount(m.partition), "an OnDelete pool has no partition")
}

// What a database or a person says is no value of a label.
func TestLabelsAreNoTexts(t *testing.T) {
	registry := prometheus.NewRegistry()
	d := search(t, rolling(model.RollingUpdateByPartition, 2), func(s *model.Snapshot) {
		s.Health.Verdict, s.Health.Reason = model.VerdictRed, "the database says so"
		podOf(s, "search-1").Report.Veto = "a person says so"
	})
	d.Phase = model.ClusterStalled
	newMetrics(registry).Decided(nil, d)
	known := map[string][]string{
		"cluster": {"prod/search"}, "pool": {"search"}, "verdict": {verdictGo, verdictHold, verdictIdle}, "rule": {noRule}, "state": {stateOverdue},
	}
	for _, rule := range model.Rules() {
		known["rule"] = append(known["rule"], string(rule))
	}
	for _, s := range states {
		known["state"] = append(known["state"], s.name)
	}
	families, err := registry.Gather()
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, f := range families {
		for _, series := range f.GetMetric() {
			for _, l := range series.GetLabel() {
				seen[f.GetName()] = true
				require.Contains(t, known[l.GetName()], l.GetValue(), "%s, label %s", f.GetName(), l.GetName())
			}
		}
	}
	require.True(t, seen["rollcall_stalled"])
	require.Len(t, seen, 9)
}

// Who has not seen the last move knows when there was progress.
func TestLastMoveOfAPartition(t *testing.T) {
	m := newMetrics(prometheus.NewRegistry())
	moved := m.moved.WithLabelValues("prod/search", "search")
	at := func(line int32, changes ...func(*model.Snapshot)) Decision {
		return search(t, append([]func(*model.Snapshot){rolling(model.RollingUpdateByPartition, line)}, changes...)...)
	}
	later := func(d time.Duration) func(*model.Snapshot) {
		return func(s *model.Snapshot) { s.Now = model.At(s.Now.Add(d)) }
	}
	first, second, third := at(2), at(1, later(time.Minute)), at(1, later(time.Hour))
	m.Decided(nil, first)
	require.Equal(t, float64(first.Snapshot.Cluster.Status.LastProgress.Unix()), testutil.ToFloat64(moved))
	m.Decided(&first, second)
	require.Equal(t, float64(second.Snapshot.Now.Unix()), testutil.ToFloat64(moved))
	m.Decided(&second, third)
	require.Equal(t, float64(second.Snapshot.Now.Unix()), testutil.ToFloat64(moved), "it stayed where it was")

	onDelete := search(t, later(2*time.Hour))
	m.Decided(&third, onDelete)
	require.Zero(t, testutil.CollectAndCount(m.moved))
	m.Decided(&onDelete, at(model.FirstOrdinalNone, func(s *model.Snapshot) { s.Cluster.Status.LastProgress = nil }))
	require.Zero(t, testutil.ToFloat64(m.moved.WithLabelValues("prod/search", "search")), "nobody knows")
}

// The page about metrics has all that show decisions.
func TestMetricsAreDescribed(t *testing.T) {
	page, err := os.ReadFile("../../deploy/docs/metrics.md")
	require.NoError(t, err)
	registry := prometheus.NewRegistry()
	stalled := search(t, rolling(model.RollingUpdateByPartition, 2))
	stalled.Phase = model.ClusterStalled
	newMetrics(registry).Decided(nil, stalled)
	families, err := registry.Gather()
	require.NoError(t, err)
	require.Len(t, families, 9)
	for _, f := range families {
		require.Contains(t, string(page), "`"+f.GetName()+"`")
	}
}

// Decisions from the start, holds from the first decision about a cluster.
func TestEveryRuleHasItsSeries(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := newMetrics(registry)
	require.ElementsMatch(t, model.Rules(), labelled(t, registry, "rollcall_decisions_total", map[string]string{"verdict": verdictHold}))
	m.Decided(nil, search(t))
	require.ElementsMatch(t, model.Rules(), labelled(t, registry, "rollcall_holds", map[string]string{"cluster": "prod/search"}))
}

// labelled are the rules of a metric's series that have these labels besides.
func labelled(t testing.TB, registry *prometheus.Registry, metric string, besides map[string]string) []model.Rule {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	var rules []model.Rule
	for _, f := range families {
		if f.GetName() != metric {
			continue
		}
		for _, series := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range series.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			rule := model.Rule(labels["rule"])
			delete(labels, "rule")
			if maps.Equal(labels, besides) {
				rules = append(rules, rule)
			}
		}
	}
	return rules
}

func TestHoldsGoBackToZero(t *testing.T) {
	m := newMetrics(prometheus.NewRegistry())
	held := search(t, func(s *model.Snapshot) { s.Cluster.Paused = true })
	m.Decided(nil, held)
	require.Equal(t, 3.0, heldBy(t, m.holds, model.RulePaused), "two pods and the cluster")
	require.Equal(t, 1.0, testutil.ToFloat64(m.decisions.WithLabelValues(verdictHold, string(model.RulePaused))))
	m.Decided(&held, search(t))
	require.Zero(t, heldBy(t, m.holds, model.RulePaused))
}

// heldBy is the value of the one series that a collector has for a rule.
func heldBy(t testing.TB, c prometheus.Collector, rule model.Rule) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	require.NoError(t, err)
	require.Len(t, families, 1)
	var found []float64
	for _, series := range families[0].GetMetric() {
		for _, label := range series.GetLabel() {
			if label.GetName() == "rule" && label.GetValue() == string(rule) {
				found = append(found, series.GetGauge().GetValue())
			}
		}
	}
	require.Len(t, found, 1)
	return found[0]
}

func TestSeriesOfWhatIsGoneAreDeleted(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := newMetrics(registry)
	two := search(t, func(s *model.Snapshot) {
		s.Pools = append(s.Pools, model.Pool{Name: "extra", Observed: true, Strategy: model.StrategyRollingUpdate, Partition: 4})
	})
	m.Decided(nil, two)
	require.Equal(t, 4.0, testutil.ToFloat64(m.partition.WithLabelValues("prod/search", "extra")))
	m.Decided(&two, search(t))
	require.Equal(t, 1, testutil.CollectAndCount(m.updated), "a pool that is gone")
	require.Zero(t, testutil.CollectAndCount(m.partition))
	require.Zero(t, testutil.CollectAndCount(m.moved))

	stalled := search(t)
	stalled.Phase = model.ClusterStalled
	m.Decided(nil, stalled)
	require.Equal(t, 1, testutil.CollectAndCount(m.stalled))
	m.Gone(two.Key)
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		for _, metric := range f.GetMetric() {
			for _, label := range metric.GetLabel() {
				require.NotEqual(t, "cluster", label.GetName(), f.GetName())
			}
		}
	}
}
