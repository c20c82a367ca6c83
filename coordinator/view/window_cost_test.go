package view

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// counted is a schedule that is asked how often.
type counted struct {
	cron.Schedule
	times *int
}

func (c counted) Next(t time.Time) time.Time {
	*c.times++
	return c.Schedule.Next(t)
}

// Whoever writes a DatabaseCluster may name 50 windows on days that never come, for each of which the
// library looks through five years of days, beside one that has no end. Each pass asks.
func TestWindowsOnDaysThatNeverComeCostLittle(t *testing.T) {
	asked := 0
	windows := []window{}
	for i := range 50 {
		w := model.Window{Schedule: "0 0 31 2,4,6,9,11 *", Duration: "744h", TimeZone: "America/St_Johns"}
		if i == 0 {
			w = model.Window{Schedule: "0 0 * * *", Duration: "24h"}
		}
		r, err := read(w)
		require.NoError(t, err)
		if i > 0 {
			r.schedule = counted{r.schedule, &asked}
		}
		windows = append(windows, r)
	}
	require.True(t, openUntil(windows, at(t, "2026-11-20T12:00:00Z")).After(at(t, "2026-12-20T12:00:00Z")))
	require.LessOrEqual(t, asked, 2*49)
}

// Windows that last long and follow each other for ever are followed for a month or two, not for years.
func TestWindowsWithoutEndAreNotFollowedForYears(t *testing.T) {
	asked := 0
	windows := []window{}
	for range 50 {
		r, err := read(model.Window{Schedule: "0 0 1 * *", Duration: "744h"})
		require.NoError(t, err)
		r.schedule = counted{r.schedule, &asked}
		windows = append(windows, r)
	}
	end := openUntil(windows, at(t, "2026-11-20T12:00:00Z"))
	require.WithinRange(t, end, at(t, "2026-12-20T12:00:00Z"), at(t, "2027-02-20T12:00:00Z"))
	require.LessOrEqual(t, asked, 50*60)
}

// The end is that which looking at each minute of two days finds.
func TestOpenUntilIsTheFirstMinuteThatIsNotOpen(t *testing.T) {
	schedules := []string{"*/7 * * * *", "0 * * * *", "30 3 * * *", "* 4 * * *", "0 0 30 2 *", "15 */2 * * *"}
	durations := []time.Duration{time.Minute, 5 * time.Minute, 31 * time.Minute, time.Hour, 3 * time.Hour}
	from := at(t, "2026-11-20T00:00:00Z")
	const minutes = 48 * 60
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 1))
		var windows []window
		var open [minutes]bool
		for range 1 + r.IntN(4) {
			w, err := read(model.Window{Schedule: schedules[r.IntN(len(schedules))], Duration: durations[r.IntN(len(durations))].String()})
			require.NoError(t, err)
			windows = append(windows, w)
			for begin := w.schedule.Next(from.Add(-w.duration)); !begin.IsZero() && begin.Before(from.Add(minutes*time.Minute)); begin = w.schedule.Next(begin) {
				for m := range int(w.duration / time.Minute) {
					if i := int(begin.Sub(from)/time.Minute) + m; i >= 0 && i < minutes {
						open[i] = true
					}
				}
			}
		}
		now := r.IntN(minutes / 2)
		end := now
		for end < minutes && open[end] {
			end++
		}
		got := int(openUntil(windows, from.Add(time.Duration(now)*time.Minute)).Sub(from) / time.Minute)
		if end < minutes && got-now < 100 { // of windows that follow each other it may be an earlier one
			require.Equal(t, end, got, "seed %d", seed)
		}
		require.LessOrEqual(t, min(got, minutes), end, "seed %d", seed)
	}
}
