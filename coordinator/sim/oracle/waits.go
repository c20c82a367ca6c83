package oracle

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
	"github.com/rollcall-dev/rollcall/coordinator/sim/database"
	"github.com/rollcall-dev/rollcall/coordinator/sim/workload"
)

// Wait is why a pod may be left as it is at the end of a run: only a person can fix that. Its
// condition is true in the world.
type Wait struct {
	Name string
	// Document, Says is the sentence that holds the pod.
	Document, Says string

	is func(o *Oracle, pod *corev1.Pod) bool
}

// Waits are all of them.
var Waits = []Wait{
	{
		Name:     "another copy of what it has is broken for ever, or was scaled away by a person",
		Document: "deploy/docs/policy.md",
		Says:     "is missing until a person brings it back or takes it out of the database",
		is:       (*Oracle).besideLost,
	},
	{
		Name:     "it is below the partition, and would not go alone",
		Document: "deploy/docs/policy.md",
		Says:     "passes those if guards keep the controller from every one of them (all Closed)",
		is:       (*Oracle).belowPartition,
	},
	{
		Name:     "it is below the partition, and unavailable as a copy on it recovers for ever",
		Document: "deploy/docs/policy.md",
		Says:     "its report says that it is not `settled`",
		is:       (*Oracle).recoversBelow,
	},
	{
		Name:     "who is up to date is unavailable as a copy on it recovers in vain, and no other may be",
		Document: "deploy/docs/policy.md",
		Says:     "One that is up to date is not restarted for its broken copy: a person must see to it.",
		is:       (*Oracle).besideRecovering,
	},
	{
		Name:     "it may have the last copy, and its data would be gone",
		Document: "deploy/docs/runbook.md",
		Says:     "or the last at all, and its disk would not survive",
		is:       (*Oracle).hasTheLast,
	},
	{
		Name:     "it had the last copy, and nobody is left who could tell that this was moved away a moment before",
		Document: "coordinator/view/DESIGN.md",
		Says:     "A group that no pod reports any more is kept, with nothing good known about it, until all pods that were in it have reported",
		is:       (*Oracle).hadTheLast,
	},
	{
		Name:     "nobody has an agent that could say where its copies are, and its data would be gone",
		Document: "deploy/docs/policy.md",
		Says:     "A pod whose data would be lost is held by `sole-copy`.",
		is:       func(o *Oracle, pod *corev1.Pod) bool { return o.nobodySpeaks() && o.loses(pod) },
	},
	{
		Name:     "it is to be replaced and has no agent that could empty it",
		Document: "deploy/docs/policy.md",
		Says:     "Or it is to be replaced and `refused: veto`: nobody could empty it",
		is: func(o *Oracle, pod *corev1.Pod) bool {
			return o.limits.Replaced && len(pod.Spec.InitContainers) == 0 && o.outdated(pod)
		},
	},
}

// Unconfirmed is why the claim of a pod that has gone may stay open at the end: nobody
// can tell that the one after it is back, which waits for a person.
var Unconfirmed = Wait{
	Name:     "its pod has come back without an agent, and no agent beside a member that runs could speak for it",
	Document: "deploy/docs/policy.md",
	Says:     "and one without a report not at all.",
	is: func(o *Oracle, pod *corev1.Pod) bool {
		return o.wanted(pod.Name) && workload.Ready(pod) && o.unheard(pod.Name) && !o.nobodySpeaks()
	},
}

// follower is why a pod waits until another goes, which waits for a person.
type follower struct {
	Wait
	behind func(o *Oracle, pod, first *corev1.Pod) bool
}

var followers = []follower{
	{
		Wait: Wait{
			Name:     "a shard has nobody who could lead it, and the pod is no correction",
			Document: "deploy/docs/policy.md",
			Says:     "a group that needs a leader has none",
		},
		behind: func(o *Oracle, pod, first *corev1.Pod) bool {
			return o.hasTheLast(first) && (!o.Broken(pod) || !o.wanted(pod.Name))
		},
	},
	{
		Wait: Wait{
			Name:     "a shard has nobody who could lead it, and nobody can tell that the pod is broken",
			Document: "deploy/docs/policy.md",
			Says:     "broken** only by direct evidence. A missing report is none",
		},
		behind: func(o *Oracle, pod, first *corev1.Pod) bool { return o.hasTheLast(first) && o.untold(pod) },
	},
	{
		Wait: Wait{
			Name:     "its pool is scaled down first",
			Document: "deploy/docs/policy.md",
			Says:     "its pool has an `operation`, and its reason is neither ScaleDown nor Replacement",
		},
		behind: func(o *Oracle, pod, first *corev1.Pod) bool {
			return o.setOf(pod.Name) == o.setOf(first.Name) && o.wanted(pod.Name) && !o.wanted(first.Name)
		},
	},
	{
		Wait:   Wait{Name: "it goes last", Document: "deploy/docs/policy.md", Says: "it is `last`, and anybody is before it in the order"},
		behind: func(o *Oracle, pod, _ *corev1.Pod) bool { return o.overseer == pod.Name },
	},
	{
		Wait:   Wait{Name: "its rank is higher", Document: "deploy/docs/policy.md", Says: "a pod of a lower rank is desired and unavailable, or in the order"},
		behind: func(o *Oracle, pod, first *corev1.Pod) bool { return o.db.RankOf(first.Name) < o.db.RankOf(pod.Name) },
	},
	{
		Wait: Wait{Name: "its controller would not make it again", Document: "deploy/docs/policy.md", Says: "creates none before all lower ordinals are Ready"},
		behind: func(o *Oracle, pod, first *corev1.Pod) bool {
			set := o.setOf(pod.Name)
			return set == o.setOf(first.Name) && set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement &&
				workload.Ordinal(first.Name) < workload.Ordinal(pod.Name) && !workload.Ready(first)
		},
	},
	{
		Wait: Wait{Name: "the partition comes to it later", Document: "deploy/docs/policy.md", Says: "or while outdated pods are *between*"},
		behind: func(o *Oracle, pod, first *corev1.Pod) bool {
			return o.limits.ByPartition && o.setOf(pod.Name) == o.setOf(first.Name) && o.outdated(first) && workload.Ordinal(pod.Name) < workload.Ordinal(first.Name)
		},
	},
	{
		Wait: Wait{Name: "it may not go while one below the partition does not work", Document: "deploy/docs/policy.md", Says: "R = the room that the rest of the pod's unit needs"},
		behind: func(o *Oracle, pod, first *corev1.Pod) bool {
			before := o.setOf(pod.Name) != o.setOf(first.Name) || workload.Ordinal(pod.Name) > workload.Ordinal(first.Name)
			return before && o.away(first.Name) && o.keptBelow(first) && o.tooMany(map[string]bool{pod.Name: true}, o.restOfUnit(pod))
		},
	},
}

// waits returns a pod that may be left as it is, and why, if all others that are not done wait,
// too, or wait for such a pod. It is empty if some pod does not have to wait.
func (o *Oracle) waits() (pod, why string) {
	var waiting, others []*corev1.Pod
	for _, name := range o.server.Names(api.Pods) {
		p := o.server.Pod(name)
		if o.through(p) {
			continue
		}
		if at := slices.IndexFunc(Waits, func(w Wait) bool { return w.is(o, p) }); at < 0 {
			others = append(others, p)
		} else {
			waiting = append(waiting, p)
			pod, why = p.Name, Waits[at].Name
		}
	}
	for len(others) > 0 {
		at := slices.IndexFunc(others, func(p *corev1.Pod) bool { return o.follows(p, waiting) })
		if at < 0 {
			return "", ""
		}
		waiting = append(waiting, others[at])
		others = slices.Delete(others, at, at+1)
	}
	for _, name := range o.Desired() {
		if o.server.Pod(name) == nil && !o.uncreated(name) {
			return "", ""
		}
	}
	return pod, why
}

// follows reports whether a pod waits for one of these.
func (o *Oracle) follows(pod *corev1.Pod, waiting []*corev1.Pod) bool {
	return slices.ContainsFunc(followers, func(f follower) bool {
		return slices.ContainsFunc(waiting, func(of *corev1.Pod) bool { return f.behind(o, pod, of) })
	})
}

// MustWait reports whether the rollout cannot end before a person has done something, and nothing
// is left to be done before.
func (o *Oracle) MustWait() bool {
	for _, claim := range o.server.Cluster(o.limits.Cluster).Status.Claims {
		if !o.uncreated(claim.Pod) {
			return false
		}
	}
	pod, _ := o.waits()
	return pod != ""
}

// through reports whether nothing is to be done about a pod.
func (o *Oracle) through(pod *corev1.Pod) bool {
	return o.wanted(pod.Name) && !o.outdated(pod) && len(pod.Spec.InitContainers) > 0 && workload.Ready(pod) && o.db.There(pod.Name)
}

// besideLost reports whether a pod is to go and has a copy of a shard of which another is broken
// for ever, or was scaled away. With it more would be unavailable than may, or none be left.
func (o *Oracle) besideLost(pod *corev1.Pod) bool {
	broken := o.db.Incurable()
	for _, shard := range o.db.Truth() {
		away, left, hosts := 1, 0, false
		for _, c := range shard.Copies {
			switch {
			case c.Pod == pod.Name:
				hosts = c.Active
			case c.Pod == broken[shard.ID], o.scaledAway(c.Pod):
				away++
			default:
				left++
			}
		}
		if hosts && away > 1 && (o.outdated(pod) || !o.hasAgent(pod.Name)) && (away > o.spares(shard) || left == 0) {
			return true
		}
	}
	return false
}

// scaledAway reports whether a pod is not wanted any more, and does not go by Rollcall's hand.
func (o *Oracle) scaledAway(pod string) bool { return !o.wanted(pod) && !o.dismissed[pod] }

// besideRecovering reports whether a copy on a pod that does not have to go recovers in vain, so
// that is unavailable until a person has seen to it, and this one may not be unavailable, too.
func (o *Oracle) besideRecovering(pod *corev1.Pod) bool {
	set := o.setOf(pod.Name)
	inOrder := set != nil && set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement
	return slices.ContainsFunc(o.Desired(), func(name string) bool {
		other := o.server.Pod(name)
		return name != pod.Name && other != nil && o.through(other) && o.db.RecoversInVain(name) &&
			(inOrder && o.setOf(name) == set || o.tooMany(map[string]bool{pod.Name: true, name: true}, o.restOfUnit(pod)))
	})
}

// hasTheLast reports whether a pod cannot come back by itself, and has a copy of a shard of which
// none serves elsewhere. Its database has run, and its data would be gone with it.
func (o *Oracle) hasTheLast(pod *corev1.Pod) bool {
	return o.losesTheLast(pod, func(shard database.Shard) bool {
		return slices.ContainsFunc(shard.Copies, func(c database.Copy) bool { return c.Pod == pod.Name })
	})
}

// losesTheLast is the same, where hosts tells whether the pod has a copy of a shard.
func (o *Oracle) losesTheLast(pod *corev1.Pod, hosts func(shard database.Shard) bool) bool {
	if !o.limits.Ephemeral || !o.Broken(pod) || !hasRun(pod) {
		return false
	}
	return slices.ContainsFunc(o.db.Truth(), func(shard database.Shard) bool {
		return hosts(shard) && !slices.ContainsFunc(shard.Copies, func(c database.Copy) bool { return c.Pod != pod.Name && c.Active })
	})
}

// hasRun reports whether the container of the database was started.
func hasRun(pod *corev1.Pod) bool {
	return showsDatabase(pod, func(c corev1.ContainerStatus) bool {
		return c.State.Running != nil || c.State.Terminated != nil || c.LastTerminationState.Terminated != nil
	})
}

// showsDatabase reports whether Kubernetes shows of the database's container what is asked.
func showsDatabase(pod *corev1.Pod, is func(c corev1.ContainerStatus) bool) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.Name == workload.Database && is(c) })
}

// untold reports whether a pod has no agent, Kubernetes shows that its database runs, and no agent
// beside a member that runs could say more.
func (o *Oracle) untold(pod *corev1.Pod) bool {
	runs := showsDatabase(pod, func(c corev1.ContainerStatus) bool {
		return c.State.Running != nil && c.LastTerminationState.Terminated == nil
	})
	return runs && o.unheard(pod.Name)
}

// unheard reports whether a pod has no agent, and no other's beside a member that runs could speak
// for it.
func (o *Oracle) unheard(pod string) bool {
	return !o.hasAgent(pod) && !slices.ContainsFunc(o.server.Names(api.Pods), o.tended)
}

// unconfirmed reports whether a claim is open as nobody can tell that its pod is back.
func (o *Oracle) unconfirmed(claim model.Claim) bool {
	pod := o.server.Pod(claim.Pod)
	return pod != nil && string(pod.UID) != claim.UID && Unconfirmed.is(o, pod)
}

// loses reports whether what is on a pod is gone with it.
func (o *Oracle) loses(pod *corev1.Pod) bool { return o.limits.Ephemeral || !o.wanted(pod.Name) }

// nobodySpeaks reports whether no pod has an agent.
func (o *Oracle) nobodySpeaks() bool {
	return !slices.ContainsFunc(o.server.Names(api.Pods), func(name string) bool { return len(o.server.Pod(name).Spec.InitContainers) > 0 })
}

// tended reports whether the pod's own agent can take back what was left on its member.
func (o *Oracle) tended(name string) bool {
	pod := o.server.Pod(name)
	return pod != nil && len(pod.Spec.InitContainers) > 0 && o.db.Up(name)
}

// uncreated reports whether a pod is to exist and does not, because its controller waits for one
// below it.
func (o *Oracle) uncreated(name string) bool {
	set := o.setOf(name)
	if !o.wanted(name) || o.server.Pod(name) != nil || set.Spec.PodManagementPolicy == appsv1.ParallelPodManagement {
		return false
	}
	for n := workload.First(set); n < workload.Ordinal(name); n++ {
		if pod := o.server.Pod(workload.PodName(set, n)); pod == nil || !workload.Ready(pod) {
			return true
		}
	}
	return false
}
