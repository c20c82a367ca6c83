package status

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
)

// Reasons of Events.
const (
	EventRestartSelected     = "RestartSelected"
	EventRestartHeld         = "RestartHeld"
	EventDrainStarted        = "DrainStarted"
	EventDrained             = "Drained"
	EventDrainTimedOut       = "DrainTimedOut"
	EventPodRestarted        = "PodRestarted"
	EventPodReturned         = "PodReturned"
	EventPodNotReturned      = "PodNotReturned"
	EventMemberUnknown       = "MemberUnknown"
	EventStalled             = "Stalled"
	EventRolloutHalted       = "RolloutHalted"
	EventUnplannedUpdate     = "UnplannedUpdate"
	EventUnprotectedRestart  = "UnprotectedRestart"
	EventRestartsInPlace     = "RestartsInPlace"
	EventOverrideUsed        = "OverrideUsed"
	EventVersionRefused      = "VersionRefused"
	EventRolloutFinished     = "RolloutFinished"
	EventPartitionMoved      = "PartitionMoved"
	EventPartitionOrdered    = "PartitionOrdered"
	EventPartitionReset      = "PartitionReset"
	EventRollingUpdateForced = "RollingUpdateForced"
	EventGuardLost           = "GuardLost"
	EventGuardEnforced       = "GuardEnforced"
	EventGuardExpired        = "GuardExpired"
	EventForeignBudget       = "ForeignBudget"
	EventWithheld            = "Withheld"
)

// Event is something that happened to a database cluster, or to one of its pods if Pod is set.
type Event struct {
	Cluster    Key
	ClusterUID string
	Pod        string
	PodUID     string
	Warning    bool
	Reason     string
	Note       string
}

// Events returns what happened between two decisions about one cluster, in the order in which it is
// reported. Nothing is known to have happened before the first decision, so a coordinator that
// takes over reports nothing twice.
func Events(previous *Decision, next Decision) []Event {
	if previous == nil {
		return nil
	}
	t := &transition{from: *previous, to: next}
	t.announce()
	t.claims()
	t.unknown()
	t.unplanned()
	t.partitions()
	t.holds()
	t.phase()
	t.guard()
	return t.events
}

// overrideNote begins the notes of a step that are about an override, forcedNote those about a step
// that a person forces. All others are about groups that cannot be protected.
const (
	overrideNote = "override of "
	forcedNote   = "forced: "
)

type transition struct {
	from, to Decision
	events   []Event
}

func (t *transition) add(pod, uid string, warning bool, reason, format string, args ...any) {
	t.events = append(t.events, Event{
		Cluster:    t.to.Key,
		ClusterUID: t.to.Snapshot.Cluster.UID,
		Pod:        pod,
		PodUID:     uid,
		Warning:    warning,
		Reason:     reason,
		Note:       fmt.Sprintf(format, args...),
	})
}

// announce reports, as soon as a rollout includes it, that a primary will restart in place.
func (t *transition) announce() {
	pod, note := policy.RestartsInPlace(t.to.Snapshot)
	if pod == "" || slices.Contains(t.from.Plan.Order, pod) {
		return
	}
	at, _ := t.to.Pod(pod)
	t.add(pod, at.UID, true, EventRestartsInPlace, "%s: goes last and %s", pod, note)
}

// unplanned reports pods that took the update revision although nobody claimed them.
func (t *transition) unplanned() {
	before := make(map[string]model.Pod, len(t.from.Snapshot.Pods))
	for _, p := range t.from.Snapshot.Pods {
		before[p.Name] = p
	}
	for _, p := range t.to.Snapshot.Pods {
		old, ok := before[p.Name]
		if !ok || !progress.Exists(p) || p.UID == old.UID {
			continue
		}
		pool, ok := t.to.Pool(p.Pool)
		if !ok || !progress.Updated(p, pool) || old.Revision == "" || old.Revision == p.Revision {
			continue
		}
		_, claimedBefore := t.from.ClaimOf(p.Name)
		_, claimedNow := t.to.ClaimOf(p.Name)
		if claimedBefore || claimedNow {
			continue
		}
		t.add(p.Name, p.UID, true, EventUnplannedUpdate, "%s: went from revision %s to %s without being asked to", p.Name, old.Revision, p.Revision)
	}
}

// routine are the rules that hold a pod that merely waits for its turn. They are reported, once for
// the cluster, when nothing goes at all.
var routine = []model.Rule{
	model.RulePodBudget, model.RuleZoneBudget, model.RuleShardBudget, model.RuleQuorum,
	model.RuleAcks, model.RuleRole, model.RuleEligible, model.RuleFailureDetection, model.RuleRankOrder, model.RuleLeaderLast,
	model.RuleOrderedReady, model.RuleVersionOrder, model.RuleStaleReport,
}

// restartEffects are the rules that a going pod can set off by itself: while it hands over and
// comes back, leaders change and reports are late. They are reported if they still hold when
// nothing is going any more. If that never happens, the rollout stalls, and that is reported.
var restartEffects = []model.Rule{
	model.RuleViewSplit, model.RuleNoLeader, model.RuleTwoLeaders, model.RuleHealth, model.RuleNoReport, model.RuleMoving, model.RuleCatchingUp,
}

// Passing reports whether a rule holds for a while in every rollout, because a going pod has set it
// off, or because others go first.
func Passing(rule model.Rule) bool {
	return slices.Contains(restartEffects, rule) || slices.Contains(routine, rule) || rule == model.RuleClaimed || rule == model.RuleTerminating
}

// worthTelling returns the holds of a decision that people should know about.
func worthTelling(d Decision) []model.Hold {
	moving := len(d.Claims) > 0 || len(d.Plan.Steps) > 0
	var holds []model.Hold
	for _, h := range d.Plan.Holds {
		if h.Rule != model.RuleClaimed && h.Rule != model.RuleTerminating && !(moving && Passing(h.Rule)) {
			holds = append(holds, h)
		}
	}
	return holds
}

// maxHeldPods bounds the Events of pods that one decision makes.
const maxHeldPods = 5

// holds reports rules that begin to hold, once for the cluster, and pods that are held by another
// rule than before.
func (t *transition) holds() {
	before := map[string]model.Rule{}
	known := map[model.Rule]bool{}
	for _, h := range worthTelling(t.from) {
		known[h.Rule] = true
		if before[h.Pod] == "" {
			before[h.Pod] = h.Rule
		}
	}
	holds := worthTelling(t.to)
	pods := map[model.Rule][]string{}
	everybody := map[model.Rule]bool{}
	for _, h := range holds {
		if h.Pod != "" {
			pods[h.Rule] = append(pods[h.Rule], h.Pod)
		} else {
			everybody[h.Rule] = true
		}
	}
	told := 0
	for _, h := range holds {
		ofPod := h.Pod != "" && !everybody[h.Rule] && before[h.Pod] != h.Rule && !slices.Contains(routine, h.Rule) && told < maxHeldPods
		// An Event about the only pod that a rule holds appears on the cluster, too.
		if !known[h.Rule] && (!ofPod || len(pods[h.Rule]) > 1) {
			t.ruleHolds(h, pods[h.Rule])
		}
		known[h.Rule] = true
		if ofPod {
			told++
			pod, _ := t.to.Pod(h.Pod)
			t.add(h.Pod, pod.UID, true, EventRestartHeld, "%s: %s", h.Pod, held(h))
		}
	}
}

func (t *transition) ruleHolds(h model.Hold, pods []string) {
	warning := !slices.Contains(routine, h.Rule)
	switch {
	case h.Rule == model.RuleRolloutHalted:
		t.add("", "", true, EventRolloutHalted, "%s", held(h))
	case h.Rule == model.RuleVersionRefused:
		t.add("", "", true, EventVersionRefused, "%s", held(h))
	case h.Pod == "":
		t.add("", "", warning, EventRestartHeld, "%s", held(h))
	case len(pods) > 1:
		t.add("", "", warning, EventRestartHeld, "%s holds %d pods (%s); first: %s", h.Rule, len(pods), few(pods), h.Reason)
	default:
		t.add("", "", warning, EventRestartHeld, "%s: %s", h.Pod, held(h))
	}
}

func held(h model.Hold) string {
	text := fmt.Sprintf("%s: %s", h.Rule, h.Reason)
	if h.Unblocks != "" {
		text += "; unblocked by: " + h.Unblocks
	}
	return text
}

func (t *transition) phase() {
	if t.from.Phase == t.to.Phase {
		return
	}
	switch t.to.Phase {
	case model.ClusterStalled:
		rule, message := whyStalled(t.to)
		t.add("", "", true, EventStalled, "no progress: %s: %s", rule, message)
	case model.ClusterDone:
		if t.from.Phase == "" || t.from.Phase == model.ClusterIdle {
			return
		}
		var pools []string
		for _, p := range t.to.Snapshot.Pools {
			pools = append(pools, fmt.Sprintf("%s on %s", p.Name, p.Revision))
		}
		t.add("", "", false, EventRolloutFinished, "%d of %d pods updated: %s", t.to.Pods.Updated, t.to.Pods.Desired, strings.Join(pools, ", "))
	}
}

// guard reports when Kubernetes begins and stops refusing removals by others, if that is requested.
// What a coordinator finds when it takes over is in the condition. The coordinator that makes an
// expired guard refuse again reports that.
func (t *transition) guard() {
	was, is := t.from.Snapshot.Cluster.GuardEnforcing, t.to.Snapshot.Cluster.GuardEnforcing
	switch {
	case is && !was:
		t.add("", "", false, EventGuardEnforced, "Kubernetes refuses to remove pods that Rollcall has not let go")
	case was && !is && t.to.Guard.Why != "":
		t.add("", "", true, EventGuardLost, "Kubernetes lets pods go that Rollcall has not let go: %s", t.to.Guard.Why)
	}
	if budget := t.to.Guard.ForeignBudget; budget != "" && budget != t.from.Guard.ForeignBudget {
		t.add("", "", true, EventForeignBudget, "%s", budget)
	}
	if why := t.to.Withheld; why != "" && why != t.from.Withheld {
		t.add("", "", true, EventWithheld, "%s", why)
	}
}
