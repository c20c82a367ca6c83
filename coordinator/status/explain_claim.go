package status

import (
	"fmt"
	"strings"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
)

// claimText says how far a claim has come, what it waits for, and what holds the whole cluster in
// the meantime, such as a rollout that this very pod has halted.
func claimText(d Decision, c model.Claim) string {
	lines := []string{
		fmt.Sprintf("claim  %s %s %s (%s)", c.Pod, c.Phase, actionText(c.Action, c.Prepare), c.Reason),
		claimWords(d, c),
	}
	if !c.StartedAt.IsZero() {
		lines[1] += fmt.Sprintf("; claimed %s ago", Age(d.DecidedAt.Sub(c.StartedAt.Time)))
	}
	if why := d.Waiting[c.Pod]; why != "" && !strings.Contains(lines[1], why) {
		lines = append(lines, "waiting: "+why)
	} else if pod, _ := d.Pod(c.Pod); progress.HasGone(c, pod.UID) {
		if r := policy.Returned(d.Snapshot, c); !r.Done {
			lines = append(lines, "waiting: "+r.Why.Reason)
			if r.Failed {
				lines = append(lines, "it counts as failed")
			}
			if r.Why.Unblocks != "" {
				lines = append(lines, "unblocked by: "+r.Why.Unblocks)
			}
		}
	}
	for _, h := range d.Plan.Holds {
		if h.Pod == "" {
			lines = append(lines, holdLines(h)...)
		}
	}
	return strings.Join(lines, "\n")
}

// claimWords returns the phase, with what the agent says it waits for.
func claimWords(d Decision, c model.Claim) string {
	text := claimPhaseText(c.Phase)
	if c.Action == model.ActionReplace {
		text = replacementText(c)
	}
	pod, _ := d.Pod(c.Pod)
	if r := pod.Report; c.Phase == model.PhaseDraining && r != nil && r.UID == c.UID && r.DrainDetail != "" {
		text += ": " + r.DrainDetail
	}
	return text
}

// replacementText returns the phase of a claim whose pod comes back with fresh data.
func replacementText(c model.Claim) string {
	volumes := "its volume"
	if len(c.Volumes) > 0 {
		volumes = "volume claim " + c.Volumes[0].Name
	}
	if len(c.Volumes) > 1 {
		volumes += fmt.Sprintf(" and %d more", len(c.Volumes)-1)
	}
	switch c.Phase {
	case model.PhaseDraining:
		return "moving data off " + c.Pod
	case model.PhaseDrained:
		return "data is off " + c.Pod + ", says its agent; the database is asked for itself"
	case model.PhaseEmptied:
		return "nothing is left on " + c.Pod + "; " + volumes + " and the pod are about to be deleted"
	case model.PhaseGone:
		return "removed; the recreated pod is awaited with fresh data, in place of " + volumes
	case model.PhaseRestoring:
		return "the recreated pod has fresh data; what kept data away from it is being undone"
	}
	return claimPhaseText(c.Phase)
}

func claimPhaseText(p model.ClaimPhase) string {
	switch p {
	case model.PhaseClaimed:
		return "claimed, nothing done to it yet"
	case model.PhaseDraining:
		return "its agent makes it safe to stop"
	case model.PhaseDrained:
		return "about to be checked once more and removed"
	case model.PhaseEmptied:
		return "nothing is left on it"
	case model.PhaseOpened:
		return "released: Kubernetes is told to remove it"
	case model.PhaseGone:
		return "removed; the recreated pod is awaited in the database"
	case model.PhaseRejoined:
		return "the recreated pod has joined the database"
	case model.PhaseRestoring:
		return "what its preparation changed is being undone"
	case model.PhaseSettling:
		return "the recreated pod is back; its copies are being awaited"
	}
	return "in a phase that this version does not know: " + string(p)
}
