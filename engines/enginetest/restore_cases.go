package enginetest

import (
	"context"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

func restoreTwice(s *suite) {
	e := s.engine(0)
	order := s.order(s.marking())
	undo := s.prepared(e, order)
	s.restore(e, undo)
	s.restore(e, undo)
	s.restoreCleanly(s.engine(0), undo)
}

func restoreUnapplied(s *suite) {
	e := s.engine(0)
	undo := s.plan(e, s.order(s.marking()))
	before := s.db.Leads(0)
	s.restoreCleanly(e, undo)
	require.Equal(s, before, s.db.Leads(0))
}

func restoreFromAnother(s *suite) {
	s.several()
	e := s.engine(0)
	order := s.order(s.marking())
	undo := s.prepared(e, order)
	s.db.Fault(0, Gone)
	defer s.db.Fault(0, Healthy)
	s.restoreCleanly(s.engine(1), undo)
}

func restoreAfterPartialFailure(s *suite) {
	s.several()
	e := s.engine(0)
	order := s.order(s.marking())
	undo := s.prepared(e, order)
	for after := range 3 {
		s.db.FailChanges(after)
		progress, err := s.try(func(ctx context.Context) (engines.Progress, error) { return e.Restore(ctx, undo) })
		if err == nil && len(s.db.Leftovers()) > 0 {
			require.NotEqual(s, engines.ProgressDone, progress.State)
		}
	}
	s.db.FailChanges(-1)
	s.restoreCleanly(s.engine(1), undo)
}

func restoreLeavesOthers(s *suite) {
	s.several()
	first, second := s.engine(0), s.engine(2)
	one, two := s.order(s.marking()), s.order(s.marking())
	one.Eligible, two.Eligible = s.successor(2), s.successor(0) // so that there is something to hand over each time
	undoOne := s.prepared(first, one)
	undoTwo := s.prepared(second, two)
	others := s.others()
	s.restore(first, undoOne)
	require.Equal(s, others, s.others(), "what the second claim did is gone")
	s.restoreCleanly(second, undoTwo)
}

// marking is the kind of drain that leaves something behind until it is restored, if any does.
func (s *suite) marking() engines.Kind {
	if s.h.Leaderless && !s.h.Role {
		return engines.Evacuate
	}
	return engines.Handoff
}

// successor is the member that takes over, even if it has handed over itself.
func (s *suite) successor(member int) []string {
	if s.h.Leaderless || s.h.InPlace {
		return nil
	}
	return []string{s.db.Members[member]}
}

// others returns the traces of a drain that is done: its entries in the database, or the member
// that has the role now.
func (s *suite) others() any {
	s.Helper()
	if !s.h.Role {
		require.NotEmpty(s, s.db.Leftovers())
		return true
	}
	require.Empty(s, s.db.Leftovers())
	return s.leads()
}

func foreignStays(s *suite) {
	if s.db.Foreign == nil {
		s.Skip("this database has no entries of others that a drain could touch")
	}
	stillThere := s.db.Foreign()
	e := s.engine(0)
	order := s.order(s.marking())
	undo := s.prepared(e, order)
	s.restore(e, undo)
	require.NoError(s, e.Sweep(s.Context(), nil))
	require.True(s, stillThere())
}

// sweep checks that Sweep removes what a crashed agent of this member left, and nothing else.
func sweep(s *suite) {
	s.several()
	first, second := s.engine(0), s.engine(2)
	mine, theirs := s.order(s.marking()), s.order(s.marking())
	mine.Eligible, theirs.Eligible = s.successor(2), s.successor(0) // so that there is something to hand over each time
	s.prepared(first, mine)
	there := s.others()
	s.swept(0, mine.Claim)
	require.Equal(s, there, s.others(), "the claim is open")
	s.prepared(second, theirs)
	there = s.others()
	s.swept(0)
	require.Equal(s, there, s.others(), "what the other member's claim did is gone")
	s.swept(2)
	require.Empty(s, s.db.Leftovers())
}

// swept sweeps, where the database Recovers until there is no error.
func (s *suite) swept(member int, open ...string) {
	s.Helper()
	sweep := func() error { return s.engine(member).Sweep(s.Context(), open) }
	if !s.h.Recovers {
		require.NoError(s, sweep())
		return
	}
	s.repeat("sweep", func() (engines.Progress, error) { return engines.Progress{State: engines.ProgressDone}, sweep() })
}
