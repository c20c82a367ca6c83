package view

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// A partition is counted from the first ordinal and shown as an ordinal; one that
// we have not written is an order, where we write any.
func TestPartitions(t *testing.T) {
	order := func(line int32) *int32 { return &line }
	for name, c := range map[string]struct {
		start, partition int
		note             string
		by               model.RollingUpdate
		line             int32
		ordered          *int32
	}{
		"ours":                   {0, 2, "2", model.RollingUpdateByPartition, 2, nil},
		"a person's":             {0, 1, "2", model.RollingUpdateByPartition, 1, order(1)},
		"never written":          {0, 1, "", model.RollingUpdateByPartition, 1, nil},
		"not our way":            {0, 1, "2", model.RollingUpdateByGuard, 1, nil},
		"from another ordinal":   {10, 2, "2", model.RollingUpdateByPartition, 12, nil},
		"a person's, from there": {10, 1, "2", model.RollingUpdateByPartition, 11, order(11)},
		"at rest":                {10, 1_000_000, "1000000", model.RollingUpdateByPartition, model.FirstOrdinalNone, nil},
	} {
		t.Run(name, func(t *testing.T) {
			in := made()
			in.Kube.Cluster.Spec.Update.RollingUpdate = c.by
			pool := &in.Kube.Pools[0]
			pool.Strategy, pool.Start, pool.Partition, pool.PartitionNote = string(model.StrategyRollingUpdate), c.start, c.partition, c.note
			got := Join(in).Pools[0]
			require.Equal(t, c.line, got.Partition)
			require.Equal(t, c.ordered, got.Ordered)
		})
	}
}

// A strategy without a partition fits the guard's way not at all; the words say
// what to do. Rollcall's own partition takes its place.
func TestNoPartitionIsRefusedInWords(t *testing.T) {
	for by, want := range map[model.RollingUpdate]string{
		model.RollingUpdateByGuard:     `kubectl -n prod patch statefulset search -p '{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}'`,
		model.RollingUpdateByPartition: "",
	} {
		in := made()
		in.Kube.Cluster.Spec.Update.RollingUpdate = by
		pool := &in.Kube.Pools[0]
		pool.Strategy, pool.NoPartition = string(model.StrategyRollingUpdate), true
		got := Join(in).Pools[0].Refused
		require.Equal(t, want == "", got == "", got)
		require.Contains(t, got, want)
	}
}
