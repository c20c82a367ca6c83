package enginetest

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// handOverAll hands over each member under a claim of its own, so there is no member that stays.
// Members must not pass on what they lead for ever: it must come to rest somewhere, and then the
// members that wait for nothing can go.
func handOverAll(s *suite) {
	type handoff struct {
		engine engines.Engine
		order  engines.Order
		undo   []byte
	}
	var all []handoff
	for i := range s.db.Members {
		e, order := s.engine(i), s.order(engines.Handoff)
		all = append(all, handoff{e, order, s.plan(e, order)})
		if s.db.Leaves != nil {
			s.db.Leaves(i)
		}
	}
	const rounds = 3
	deadline := time.Now().Add(s.h.Eventually)
	for rest := 0; rest < rounds; {
		before, moved, done := s.leads(), false, 0
		var words []string
		for _, h := range all {
			progress, err := h.engine.Drain(s.Context(), h.order, h.undo)
			require.NoError(s, err)
			require.NotEqual(s, engines.ProgressRefused, progress.State, progress.Detail)
			if progress.State == engines.ProgressDone {
				done++
			}
			moved = moved || !slices.Equal(before, s.leads()) // even if it is back at the end of the round
			words = append(words, progress.State.String()+" "+progress.Detail)
		}
		if rest++; done == 0 || moved {
			rest = 0
		}
		require.True(s, time.Now().Before(deadline), "no end: they lead %v, then %v: %q", before, s.leads(), words)
		time.Sleep(20 * time.Millisecond)
	}
	for _, h := range all {
		s.restore(h.engine, h.undo)
	}
	require.Empty(s, s.db.Leftovers())
}

// leads counts what each member leads.
func (s *suite) leads() []int {
	var leads []int
	for i := range s.db.Members {
		leads = append(leads, s.db.Leads(i))
	}
	return leads
}
