package run

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
)

// edits are a person who changes the spec in the middle of a rollout, and back.
func edits(w *world, f Fault) func() {
	switch f.Pick % 6 {
	case 0:
		return w.limit("lowers the limits", 1, 1)
	case 1:
		return w.limit("raises the limits", w.scenario.MaxPods+1, w.scenario.MaxShard+1)
	case 2:
		return w.until("only looks on", func(c *v1alpha1.DatabaseCluster) { c.Spec.Update.Mode = model.ModeObserve }, func(c *v1alpha1.DatabaseCluster) { c.Spec.Update.Mode = model.ModeAuto })
	case 3:
		return w.until("pauses", func(c *v1alpha1.DatabaseCluster) { c.Spec.Update.Paused = true }, func(c *v1alpha1.DatabaseCluster) { c.Spec.Update.Paused = false })
	case 4: // the bubble's clock begins at midnight, when none of the windows is open
		closed := []model.Window{{Schedule: "0 12 * * *", Duration: "1h"}}
		return w.until("closes the windows", func(c *v1alpha1.DatabaseCluster) { c.Spec.Update.Windows = closed }, func(c *v1alpha1.DatabaseCluster) { c.Spec.Update.Windows = nil })
	}
	rule := []model.Rule{model.RuleFailureDetection, model.RuleMoving, model.RuleRankOrder}[f.Pick/8%3]
	over := []model.Override{{Rule: rule, Pods: []string{w.pick(f)}, Reason: "tried", Expires: model.At(time.Now().Add(f.For))}}
	return w.until("overrides "+string(rule), func(c *v1alpha1.DatabaseCluster) { c.Spec.Overrides = over }, func(c *v1alpha1.DatabaseCluster) { c.Spec.Overrides = nil })
}

// until changes the spec, and changes it back.
func (w *world) until(what string, there, back func(*v1alpha1.DatabaseCluster)) func() {
	w.change(what, there)
	return func() { w.change("no longer "+what, back) }
}

// limit sets both limits until it is over.
func (w *world) limit(what string, pods, shard int) func() {
	set := func(what string, pods, shard int) {
		a, b := model.Count(int64(pods)), model.Count(int64(shard))
		w.maxPods, w.maxShard = pods, shard
		w.limits()
		w.change(what, func(c *v1alpha1.DatabaseCluster) {
			c.Spec.Policy.MaxUnavailable, c.Spec.Policy.MaxShardUnavailable = &a, &b
		})
	}
	set(what, pods, shard)
	return func() { set("sets the limits as they were", w.scenario.MaxPods, w.scenario.MaxShard) }
}

// limits tells the oracle how many may be unavailable by what people have asked for.
func (w *world) limits() {
	w.oracle.Limit(w.scenario.maxUnavailable(w.maxPods, w.first), w.maxShard)
}

// approvals are a person who wants to be asked, and consents in the end.
func approvals(w *world, f Fault) func() {
	what, canary := model.ApprovedLeader, f.Pick%2 == 0
	if canary {
		what = model.ApprovedCanary
	}
	w.change("wants to be asked: "+string(what), func(c *v1alpha1.DatabaseCluster) {
		c.Spec.Update.ApproveLeader = !canary
		if canary {
			c.Spec.Update.Canary = model.Canary{Pods: 1, Approve: true}
		}
	})
	return func() { w.approve(what) }
}

func (w *world) approve(what model.Approved) {
	c := w.server.Cluster(name).DeepCopy()
	c.Status.Approvals = append(c.Status.Approvals, model.Approval{What: what, By: "user", At: model.At(time.Now())})
	w.loop.Log("user", "approves: %s", what)
	w.server.Put(api.Clusters, c)
}

// drains are a node that is to be left, which the cluster follows. Data stays on
// its volumes, so the pods wait for their node.
func drains(w *world, f Fault) func() {
	node := nodes[f.Pick/4%3]
	data := model.DataKeep
	if w.scenario.Ephemeral {
		data = model.DataLose
	}
	w.change("has node drains followed", func(c *v1alpha1.DatabaseCluster) {
		c.Spec.Update.NodeDrains.Follow, c.Spec.Drain.Data.NodeDrain = true, data
	})
	w.cordonNode(node, true)
	over := false
	var evict func()
	evict = func() {
		if over {
			return
		}
		for _, pod := range w.pods() {
			if pod.Spec.NodeName == node && pod.DeletionTimestamp == nil {
				_ = w.server.Remove("drain", pod.Name, nil, true)
			}
		}
		w.loop.In(5*time.Second, evict)
	}
	if w.scenario.Guarded {
		evict()
	}
	return func() {
		over = true
		w.cordonNode(node, false)
	}
}

func (w *world) cordonNode(name string, is bool) {
	node := w.server.Node(name).DeepCopy()
	node.Spec.Unschedulable, node.Spec.Taints = is, nil
	what := "uncordons"
	if is {
		what = "cordons and drains"
		node.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}}
	}
	w.loop.Log("user", "%s %s", what, name)
	w.server.Put(api.Nodes, node)
}
