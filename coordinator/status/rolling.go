package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Reasons of the condition PartitionReset.
const (
	reasonReset    = "ResetRepeatedly"
	reasonNotReset = "NotReset"
)

// rollingWay says how a pool with the strategy RollingUpdate is driven, and what about that is
// open. It is empty for other pools.
func rollingWay(d Decision, pool model.Pool) string {
	if pool.Strategy != model.StrategyRollingUpdate {
		return ""
	}
	spec := d.Snapshot.Cluster.Spec.WithDefaults()
	guarded := spec.Guard == model.GuardEnforce && d.Snapshot.Cluster.GuardEnforcing
	switch {
	case pool.Force:
		return "RollingUpdate, by Kubernetes alone: the annotation " + v1alpha1.AnnotationForce + " hands it over"
	case spec.Update.RollingUpdate != model.RollingUpdateByPartition && guarded:
		return "RollingUpdate, by the guard: Kubernetes refuses the StatefulSet controller every closed pod"
	case spec.Update.RollingUpdate != model.RollingUpdateByPartition:
		return "RollingUpdate, by the guard, and the guard is not enforced"
	}
	way := fmt.Sprintf("RollingUpdate, by its partition: %s", partitionText(pool))
	if pool.Ordered != nil {
		way += ", set by somebody else and taken as an order"
	}
	if !guarded {
		way += "; no guard is enforced, so the controller acts on an edit of it before Rollcall can"
	}
	return way
}

func partitionText(pool model.Pool) string {
	if pool.Partition >= model.FirstOrdinalNone {
		return "the partition is above all ordinals, so it frees nobody"
	}
	return fmt.Sprintf("ordinals from %d on come back on %s", pool.Partition, pool.Revision)
}

// partitionReset reports somebody who keeps resetting the field, which is not meant as an order.
func partitionReset(d Decision) metav1.Condition {
	pools := slices.Sorted(maps.Keys(d.Resets))
	if len(pools) == 0 {
		return condition(v1alpha1.ConditionPartitionReset, false, reasonNotReset, "nobody keeps undoing what is written to a partition")
	}
	return condition(v1alpha1.ConditionPartitionReset, true, reasonReset, fmt.Sprintf(
		"somebody has reset the partition of StatefulSet %s %d times after it was written; leave spec.updateStrategy.rollingUpdate.partition out of the manifest "+
			"and have the tool that applies it ignore differences there, or use update.rollingUpdate: Guard, which writes no StatefulSet", strings.Join(pools, ", "), d.Resets[pools[0]]))
}

// partitions reports partitions that moved for another reason than a pod's step.
func (t *transition) partitions() {
	for _, to := range t.to.Snapshot.Pools {
		from, known := t.from.Pool(to.Name)
		if !known || to.Strategy != model.StrategyRollingUpdate {
			continue
		}
		if to.Force && !from.Force {
			t.add("", "", true, EventRollingUpdateForced, "%s: the annotation %s hands the StatefulSet to its controller: no partition, no guard, no rule",
				to.Name, v1alpha1.AnnotationForce)
		}
		switch {
		case to.Ordered != nil && (from.Ordered == nil || *from.Ordered != *to.Ordered):
			t.add("", "", true, EventPartitionOrdered, "%s: somebody set the partition, so that ordinals below %d stay on the old revision; that is taken as an order",
				to.Name, *to.Ordered)
		case to.Ordered == nil && to.Partition != from.Partition:
			t.moved(to)
		}
		if t.to.Resets[to.Name] > t.from.Resets[to.Name] {
			t.add("", "", true, EventPartitionReset, "%s: %s", to.Name, partitionReset(t.to).Message)
		}
	}
}

func (t *transition) moved(pool model.Pool) {
	for _, line := range t.from.Plan.Lines {
		if line.Pool == pool.Name && line.Partition == pool.Partition {
			t.add("", "", false, EventPartitionMoved, "%s: %s: %s", pool.Name, partitionText(pool), line.Reason)
		}
	}
}
