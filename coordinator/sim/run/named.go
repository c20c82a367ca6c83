package run

import (
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/sim/database"
	"github.com/rollcall-dev/rollcall/coordinator/sim/workload"
)

// Named is a fault that people ask for by name. It does one thing, where a drawn
// fault of its class does one of several.
type Named struct {
	Name, Help string
	Class      Class
	// For is how long it lasts unless it is said.
	For time.Duration

	inject func(w *world, f Fault) func()
}

// NamedFaults are all of them, in the order of their names.
var NamedFaults = []Named{
	{"bad-image", "a template whose image cannot be pulled, and then one that works", BadImage, 40 * time.Second, untilNext(workload.NoImage)},
	{"crash-loop", "a template whose database crashes, and then one that works", BadImage, 40 * time.Second, untilNext(workload.Crashes)},
	{"delete-pod", "somebody opens the guard of a pod that leads a shard, and deletes it", Outside, 0, deletePod},
	{"drain-node", "node1 is cordoned and its pods are evicted until they go; it comes back", Outside, 60 * time.Second, drainNode},
	{"fail-node", "node1 fails with all that runs on it, and comes back", Outside, 60 * time.Second, failNode},
	{"hang-engine", "the database in one pod answers its agent no more", BrokenEngine, 30 * time.Second, hangEngine},
	{"kill-agent", "the agent in one pod is killed; the kubelet starts it again", StuckAgent, 0, killAgent},
	{"kill-coordinator", "the coordinator is killed; another is elected when it is over", Crash, 15 * time.Second, killCoordinator},
	{"kill-leader", "the process that leads a shard is killed without a word", Identity, 0, killLeader},
	{"lossy-network", "every tenth message is lost, others come twice or late", Loss, 20 * time.Second, lossyNetwork},
	{"partition", "one pod is cut off from everybody", Partition, 20 * time.Second, cutOff},
	{"pause", "a person pauses the rollout, and resumes it", Outside, 20 * time.Second, pause},
	{"pause-process", "the process that leads a shard is paused past its session, and goes on", Pauses, 25 * time.Second, pauseLeader},
	{"read-only-api", "the API server accepts no writes", Throttling, 15 * time.Second, readOnly},
	{"rollback", "a person goes back to the first template", Template, 0, rollBack},
	{"scale-in", "a pod is added, and taken away again at the end", Scale, 20 * time.Second, scale},
	{"session-loss", "all members lose their sessions at once while their processes run, as when ZooKeeper elects", Session, 5 * time.Second, allSessions},
	{"stale-cache", "what the coordinator is told of objects comes up to six seconds late", StaleCache, 20 * time.Second, staleCache},
	{"two-leaders", "a second coordinator believes that it leads; in the end the first goes", TwoLeaders, 20 * time.Second, twoLeaders},
	{"webhook-down", "new pods get no agent and no guard", WebhookDown, 15 * time.Second, webhookDown},
}

// ByName finds a fault.
func ByName(name string) (Named, bool) {
	at := slices.IndexFunc(NamedFaults, func(n Named) bool { return n.Name == name })
	if at < 0 {
		return Named{}, false
	}
	return NamedFaults[at], true
}

// untilNext makes a template that does not work, and a newer one that does.
func untilNext(fate workload.Fate) func(*world, Fault) func() {
	pick := slices.Index(fates, fate)
	return func(w *world, f Fault) func() {
		f.Pick = uint64(pick)
		return badImage(w, f)
	}
}

// victim is a pod that is up: one that leads a shard, or else one that is not
// about to go. Empty when there is none.
func (w *world) victim(leads bool) string {
	for _, shard := range w.db.Truth() {
		if leads && shard.Leader != "" && w.db.Up(shard.Leader) {
			return shard.Leader
		}
	}
	for _, pod := range w.pods() {
		if pod.DeletionTimestamp == nil && w.db.Whole(pod.Name) && pod.Labels[v1alpha1.LabelGuard] == v1alpha1.GuardClosed {
			return pod.Name
		}
	}
	return ""
}

func deletePod(w *world, _ Fault) func() {
	w.takeAway(w.victim(true))
	return nil
}

func killLeader(w *world, _ Fault) func() {
	pod := w.victim(true)
	if r := w.run(pod); r != nil {
		w.loop.Log("fault", "kills the database in %s", pod)
		w.kubelets.KillDatabase(r)
	}
	return nil
}

func allSessions(w *world, _ Fault) func() {
	var names []string
	for _, pod := range w.pods() {
		names = append(names, pod.Name)
	}
	return w.loseSessions(names, 0)
}

func pauseLeader(w *world, _ Fault) func() {
	if r := w.run(w.victim(true)); r != nil {
		return w.kubelets.Pause(r, false, true)
	}
	return nil
}

func killAgent(w *world, _ Fault) func() {
	pod := w.victim(false)
	if r := w.run(pod); r != nil {
		w.loop.Log("fault", "kills the agent in %s", pod)
		w.kubelets.KillAgent(r)
	}
	return nil
}

func killCoordinator(w *world, _ Fault) func() {
	if w.leader == nil {
		w.loop.Log("fault", "no coordinator is there to be killed yet")
		return nil
	}
	w.leader.crash()
	return func() {
		if w.leader.dead {
			w.lead(0)
		}
	}
}

// drained is the node that is drained, or fails.
const drained = "node1"

// drainNode is kubectl drain: a cordon, and evictions that are tried again and
// again. The volumes stay where they are, so the pods wait for their node.
func drainNode(w *world, _ Fault) func() {
	w.change("has node drains followed; data stays on its volumes", func(c *v1alpha1.DatabaseCluster) {
		c.Spec.Update.NodeDrains.Follow, c.Spec.Drain.Data.NodeDrain = true, model.DataKeep
	})
	w.cordonNode(drained, true)
	var evict func()
	over := false
	evict = func() {
		if over {
			return
		}
		for _, pod := range w.pods() {
			if pod.Spec.NodeName == drained && pod.DeletionTimestamp == nil {
				if err := w.server.Remove("drain", pod.Name, nil, true); err == nil {
					w.loop.Log("user", "evicts %s", pod.Name)
				}
			}
		}
		w.loop.In(5*time.Second, evict)
	}
	evict()
	return func() {
		over = true
		w.cordonNode(drained, false)
	}
}

func failNode(w *world, _ Fault) func() {
	w.loop.Log("fault", "%s fails", drained)
	w.kubelets.FailNode(drained)
	return func() { w.kubelets.ReturnNode(drained) }
}

func hangEngine(w *world, _ Fault) func() {
	pod := w.victim(false)
	w.loop.Log("fault", "the database in %s hangs", pod)
	return w.answer(pod, database.Hung)
}

func lossyNetwork(w *world, f Fault) func() {
	f.Pick = 5
	return loss(w, f)
}

func cutOff(w *world, _ Fault) func() {
	pod := w.victim(false)
	if pod == "" {
		return nil
	}
	return w.close("*>"+pod, pod+">*")
}

func pause(w *world, _ Fault) func() {
	w.change("pauses", func(c *v1alpha1.DatabaseCluster) { c.Spec.Update.Paused = true })
	return func() { w.change("resumes", func(c *v1alpha1.DatabaseCluster) { c.Spec.Update.Paused = false }) }
}

func readOnly(w *world, f Fault) func() {
	f.Pick = 0
	return throttling(w, f)
}

func rollBack(w *world, _ Fault) func() {
	w.editTo("v1")
	return nil
}
