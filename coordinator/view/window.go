package view

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// maxWindow is the longest window; more is a mistake.
const maxWindow = 31 * 24 * time.Hour

// WindowAt returns whether any window is open at now, and when that will change. Without windows
// pods may always go. A window that cannot be read is never open; SpecError says what is wrong with
// it.
func WindowAt(windows []model.Window, now time.Time) model.WindowState {
	if len(windows) == 0 {
		return model.WindowState{Open: true}
	}
	var readable []window
	for _, w := range windows {
		if r, err := read(w); err == nil {
			readable = append(readable, r)
		}
	}
	if end := openUntil(readable, now); end.After(now) {
		return model.WindowState{Open: true, NextChange: moment(model.At(end))}
	}
	var next time.Time
	for _, w := range readable {
		if t := w.schedule.Next(now.In(w.zone)); !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	return model.WindowState{NextChange: moment(model.At(next))}
}

type window struct {
	schedule cron.Schedule
	duration time.Duration
	zone     *time.Location
}

func read(w model.Window) (window, error) {
	zone := time.UTC
	if w.TimeZone != "" {
		z, err := time.LoadLocation(w.TimeZone)
		if err != nil || w.TimeZone == "Local" {
			return window{}, fmt.Errorf("timeZone: %q is not a time zone such as Europe/Oslo", w.TimeZone)
		}
		zone = z
	}
	duration, err := time.ParseDuration(w.Duration)
	if err != nil || duration <= 0 || duration > maxWindow {
		return window{}, fmt.Errorf("duration: %q is not a time such as 4h or 90m, above 0 and at most 744h", w.Duration)
	}
	schedule, err := parseCron(w.Schedule)
	if err != nil {
		return window{}, fmt.Errorf("schedule: %w", err)
	}
	return window{schedule, duration, zone}, nil
}

// openUntil returns when the last of the windows that are open at now ends, following windows that
// begin before another ends. It is not after now if none is open.
func openUntil(windows []window, now time.Time) time.Time {
	end, next := now, make([]time.Time, len(windows))
	// Each round reaches further or is the last. Windows that follow each other for ever have no
	// end, so the end of the hundredth, or one in a month, is used to look again.
	for round := range 100 {
		furthest := end
		for i, w := range windows {
			if round > 0 && (next[i].IsZero() || next[i].After(end)) {
				continue // it does not begin before that
			}
			if begin, ok := w.lastBegin(end); ok {
				if e := begin.Add(w.duration); e.After(furthest) {
					furthest = e
				}
			}
			next[i] = w.schedule.Next(end.In(w.zone))
		}
		if !furthest.After(end) {
			break
		}
		if end = furthest; end.Sub(now) >= maxWindow {
			break
		}
	}
	return end
}

// lastBegin returns the last beginning at or before t that is less than a duration ago. A schedule
// can only say what comes next, so it is asked from further and further back.
func (w window) lastBegin(t time.Time) (time.Time, bool) {
	// For a day that never comes it would search for years, so it is asked only once.
	if first := w.schedule.Next(t.Add(-w.duration).In(w.zone)); first.IsZero() || first.After(t) {
		return time.Time{}, false
	}
	for back := time.Minute; ; back *= 2 {
		back = min(back, w.duration)
		begin := w.schedule.Next(t.Add(-back).In(w.zone))
		if !begin.IsZero() && !begin.After(t) {
			for {
				next := w.schedule.Next(begin)
				if next.IsZero() || next.After(t) {
					return begin, true
				}
				begin = next
			}
		}
		if back == w.duration {
			return time.Time{}, false
		}
	}
}
