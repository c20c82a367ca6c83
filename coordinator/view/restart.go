package view

import (
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// restartLag is how far behind the clock of the API server, which dates pods,
// may be: a pod that was restarted for a time of the schedule must not look
// older than that time.
const restartLag = 30 * time.Second

// restartDue is the last time of the restart schedule at or before now; zero
// when there is none. Pods that are older than it are to be restarted: each
// once for a time, and once for all that were missed. Times before the schedule
// was first seen do not count, so that turning one on restarts nothing.
func restartDue(d *v1alpha1.DatabaseCluster, now time.Time) time.Time {
	text, noted := d.Spec.Update.RestartSchedule, d.Status.RestartSchedule
	if text == "" || noted == nil || noted.Schedule != text {
		return time.Time{}
	}
	schedule, err := parseCron(text)
	if err != nil {
		return time.Time{}
	}
	now = now.Add(-restartLag)
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

// NextRestart is the next time at which the restart schedule asks for
// something; zero when it does not.
func NextRestart(d *v1alpha1.DatabaseCluster, now time.Time) time.Time {
	text := d.Spec.Update.RestartSchedule
	if text == "" {
		return time.Time{}
	}
	schedule, err := parseCron(text)
	if err != nil {
		return time.Time{}
	}
	next := schedule.Next(now.Add(-restartLag).UTC())
	if next.IsZero() {
		return next
	}
	return next.Add(restartLag)
}
