package kube

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
)

// Kubernetes defaults the partition to 0 only where the strategy is left out as a
// whole, or has an empty rollingUpdate.
func TestAPartitionThatIsNotNamedIsNotZero(t *testing.T) {
	zero := int32(0)
	for _, c := range []struct {
		name     string
		strategy appsv1.StatefulSetUpdateStrategy
		want     bool
	}{
		{"OnDelete", appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}, false},
		{"RollingUpdate", appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType}, true},
		{"RollingUpdate from 0", appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType,
			RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &zero}}, false},
	} {
		set := statefulSet("search", "s0")
		set.Spec.UpdateStrategy = c.strategy
		require.Equal(t, c.want, poolOf(set).NoPartition, c.name)
	}
}
