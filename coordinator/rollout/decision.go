package rollout

import (
	"log/slog"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// Decision is what a step comes to.
type Decision struct {
	// Snapshot is what was decided on: that of the facts, with what acting has found out.
	Snapshot policy.Snapshot
	Plan     policy.Plan
	// Edits of the status are written by compare-and-swap on the object that the facts were
	// made from, or not at all: the next step asks again for what is still wanted.
	Edits Edits
	// Effects are to be carried out now, beside each other.
	Effects []Effect
	// Wake is when to step again if nothing happens before; zero: never.
	Wake time.Time
	// Claims are the open claims with their phases as of now, new ones included.
	Claims []policy.Claim
	// Waits are, by pod, what open claims wait for, in words.
	Waits map[string]string
	// Absences are the pods whose claims end in this step, and how long they were away.
	Absences []Absence
	// Drains are how long drains took that were confirmed since the last step.
	Drains []time.Duration
	// Resets says how often somebody has undone what was written to the partition
	// of a pool, for those that are reset again and again.
	Resets map[string]int
	// Settings are the cluster settings that nobody relies on any more, and what claims have
	// left, that could not be put back yet, with why.
	Settings map[string]string
	// Superseded: another coordinator leads by now; there is nothing more to do.
	Superseded bool
	// Log are the transitions that are worth a line in the log.
	Log []LogEntry
}

// Absence is how long a pod was away that went by a claim and is back.
type Absence struct {
	Pod    string
	Lasted time.Duration
}

// LogEntry is one line for the log.
type LogEntry struct {
	Level   slog.Level
	Message string
	Args    []any
}

func (d *Decision) setting(what, why string) {
	if d.Settings == nil {
		d.Settings = map[string]string{}
	}
	d.Settings[what] = why
}

func (d *Decision) wake(at time.Time) {
	if d.Wake.IsZero() || at.Before(d.Wake) {
		d.Wake = at
	}
}

func (d *Decision) info(message string, args ...any) {
	d.Log = append(d.Log, LogEntry{slog.LevelInfo, message, args})
}

func (d *Decision) warn(message string, args ...any) {
	d.Log = append(d.Log, LogEntry{slog.LevelWarn, message, args})
}

func (d *Decision) error(message string, args ...any) {
	d.Log = append(d.Log, LogEntry{slog.LevelError, message, args})
}

// NameClaims gives the new claims their ids. Ids are random, so they come from outside.
func (d *Decision) NameClaims(s *State, newID func() string) {
	for i := range d.Edits.Add {
		id := newID()
		d.Edits.Add[i].ID = id
		d.Claims[len(d.Claims)-len(d.Edits.Add)+i].ID = id
		s.made[id] = true
	}
}
