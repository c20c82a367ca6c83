// Package oracle judges a simulated world by its real state, not by Rollcall's view of it.
// DESIGN.md of the simulation lists the invariants.
//
// Nobody can act on what has only just happened: a request is under way for up to ten seconds, a
// watch is behind, a database notices a silent death late. So what others have caused counts once
// it could be known, and what Rollcall did itself counts at once.
package oracle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/act"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
	"github.com/rollcall-dev/rollcall/coordinator/sim/clock"
	"github.com/rollcall-dev/rollcall/coordinator/sim/database"
	"github.com/rollcall-dev/rollcall/coordinator/sim/workload"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

// How long it may take until something is known that shows in Kubernetes, and
// something that only the database can tell.
const (
	shown   = 25 * time.Second
	noticed = 60 * time.Second
	// told is how long it takes at most to act on what the database's register shows.
	told = 15 * time.Second
	// together is the time within which pods go that were claimed together.
	together = 15 * time.Second
	// glance is the time between the last look at a pod and its removal.
	glance = time.Second
)

// Oracle watches a world.
type Oracle struct {
	loop   *clock.Loop
	server *api.Server
	db     *database.Database
	limits Limits
	// Seen is when what a process knows of a pod was observed, by process and UID.
	Seen map[string]map[string]time.Time
	// Broken tells whether the database in a pod cannot come back by itself.
	Broken func(pod *corev1.Pod) bool
	// Tells reports whether a pod's agent is heard. It is nil where nobody asks.
	Tells func(pod string) bool
	// Zone of a pod.
	Zone func(pod string) string
	// Secret must appear in nothing that anybody can read.
	Secret string

	// Enough reports that nothing after a break is of interest. It is nil if everything is.
	Enough func(Break) bool

	Breaks []Break
	// Removals counts Rollcall's removals.
	Removals int
	// Discards are volumes that were deleted.
	Discards int
	// Stuck is the pod for which the rollout waits in the end, because only a person
	// may put it right; empty when it has ended.
	Stuck string

	earlier []earlier
	// forbidden is since when a person has forbidden everything, closed since when all but
	// corrections. It is zero if nobody has.
	forbidden, closed time.Duration
	outage            bool // was announced
	// freed is until when pods do not wait for those of a lower rank, as a person has asked.
	freed map[string]time.Duration
	// sets are the StatefulSets as they were seen last.
	sets []*appsv1.StatefulSet
	// since is since when a copy or pod has not been all right, by name; absent = it is.
	since map[string]time.Duration
	// shows is since when Kubernetes shows that a pod is not all right.
	shows map[string]time.Duration
	// well is since when a pod's UID has been ready and whole.
	well map[types.UID]time.Duration
	// unlisted is since when the register does not have a pod.
	unlisted map[string]time.Duration
	// relisted is when it had one again, and for how long it had not.
	relisted map[string]relisted
	// ailed is when a pod could not come back by itself, at the last look at which that was so.
	ailed map[types.UID]time.Duration
	// drained are pods that were to leave their nodes.
	drained map[types.UID]drained
	// ours are the pods that Rollcall has made unavailable.
	ours map[string]departure
	gone []time.Time // when pods went by Rollcall's hand
	// dismissed are those of them that were not wanted any more.
	dismissed map[string]bool
	// touched is the highest epoch whose coordinator has written to a pod.
	touched map[types.UID]int64
	epochs  map[string]int64
	claimed map[string]time.Duration
	// written are claims as they were written last, by id.
	written map[string]model.Claim
	// born is the epoch in which a claim was made. Every newer leader takes it over.
	born map[string]int64
	// meant are the claims to replace a pod that were made when it was out of date.
	meant map[string]bool
	// revised is when the template changed last, vetoed since when a pod asks not to
	// be disturbed, overseer since when the present one is.
	revised time.Duration
	vetoed  map[string]time.Duration
	// undone are partitions that others than Rollcall have undone, by StatefulSet.
	undone map[string]undone
	// back is since when a pod that was not whole is whole again.
	back     map[string]time.Duration
	overseer string
	// looked is the version of the database at the last look; stale: Kubernetes has
	// changed since.
	looked     int
	stale      bool
	overseerAt time.Duration
	// leads is who leads each shard, and since when.
	leads map[string]leader
	moves
	labels labels
}

type leader struct {
	pod string
	at  time.Duration
}

type relisted struct{ at, without time.Duration }

// earlier are limits that were asked for until then.
type earlier struct {
	pods, shard int
	until       time.Duration
}

// New begins to watch. The world must be at rest.
func New(loop *clock.Loop, server *api.Server, db *database.Database, limits Limits) *Oracle {
	o := &Oracle{
		loop: loop, server: server, db: db, limits: limits, since: map[string]time.Duration{}, shows: map[string]time.Duration{},
		unlisted: map[string]time.Duration{}, relisted: map[string]relisted{}, ailed: map[types.UID]time.Duration{}, drained: map[types.UID]drained{}, Broken: func(*corev1.Pod) bool { return false },
		well: map[types.UID]time.Duration{}, ours: map[string]departure{}, touched: map[types.UID]int64{}, epochs: map[string]int64{},
		claimed: map[string]time.Duration{}, written: map[string]model.Claim{}, born: map[string]int64{}, meant: map[string]bool{}, vetoed: map[string]time.Duration{}, back: map[string]time.Duration{}, leads: map[string]leader{},
		freed: map[string]time.Duration{}, dismissed: map[string]bool{}, undone: map[string]undone{}, stale: true, moves: moves{left: map[place]time.Duration{}}, labels: labels{wrong: -1, missing: -1},
	}
	for _, name := range limits.Sets {
		o.sets = append(o.sets, server.Set(name))
	}
	server.Removing, server.Discarding, db.Included = o.removing, o.discarding, o.included
	server.Changed = append(server.Changed, o.changed)
	o.Look()
	return o
}

// Accuse notes a break.
func (o *Oracle) Accuse(invariant, format string, args ...any) {
	b := Break{o.loop.Now(), invariant, fmt.Sprintf(format, args...)}
	o.loop.Log("ORACLE", "%s: %s", b.Invariant, b.Why)
	o.Breaks = append(o.Breaks, b)
	if o.Enough != nil && o.Enough(b) {
		o.loop.Stop()
	}
}

// changed notes what writes tell: claims, epochs, templates.
func (o *Oracle) changed(kind api.Kind, before, after api.Object) {
	o.stale = true
	if kind == api.Pods {
		o.labels.labelledOf(o)
	}
	switch next := after.(type) {
	case *v1alpha1.DatabaseCluster:
		o.heard(next.Spec)
		for _, claim := range next.Status.Claims {
			o.written[claim.ID] = claim
			if _, known := o.claimed[claim.ID]; !known {
				o.claimed[claim.ID], o.born[claim.ID] = o.loop.Now(), claim.Epoch
				pod := o.server.Pod(claim.Pod)
				o.meant[claim.ID] = claim.Action == model.ActionReplace && pod != nil && string(pod.UID) == claim.UID &&
					(o.outdated(pod) || o.loop.Now()-o.revised <= shown)
			}
		}
	case *corev1.Pod:
		if was, ok := before.(*corev1.Pod); ok && next.Annotations[act.AnnotationEpoch] != was.Annotations[act.AnnotationEpoch] {
			var epoch int64
			if _, err := fmt.Sscanf(next.Annotations[act.AnnotationEpoch], "%d", &epoch); err == nil {
				o.touched[next.UID] = max(epoch, o.touched[next.UID])
			}
		}
	}
	if set, ok := after.(*appsv1.StatefulSet); ok {
		o.keep(set)
	}
	if kind == api.Sets && before != nil && after != nil {
		was, is := before.(*appsv1.StatefulSet), after.(*appsv1.StatefulSet)
		if workload.Partition(was) != workload.Partition(is) {
			o.moved(is.Name)
		}
		if workload.Template(was) != workload.Template(is) {
			o.Surprise(is.Name)
		}
	}
}

// outdated reports whether the pod does not run the template of its StatefulSet.
func (o *Oracle) outdated(pod *corev1.Pod) bool {
	set := o.setOf(pod.Name)
	return set != nil && workload.Revision(pod) != workload.Template(set)
}

// Desired returns the pods that are to exist, in order: those of the StatefulSets as they are, or
// were when they were last seen.
func (o *Oracle) Desired() []string {
	var out []string
	for _, set := range o.sets {
		for n := range int(*set.Spec.Replicas) {
			out = append(out, workload.PodName(set, workload.First(set)+n))
		}
	}
	return out
}

// setOf is the StatefulSet of a pod, as it was seen last.
func (o *Oracle) setOf(pod string) *appsv1.StatefulSet {
	at := slices.IndexFunc(o.sets, func(set *appsv1.StatefulSet) bool { return pod[:strings.LastIndexByte(pod, '-')] == set.Name })
	if at < 0 {
		return nil
	}
	return o.sets[at]
}

// Limit notes new limits. The old ones count until the new ones can be known.
func (o *Oracle) Limit(pods, shard int) {
	o.earlier = append(o.earlier, earlier{o.limits.Pods, o.limits.Shard, o.loop.Now()})
	o.limits.Pods, o.limits.Shard = pods, shard
}

// may is how many pods, and copies of a shard, may be unavailable.
func (o *Oracle) may() (pods, shard int) {
	pods, shard = o.limits.Pods, o.limits.Shard
	for _, e := range o.earlier {
		if o.loop.Now()-e.until <= told {
			pods, shard = max(pods, e.pods), max(shard, e.shard)
		}
	}
	return pods, shard
}

// Announce notes that a person has approved of an outage, in which all may be unavailable.
func (o *Oracle) Announce() { o.outage = true }

// heard notes since when a person has forbidden that pods go, and who may go before its turn.
func (o *Oracle) heard(spec model.Spec) {
	since := func(at *time.Duration, is bool) {
		if !is {
			*at = 0
		} else if *at == 0 {
			*at = o.loop.Now()
		}
	}
	since(&o.forbidden, spec.Update.Paused || spec.Update.Mode == model.ModeObserve)
	since(&o.closed, len(spec.Update.Windows) > 0) // all of them are at another time of the day
	o.unranked(spec.Overrides)
}

// keep has a StatefulSet as it is now.
func (o *Oracle) keep(set *appsv1.StatefulSet) {
	if at := slices.IndexFunc(o.sets, func(s *appsv1.StatefulSet) bool { return s.Name == set.Name }); at >= 0 {
		o.sets[at] = set
	}
}

// Epoch notes that a process leads in an epoch.
func (o *Oracle) Epoch(process string, epoch int64) {
	if o.epochs[process] == epoch {
		return
	}
	for other, theirs := range o.epochs {
		if theirs == epoch && epoch > 0 {
			o.Accuse("I4", "%s leads in epoch %d, which is that of %s", process, epoch, other)
		}
	}
	o.epochs[process] = epoch
}

// Look updates since when what is wrong. It is called after every event.
func (o *Oracle) Look() {
	o.labels.inTime(o)
	at, version := o.loop.Now(), o.db.Version()
	if !o.stale && version == o.looked {
		return
	}
	o.stale, o.looked = false, version
	mark := func(m map[string]time.Duration, name string, bad bool) {
		if _, known := m[name]; !bad {
			delete(m, name)
		} else if !known {
			m[name] = at
		}
	}
	truth := o.db.Truth()
	o.places(truth)
	o.labels.follows(o)
	o.stays(truth)
	o.component(mark)
	for _, shard := range truth {
		for _, c := range shard.Copies {
			mark(o.since, c.Pod+"/"+shard.ID, !c.Active)
		}
		if o.leads[shard.ID].pod != shard.Leader {
			o.leads[shard.ID] = leader{shard.Leader, at}
		}
	}
	for _, name := range o.Desired() {
		pod := o.server.Pod(name)
		ready := pod != nil && pod.DeletionTimestamp == nil && workload.Ready(pod)
		whole := o.db.Whole(name)
		mark(o.shows, name, !ready)
		if _, was := o.since[name]; was && whole {
			o.back[name] = at
		}
		mark(o.since, name, !o.db.There(name))
		listed := o.db.Listed(name)
		if since, was := o.unlisted[name]; was && listed {
			o.relisted[name] = relisted{at, at - since}
		}
		mark(o.unlisted, name, !listed)
		if pod == nil {
			continue
		}
		if o.Broken(pod) {
			o.ailed[pod.UID] = at
		}
		o.drains(pod)
		if !ready || !whole {
			delete(o.well, pod.UID)
		} else if _, known := o.well[pod.UID]; !known {
			o.well[pod.UID] = at
		}
		o.follow(pod, ready, whole)
	}
	for _, name := range o.server.Names(api.Pods) {
		mark(o.vetoed, name, o.db.Veto(name) != "") // those that leave may ask, too
	}
	o.updatePartitions()
	for name := range o.ours {
		if o.server.Pod(name) == nil && (!o.wanted(name) || o.forgotten(name)) {
			delete(o.ours, name)
		}
	}
	if now := o.db.Overseer(); now != o.overseer {
		o.overseer, o.overseerAt = now, at
	}
}

// wanted reports whether a pod of that name is to exist.
func (o *Oracle) wanted(name string) bool {
	set := o.setOf(name)
	if set == nil {
		return false
	}
	n := workload.Ordinal(name) - workload.First(set)
	return n >= 0 && n < int(*set.Spec.Replicas)
}

// forgotten reports whether somebody has deleted the pod's StatefulSet, and none of its pods is
// there. The pod was Rollcall's to bring back until then; now nothing tells of it
// (coordinator/rollout/DESIGN.md, 19).
func (o *Oracle) forgotten(name string) bool {
	set := o.setOf(name)
	return set != nil && o.server.Set(set.Name) == nil &&
		!slices.ContainsFunc(o.server.Names(api.Pods), func(pod string) bool { return o.setOf(pod) == set })
}

// Decided judges a decision as the coordinator shows it.
func (o *Oracle) Decided(d status.Decision) {
	if len(d.Plan.Order) > 0 && len(d.Plan.Steps) == 0 && len(d.Claims) == 0 && !d.Idle {
		named := slices.ContainsFunc(d.Plan.Holds, func(h model.Hold) bool { return h.Rule != "" && h.Reason != "" })
		if !named {
			o.Accuse("L3", "%d pods are to go and nothing says why they do not", len(d.Plan.Order))
		}
	}
}
