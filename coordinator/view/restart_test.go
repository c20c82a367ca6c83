package view

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

func TestRestartDue(t *testing.T) {
	tests := []struct {
		name, schedule, noted, since, now string
		due                               string // empty: none
		next                              string
	}{
		{"no schedule", "", "", "", "2026-11-20T12:00:00Z", "", ""},
		{"not noted yet", "0 3 * * *", "", "", "2026-11-20T12:00:00Z", "", "2026-11-21T03:00:30Z"},
		{"turning it on restarts nothing", "0 3 * * *", "0 3 * * *", "2026-11-20T12:00:00Z", "2026-11-20T13:00:00Z", "", "2026-11-21T03:00:30Z"},
		{"first seen just at a time", "0 3 * * *", "0 3 * * *", "2026-11-20T03:00:00Z", "2026-11-20T03:10:00Z", "", "2026-11-21T03:00:30Z"},
		{"just before", "0 3 * * *", "0 3 * * *", "2026-11-19T12:00:00Z", "2026-11-20T03:00:29Z", "", "2026-11-20T03:00:30Z"},
		{"just after", "0 3 * * *", "0 3 * * *", "2026-11-19T12:00:00Z", "2026-11-20T03:00:30Z", "2026-11-20T03:00:00Z", "2026-11-21T03:00:30Z"},
		{"it stays due", "0 3 * * 0", "0 3 * * 0", "2026-11-01T12:00:00Z", "2026-11-20T12:00:00Z", "2026-11-15T03:00:00Z", "2026-11-22T03:00:30Z"},
		{"of several that were missed the last", "0 3 * * *", "0 3 * * *", "2026-01-01T00:00:00Z", "2026-11-20T12:00:00Z", "2026-11-20T03:00:00Z", "2026-11-21T03:00:30Z"},
		{"years without a look", "* * * * *", "* * * * *", "2020-01-01T00:00:00Z", "2026-11-20T12:00:45Z", "2026-11-20T12:00:00Z", "2026-11-20T12:01:30Z"},
		{"another schedule than was noted", "0 4 * * *", "0 3 * * *", "2026-01-01T00:00:00Z", "2026-11-20T12:00:00Z", "", "2026-11-21T04:00:30Z"},
		{"in a zone", "CRON_TZ=Europe/Oslo 0 3 * * *", "CRON_TZ=Europe/Oslo 0 3 * * *", "2026-01-01T00:00:00Z", "2026-11-20T12:00:00Z", "2026-11-20T02:00:00Z", "2026-11-21T02:00:30Z"},
		{"in summer", "CRON_TZ=Europe/Oslo 0 3 * * *", "CRON_TZ=Europe/Oslo 0 3 * * *", "2026-01-01T00:00:00Z", "2026-07-20T12:00:00Z", "2026-07-20T01:00:00Z", "2026-07-21T01:00:30Z"},
		{"unreadable", "0 3 * * 9", "0 3 * * 9", "2026-01-01T00:00:00Z", "2026-11-20T12:00:00Z", "", ""},
		{"a day that never comes", "0 0 30 2 *", "0 0 30 2 *", "2026-01-01T00:00:00Z", "2026-11-20T12:00:00Z", "", ""},
		{"a clock that went back", "0 3 * * *", "0 3 * * *", "2027-01-01T00:00:00Z", "2026-11-20T12:00:00Z", "", "2026-11-21T03:00:30Z"},
	}
	text := func(when time.Time) string {
		if when.IsZero() {
			return ""
		}
		return when.UTC().Format(time.RFC3339)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := &v1alpha1.DatabaseCluster{Spec: model.Spec{Update: model.Update{RestartSchedule: tt.schedule}}}
			if tt.noted != "" {
				d.Status.RestartSchedule = &v1alpha1.RestartSchedule{Schedule: tt.noted, Since: model.At(at(t, tt.since))}
			}
			require.Equal(t, tt.due, text(restartDue(d, at(t, tt.now))))
			require.Equal(t, tt.next, text(NextRestart(d, at(t, tt.now))))
		})
	}
}

// What a person asks for counts like a time of the schedule.
func TestRestartAsked(t *testing.T) {
	const asked = "2026-11-20T12:00:00Z"
	for _, tt := range []struct {
		name, text, schedule, now string
		due, next                 string
	}{
		{"just asked", asked, "", "2026-11-20T12:00:29Z", "", "2026-11-20T12:00:30Z"},
		{"due", asked, "", "2026-11-20T12:00:30Z", asked, ""},
		{"it stays due", asked, "", "2027-11-20T12:00:30Z", asked, ""},
		{"after the schedule's", asked, "0 3 * * *", "2026-11-20T13:00:00Z", asked, "2026-11-21T03:00:30Z"},
		{"before the schedule's", asked, "0 3 * * *", "2026-11-21T13:00:00Z", "2026-11-21T03:00:00Z", "2026-11-22T03:00:30Z"},
		{"for later", "2026-11-20T23:00:00+01:00", "0 3 * * *", "2026-11-20T13:00:00Z", "2026-11-20T03:00:00Z", "2026-11-20T22:00:30Z"},
		{"unreadable", "now", "", "2026-11-20T13:00:00Z", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := &v1alpha1.DatabaseCluster{Spec: model.Spec{Update: model.Update{RestartSchedule: tt.schedule}}}
			d.Annotations = map[string]string{v1alpha1.AnnotationRestart: tt.text}
			if tt.schedule != "" {
				d.Status.RestartSchedule = &v1alpha1.RestartSchedule{Schedule: tt.schedule, Since: model.At(at(t, "2026-01-01T00:00:00Z"))}
			}
			same := func(want string, got time.Time) {
				t.Helper()
				if want == "" {
					require.Zero(t, got)
					return
				}
				require.True(t, got.Equal(at(t, want)), "%s", got)
			}
			same(tt.due, restartDue(d, at(t, tt.now)))
			same(tt.next, NextRestart(d, at(t, tt.now)))
			if err := RestartError(d); tt.name == "unreadable" {
				require.ErrorContains(t, err, `metadata.annotations[rollcall.dev/restart] is "now": must be the time before which`)
			} else {
				require.NoError(t, err)
			}
		})
	}
	require.NoError(t, RestartError(&v1alpha1.DatabaseCluster{}))
}

func TestCronIsReadInFull(t *testing.T) {
	for _, good := range []string{"0 3 * * 0", "@weekly", "CRON_TZ=Asia/Tokyo 30 4 1 * *", "*/15 * * * *"} {
		require.NoError(t, SpecError(updating(model.Update{RestartSchedule: good})), good)
	}
	for _, bad := range []string{"0 3 * *", "61 * * * *", "@every 1h", "CRON_TZ=Nowhere/Town 0 3 * * *", "CRON_TZ=UTC", "CRON_TZ=UTC @every 2h", "0 3 * * * *"} {
		err := SpecError(updating(model.Update{RestartSchedule: bad}))
		require.ErrorContains(t, err, "spec.update.restartSchedule: ", bad)
	}
}

// Pods that are older than the due time are to be restarted, and only those.
func TestJoinAsksOldPodsToRestart(t *testing.T) {
	in := made()
	in.Kube.Cluster.Spec.Update.RestartSchedule = "* * * * *"
	in.Kube.Cluster.Status.RestartSchedule = &v1alpha1.RestartSchedule{Schedule: "* * * * *", Since: model.At(in.Now.Add(-time.Hour))}
	for i := range in.Kube.Pods {
		in.Kube.Pods[i].Created = in.Now.Add(-10 * time.Minute)
	}
	in.Kube.Pods[0].Created = in.Now
	for i, pod := range Join(in).Pods {
		require.Equal(t, i != 0, pod.Restart, pod.Name)
	}
	in.Kube.Cluster.Status.RestartSchedule = nil
	for _, pod := range Join(in).Pods {
		require.False(t, pod.Restart, pod.Name)
	}
}
