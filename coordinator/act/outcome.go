package act

import (
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Outcome of a pass.
type Outcome struct {
	Edits Edits
	// Wake is when to call Advance again if nothing happens before; zero means never.
	Wake time.Time
	// Claims are the open claims with their phases as of now.
	Claims []model.Claim
	// Waits are, by pod, what open claims wait for, in words.
	Waits map[string]string
	// Away are the pods whose claims were released in this pass, and how long
	// they were away.
	Away []Absence
	// Resets says how often somebody has undone what was written to the partition
	// of a pool, for those that are reset again and again.
	Resets map[string]int
	// Settings are those of the whole database that nobody relies on any more, and what
	// claims have left, that could not be put back yet, with why.
	Settings map[string]string
	// Deposed: a newer coordinator has taken over; this Actor does nothing more.
	Deposed bool
}

// Absence is how long a pod was away that went by a claim and is back.
type Absence struct {
	Pod    string
	Lasted time.Duration
}

func (o *Outcome) setting(what, why string) {
	if o.Settings == nil {
		o.Settings = map[string]string{}
	}
	o.Settings[what] = why
}

func (o *Outcome) wake(at time.Time) {
	if o.Wake.IsZero() || at.Before(o.Wake) {
		o.Wake = at
	}
}
