package run

import (
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/sim/workload"
)

// skews has the clock of a node be ahead or behind to the end of the run, or step back while the
// agents on it start again.
func skews(w *world, f Fault) func() {
	node := nodes[f.Pick/4%3]
	by := []time.Duration{-time.Hour, 30 * time.Second, -30 * time.Second, 4 * time.Second}[f.Pick%4]
	w.loop.Log("fault", "the clock of %s is ahead by %s", node, by)
	w.kubelets.Skew(node, by)
	if f.Pick>>8%2 == 0 {
		return nil
	}
	return func() {
		w.loop.Log("fault", "the clock of %s steps, and its agents start again", node)
		w.kubelets.Skew(node, -by)
		for _, pod := range w.pods() {
			if r := w.kubelets.Run(pod.UID); r != nil && pod.Spec.NodeName == node {
				w.kubelets.KillAgent(r)
			}
		}
	}
}

// unowned has a StatefulSet lose the label by which it is a pool, or be deleted
// without its pods, until somebody applies it again.
func unowned(w *world, f Fault) func() {
	set := poolName(int(f.Pick / 4 % uint64(len(w.scenario.pools()))))
	if f.Pick%2 == 0 {
		w.loop.Log("user", "takes the label off %s", set)
		workload.Label(w.server, set, v1alpha1.LabelCluster, "")
		return func() {
			w.loop.Log("user", "labels %s again", set)
			workload.Label(w.server, set, v1alpha1.LabelCluster, name)
		}
	}
	w.loop.Log("user", "deletes %s and leaves its pods", set)
	apply := workload.Orphan(w.server, set, func() string { return w.wanted })
	return func() {
		w.loop.Log("user", "applies %s again", set)
		w.oracle.Surprise(set)
		apply()
	}
}

// outage is a bad template under which all pods are restarted by somebody in a
// hurry, and then one that works.
func outage(w *world, f Fault) func() {
	end := badImage(w, f)
	for _, pod := range w.pods() {
		w.loop.In(w.loop.Between(500*time.Millisecond, 3*time.Second), func() { w.takeAway(pod.Name) })
	}
	return end
}

// ailing is a copy that was broken before the rollout.
func ailing(w *world, f Fault) func() {
	for i := range w.scenario.Shards {
		at := (i + int(f.Pick/8%64)) % len(w.scenario.Shards)
		shard := w.scenario.Shards[at]
		if len(shard) < 2 || w.scenario.Acks > 0 {
			continue
		}
		place := shard[1+int(f.Pick/512%uint64(len(shard)-1))]
		w.db.Ail(w.scenario.names()[place], fmt.Sprintf("books/s%d", at+1), f.Pick%2 == 0, f.Pick/2%4 == 0)
		w.hits[Ailing] = true
		return nil
	}
	return nil
}

// unjoined has pods be taken away while the webhook is down: all, or one.
func unjoined(w *world, f Fault) func() {
	w.controller.Webhook = false
	pods := w.pods()
	if f.Pick%2 == 0 {
		pods = pods[int(f.Pick/16%uint64(len(pods))):][:1]
	}
	for _, pod := range pods {
		w.loop.In(w.loop.Between(500*time.Millisecond, 8*time.Second), func() { w.takeAway(pod.Name) })
	}
	return func() { w.controller.Webhook = true }
}
