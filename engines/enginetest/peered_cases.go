package enginetest

import (
	"context"
	"encoding/json"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// peered returns the member's engine if it is Peered, and skips the test otherwise.
func (s *suite) peered(member int) engines.Peered {
	s.Helper()
	e := s.engine(member)
	p, ok := e.Engine.(engines.Peered)
	if !ok {
		return nil
	}
	return watchedPeer{p, e}
}

// looksAreBounded checks that a member's look is bounded, whatever its server does.
func looksAreBounded(s *suite) {
	e := s.peered(0)
	if e == nil {
		return
	}
	look := func(what string) {
		s.within(what, func(ctx context.Context) {
			data, err := e.Look(ctx, true)
			require.True(s, err != nil || json.Valid(data), what)
			require.LessOrEqual(s, len(data), engines.MaxStep, what)
		})
	}
	look(Healthy.String())
	for _, f := range Faults {
		s.db.Fault(0, f)
		look(f.String())
		s.db.Fault(0, Healthy)
	}
}

// wrongSteps checks that invalid steps change nothing.
func wrongSteps(s *suite) {
	e := s.peered(0)
	if e == nil {
		return
	}
	before := s.db.Leads(0)
	for _, step := range []engines.Step{
		{}, {Name: "no such step", Claim: "claim", Body: []byte("{}")}, {Name: "\x00", Body: []byte("null")},
		{Name: "no such step", Claim: "claim", Body: make([]byte, engines.MaxStep+1)},
		{Name: "no such step", Claim: "claim", Body: []byte("{}"), NotAfter: time.Now().Add(-time.Second)},
	} {
		_, err := e.Step(s.Context(), step)
		require.Error(s, err, "%q", step.Name)
	}
	require.Empty(s, s.db.Leftovers())
	require.Equal(s, before, s.db.Leads(0))
}

// repairIsIdle checks that there is nothing to repair in a healthy database.
func repairIsIdle(s *suite) {
	for i := range s.db.Members {
		e := s.peered(i)
		if e == nil {
			return
		}
		before := s.db.Leads(i)
		s.repeat("repair", func() (engines.Progress, error) { return e.Repair(s.Context()) })
		require.Equal(s, before, s.db.Leads(i))
	}
	require.Empty(s, s.db.Leftovers())
}

// watchedPeer is watched for engines that are Peered.
type watchedPeer struct {
	engines.Peered
	watched *watched
}

func (w watchedPeer) Look(ctx context.Context, fresh bool) ([]byte, error) {
	data, err := w.Peered.Look(ctx, fresh)
	w.watched.keep(string(data), err)
	return data, err
}

func (w watchedPeer) Step(ctx context.Context, step engines.Step) ([]byte, error) {
	data, err := w.Peered.Step(ctx, step)
	w.watched.keep(string(data), err)
	return data, err
}

func (w watchedPeer) Repair(ctx context.Context) (engines.Progress, error) {
	p, err := w.Peered.Repair(ctx)
	w.watched.keep(p, err)
	return p, err
}
