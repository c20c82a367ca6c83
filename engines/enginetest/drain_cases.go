package enginetest

import (
	"context"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

func planChangesNothing(s *suite) {
	e := s.engine(0)
	before := s.db.Leads(0)
	s.plan(e, s.order(engines.Handoff))
	require.Empty(s, s.db.Leftovers())
	require.Equal(s, before, s.db.Leads(0))
}

func handOver(s *suite) {
	e := s.engine(0)
	order := s.order(engines.Handoff)
	undo := s.prepared(e, order)
	s.requireDrained()
	require.NotZero(s, s.db.Hosts(0), "data stays")
	s.settled(e)
	s.restoreCleanly(e, undo)
}

func handOverToEligible(s *suite) {
	if s.h.Leaderless || s.h.InPlace {
		s.Skip("nobody takes anything over")
	}
	e := s.engine(0)
	order := s.order(engines.Handoff)
	order.Eligible = []string{s.db.Members[2]}
	one, two := s.db.Leads(1), s.db.Leads(2)
	undo := s.prepared(e, order)
	require.Zero(s, s.db.Leads(0))
	require.Equal(s, one, s.db.Leads(1), "the eligible member could take all")
	require.Greater(s, s.db.Leads(2), two)
	s.restoreCleanly(e, undo)
}

func handOverForAnother(s *suite) {
	s.several()
	e := s.engine(1)
	order := s.order(engines.Handoff)
	order.Node = s.db.Members[0]
	undo := s.plan(e, order)
	if s.h.Role && !s.h.Leaderless {
		before, want := s.db.Leads(0), engines.ProgressRefused
		if s.h.Elects {
			want = engines.ProgressDone
		}
		progress, err := e.Drain(s.Context(), order, undo)
		require.NoError(s, err)
		require.Equal(s, want, progress.State)
		require.NotEmpty(s, progress.Detail)
		require.Equal(s, before, s.db.Leads(0))
	} else {
		s.apply(e, order, undo)
		s.requireDrained()
	}
	require.NotZero(s, s.db.Hosts(0), "data stays")
	s.restoreCleanly(e, undo)
}

func prepareTwice(s *suite) {
	e := s.engine(0)
	order := s.order(engines.Handoff)
	undo := s.prepared(e, order)
	s.prepared(e, order)
	s.apply(s.engine(0), order, undo) // another agent of the same member
	s.requireDrained()
	s.restoreCleanly(e, undo)
}

func prepareByTwo(s *suite) {
	order := s.order(engines.Handoff)
	first, second := s.engine(0), s.engine(0)
	undo := s.plan(first, order)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = second.Drain(s.Context(), order, undo) // interferes; its answer does not matter
	}()
	s.apply(first, order, undo)
	<-ended
	s.requireDrained()
	s.restoreCleanly(first, undo)
}

func prepareAfterPartialFailure(s *suite) {
	order := s.order(s.marking())
	e := s.engine(0)
	undo := s.plan(e, order)
	for after := range 3 {
		s.db.FailChanges(after)
		progress, err := s.try(func(ctx context.Context) (engines.Progress, error) { return e.Drain(ctx, order, undo) })
		if err == nil && !s.h.InPlace && (s.db.Leads(0) > 0 || order.Kind == engines.Evacuate && s.db.Hosts(0) > 0) {
			require.NotEqual(s, engines.ProgressDone, progress.State, "after %d changes", after)
		}
	}
	s.db.FailChanges(-1)
	s.apply(s.engine(0), order, undo) // the agent that failed is gone
	s.requireDrained()
	s.restoreCleanly(s.engine(0), undo)
}

func neverDoneOnBroken(s *suite) {
	e := s.engine(0)
	order := s.order(engines.Handoff)
	undo := s.plan(e, order)
	for _, f := range Faults {
		s.db.Fault(0, f)
		s.within(f.String(), func(ctx context.Context) {
			progress, err := e.Drain(ctx, order, undo)
			require.True(s, err != nil || progress.State == engines.ProgressRunning, "%s: Apply answered %+v", f, progress)
		})
		s.within(f.String(), func(ctx context.Context) {
			progress, err := e.Restore(ctx, undo)
			require.True(s, err != nil || progress.State == engines.ProgressRunning, "%s: Restore answered %+v", f, progress)
		})
		s.within(f.String(), func(ctx context.Context) {
			_, err := e.PlanDrain(ctx, s.order(engines.Handoff))
			require.Error(s, err, "%s", f)
			require.Error(s, e.Sweep(ctx, nil), "%s", f)
		})
		s.db.Fault(0, Healthy)
	}
}

func noWriteAfterEnd(s *suite) {
	e := s.engine(0)
	order := s.order(engines.Handoff)
	order.NotAfter = time.Now().Add(-time.Second)
	undo := s.plan(e, order)
	before := s.db.Leads(0)
	progress, err := e.Drain(s.Context(), order, undo)
	require.True(s, err != nil || progress.State != engines.ProgressDone || s.h.InPlace, "what writes nothing may be done at any time")
	require.Empty(s, s.db.Leftovers())
	require.Equal(s, before, s.db.Leads(0))
}

func wrongOrders(s *suite) {
	e := s.engine(0)
	wrong := []engines.Order{{Claim: "claim"}, {Kind: 77, Claim: "claim"}, {Kind: engines.Handoff}}
	if !e.Facts().EvacuatesOthers && !s.h.Alone {
		wrong = append(wrong, engines.Order{Kind: engines.Evacuate, Claim: "claim", Node: s.db.Members[1]})
	}
	for _, order := range wrong {
		_, err := e.PlanDrain(s.Context(), order)
		require.Error(s, err, "%+v", order)
	}
	require.Empty(s, s.db.Leftovers())
}

func wrongUndo(s *suite) {
	e := s.engine(0)
	order := s.order(engines.Handoff)
	mine := s.plan(e, order)
	before := s.db.Leads(0)
	bad := [][]byte{nil, []byte("{}"), []byte("null"), []byte("\x00\xff"), slices.Concat(mine, mine), make([]byte, 2*engines.MaxUndo)}
	all := slices.Clone(bad)
	if !s.h.Alone {
		all = append(all, s.plan(s.engine(1), order))
	}
	for _, undo := range all {
		_, err := e.Drain(s.Context(), order, undo)
		require.Error(s, err, "apply %q", undo)
	}
	for _, undo := range bad {
		_, err := e.Restore(s.Context(), undo)
		require.Error(s, err, "restore %q", undo)
	}
	other := s.order(engines.Handoff)
	_, err := e.Drain(s.Context(), other, mine)
	require.Error(s, err, "undo of another claim")
	require.Equal(s, before, s.db.Leads(0))
	require.Empty(s, s.db.Leftovers())
}

func evacuate(s *suite) {
	e := s.engine(0)
	order := s.order(engines.Evacuate)
	undo := s.prepared(e, order)
	o := s.settled(e)
	s.requireEmptied(o)
	s.restoreCleanly(e, undo)
}

func evacuateTwice(s *suite) {
	order := s.order(engines.Evacuate)
	e := s.engine(0)
	undo := s.plan(e, order)
	_, err := e.Drain(s.Context(), order, undo)
	require.NoError(s, err)
	s.apply(s.engine(0), order, undo) // the next agent takes it up
	s.apply(e, order, undo)
	s.requireEmptied(s.settled(e))
	s.restore(s.engine(1), undo)
	s.restoreCleanly(s.engine(1), undo)
}

// requireEmptied fails if anything would be lost with the data of member 0.
func (s *suite) requireEmptied(o engines.Observation) {
	s.Helper()
	s.requireDrained()
	if s.h.Role {
		require.Empty(s, s.db.Leftovers())
		return
	}
	require.Zero(s, s.db.Hosts(0))
	for _, g := range o.Groups {
		require.False(s, g.Has(o.Node))
	}
}
