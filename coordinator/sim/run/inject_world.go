package run

import (
	"fmt"
	"maps"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
	"github.com/rollcall-dev/rollcall/coordinator/sim/database"
	"github.com/rollcall-dev/rollcall/coordinator/sim/workload"
)

// pick chooses a pod by name.
func (w *world) pick(f Fault) string {
	names := w.scenario.names()
	return names[f.Pick/16%uint64(len(names))]
}

// run of a pod by name; nil when it has none.
func (w *world) run(pod string) *workload.Run {
	p := w.server.Pod(pod)
	if p == nil {
		return nil
	}
	return w.kubelets.Run(p.UID)
}

func stuckAgent(w *world, f Fault) func() {
	r := w.run(w.pick(f))
	if r == nil || r.Agent == nil {
		return nil
	}
	if f.Pick%2 == 0 {
		w.kubelets.KillAgent(r)
		return nil
	}
	a := r.Agent
	a.Stuck = true
	return func() { a.Stuck = false }
}

func staleEngine(w *world, f Fault) func() { return w.answer(w.pick(f), database.Stale) }

func brokenEngine(w *world, f Fault) func() {
	kinds := []database.Answers{database.Hung, database.Broken, database.Partial, database.Garbled}
	return w.answer(w.pick(f), kinds[f.Pick%4])
}

func (w *world) answer(pod string, as database.Answers) func() {
	r := w.run(pod)
	if r == nil || r.Agent == nil {
		return nil
	}
	e := r.Agent.Engine
	e.Answer(as)
	return func() { e.Answer(database.Right) }
}

// clocks has one agent's clock jump, and back.
func clocks(w *world, f Fault) func() {
	r := w.run(w.pick(f))
	if r == nil || r.Agent == nil {
		return nil
	}
	a := r.Agent
	a.Skew = []time.Duration{-time.Hour, time.Hour, 5 * time.Second, -5 * time.Second}[f.Pick%4]
	return func() { a.Skew = 0 }
}

// identity has names, containers and addresses mean something else than before.
func identity(w *world, f Fault) func() {
	w.kubelets.ReuseIP = true
	if r := w.run(w.pick(f)); r != nil && f.Pick%2 == 0 {
		w.kubelets.KillDatabase(r)
	} else {
		w.takeAway(w.pick(f))
	}
	return func() { w.kubelets.ReuseIP = false }
}

// takeAway is somebody who opens the guard and deletes the pod.
func (w *world) takeAway(pod string) {
	p := w.server.Pod(pod)
	if p == nil || p.DeletionTimestamp != nil {
		return
	}
	if p.Labels[v1alpha1.LabelGuard] == v1alpha1.GuardClosed {
		next := *p
		next.Labels = map[string]string{}
		maps.Copy(next.Labels, p.Labels)
		next.Labels[v1alpha1.LabelGuard] = v1alpha1.GuardOpen
		w.server.Put(api.Pods, &next)
	}
	w.loop.Log("user", "deletes %s", pod)
	_ = w.server.Remove("user", pod, nil, false)
}

// volume loses a pod's data, or has no room for a pod that comes back.
func volume(w *world, f Fault) func() {
	pod := w.pick(f)
	if f.Pick%2 == 0 {
		w.unlucky[pod] = workload.Unschedulable
	} else {
		w.db.Lose(pod)
	}
	w.takeAway(pod)
	return func() { delete(w.unlucky, pod) }
}

// outside is a person who deletes a pod, an eviction, or a node that fails.
func outside(w *world, f Fault) func() {
	pod := w.pick(f)
	switch f.Pick % 4 {
	case 0:
		w.takeAway(pod)
	case 1: // a drain: evictions that are tried again and again
		over := false
		var again func()
		again = func() {
			if p := w.server.Pod(pod); !over && p != nil && p.DeletionTimestamp == nil {
				_ = w.server.Remove("drain", pod, nil, true)
				w.loop.In(5*time.Second, again)
			}
		}
		again()
		return func() { over = true }
	case 2:
		node := nodes[f.Pick/4%3]
		w.loop.Log("fault", "%s fails", node)
		w.kubelets.FailNode(node)
		return func() { w.kubelets.ReturnNode(node) }
	case 3:
		return pause(w, f)
	}
	return nil
}

// template makes a third one, or goes back to the first, or there and back.
func template(w *world, f Fault) func() {
	switch f.Pick % 3 {
	case 0:
		w.edit()
	case 1:
		w.editTo("v1")
	case 2:
		w.editTo("v1")
		return func() { w.editTo("v2") }
	}
	return nil
}

// scale adds a pod and takes it away again.
func scale(w *world, f Fault) func() {
	to := func(n int) {
		if w.server.Set(name) == nil {
			return
		}
		set := *w.server.Set(name)
		replicas := int32(n)
		set.Spec.Replicas = &replicas
		set.Generation++
		w.loop.Log("user", "scales to %d", n)
		w.first = n
		w.limits()
		w.server.Put(api.Sets, &set)
	}
	few := w.scenario.pools()[0].Replicas
	to(few + 1)
	return func() { to(few) }
}

// fates of a template that does not work.
var fates = []workload.Fate{workload.Crashes, workload.NoImage, workload.Mute, workload.Unschedulable}

// badImage makes a template that does not work, and then one that does.
func badImage(w *world, f Fault) func() {
	revision := fmt.Sprintf("v%d", w.revisions+1)
	w.bad[revision] = fates[f.Pick%4]
	w.loop.Log("fault", "%s %s", revision, fates[f.Pick%4])
	w.edit()
	return func() { w.edit() }
}

func webhookDown(w *world, f Fault) func() {
	w.controller.Webhook = false
	return func() {
		w.controller.Webhook = true
	}
}

// leftovers are what a coordinator that died long ago has left: a claim, an open
// guard, a mark in the database.
func leftovers(w *world, f Fault) func() {
	pod := w.server.Pod(w.pick(f))
	claim := model.Claim{
		ID: "old-1", Pod: pod.Name, UID: string(pod.UID), Action: model.ActionRestart, Reason: model.ReasonOutdated,
		Prepare: model.PrepareHandoff, From: "v0", To: "v1", Epoch: 3, Phase: model.PhaseOpened, StartedAt: model.At(time.Now()),
		Undo: fmt.Appendf(nil, `{"claim":"old-1","node":%q}`, database.NodeName(pod.Name)),
	}
	c := w.server.Cluster(name).DeepCopy()
	c.Status.Epoch, c.Status.Claims = 3, []model.Claim{claim}
	w.server.Put(api.Clusters, c)
	w.db.Leave(database.Mark{Claim: "old-1", Node: database.NodeName(pod.Name), Shard: "books/s1"})
	next := *pod
	next.Labels = map[string]string{}
	maps.Copy(next.Labels, pod.Labels)
	if f.Pick%2 == 0 {
		next.Labels[v1alpha1.LabelGuard] = v1alpha1.GuardOpen
		next.Annotations = map[string]string{v1alpha1.AnnotationClaim: "old-1"}
	}
	w.server.Put(api.Pods, &next)
	return nil
}
