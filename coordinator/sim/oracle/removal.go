package oracle

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
	"github.com/rollcall-dev/rollcall/coordinator/sim/database"
	"github.com/rollcall-dev/rollcall/coordinator/sim/workload"
)

// removing judges a removal at the moment in which it is accepted.
func (o *Oracle) removing(r api.Removal) {
	process := r.User
	rolled := o.rolled(r)
	if rolled {
		process = o.leaderOf(r.Pod)
	} else if !o.server.Ours(r.User) {
		return
	}
	o.Removals++
	pod := r.Pod
	o.loop.Log("ORACLE", "%s goes by %s", pod.Name, r.User)
	claim := o.claimOf(pod)
	switch {
	case claim == nil:
		o.Accuse("I4", "%s goes without a claim", pod.Name)
		return
	case o.epochs[process] < o.born[claim.ID], o.epochs[process] > claim.Epoch:
		// A newer leader has raised the epoch before it touches the pod: until then the
		// claim was the remover's, and I6 begins with the touch.
		o.Accuse("I4", "%s goes by %s of epoch %d under a claim of epoch %d", pod.Name, r.User, o.epochs[process], claim.Epoch)
	}
	if p := r.Preconditions; !rolled && (p == nil || p.UID == nil || *p.UID == "" || p.ResourceVersion == nil || *p.ResourceVersion == "") {
		o.Accuse("I5", "%s goes without the UID and resourceVersion that were checked", pod.Name)
	}
	if epoch := o.epochs[r.User]; !rolled && epoch < o.touched[pod.UID] {
		o.Accuse("I6", "%s goes by epoch %d after %d has written to it", pod.Name, epoch, o.touched[pod.UID])
	}
	o.budget(pod)
	o.zones(pod)
	o.allowed(pod)
	o.lost(pod)
	if o.db.IsGalera() {
		o.leavesMembers(pod)
	}
	if o.asks(pod, "I3") {
		o.shards(pod)
	}
	if o.asks(pod, "I7") {
		o.manners(pod)
	}
	if o.asks(pod, "I10") {
		o.fresh(process, pod, claim)
	}
	o.ours[pod.Name] = departure{uid: pod.UID, outside: !o.asks(pod, "I3"), untold: !o.hasAgent(pod.Name)}
	o.gone = append(o.gone, time.Now())
	o.dismissed[pod.Name] = !o.wanted(pod.Name)
}

// wasDown reports whether the pod was not whole, or not ready, at the last look.
func (o *Oracle) wasDown(pod *corev1.Pod) bool {
	_, down := o.since[pod.Name]
	back, whole := o.back[pod.Name]
	well, up := o.well[pod.UID]
	at := o.loop.Now()
	return down || whole && at-back <= glance || up && well > 0 && at-well <= glance
}

// rolled reports whether the StatefulSet controller takes an outdated pod because nothing keeps it
// from that any more. That is Rollcall's doing, except for a pod that has come without the label
// that would have kept it, and except for a new template while only the partition keeps the pods
// above it, or as long as the partition could not go back up since.
func (o *Oracle) rolled(r api.Removal) bool {
	set := o.setOf(r.Pod.Name)
	if set == nil {
		return false
	}
	by := set.Spec.UpdateStrategy
	if r.User != workload.ControllerUser || by.Type != appsv1.RollingUpdateStatefulSetStrategyType || !o.wanted(r.Pod.Name) {
		return false
	}
	_, labelled := r.Pod.Labels[v1alpha1.LabelGuard]
	surprised := !o.server.Enforce && o.loop.Now()-o.revised <= shown || !o.asks(r.Pod, byPartition)
	return workload.Revision(r.Pod) != workload.Template(set) && !surprised && (labelled || !o.server.Enforce)
}

// leaderOf is the process that has let a pod go: of those that have led under the claim
// on it, the last. Who has just raised the epoch has opened nothing yet.
func (o *Oracle) leaderOf(pod *corev1.Pod) string {
	claim, leader := o.claimOf(pod), ""
	for process, epoch := range o.epochs {
		if claim != nil && epoch >= o.born[claim.ID] && epoch <= claim.Epoch && (leader == "" || epoch > o.epochs[leader]) {
			leader = process
		}
	}
	return leader
}

func (o *Oracle) claimOf(pod *corev1.Pod) *model.Claim {
	cluster := o.server.Cluster(o.limits.Cluster)
	if cluster == nil {
		return nil
	}
	at := slices.IndexFunc(cluster.Status.Claims, func(c model.Claim) bool { return c.UID == string(pod.UID) })
	if at < 0 {
		return nil
	}
	claim := cluster.Status.Claims[at]
	if made, known := o.claimed[claim.ID]; !known || made >= o.loop.Now() {
		return nil
	}
	return &claim
}

// budget is I2, and the part of I1 that is about pods.
func (o *Oracle) budget(removed *corev1.Pod) {
	pod, ours, away := removed.Name, 0, 0
	may, _ := o.may()
	for _, name := range o.Desired() {
		if name == pod || o.forgotten(name) {
			continue
		}
		gone, hand := o.ours[name]
		switch {
		case hand && !gone.outside:
			ours++
			away++
		case o.known(name, name):
			away++
		}
	}
	if ours+1 > may && o.asks(removed, "I2") {
		o.Accuse("I2", "%s goes while %v are unavailable by Rollcall's hand: %d may be", pod, o.Away(), may)
	} else if away+1 > may && !o.known(pod, pod) && o.asks(removed, pods) {
		o.Accuse("I1", "%s goes while %d pods are known to be unavailable: %d may be", pod, away, may)
	}
}

// allowed is I13. A correction does not have to wait for a window.
func (o *Oracle) allowed(pod *corev1.Pod) {
	at := o.loop.Now()
	if o.forbidden > 0 && at-o.forbidden > told || o.closed > 0 && at-o.closed > told && o.asks(pod, "I7") {
		o.Accuse("I13", "%s goes although a person has said that nobody may", pod.Name)
	}
}

// zones is the part of I2 that is about zones.
func (o *Oracle) zones(pod *corev1.Pod) {
	if o.limits.Zones == 0 || !o.asks(pod, "I2") {
		return
	}
	away := map[string]bool{o.Zone(pod.Name): true}
	for name, gone := range o.ours {
		if !gone.outside {
			away[o.Zone(name)] = true
		}
	}
	if len(away) > o.limits.Zones {
		o.Accuse("I2", "%s goes while %v are unavailable by Rollcall's hand, in %d zones: %d may be", pod.Name, o.Away(), len(away), o.limits.Zones)
	}
}

// lost is V3: no pod whose data is gone with it goes before that is elsewhere.
func (o *Oracle) lost(pod *corev1.Pod) {
	if !o.limits.Ephemeral || o.hostsNothing(pod.Name) || !o.asks(pod, "V3") {
		return
	}
	o.Accuse("V3", "%s goes with the copies that it has, and its data is gone with it", pod.Name)
}

// shards is I1 and I3.
func (o *Oracle) shards(removed *corev1.Pod) {
	pod := removed.Name
	_, may := o.may()
	for _, shard := range o.db.Truth() {
		hosts, out, left := false, 1, 0
		for _, c := range shard.Copies {
			gone, hand := o.ours[c.Pod]
			now := o.server.Pod(c.Pod)
			stops := hand && now != nil && now.UID == gone.uid // and so does its copy, though it serves yet
			switch {
			case c.Pod == pod:
				hosts = c.Alive
			case c.Active && !hand:
				left++
			case stops, hand && !c.Active, o.known(c.Pod, c.Pod+"/"+shard.ID):
				out++
			default:
				left++ // that it is not there cannot be known yet
			}
		}
		if !hosts || len(shard.Copies) == 1 {
			continue
		}
		if shard.Least > 0 {
			if left < shard.Least && len(shard.Copies) > 2 {
				o.Accuse("I1", "%s goes and %d of %s are left: %d must be there", pod, left, shard.ID, shard.Least)
			}
			continue
		}
		if out > may && o.asks(removed, copies) {
			o.Accuse("I1", "%s goes and %s has %d copies away: %d may be", pod, shard.ID, out, may)
		}
		o.primary(removed, shard, left)
		if left == 0 {
			o.Accuse("I3", "%s goes with the last copy of %s", pod, shard.ID)
		}
	}
}

// primary is I1 and I8 for a database with one primary: as many replicas stay as
// must acknowledge, and no primary goes that has not handed over.
func (o *Oracle) primary(removed *corev1.Pod, shard database.Shard, left int) {
	pod, acks := removed.Name, o.db.Acks()
	if acks == 0 {
		return
	}
	if fixed := o.db.Fixed(); fixed != "" {
		o.fixed(removed, fixed, shard)
		if pod == fixed {
			return
		}
	}
	if now := o.leads[shard.ID]; now.pod == pod {
		if o.loop.Now()-now.at > shown && o.asks(removed, primaries) {
			o.Accuse("I8", "%s goes and is the primary", pod)
		}
		return
	}
	if left-1 < acks && len(shard.Copies)-2 >= acks { // one of them is the primary
		o.Accuse("I1", "%s goes and %d replicas are left to acknowledge: %d must", pod, left-1, acks)
	}
}

// manners are I7, I8 and I9.
func (o *Oracle) manners(pod *corev1.Pod) {
	at := o.loop.Now()
	settled := at-o.revised > shown
	well, healthy := o.well[pod.UID]
	outdated := o.outdated(pod)
	if settled && !outdated && healthy && at-well > told && !o.askedToGo(pod) && o.asks(pod, doomed) {
		o.Accuse("I7", "%s goes although it is well and up to date", pod.Name)
	}
	if outdated && settled && o.wanted(pod.Name) && o.asks(pod, "I8") && o.asks(pod, ofRanks) {
		o.ranks(pod)
	}
	if o.asks(pod, "I8") && o.asks(pod, overseers) && o.overseer == pod.Name && at-o.overseerAt > shown && settled && outdated && o.wanted(pod.Name) {
		for _, name := range o.server.Names(api.Pods) {
			other := o.server.Pod(name)
			waits := o.limits.ByPartition && o.setOf(name) == o.setOf(pod.Name) && workload.Ordinal(name) < workload.Ordinal(pod.Name) // because of the partition
			if name != pod.Name && o.outdated(other) && o.wanted(name) && !waits && o.db.RankOf(name) <= o.db.RankOf(pod.Name) {
				o.Accuse("I8", "%s goes, which is the overseer, before %s", pod.Name, name)
			}
		}
	}
	// What was so before the world began to move was never seen otherwise.
	if since, vetoed := o.vetoed[pod.Name]; vetoed && (since == 0 || at-since > shown) {
		o.Accuse("I9", "%s goes although the database asks not to", pod.Name)
	}
}

// ranks is the part of I8 that is about kinds of members: none goes before one of a
// lower rank that is to go, too.
func (o *Oracle) ranks(pod *corev1.Pod) {
	for _, name := range o.server.Names(api.Pods) {
		other := o.server.Pod(name)
		if o.wanted(name) && o.outdated(other) && o.db.RankOf(name) < o.db.RankOf(pod.Name) {
			o.Accuse("I8", "%s goes before %s, whose rank is lower", pod.Name, name)
			return
		}
	}
}

// askedToGo reports whether there is another reason than its template for which a pod is to go.
func (o *Oracle) askedToGo(pod *corev1.Pod) bool {
	return !o.wanted(pod.Name) || len(pod.Spec.InitContainers) == 0 || o.toBeLeft(pod)
}

// fresh is I10: the pod itself, and for each of its shards somebody else, has
// looked since it was claimed, and since a pod went by Rollcall's hand, unless
// they were claimed together.
func (o *Oracle) fresh(process string, pod *corev1.Pod, claim *model.Claim) {
	last := time.Now().Add(o.claimed[claim.ID] - o.loop.Now())
	for _, at := range o.gone {
		if time.Since(at) > together && at.After(last) {
			last = at
		}
	}
	seen := func(name string) bool {
		p := o.server.Pod(name)
		return p != nil && o.Seen[process][string(p.UID)].After(last)
	}
	if len(pod.Spec.InitContainers) > 0 && !seen(pod.Name) && o.asks(pod, itself) {
		o.Accuse("I10", "%s goes and has not been looked at since it was claimed, or the last pod went", pod.Name)
	}
	if !o.asks(pod, others) {
		return
	}
	for _, shard := range o.db.Truth() {
		hosts, another, spoke := false, false, false
		for _, c := range shard.Copies {
			p := o.server.Pod(c.Pod)
			switch {
			case c.Pod == pod.Name:
				hosts = true
			case p != nil && workload.Ready(p) && p.DeletionTimestamp == nil && len(p.Spec.InitContainers) > 0:
				// One who is well only since now may be asked, and need not.
				well, is := o.well[p.UID]
				another, spoke = another || is && o.loop.Now()-well > shown, spoke || seen(c.Pod)
			}
		}
		if hosts && another && !spoke {
			o.Accuse("I10", "%s goes and nobody else has looked at %s since it was claimed, or the last pod went", pod.Name, shard.ID)
		}
	}
}
