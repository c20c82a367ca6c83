package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// Reasons of Events.
const (
	RestartSelected    = "RestartSelected"
	RestartHeld        = "RestartHeld"
	PrepareStarted     = "PrepareStarted"
	Prepared           = "Prepared"
	PrepareTimedOut    = "PrepareTimedOut"
	PodRestarted       = "PodRestarted"
	PodReturned        = "PodReturned"
	PodNotReturned     = "PodNotReturned"
	Stalled            = "Stalled"
	StoppedTheLine     = "StoppedTheLine"
	UnplannedUpdate    = "UnplannedUpdate"
	UnprotectedRestart = "UnprotectedRestart"
	OverrideUsed       = "OverrideUsed"
	VersionRefused     = "VersionRefused"
	RolloutFinished    = "RolloutFinished"
	PartitionMoved     = "PartitionMoved"
	PartitionOrdered   = "PartitionOrdered"
	PartitionReset     = "PartitionReset"
	RollingForced      = "RollingUpdateForced"
	GuardLost          = "GuardLost"
	GuardEnforced      = "GuardEnforced"
	GuardExpired       = "GuardExpired"
	ForeignBudget      = "ForeignBudget"
	Withheld           = "Withheld"
)

// Event is something that happened to a database cluster, or to one of its
// pods when Pod is set.
type Event struct {
	Cluster    Key
	ClusterUID string
	Pod        string
	PodUID     string
	Warning    bool
	Reason     string
	Note       string
}

// Events are what happened between two decisions about one cluster, in the
// order in which it is told. Nothing is known to have happened before the
// first decision, so that a coordinator which takes over tells nothing twice.
func Events(previous *Decision, next Decision) []Event {
	if previous == nil {
		return nil
	}
	t := &transition{from: *previous, to: next}
	t.claims()
	t.unplanned()
	t.lines()
	t.holds()
	t.phase()
	t.guard()
	return t.events
}

// overrideNote begins the notes of a step that are about an override, forcedNote
// those of one that a person forces; all others are about groups that cannot be
// protected.
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

// claims tells what became of the claims: new ones, those that went on, and
// those that were released.
func (t *transition) claims() {
	before := map[string]policy.Claim{}
	for _, c := range t.from.Claims {
		before[c.ID] = c
	}
	after := map[string]bool{}
	for _, c := range t.to.Claims {
		after[c.ID] = true
		old, known := before[c.ID]
		if !known {
			t.selected(c)
		}
		t.advanced(c, old.Phase)
		t.timedOut(c)
	}
	for _, c := range t.from.Claims {
		if !after[c.ID] {
			t.released(c)
		}
	}
}

func (t *transition) selected(c policy.Claim) {
	change := ""
	if c.From != c.To && c.To != "" {
		change = fmt.Sprintf(", from %s to %s", cmp.Or(c.From, "unknown"), c.To)
	}
	t.add(c.Pod, c.UID, false, RestartSelected, "%s: %s (%s)%s", c.Pod, actionText(c.Action, c.Prepare), c.Reason, change)
	// What was chosen stands in the plan before; the plan after it knows the
	// pod as claimed.
	step, ok := stepOf(t.from.Plan, c.Pod)
	if !ok {
		step, ok = stepOf(t.to.Plan, c.Pod)
	}
	if !ok {
		return
	}
	var unprotected []string
	for _, note := range step.Notes {
		switch {
		case strings.HasPrefix(note, overrideNote):
			t.add(c.Pod, c.UID, true, OverrideUsed, "%s: %s", c.Pod, note)
		case strings.HasPrefix(note, forcedNote):
			t.add(c.Pod, c.UID, true, RollingForced, "%s: %s", c.Pod, note)
		default:
			unprotected = append(unprotected, note)
		}
	}
	// A pod may have thousands of shards without another copy.
	if len(unprotected) > 0 {
		t.add(c.Pod, c.UID, true, UnprotectedRestart, "%s: %s", c.Pod, strings.Join(fewNotes(unprotected), "; "))
	}
}

func (t *transition) advanced(c policy.Claim, from policy.ClaimPhase) {
	pod, _ := t.to.pod(c.Pod)
	if c.Phase == policy.PhaseRestoring && !HasGone(c, pod.UID) {
		return // it is given up, and a hold says why
	}
	prepares := c.Prepare != "" && c.Prepare != policy.PrepareNone
	if prepares && passed(from, c.Phase, policy.PhasePreparing) {
		t.add(c.Pod, c.UID, false, PrepareStarted, "%s: %s has begun", c.Pod, c.Prepare)
	}
	if prepares && passed(from, c.Phase, policy.PhasePrepared) && undisturbed(c) {
		t.add(c.Pod, c.UID, false, Prepared, "%s: %s is done, the pod is safe to stop", c.Pod, c.Prepare)
	}
	if passed(from, c.Phase, policy.PhaseGone) && c.Action != policy.Handoff && c.Action != policy.Evacuate {
		t.add(c.Pod, c.UID, false, PodRestarted, "%s: removed %s (%s)", c.Pod, t.sinceClaim(c), c.Reason)
	}
	if passed(from, c.Phase, policy.PhaseRejoined) {
		t.returned(c)
	}
}

// undisturbed is false for a claim that reached a later phase because its pod
// went away by other hands: nobody can say that it was prepared.
func undisturbed(c policy.Claim) bool {
	return c.Phase != policy.PhaseGone && c.Phase != policy.PhaseRejoined || len(c.Undo) > 0
}

func (t *transition) released(c policy.Claim) {
	// A pod whose claim went from waiting to released between two decisions is
	// back; one that was given up before never went.
	if passed(c.Phase, policy.PhaseSettling, policy.PhaseRejoined) && phaseReached(c.Phase, policy.PhaseGone) {
		t.returned(c)
	}
}

func (t *transition) returned(c policy.Claim) {
	pod, ok := t.to.pod(c.Pod)
	if !ok || !exists(pod) || pod.UID == c.UID {
		return
	}
	if policy.Returned(t.to.Snapshot, c).Failed {
		t.add(c.Pod, pod.UID, true, PodNotReturned, "%s: given up %s, on revision %s: %s", c.Pod, t.sinceClaim(c), pod.Revision, cmp.Or(pod.Problem, "not live in the database"))
		return
	}
	t.add(c.Pod, pod.UID, false, PodReturned, "%s: back in the database %s, on revision %s", c.Pod, t.sinceClaim(c), pod.Revision)
}

func (t *transition) sinceClaim(c policy.Claim) string {
	if c.StartedAt.IsZero() {
		return "now"
	}
	return Age(t.to.DecidedAt.Sub(c.StartedAt.Time)) + " after it was selected"
}

// timedOut tells, once, that a prepare takes longer than it may.
func (t *transition) timedOut(c policy.Claim) {
	if c.Phase != policy.PhaseClaimed && c.Phase != policy.PhasePreparing || c.StartedAt.IsZero() {
		return
	}
	drain := t.to.Snapshot.Cluster.Spec.WithDefaults().Drain
	limit := time.Duration(drain.TimeoutSeconds) * time.Second
	if c.Prepare == policy.PrepareEvacuate {
		limit = time.Duration(drain.EvacuateTimeoutSeconds) * time.Second
	}
	deadline := c.StartedAt.Add(limit)
	if limit > 0 && t.from.DecidedAt.Before(deadline) && !t.to.DecidedAt.Before(deadline) {
		t.add(c.Pod, c.UID, true, PrepareTimedOut, "%s: %s is not done after %s", c.Pod, c.Prepare, Age(limit))
	}
}

// unplanned tells of pods that took the update revision although nobody
// claimed them.
func (t *transition) unplanned() {
	before := make(map[string]policy.Pod, len(t.from.Snapshot.Pods))
	for _, p := range t.from.Snapshot.Pods {
		before[p.Name] = p
	}
	for _, p := range t.to.Snapshot.Pods {
		old, ok := before[p.Name]
		if !ok || !exists(p) || p.UID == old.UID {
			continue
		}
		pool, ok := t.to.pool(p.Pool)
		if !ok || !updated(p, pool) || old.Revision == "" || old.Revision == p.Revision {
			continue
		}
		_, claimedBefore := t.from.claimOf(p.Name)
		_, claimedNow := t.to.claimOf(p.Name)
		if claimedBefore || claimedNow {
			continue
		}
		t.add(p.Name, p.UID, true, UnplannedUpdate, "%s: went from revision %s to %s without being asked to", p.Name, old.Revision, p.Revision)
	}
}

// routine are the rules that hold a pod which merely waits for its turn. They
// are told, once for the cluster, when nothing goes at all.
var routine = []policy.Rule{
	policy.PodsAway, policy.ZonesAway, policy.ShardsAway, policy.QuorumLost,
	policy.AcksLost, policy.RoleLost, policy.NoneEligible, policy.Settling, policy.RankOrder, policy.LeaderLast,
	policy.InOrder, policy.VersionOrder, policy.StaleReport,
}

// unrest are the rules that a pod which is on its way can set off by itself:
// while it hands over and comes back, leaders change and reports are late.
// They are told when they still hold and nothing is on its way any more; if
// that never comes, the rollout stalls, and that is told.
var unrest = []policy.Rule{
	policy.ViewSplit, policy.NoLeader, policy.TwoLeaders, policy.Unhealthy, policy.NoReport, policy.BeingMoved, policy.CatchingUp,
}

// Passing says whether a rule holds for a while in every rollout: because a
// pod on its way has set it off, or because others go first.
func Passing(rule policy.Rule) bool {
	return slices.Contains(unrest, rule) || slices.Contains(routine, rule) || rule == policy.Claimed || rule == policy.OnItsWay
}

// worthTelling are the holds of a decision that people should hear of.
func worthTelling(d Decision) []policy.Hold {
	moving := len(d.Claims) > 0 || len(d.Plan.Steps) > 0
	var holds []policy.Hold
	for _, h := range d.Plan.Holds {
		if h.Rule != policy.Claimed && h.Rule != policy.OnItsWay && !(moving && Passing(h.Rule)) {
			holds = append(holds, h)
		}
	}
	return holds
}

// maxHeldPods bounds the Events of pods that one decision makes.
const maxHeldPods = 5

// holds tells of rules that begin to hold, once for the cluster, and of pods
// that are held by another rule than before.
func (t *transition) holds() {
	before := map[string]policy.Rule{}
	known := map[policy.Rule]bool{}
	for _, h := range worthTelling(t.from) {
		known[h.Rule] = true
		if before[h.Pod] == "" {
			before[h.Pod] = h.Rule
		}
	}
	holds := worthTelling(t.to)
	pods := map[policy.Rule][]string{}
	everybody := map[policy.Rule]bool{}
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
		// What is told of the only pod that a rule holds stands on the cluster too.
		if !known[h.Rule] && (!ofPod || len(pods[h.Rule]) > 1) {
			t.ruleHolds(h, pods[h.Rule])
		}
		known[h.Rule] = true
		if ofPod {
			told++
			pod, _ := t.to.pod(h.Pod)
			t.add(h.Pod, pod.UID, true, RestartHeld, "%s: %s", h.Pod, held(h))
		}
	}
}

func (t *transition) ruleHolds(h policy.Hold, pods []string) {
	warning := !slices.Contains(routine, h.Rule)
	switch {
	case h.Rule == policy.LineStopped:
		t.add("", "", true, StoppedTheLine, "%s", held(h))
	case h.Rule == policy.VersionRefused:
		t.add("", "", true, VersionRefused, "%s", held(h))
	case h.Pod == "":
		t.add("", "", warning, RestartHeld, "%s", held(h))
	case len(pods) > 1:
		t.add("", "", warning, RestartHeld, "%s holds %d pods (%s); first: %s", h.Rule, len(pods), few(pods), h.Reason)
	default:
		t.add("", "", warning, RestartHeld, "%s: %s", h.Pod, held(h))
	}
}

func held(h policy.Hold) string {
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
	case policy.ClusterStalled:
		rule, message := whyStalled(t.to)
		t.add("", "", true, Stalled, "no progress: %s: %s", rule, message)
	case policy.ClusterDone:
		if t.from.Phase == "" || t.from.Phase == policy.ClusterIdle {
			return
		}
		var pools []string
		for _, p := range t.to.Snapshot.Pools {
			pools = append(pools, fmt.Sprintf("%s on %s", p.Name, p.Revision))
		}
		t.add("", "", false, RolloutFinished, "%d of %d pods updated: %s", t.to.Pods.Updated, t.to.Pods.Desired, strings.Join(pools, ", "))
	}
}

// guard tells when Kubernetes begins and ends to refuse what others remove, if
// that is asked for. What a coordinator finds when it takes over is told by the
// condition, and by whoever has the guard refuse again after it had expired.
func (t *transition) guard() {
	was, is := t.from.Snapshot.Cluster.GuardEnforcing, t.to.Snapshot.Cluster.GuardEnforcing
	switch {
	case is && !was:
		t.add("", "", false, GuardEnforced, "Kubernetes refuses to remove pods that Rollcall has not let go")
	case was && !is && t.to.Guard.Why != "":
		t.add("", "", true, GuardLost, "Kubernetes lets pods go that Rollcall has not let go: %s", t.to.Guard.Why)
	}
	if budget := t.to.Guard.ForeignBudget; budget != "" && budget != t.from.Guard.ForeignBudget {
		t.add("", "", true, ForeignBudget, "%s", budget)
	}
	if why := t.to.Withheld; why != "" && why != t.from.Withheld {
		t.add("", "", true, Withheld, "%s", why)
	}
}
