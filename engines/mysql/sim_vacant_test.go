package mysql

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/test/race"
)

// vacated is a database all of whose servers were started again, so that nobody allows
// writes, and whose agents have known each other for long enough.
func vacated(setup simSetup) *simWorld {
	w := newWorld(setup, true)
	for _, s := range w.list {
		s.crash()
		s.boot()
	}
	for range 100 {
		time.Sleep(50 * time.Millisecond)
		w.tick()
	}
	return w
}

// TestNobodyOpensOnAnOldLook checks that while one member looks at the others, they go on, at every
// point of it: the successor opens, and what clients write there is replicated. Who has more than
// the successor had is no successor for that.
func TestNobodyOpensOnAnOldLook(t *testing.T) {
	race.Heavy(t)
	whileOneLooks(t, nil)
}

// TestNobodyOpensOnTwoOldLooks checks that their servers start again, too, so that nothing speaks
// against the first look when one looks again, and they go on once more during that.
func TestNobodyOpensOnTwoOldLooks(t *testing.T) {
	race.Heavy(t)
	for again := range 4 { // as many as one look has
		whileOneLooks(t, func(w *simWorld, slow int) {
			for i, s := range w.list {
				if i != slow {
					s.crash()
					s.boot()
				}
			}
			w.breaks = append(w.breaks, simBreak{at: w.boundaries + 1 + again, kind: goingOn(nil)})
		})
	}
}

// goingOn is a break at which everybody goes on who does not do something already.
func goingOn(and func(*simWorld)) *simKind {
	return &simKind{name: "all others go on", do: func(w *simWorld, _ *simBreak) {
		w.goOn(4, 10)
		if and != nil {
			and(w)
		}
	}}
}

func whileOneLooks(t *testing.T, and func(w *simWorld, slow int)) {
	t.Helper()
	for _, setup := range setups() {
		if setup.silent < 0 {
			continue // where all is told, nobody is ahead of anybody
		}
		for slow := range setup.members {
			for at := 1; ; at++ {
				var w *simWorld
				hit := false
				synctest.Test(t, func(*testing.T) {
					w = vacated(setup)
					w.breaks = []simBreak{{at: w.boundaries + at, kind: goingOn(func(w *simWorld) {
						hit = true
						if and != nil {
							and(w, slow)
						}
					})}}
					// It was the primary once, and its order is still in hand.
					a, err := w.agents[slow], error(nil)
					a.order, a.job = engines.Order{Kind: engines.Handoff, Claim: "c", NotAfter: time.Now().Add(time.Minute)}, true
					a.undo, err = undo{Undo: a.order.UndoOn(a.name), Wrote: true}.encode()
					require.NoError(t, err)
					a.turn()
					a.job = false
					for range 10 {
						for _, a := range w.agents {
							a.turn()
						}
						w.tick()
					}
				})
				require.Empty(t, w.violations, "%s: %s looks, at %d: %s", setup, w.agents[slow].name, at, w.story())
				allowing := 0
				for _, s := range w.list {
					if s.writes == replication.Allowed {
						allowing++
					}
				}
				if and == nil {
					require.Equal(t, 1, allowing, w.story())
				}
				if !hit {
					break
				}
			}
		}
	}
}
