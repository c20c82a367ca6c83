package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

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

// claimOrder is the order of the phases; an unknown one is before all others.
var claimOrder = []policy.ClaimPhase{
	policy.PhaseClaimed, policy.PhasePreparing, policy.PhasePrepared, policy.PhaseEmptied, policy.PhaseOpened,
	policy.PhaseGone, policy.PhaseRejoined, policy.PhaseRestoring, policy.PhaseSettling,
}

// StageOf counts how far a claim is, from 0.
func StageOf(c policy.Claim) int { return slices.Index(claimOrder, c.Phase) + 1 }

// HasGone says whether the claim's pod went away. uid is that of the pod that has
// its name now: a claim that is given up is Restoring, too, and its pod stays.
func HasGone(c policy.Claim, uid string) bool {
	return phaseReached(c.Phase, policy.PhaseGone) && (c.Phase != policy.PhaseRestoring || c.UID != uid)
}

// passed says whether a claim that went from one phase to another entered, on
// its way, the third. Phases may be skipped between two decisions.
func passed(from, to, phase policy.ClaimPhase) bool {
	at := slices.Index(claimOrder, phase)
	return slices.Index(claimOrder, from) < at && at <= slices.Index(claimOrder, to)
}

// phaseReached says whether a claim's phase is the other or a later one.
func phaseReached(phase, other policy.ClaimPhase) bool {
	return slices.Index(claimOrder, phase) >= slices.Index(claimOrder, other)
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
