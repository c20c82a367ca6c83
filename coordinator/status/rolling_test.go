package status

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// rolling gives search the strategy RollingUpdate and a partition.
func rolling(by model.RollingUpdate, line int32) func(*model.Snapshot) {
	return func(s *model.Snapshot) {
		s.Cluster.Spec.Update.RollingUpdate = by
		s.Pools[0].Strategy, s.Pools[0].Partition = model.StrategyRollingUpdate, line
	}
}

func ordered(line int32) func(*model.Snapshot) {
	return func(s *model.Snapshot) { s.Pools[0].Ordered = &line }
}

func unguarded(s *model.Snapshot) { s.Cluster.GuardEnforcing = false }
func force(s *model.Snapshot)     { s.Pools[0].Force = true }

func TestExplainSaysInWhichWay(t *testing.T) {
	for _, c := range []struct {
		changes []func(*model.Snapshot)
		want    []string
	}{
		{nil, nil},
		{[]func(*model.Snapshot){rolling(model.RollingUpdateByGuard, 0)}, []string{"by the guard: Kubernetes refuses"}},
		{[]func(*model.Snapshot){rolling(model.RollingUpdateByGuard, 0), unguarded}, []string{"the guard is not enforced"}},
		{[]func(*model.Snapshot){rolling(model.RollingUpdateByPartition, model.FirstOrdinalNone)}, []string{"the partition is above all ordinals"}},
		{[]func(*model.Snapshot){rolling(model.RollingUpdateByPartition, 2), unguarded}, []string{"ordinals from 2 on come back on v2", "acts on an edit of it before"}},
		{[]func(*model.Snapshot){rolling(model.RollingUpdateByPartition, 2), ordered(2)}, []string{"taken as an order"}},
		{[]func(*model.Snapshot){rolling(model.RollingUpdateByPartition, 2), force}, []string{"by Kubernetes alone"}},
	} {
		e, err := Explain(search(t, c.changes...), "search-1")
		require.NoError(t, err)
		way := ""
		for _, f := range e.Facts {
			if f.Name == "update" {
				way = f.Value
			}
		}
		require.Equal(t, len(c.want) == 0, way == "")
		for _, want := range c.want {
			require.Contains(t, way, want)
		}
	}
}

func TestEventsOfPartitions(t *testing.T) {
	at := func(line int32, changes ...func(*model.Snapshot)) Decision {
		return search(t, append([]func(*model.Snapshot){rolling(model.RollingUpdateByPartition, line)}, changes...)...)
	}
	planned := at(2)
	planned.Plan.Lines = []model.Line{{Pool: "search", Partition: model.FirstOrdinalNone, Reason: "all of it is back"}}
	reset := at(0)
	reset.Resets = map[string]int{"search": 3}
	for name, c := range map[string]struct {
		from, to Decision
		want     string
	}{
		"as it was":          {at(2), at(2), ""},
		"a pod's turn":       {at(2), at(1), ""},
		"back to rest":       {planned, at(model.FirstOrdinalNone), EventPartitionMoved},
		"a person's":         {at(2), at(1, ordered(1)), EventPartitionOrdered},
		"still the person's": {at(1, ordered(1)), at(1, ordered(1)), ""},
		"another one":        {at(1, ordered(1)), at(0, ordered(0)), EventPartitionOrdered},
		"reset":              {at(0), reset, EventPartitionReset},
		"forced":             {at(2), at(2, force), EventRollingUpdateForced},
		"still forced":       {at(2, force), at(2, force), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var reasons []string
			for _, e := range Events(&c.from, c.to) {
				if strings.HasPrefix(e.Reason, "Partition") || e.Reason == EventRollingUpdateForced {
					require.Empty(t, e.Pod)
					reasons = append(reasons, e.Reason)
				}
			}
			require.Equal(t, c.want, strings.Join(reasons, " "))
		})
	}
}

func TestResetPartitionsAreACondition(t *testing.T) {
	d := search(t, rolling(model.RollingUpdateByPartition, 0))
	is := func() v1alpha1.Condition {
		for _, c := range Conditions(d, nil, 1) {
			if c.Type == v1alpha1.ConditionPartitionReset {
				return c
			}
		}
		return v1alpha1.Condition{}
	}
	require.EqualValues(t, "False", is().Status)
	d.Resets = map[string]int{"search": 4}
	require.EqualValues(t, "True", is().Status)
	require.Contains(t, is().Message, "StatefulSet search 4 times")
	require.Contains(t, is().Message, "rollingUpdate: Guard")
}
