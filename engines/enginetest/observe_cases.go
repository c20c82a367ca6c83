package enginetest

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

func facts(s *suite) {
	e := s.engine(0)
	f := e.Facts()
	require.NotEmpty(s, f.Name)
	require.GreaterOrEqual(s, f.SettleSeconds, 0)
	require.Equal(s, f, e.Facts(), "facts are constants")
}

func observeHealthy(s *suite) {
	o := s.settled(s.engine(0))
	require.Equal(s, s.db.Members[0], o.Node)
	require.Equal(s, engines.MembershipLive, o.Member)
	require.NotEmpty(s, o.Version)
	require.Empty(s, o.Veto)
	live := 0
	for _, n := range o.Nodes {
		require.NotEmpty(s, n.Address)
		if n.State == engines.MembershipLive {
			live++
		}
	}
	require.Equal(s, len(s.db.Members), live)
	leads, hosts := 0, 0
	for _, g := range o.Groups {
		require.NotEqual(s, engines.GroupUnknown, g.Kind)
		ids := map[string]bool{}
		for _, m := range g.Members {
			require.False(s, ids[m.ID], "member %s of %s occurs twice", m.ID, g.ID)
			ids[m.ID] = true
			require.Contains(s, s.db.Members, m.Node)
			if m.Node == o.Node {
				hosts++
				if m.Leader {
					leads++
				}
			}
		}
	}
	require.Equal(s, s.db.Leads(0), leads)
	require.Equal(s, s.db.Hosts(0), hosts)
	require.NotZero(s, hosts, "the harness must give member 0 copies")
	switch {
	case s.h.Leaderless:
	case s.h.Elects:
		require.NotZero(s, leads, "the harness must let member 0 lead")
	default:
		require.GreaterOrEqual(s, leads, 2, "the harness must let member 0 lead two groups")
	}
}

// observeAgrees checks that groups and members come in a fixed order, so that reports can be
// compared.
func observeAgrees(s *suite) {
	first := s.settled(s.engine(0))
	for i := 1; i < len(s.db.Members); i++ {
		o := s.settled(s.engine(i))
		require.Equal(s, s.db.Members[i], o.Node)
		require.Equal(s, first.Groups, o.Groups)
		require.Equal(s, first.Nodes, o.Nodes)
	}
}

func unknownStaysUnknown(s *suite) {
	for _, f := range Faults {
		s.db.Fault(0, f)
		e := s.engine(0)
		s.within(f.String(), func(ctx context.Context) {
			o, err := e.Observe(ctx)
			requireNothingKnown(s, f, o, err)
		})
		s.db.Fault(0, Healthy)
	}
}

func requireNothingKnown(s *suite, f Fault, o engines.Observation, err error) {
	s.Helper()
	if err != nil {
		return
	}
	require.NotEqual(s, engines.MembershipLive, o.Member, "%s: %+v", f, o)
	require.Equal(s, engines.VerdictUnknown, o.Health.Verdict, "%s: %+v", f, o)
	require.NotEmpty(s, o.Health.Reason, "%s: a reason for people", f)
	require.False(s, o.Settled, "%s", f)
	for _, g := range o.Groups {
		for _, m := range g.Members {
			require.NotEqual(s, engines.MemberActive, m.State, "%s", f)
		}
	}
}

// observeAfterFault checks that Observe does not return old knowledge during a fault, and that the
// same engine works after it.
func observeAfterFault(s *suite) {
	e := s.engine(0)
	for _, f := range Faults {
		s.settled(e)
		s.db.Fault(0, f)
		s.within(f.String(), func(ctx context.Context) {
			o, err := e.Observe(ctx)
			requireNothingKnown(s, f, o, err)
		})
		s.db.Fault(0, Healthy)
	}
	s.settled(e)
}

func contextHonoured(s *suite) {
	limit := time.Second
	if !s.h.Virtual { // a real clock also counts what else the machine does
		limit = s.h.Patience
	}
	e := s.engine(0)
	order := s.order(engines.Handoff)
	undo := s.plan(e, order)
	s.db.Fault(0, Hung)
	defer s.db.Fault(0, Healthy)
	for _, call := range []struct {
		name string
		do   func(ctx context.Context) error
	}{
		{"Observe", func(ctx context.Context) error { // first: a plan may rest on a look of a moment ago, but not where the newest failed
			o, err := e.Observe(ctx)
			requireNothingKnown(s, Hung, o, err)
			return context.Canceled // either answer is good
		}},
		{"Plan", func(ctx context.Context) error { _, err := e.PlanDrain(ctx, order); return err }},
		{"Apply", func(ctx context.Context) error { _, err := e.Drain(ctx, order, undo); return err }},
		{"Restore", func(ctx context.Context) error { _, err := e.Restore(ctx, undo); return err }},
		{"Sweep", func(ctx context.Context) error { return e.Sweep(ctx, nil) }},
	} {
		ctx, cancel := context.WithTimeout(s.Context(), 50*time.Millisecond)
		start := time.Now()
		require.Error(s, call.do(ctx), call.name)
		require.Less(s, time.Since(start), limit, "%s did not honour its context", call.name)
		cancel()
	}
}

func closed(s *suite) {
	e := s.engine(0)
	order := s.order(engines.Handoff)
	undo := s.plan(e, order)
	require.NoError(s, e.Close())
	_, err := e.PlanDrain(s.Context(), order)
	require.Error(s, err)
	_, err = e.Drain(s.Context(), order, undo)
	require.Error(s, err)
	_, err = e.Restore(s.Context(), undo)
	require.Error(s, err)
	o, err := e.Observe(s.Context())
	requireNothingKnown(s, Gone, o, err)
}
