package rollout

import (
	"log/slog"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/progress"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// Outcome is the result of a step.
type Outcome struct {
	// Moment is what was decided, on the snapshot of the facts together with what acting has found
	// out.
	progress.Moment
	// Edits of the status are written by compare-and-swap on the object that the facts were made
	// from, or not at all. The next step asks again for what is still needed.
	Edits Edits
	// Effects are to be carried out now, in parallel.
	Effects []effect.Effect
	// Wake is when to step again if nothing happens before. It is zero if there is no such time.
	Wake time.Time
	// Downtimes are the pods whose claims end in this step, and how long they were unavailable.
	Downtimes []progress.Downtime
	// Drains are the durations of the drains that were confirmed since the last step.
	Drains []time.Duration
	// LastProgress is when something last got better, and Estimates how long restarts take.
	LastProgress time.Time
	Estimates    progress.Estimates
	// RolesDiffer is true if the pods' labels do not say what their members are, as far as that can
	// be told.
	RolesDiffer bool
	// Superseded is true if another coordinator leads now. There is nothing more to do.
	Superseded bool
	// Log are the transitions that are worth a log line.
	Log []LogEntry
}

// LogEntry is one log line.
type LogEntry struct {
	Level   slog.Level
	Message string
	Args    []any
}

func (d *Outcome) setting(what, why string) {
	if d.Settings == nil {
		d.Settings = map[string]string{}
	}
	d.Settings[what] = why
}

func (d *Outcome) wake(at time.Time) {
	if at.IsZero() {
		return
	}
	if d.Wake.IsZero() || at.Before(d.Wake) {
		d.Wake = at
	}
}

func (d *Outcome) info(message string, args ...any) {
	d.Log = append(d.Log, LogEntry{slog.LevelInfo, message, args})
}

func (d *Outcome) warn(message string, args ...any) {
	d.Log = append(d.Log, LogEntry{slog.LevelWarn, message, args})
}

func (d *Outcome) error(message string, args ...any) {
	d.Log = append(d.Log, LogEntry{slog.LevelError, message, args})
}

// NameClaims gives the new claims their ids. Ids are random, so the caller supplies them.
func (d *Outcome) NameClaims(s *State, newID func() string) {
	for i := range d.Edits.Add {
		id := newID()
		d.Edits.Add[i].ID = id
		d.Claims[len(d.Claims)-len(d.Edits.Add)+i].ID = id
		s.made[id] = true
	}
}
