package mysql

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
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

// TestNobodyOpensOnAnOldLook: while one member looks at the others, they go on, at every
// point of it: the heir opens, and what clients write there is replicated. Who has more
// than the heir had is not an heir for that.
func TestNobodyOpensOnAnOldLook(t *testing.T) {
	for _, setup := range setups() {
		if setup.silent < 0 {
			continue // then nobody is ahead of anybody
		}
		for slow := range setup.members {
			for at := 1; ; at++ {
				var w *simWorld
				hit := false
				synctest.Test(t, func(*testing.T) {
					w = vacated(setup)
					w.breaks = []simBreak{{at: w.boundaries + at, kind: &simKind{name: "all others go on", do: func(w *simWorld, _ *simBreak) {
						hit = true
						w.goOn(4, 10)
					}}}}
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
					if s.writes == Allowed {
						allowing++
					}
				}
				require.Equal(t, 1, allowing, w.story())
				if !hit {
					break
				}
			}
		}
	}
}
