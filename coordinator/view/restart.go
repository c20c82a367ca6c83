package view

import (
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// RestartLag is how far the clock of the API server, which dates pods, may be behind: a pod that
// was restarted for a time of the schedule must not look older than that time.
const RestartLag = 30 * time.Second

// restartDue returns the last time at or before now for which a restart of all pods was requested,
// by the schedule or by a person. It is zero if there is none. Pods that are older are to be
// restarted: each once for a time, and once for all missed times together.
func restartDue(d *v1alpha1.DatabaseCluster, now time.Time) time.Time {
	due := scheduledRestart(d, now)
	if asked := RestartAsked(d); asked.After(due) && !asked.After(now.Add(-RestartLag)) {
		return asked
	}
	return due
}

// RestartAsked returns the time in the annotation. It is zero if there is none.
func RestartAsked(d *v1alpha1.DatabaseCluster) time.Time {
	asked, err := time.Parse(time.RFC3339, d.Annotations[v1alpha1.AnnotationRestart])
	if err != nil {
		return time.Time{}
	}
	return asked
}

// RestartError says why the annotation that requests a restart has no effect. It is nil if it has,
// or does not exist.
func RestartError(d *v1alpha1.DatabaseCluster) error {
	text, noted := d.Annotations[v1alpha1.AnnotationRestart]
	if _, err := time.Parse(time.RFC3339, text); !noted || err == nil {
		return nil
	}
	return fmt.Errorf("metadata.annotations[%s] is %q: must be the time before which the pods to restart were created, such as %s",
		v1alpha1.AnnotationRestart, text, "2026-11-20T12:00:00Z")
}

// scheduledRestart returns the last time of the restart schedule at or before now. Times before the
// schedule was first seen do not count, so turning one on restarts nothing.
func scheduledRestart(d *v1alpha1.DatabaseCluster, now time.Time) time.Time {
	text, noted := d.Spec.Update.RestartSchedule, d.Status.RestartSchedule
	if text == "" || noted == nil || noted.Schedule != text {
		return time.Time{}
	}
	schedule, err := parseCron(text)
	if err != nil {
		return time.Time{}
	}
	now = now.Add(-RestartLag)
	passed := now.Sub(noted.Since.Time)
	if passed <= 0 {
		return time.Time{}
	}
	slot, ok := window{schedule: schedule, duration: passed, zone: time.UTC}.lastBegin(now)
	if !ok || !slot.After(noted.Since.Time) {
		return time.Time{}
	}
	return slot
}

// NextRestart returns the next time at which the restart schedule, or a person's request, asks for
// a restart. It is zero if nothing does.
func NextRestart(d *v1alpha1.DatabaseCluster, now time.Time) time.Time {
	next := nextScheduled(d, now)
	if asked := RestartAsked(d).Add(RestartLag); asked.After(now) && (next.IsZero() || asked.Before(next)) {
		return asked
	}
	return next
}

func nextScheduled(d *v1alpha1.DatabaseCluster, now time.Time) time.Time {
	text := d.Spec.Update.RestartSchedule
	if text == "" {
		return time.Time{}
	}
	schedule, err := parseCron(text)
	if err != nil {
		return time.Time{}
	}
	next := schedule.Next(now.Add(-RestartLag).UTC())
	if next.IsZero() {
		return next
	}
	return next.Add(RestartLag)
}
