package oracle

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
	"github.com/rollcall-dev/rollcall/coordinator/sim/database"
	"github.com/rollcall-dev/rollcall/coordinator/sim/workload"
)

// End judges what is left when a run has ended. done: the rollout has finished.
func (o *Oracle) End(done bool, why string) {
	cluster := o.server.Cluster(o.limits.Cluster)
	if o.Stuck = o.incurable(); !done && o.Stuck != "" {
		o.loop.Log("ORACLE", "%s has to wait: a copy of what it has is broken for ever", o.Stuck)
	} else if !done {
		stuck := o.belowTheLine()
		if stuck != "" && cluster.Status.Phase == policy.ClusterStalled {
			o.loop.Log("ORACLE", "%s is broken and below the hold line, which a person has to lower", stuck)
			o.Stuck = stuck
			return
		}
		o.Accuse("L1", "the rollout has not ended: %s", why)
		if len(cluster.Status.Claims) > 0 {
			return
		}
	}
	for _, m := range o.db.Marks() {
		pod := database.PodName(m.Node)
		if !done && o.Stuck != "" && o.server.Pod(pod) != nil && !o.hasAgent(pod) {
			continue // its first agent sweeps, and a person must put things right before there is one
		}
		o.Accuse("I11", "the mark of %s on %s of %s is left behind", m.Claim, pod, m.Shard)
	}
	if o.db.Throttled() {
		o.Accuse("I11", "the setting of the whole database is left throttled")
	}
	if len(cluster.Status.Shared) > 0 {
		o.Accuse("I11", "the status still has a setting to put back: %v", cluster.Status.Shared)
	}
	if len(o.db.Foreign()) != 1 {
		o.Accuse("I11", "somebody else's entries were changed: %v", o.db.Foreign())
	}
	for _, set := range o.sets {
		if line := workload.Partition(set); done && o.limits.Line && line != policy.RestLine {
			o.Accuse("I11", "the hold line of %s is left at %d", set.Name, line)
		}
	}
	for _, claim := range cluster.Status.Claims {
		o.Accuse("I11", "claim %s on %s is left behind", claim.ID, claim.Pod)
	}
	for _, name := range o.server.Names(api.Pods) {
		pod := o.server.Pod(name)
		if pod.Labels[v1alpha1.LabelGuard] == v1alpha1.GuardOpen {
			o.Accuse("I11", "the guard of %s is left open", name)
		}
		if pod.Annotations[v1alpha1.AnnotationClaim] != "" {
			o.Accuse("I11", "claim %s is left on %s", pod.Annotations[v1alpha1.AnnotationClaim], name)
		}
		if done && o.outdated(pod) {
			o.Accuse("L2", "%s runs %s and not %s", name, workload.Revision(pod), workload.Template(o.setOf(name)))
		}
	}
	if o.Secret != "" {
		shown := fmt.Sprintf("%s %+v", o.loop.Text(), cluster.Status)
		if strings.Contains(shown, o.Secret) {
			o.Accuse("I12", "a secret was printed")
		}
	}
}

// incurable is a pod that is to go and may not, because another copy of one of its
// shards is broken for ever: with it more would be away than may. Only a person
// can put that right. Empty: there is none.
func (o *Oracle) incurable() string {
	broken := o.db.Incurable()
	for _, shard := range o.db.Truth() {
		if broken[shard.ID] == "" {
			continue
		}
		for _, c := range shard.Copies {
			pod := o.server.Pod(c.Pod)
			if c.Pod != broken[shard.ID] && pod != nil && o.outdated(pod) && o.limits.Shard < 2 {
				return c.Pod
			}
		}
	}
	return ""
}

// belowTheLine is a pod that does not work, and that nobody may correct: where
// no guard enforces, the hold line would free those above it as well, and they
// may not all go with it. Only a person can weigh that, so the rollout need not
// end; it must say that it has stalled.
func (o *Oracle) belowTheLine() string {
	if !o.limits.Line || o.server.Enforce {
		return ""
	}
	for _, set := range o.sets {
		if broken := o.belowTheLineOf(set); broken != "" {
			return broken
		}
	}
	return ""
}

func (o *Oracle) belowTheLineOf(set *appsv1.StatefulSet) string {
	template := workload.Template(set)
	first, end := workload.First(set), workload.First(set)+int(*set.Spec.Replicas)
	line := first + int(workload.Partition(set)) // Kubernetes counts it from the first ordinal on
	waits := func(n int) bool {
		pod := o.server.Pod(workload.PodName(set, n))
		return n < line && pod != nil && workload.Revision(pod) != template
	}
	for n := first; n < end; n++ {
		broken := workload.PodName(set, n)
		if !waits(n) || o.db.Whole(broken) {
			continue
		}
		with := map[string]bool{}
		for above := n + 1; above < end; above++ {
			if waits(above) {
				with[workload.PodName(set, above)] = true
			}
		}
		if len(with) > 0 && o.tooMany(with) {
			return broken
		}
	}
	return ""
}

// tooMany: more may be away with these pods than is allowed.
func (o *Oracle) tooMany(with map[string]bool) bool {
	away := 0
	for _, name := range o.Desired() {
		if with[name] || !o.db.Whole(name) {
			away++
		}
	}
	if away > o.limits.Pods {
		return true
	}
	for _, shard := range o.db.Truth() {
		out := 0
		for _, c := range shard.Copies {
			if with[c.Pod] || !c.Active {
				out++
			}
		}
		if out > o.limits.Shard {
			return true
		}
	}
	return false
}

// MustWait tells whether the rollout cannot end because of a copy that is broken for ever.
func (o *Oracle) MustWait() bool { return o.incurable() != "" }
