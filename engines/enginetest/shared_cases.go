package enginetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// sharer is the member's engine with the setting that its prepares change, as it
// is now. An adapter whose prepares change none has nothing to be held to.
func (s *suite) sharer(member int, order engines.Order) (engines.Sharer, engines.Shared) {
	s.Helper()
	e, ok := s.engine(member).Engine.(engines.Sharer)
	if !ok {
		return nil, engines.Shared{}
	}
	shared, err := e.Shared(s.Context(), order)
	require.NoError(s, err)
	require.LessOrEqual(s, len(shared.Undo), engines.MaxUndo)
	require.LessOrEqual(s, len(shared.Knob), engines.MaxKnob)
	if shared.Knob == "" {
		return nil, engines.Shared{}
	}
	return e, shared
}

// What belongs to the whole database is changed only by an order that names it.
func sharedOnlyWhenNamed(s *suite) {
	order := s.order(engines.Handoff)
	e, before := s.sharer(0, order)
	if e == nil {
		return
	}
	undo := s.plan(e, order)
	_, planned := s.sharer(1, order)
	require.Equal(s, before, planned, "planning changed it")
	s.apply(e, order, undo)
	_, unnamed := s.sharer(1, order)
	require.Equal(s, before, unnamed, "nobody named it")
	order.Shared = before
	s.apply(e, order, undo)
	_, named := s.sharer(1, order)
	require.NotEqual(s, before, named, "it was named and is as before")
	s.restore(e, undo)
	_, kept := s.sharer(1, order)
	require.Equal(s, named, kept, "the undo of one prepare is not the end of all")
	s.restoreShared(e, before)
}

func sharedIsPutBack(s *suite) {
	order := s.order(engines.Handoff)
	e, before := s.sharer(0, order)
	if e == nil {
		return
	}
	order.Shared = before
	undo := s.prepared(e, order)
	s.restore(e, undo)
	other, changed := s.sharer(1, order)
	_, err := other.RestoreShared(s.Context(), before, time.Now().Add(-time.Second))
	require.Error(s, err, "past its time")
	_, late := s.sharer(1, order)
	require.Equal(s, changed, late, "written past its time")
	for _, wrong := range []engines.Shared{{Knob: "no such", Undo: before.Undo}, {Knob: before.Knob, Undo: make([]byte, 2*engines.MaxUndo)}} {
		_, err := other.RestoreShared(s.Context(), wrong, time.Time{})
		require.Error(s, err)
	}
	for range 2 {
		s.restoreShared(other, before)
		_, after := s.sharer(2, order)
		require.Equal(s, before, after)
	}
}

func (s *suite) restoreShared(e engines.Sharer, shared engines.Shared) {
	s.Helper()
	s.repeat("restore of "+shared.Knob, func() (engines.Progress, error) {
		return e.RestoreShared(s.Context(), shared, time.Now().Add(time.Minute))
	})
}
