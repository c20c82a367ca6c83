package oracle

import (
	"fmt"
	"strings"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
	"github.com/rollcall-dev/rollcall/coordinator/sim/database"
	"github.com/rollcall-dev/rollcall/coordinator/sim/workload"
)

// End judges what is left when a run has ended. done is true if the rollout has finished.
func (o *Oracle) End(done bool, why string) {
	cluster := o.server.Cluster(o.limits.Cluster)
	if !done {
		waits, reason := o.waits()
		if waits == "" {
			o.Accuse("L1", "the rollout has not ended: %s", why)
			if len(cluster.Status.Claims) > 0 {
				return
			}
		} else {
			o.loop.Log("ORACLE", "%s waits for a person: %s", waits, reason)
			o.Stuck = waits
		}
	}
	o.labels.atLast(o)
	for _, m := range o.db.Marks() {
		if o.Stuck != "" && !o.tended(database.PodName(m.Node)) {
			continue // its own agent takes it back, once there is one in a member that runs
		}
		o.Accuse("I11", "the mark of %s on %s of %s is left behind", m.Claim, database.PodName(m.Node), m.Shard)
	}
	if o.db.Throttled() {
		o.Accuse("I11", "the setting of the whole database is left throttled")
	}
	if len(cluster.Status.ClusterSettings) > 0 {
		o.Accuse("I11", "the status still has a setting to put back: %v", cluster.Status.ClusterSettings)
	}
	for _, left := range cluster.Status.PendingRestores {
		if o.Stuck != "" && !o.tended(left.Pod) {
			continue // as with marks
		}
		o.Accuse("I11", "the status still has something of claim %s to undo on %s", left.Claim, left.Pod)
	}
	if len(o.db.Foreign()) != 1 {
		o.Accuse("I11", "somebody else's entries were changed: %v", o.db.Foreign())
	}
	for _, set := range o.sets {
		if partition := workload.Partition(set); done && o.limits.ByPartition && partition != model.FirstOrdinalNone {
			o.Accuse("I11", "the partition of %s is left at %d", set.Name, partition)
		}
	}
	for _, claim := range cluster.Status.Claims {
		if o.Stuck != "" && (o.uncreated(claim.Pod) || o.unconfirmed(claim)) {
			continue // its controller creates it once those below it are ready, or somebody tells that it is back
		}
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
