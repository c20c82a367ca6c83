package view

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

func (w *world) policyPods(groups []model.Group) []model.Pod {
	reports := w.reports(groups)
	due := restartDue(w.in.Kube.Cluster, w.in.Now)
	out := make([]model.Pod, 0, len(w.pods))
	for i := range w.pods {
		p := &w.pods[i]
		pool := &w.in.Kube.Pools[p.pool]
		q := model.Pod{
			Name: p.name, Pool: pool.Name, Ordinal: int32(p.ordinal), Unit: pool.Unit,
			Phase: model.PodPhaseMissing, Agent: true, Guard: model.GuardNone,
			MustReplace: []string{}, Conditions: []model.PodCondition{},
			EstimateSeconds: w.estimate(pool.Name), Report: reports[i],
		}
		if k := p.kube; k != nil {
			w.describe(&q, k, pool)
			q.Restart = k.Created.Before(due) || k.Restart
			q.MustReplace, q.Exempt, q.Removal, q.Tolerates = w.mustReplace(k, pool), k.NeverReplace, w.removal(k), w.tolerated(k)
		}
		q.Conditions = w.conditions(i, &q)
		out = append(out, q)
	}
	return out
}

// estimate returns how long a pod of a pool is expected to be unavailable: as long as its pool's
// have been, or else as long as the cluster's have been.
func (w *world) estimate(pool string) float64 {
	status := &w.in.Kube.Cluster.Status
	switch {
	case status.PoolEstimateSeconds[pool] > 0:
		return float64(status.PoolEstimateSeconds[pool])
	case status.EstimateSeconds > 0:
		return float64(status.EstimateSeconds)
	}
	return defaultEstimate
}

// stuckAfter is how long a volume may take to be attached, and how much longer than its grace
// period a pod may take to end, before that is a named problem. A kubelet waits as long for a
// volume before it complains.
const stuckAfter = 2 * time.Minute

func (w *world) describe(q *model.Pod, k *kube.Pod, pool *kube.Pool) {
	q.UID, q.Node, q.Revision = string(k.UID), k.Node, k.Revision
	q.Phase, q.Since, q.Problem = phases[k.Phase], model.At(k.Since), model.Problem(k.Problem)
	q.Agent, q.Guard = k.Agent, guardOf(k.Guard)
	switch {
	case k.Phase == kube.Terminating && w.in.Now.Sub(k.Deleted) > stuckAfter:
		q.Problem = model.ProblemStuckTerminating
	case k.Problem == kube.Volume && w.in.Now.Sub(k.Since) <= stuckAfter:
		q.Problem = model.ProblemNone // every pod begins like this
	}
	if k.Unit != "" {
		q.Unit = k.Unit
	}
	q.Remove = pool.Deleting || k.Ordinal < pool.Start || k.Ordinal >= pool.Start+pool.Replicas
	if k.Node == "" {
		return
	}
	node, ok := w.in.Kube.Nodes[k.Node]
	q.Zone = zoneOf(w.in.Kube.Cluster, node)
	if !ok || node.Silent {
		q.Problem = model.ProblemNodeGone
	}
}

// phases maps one to one. A phase that is not listed stays empty, which is refused.
var phases = map[kube.Phase]model.PodPhase{
	kube.Pending:     model.PodPhasePending,
	kube.NotStarted:  model.PodPhaseNotStarted,
	kube.Started:     model.PodPhaseStarted,
	kube.Ready:       model.PodPhaseReady,
	kube.Terminating: model.PodPhaseTerminating,
	kube.Failed:      model.PodPhaseFailed,
}

// guardOf maps the label: only a closed guard refuses anything.
func guardOf(label string) model.GuardLabel {
	switch label {
	case v1alpha1.GuardClosed:
		return model.GuardClosed
	case v1alpha1.GuardOpen:
		return model.GuardOpen
	}
	return model.GuardNone
}

func zoneOf(cluster *v1alpha1.DatabaseCluster, node kube.Node) string {
	key := cluster.Spec.Policy.ZoneKey
	if key == "" {
		key = "topology.kubernetes.io/zone"
	}
	return node.Labels[key]
}

// nodes returns those on which the pods run, also those that no longer exist.
func (w *world) nodes() []model.Node {
	names := map[string]bool{}
	for i := range w.pods {
		if k := w.pods[i].kube; k != nil && k.Node != "" {
			names[k.Node] = true
		}
	}
	out := make([]model.Node, 0, len(names))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		node, ok := w.in.Kube.Nodes[name]
		n := model.Node{Name: name, Zone: zoneOf(w.in.Kube.Cluster, node), Cordoned: node.Cordoned, Gone: !ok || node.Silent, Taints: []model.Taint{}}
		for _, t := range node.Taints {
			n.Taints = append(n.Taints, model.Taint{Key: t.Key, Since: model.At(t.Since)})
		}
		out = append(out, n)
	}
	return out
}

// partitionZero is the patch for a StatefulSet without a partition.
const partitionZero = `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}`

func (w *world) policyPools() []model.Pool {
	out := make([]model.Pool, 0, len(w.in.Kube.Pools))
	for i := range w.in.Kube.Pools {
		k := &w.in.Kube.Pools[i]
		p := model.Pool{
			Name: k.Name, Replicas: int32(k.Replicas), Start: int32(k.Start), Revision: k.Revision,
			Observed: k.Observed(), Management: model.Management(k.Management), Strategy: model.Strategy(k.Strategy),
			Partition: model.FirstOrdinal(int32(k.Partition), int32(k.Start)), Force: k.Force, AllowShutdown: k.AllowShutdown,
			Ordered: w.ordered(k), Agents: k.Joins != "",
		}
		if k.NoPartition && w.in.Kube.Cluster.Spec.Update.RollingUpdate != model.RollingUpdateByPartition {
			p.Refused = fmt.Sprintf("its updateStrategy names no partition, and then Kubernetes brings pods of low ordinals back on the old revision; "+
				"0 is wanted, which restarts nothing: kubectl -n %s patch statefulset %s -p '%s'", k.Namespace, k.Name, partitionZero)
		}
		if k.Joins != "" && k.Joins != k.Cluster {
			p.Refused = fmt.Sprintf("the label %s of its pod template is %s, which is another database's; must be %s",
				v1alpha1.LabelCluster, k.Joins, k.Cluster)
		}
		for _, done := range w.in.Kube.Cluster.Status.LastFinished {
			if done.Pool == k.Name {
				p.FinishedRevision = done.Revision
			}
		}
		p.Version, p.RunningVersion = w.versions(i)
		switch {
		case k.Deleting:
			p.Operation = model.OperationRemoval
		case slices.ContainsFunc(w.pods, func(q pod) bool { return q.pool == i && !q.desired }):
			p.Operation = model.OperationScaleDown
		}
		out = append(out, p)
	}
	return out
}

// ordered returns the partition that a person has set, if the pool is driven by its partition.
func (w *world) ordered(k *kube.Pool) *int32 {
	byLine := k.Strategy == string(model.StrategyRollingUpdate) && w.in.Kube.Cluster.Spec.Update.RollingUpdate == model.RollingUpdateByPartition
	if !byLine || !k.Ordered() {
		return nil
	}
	line := model.FirstOrdinal(int32(k.Partition), int32(k.Start))
	return &line
}
