package view

import (
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// RestartLag is how far behind the clock of the API server, which dates pods,
// may be: a pod that was restarted for a time of the schedule must not look
// older than that time.
const RestartLag = 30 * time.Second

// restartDue is the last time at or before now for which a restart of all pods was
// asked, by the schedule or by a person; zero when there is none. Pods that are
// older than it are to be restarted: each once for a time, and once for all that
// were missed.
func restartDue(d *v1alpha1.DatabaseCluster, now time.Time) time.Time {
	due := scheduledRestart(d, now)
	if asked := RestartAsked(d); asked.After(due) && !asked.After(now.Add(-RestartLag)) {
		return asked
	}
	return due
}

// RestartAsked is the time that the annotation names; zero when it names none.
func RestartAsked(d *v1alpha1.DatabaseCluster) time.Time {
	asked, err := time.Parse(time.RFC3339, d.Annotations[v1alpha1.AnnotationRestart])
	if err != nil {
		return time.Time{}
	}
	return asked
}

// RestartError says why the annotation that asks for a restart asks for nothing;
// nil when it does, or is not there.
func RestartError(d *v1alpha1.DatabaseCluster) error {
	text, noted := d.Annotations[v1alpha1.AnnotationRestart]
	if _, err := time.Parse(time.RFC3339, text); !noted || err == nil {
		return nil
	}
	return fmt.Errorf("metadata.annotations[%s] is %q: must be the time before which the pods to restart were created, such as %s",
		v1alpha1.AnnotationRestart, text, "2026-11-20T12:00:00Z")
}

// scheduledRestart is the last time of the restart schedule at or before now. Times
// before the schedule was first seen do not count, so that turning one on restarts
// nothing.
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

// NextRestart is the next time at which the restart schedule, or what a person
// asked for, asks for something; zero when nothing does.
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
