package view

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Libraries differ in these, and a window that cannot be read, or opens at another time, is a
// rollout that does not go on, or goes on at the wrong time.
func TestCronMeansWhatItMeansInACronJob(t *testing.T) {
	for name, c := range map[string]struct{ text, zone, after, want string }{
		"day of the month or of the week": {"5 4 1,15 * 3", "UTC", "2026-11-20T00:00:00Z", "2026-11-25T04:05:00Z"},
		"a step as long as the range":     {"0 */24 * * *", "UTC", "2026-11-20T12:00:00Z", "2026-11-21T00:00:00Z"},
		"a time that summer time skips":   {"30 2 * * *", "Europe/Oslo", "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z"},
		"a time that winter time repeats": {"30 2 * * *", "Europe/Oslo", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"},
		"and its repetition":              {"30 2 * * *", "Europe/Oslo", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
		"a zone of its own":               {"CRON_TZ=Asia/Tokyo 0 2 * * *", "UTC", "2026-11-20T00:00:00Z", "2026-11-20T17:00:00Z"},
		"a macro":                         {"@weekly", "UTC", "2026-11-20T00:00:00Z", "2026-11-22T00:00:00Z"},
		"any day, by another sign":        {"0 0 ? * 1", "UTC", "2026-11-20T00:00:00Z", "2026-11-23T00:00:00Z"},
		"a leap day":                      {"0 0 29 2 *", "UTC", "2026-11-20T00:00:00Z", "2028-02-29T00:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			schedule, err := parseCron(c.text)
			require.NoError(t, err)
			zone, err := time.LoadLocation(c.zone)
			require.NoError(t, err)
			require.Equal(t, at(t, c.want), schedule.Next(at(t, c.after).In(zone)).UTC())
		})
	}
	for _, text := range []string{"0 0 * * 7", "0 12 L * *", "0 2 * * 6 2027", "0 0 2 * * 6", "H 2 * * *", "*/0 * * * *", "CRON_TZ=Europe/Oslo", "TZ=x"} {
		_, err := parseCron(text)
		require.Error(t, err, text)
	}
}
