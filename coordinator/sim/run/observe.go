package run

import (
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
	"github.com/rollcall-dev/rollcall/coordinator/sim/workload"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

// Observer is told what happens in a run, as it happens. It changes nothing: the
// run, its log and its verdict are the same without it.
type Observer struct {
	// Said is each line of the log, save those about decisions.
	Said func(at time.Duration, who, what string)
	// Decided is each decision that a coordinator shows.
	Decided func(at time.Duration, coordinator string, d status.Decision)
}

// Watched makes the run of a scenario under the eyes of an observer. Its result
// has a tally.
func Watched(s Scenario, o Observer) (Result, error) { return play(s, Options{}, &o) }

// Tally is how far things went in a run, as they really were.
type Tally struct {
	// Went are the pods that went by Rollcall's hand, in order, and Taken those
	// that somebody else took.
	Went, Taken []string
	// Away is how many pods were unavailable at once at most, for whatever reason, and ByHand how
	// many of Rollcall's doing.
	Away, ByHand int
	// Shard had the fewest active copies: Left of Copies.
	Shard        string
	Left, Copies int
}

// observe has a run looked on.
func (w *world) observe(o *Observer) {
	if o == nil {
		return
	}
	w.observer = o
	w.loop.Heard = func(who, what string) { o.Said(w.loop.Now(), who, what) }
	judge := w.server.Removing
	w.server.Removing = func(r api.Removal) {
		judge(r)
		if w.server.Ours(r.User) {
			w.tally.Went = append(w.tally.Went, r.Pod.Name)
		} else {
			w.tally.Taken = append(w.tally.Taken, r.Pod.Name)
		}
	}
	look := w.loop.After
	w.loop.After = func() {
		look()
		w.count()
	}
}

// unheard writes to the log what an observer is told in another way.
func (w *world) unheard(log func()) {
	heard := w.loop.Heard
	w.loop.Heard = nil
	log()
	w.loop.Heard = heard
}

// count brings the tally up to date.
func (w *world) count() {
	t := &w.tally
	away := 0
	for _, name := range w.oracle.Desired() {
		pod := w.server.Pod(name)
		if pod == nil || pod.DeletionTimestamp != nil || !workload.Ready(pod) || !w.db.Whole(pod.Name) {
			away++
		}
	}
	t.Away, t.ByHand = max(t.Away, away), max(t.ByHand, len(w.oracle.Away()))
	for _, shard := range w.db.Truth() {
		left := 0
		for _, c := range shard.Copies {
			if c.Active {
				left++
			}
		}
		if t.Shard == "" || left < t.Left {
			t.Shard, t.Left, t.Copies = shard.ID, left, len(shard.Copies)
		}
	}
}
