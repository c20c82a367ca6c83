package status

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
)

// claims reports what became of the claims: new ones, those that went on, and those that were
// released.
func (t *transition) claims() {
	before := map[string]model.Claim{}
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

func (t *transition) selected(c model.Claim) {
	change := ""
	if c.From != c.To && c.To != "" {
		change = fmt.Sprintf(", from %s to %s", cmp.Or(c.From, "unknown"), c.To)
	}
	t.add(c.Pod, c.UID, false, EventRestartSelected, "%s: %s (%s)%s", c.Pod, actionText(c.Action, c.Prepare), c.Reason, change)
	// The chosen step is in the previous plan; the next plan knows the pod as claimed.
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
			t.add(c.Pod, c.UID, true, EventOverrideUsed, "%s: %s", c.Pod, note)
		case strings.HasPrefix(note, policy.InPlaceNote):
			t.add(c.Pod, c.UID, true, EventRestartsInPlace, "%s: %s", c.Pod, note)
		case strings.HasPrefix(note, forcedNote):
			t.add(c.Pod, c.UID, true, EventRollingUpdateForced, "%s: %s", c.Pod, note)
		default:
			unprotected = append(unprotected, note)
		}
	}
	// A pod may have thousands of shards without another copy.
	if len(unprotected) > 0 {
		t.add(c.Pod, c.UID, true, EventUnprotectedRestart, "%s: %s", c.Pod, strings.Join(fewNotes(unprotected), "; "))
	}
}

func (t *transition) advanced(c model.Claim, from model.ClaimPhase) {
	pod, _ := t.to.Pod(c.Pod)
	if c.Phase == model.PhaseRestoring && !progress.HasGone(c, pod.UID) {
		return // the claim is given up, and a hold says why
	}
	prepares := c.Prepare != "" && c.Prepare != model.PrepareNone
	if prepares && progress.Passed(from, c.Phase, model.PhaseDraining) {
		t.add(c.Pod, c.UID, false, EventDrainStarted, "%s: %s has begun", c.Pod, c.Prepare)
	}
	if prepares && progress.Passed(from, c.Phase, model.PhaseDrained) && undisturbed(c) {
		t.add(c.Pod, c.UID, false, EventDrained, "%s: %s is done, the pod is safe to stop", c.Pod, c.Prepare)
	}
	if progress.Passed(from, c.Phase, model.PhaseGone) && c.Action != model.ActionHandoff && c.Action != model.ActionEvacuate {
		t.add(c.Pod, c.UID, false, EventPodRestarted, "%s: removed %s (%s)", c.Pod, t.sinceClaim(c), c.Reason)
	}
	if progress.Passed(from, c.Phase, model.PhaseRejoined) {
		t.returned(c)
	}
}

// undisturbed returns false for a claim that reached a later phase because somebody else removed
// its pod: nobody can say that it was drained.
func undisturbed(c model.Claim) bool {
	return c.Phase != model.PhaseGone && c.Phase != model.PhaseRejoined || len(c.Undo) > 0
}

func (t *transition) released(c model.Claim) {
	// A pod whose claim went from waiting to released between two decisions is
	// back; one that was given up before never went.
	if progress.Passed(c.Phase, model.PhaseSettling, model.PhaseRejoined) && progress.Reached(c.Phase, model.PhaseGone) {
		t.returned(c)
	}
}

func (t *transition) returned(c model.Claim) {
	pod, ok := t.to.Pod(c.Pod)
	if !ok || !progress.Exists(pod) || pod.UID == c.UID {
		return
	}
	if policy.Returned(t.to.Snapshot, c).Failed {
		t.add(c.Pod, pod.UID, true, EventPodNotReturned, "%s: not back %s, on revision %s: %s", c.Pod, t.sinceClaim(c), pod.Revision, cmp.Or(pod.Problem, "not live in the database"))
		return
	}
	t.add(c.Pod, pod.UID, false, EventPodReturned, "%s: back in the database %s, on revision %s", c.Pod, t.sinceClaim(c), pod.Revision)
}

func (t *transition) sinceClaim(c model.Claim) string {
	if c.StartedAt.IsZero() {
		return "now"
	}
	return Age(t.to.DecidedAt.Sub(c.StartedAt.Time)) + " after it was selected"
}

// timedOut reports, once, that a drain takes longer than it may.
func (t *transition) timedOut(c model.Claim) {
	if c.Phase != model.PhaseClaimed && c.Phase != model.PhaseDraining || c.StartedAt.IsZero() {
		return
	}
	drain := t.to.Snapshot.Cluster.Spec.WithDefaults().Drain
	limit := time.Duration(drain.TimeoutSeconds) * time.Second
	if c.Prepare == model.PrepareEvacuate {
		limit = time.Duration(drain.EvacuateTimeoutSeconds) * time.Second
	}
	deadline := c.StartedAt.Add(limit)
	if limit > 0 && t.from.DecidedAt.Before(deadline) && !t.to.DecidedAt.Before(deadline) {
		t.add(c.Pod, c.UID, true, EventDrainTimedOut, "%s: %s is not done after %s", c.Pod, c.Prepare, Age(limit))
	}
}
