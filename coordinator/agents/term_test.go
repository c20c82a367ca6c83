package agents

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/rollcall-dev/rollcall/agent/term"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Orders end when their sender says, by the agent's own clock, whether its reports are
// followed or not, and after it has restarted.
func TestOrdersEndByTheAgentsClock(t *testing.T) {
	for name, reports := range map[string]bool{"followed": true, "asked": false} {
		t.Run(name, func(t *testing.T) {
			h := start(t, nil)
			f := newFakeAgent("search-0", "u0")
			f.began = time.Now().Add(-time.Hour)
			f.say(func(r *rollcallv1.Report) { r.ObservedAt = timestamppb.New(time.Now().Add(24 * time.Hour)) })
			var end time.Time
			judge := func(got *rollcallv1.Term) error {
				f.mu.Lock()
				defer f.mu.Unlock()
				byAgent, err := term.Run{Incarnation: f.report.GetIdentity().GetIncarnation(), Started: f.began}.End(got)
				if err == nil {
					require.False(t, byAgent.After(end))
					require.WithinDuration(t, end, byAgent, time.Minute, "less the journey")
					return nil
				}
				s, _ := status.New(codes.FailedPrecondition, err.Error()).WithDetails(&errdetails.ErrorInfo{Reason: "OTHER_RUN"})
				return s.Err()
			}
			f.drain = func(r *rollcallv1.DrainRequest) (*rollcallv1.DrainResponse, error) {
				return &rollcallv1.DrainResponse{}, judge(r.GetTerm())
			}
			f.restoreSetting = func(r *rollcallv1.RestoreSettingRequest) (*rollcallv1.RestoreSettingResponse, error) {
				return &rollcallv1.RestoreSettingResponse{}, judge(r.GetTerm())
			}
			h.serve("10.0.0.1", search, f)
			h.Follow(search, Following{Agents: []Target{zero}, Reports: reports})
			order := func() error {
				end = time.Now().Add(2 * time.Minute)
				_, err := h.Drain(t.Context(), search, "u0", &rollcallv1.DrainRequest{}, end)
				return err
			}
			require.NoError(t, order())
			_, err := h.RestoreSetting(t.Context(), search, "u0", &rollcallv1.RestoreSettingRequest{Setting: "k"}, end)
			require.NoError(t, err)

			f.mu.Lock()
			f.report.Identity.Incarnation, f.began = 9, time.Now() // no report of that yet
			f.report.Uptime = durationpb.New(0)
			f.mu.Unlock()
			if err := order(); err != nil {
				require.ErrorContains(t, err, "has restarted")
				require.NoError(t, order(), "it is asked again")
			}
		})
	}
}

// An agent that would not end what it is ordered gets no orders, and the reason says so.
func TestAgentWithoutUptimeGetsNoOrders(t *testing.T) {
	h := start(t, nil)
	f := newFakeAgent("search-0", "u0")
	f.report.Uptime = nil
	f.drain = func(*rollcallv1.DrainRequest) (*rollcallv1.DrainResponse, error) {
		return &rollcallv1.DrainResponse{}, nil
	}
	f.restoreSetting = func(*rollcallv1.RestoreSettingRequest) (*rollcallv1.RestoreSettingResponse, error) {
		return &rollcallv1.RestoreSettingResponse{}, nil
	}
	h.serve("10.0.0.1", search, f)
	h.Follow(search, Following{Agents: []Target{zero}})
	_, err := h.Drain(t.Context(), search, "u0", &rollcallv1.DrainRequest{}, time.Now().Add(time.Minute))
	require.ErrorIs(t, err, ErrNoUptime)
	require.ErrorContains(t, err, "has to be updated")
	_, err = h.RestoreSetting(t.Context(), search, "u0", &rollcallv1.RestoreSettingRequest{Setting: "k"}, time.Now().Add(time.Minute))
	require.ErrorIs(t, err, ErrNoUptime)
}

// Runs of an agent follow each other in the order in which they are heard.
func TestLater(t *testing.T) {
	for name, c := range map[string]struct {
		heard heard
		is    mark
		asked uint64
		later bool
	}{
		"the first":               {heard{}, mark{5, 1}, 0, true},
		"the next":                {heard{mark: mark{5, 1}}, mark{5, 2}, 5, true},
		"the same again":          {heard{mark: mark{5, 2}}, mark{5, 2}, 5, false},
		"an earlier one":          {heard{mark: mark{5, 3}}, mark{5, 2}, 5, false},
		"a later run":             {heard{mark: mark{5, 3}}, mark{6, 1}, 0, true},
		"one with a lower number": {heard{mark: mark{5, 3}}, mark{4, 1}, 5, true},
		"asked for before the later one was heard":   {heard{mark: mark{5, 3}}, mark{4, 9}, 4, false},
		"asked for before anything was heard":        {heard{mark: mark{5, 3}}, mark{4, 9}, 0, false},
		"a run that has ended":                       {heard{mark{5, 3}, []uint64{4}}, mark{4, 9}, 5, false},
		"a run that has ended, with a higher number": {heard{mark{5, 3}, []uint64{6, 4}}, mark{6, 9}, 5, false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.later, c.heard.later(c.is, c.asked)) })
	}
	var h heard
	for run := range uint64(20) {
		h.advance(mark{100 - run, 1})
		h.advance(mark{100 - run, 2})
	}
	require.Equal(t, heard{mark{81, 2}, []uint64{89, 88, 87, 86, 85, 84, 83, 82}}, h)
}

// The agent restarts after its node's clock was set back, with a lower number: it is
// heard at once, by stream and when asked. Its former run is heard no more.
func TestAgentWhoseClockWentBackIsHeard(t *testing.T) {
	for name, ask := range map[string]bool{"by its stream": false, "asked": true} {
		t.Run(name, func(t *testing.T) {
			h := start(t, nil)
			first := newFakeAgent("search-0", "u0")
			first.report.Identity.Incarnation, first.report.Sequence = 1000, 50
			stop := h.serve("10.0.0.1", search, first)
			rest := following(zero)
			rest.Reports = false
			h.Follow(search, following(zero))
			eventually(t, func() bool { return h.State(search).Reports["u0"].Report.GetSequence() == 50 })
			if ask {
				h.Follow(search, rest)
			}
			stop()

			again := newFakeAgent("search-0", "u0")
			again.report.Identity.Incarnation, again.report.Roles = 400, []string{"back"}
			h.serve("10.0.0.1", search, again)
			if ask {
				eventually(t, func() bool { _, err := h.Fresh(t.Context(), search, "u0"); return err == nil })
			}
			eventually(t, func() bool { return len(h.State(search).Reports["u0"].Report.GetRoles()) == 1 })

			again.say(func(r *rollcallv1.Report) { r.Identity.Incarnation, r.Sequence = 1000, 90 })
			_, err := h.Fresh(t.Context(), search, "u0")
			require.ErrorIs(t, err, ErrPlayedBack)
			require.EqualValues(t, 400, h.State(search).Reports["u0"].Report.GetIdentity().GetIncarnation())
		})
	}
}

// A clock that differs is told of, and nothing else follows.
func TestClockSkewIsTold(t *testing.T) {
	for name, c := range map[string]struct{ ahead, told time.Duration }{
		"ahead":        {30 * time.Second, 30 * time.Second},
		"behind":       {-5 * time.Minute, -5 * time.Minute},
		"hardly ahead": {2 * time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				registry := prometheus.NewRegistry()
				h := start(t, func(o *Options) { o.Registerer = registry })
				f := newFakeAgent("search-0", "u0")
				h.serve("10.0.0.1", search, f)
				f.say(func(r *rollcallv1.Report) { r.ObservedAt = timestamppb.New(time.Now().Add(c.ahead)) })
				before := time.Now()
				h.Follow(search, following(zero))
				eventually(t, func() bool { return h.State(search).Reports["u0"].Report != nil })
				s := h.State(search)
				require.InDelta(t, c.told.Seconds(), s.Skews["u0"].Seconds(), 1)
				require.Equal(t, c.told == 0, len(s.Skews) == 0, "%v", s.Skews)
				require.WithinDuration(t, before, s.Reports["u0"].At, time.Second)
				families, err := registry.Gather()
				require.NoError(t, err)
				require.Equal(t, "rollcall_agent_clock_skew_seconds", families[0].GetName())
				require.InDelta(t, c.ahead.Seconds(), families[0].GetMetric()[0].GetGauge().GetValue(), 1)
			})
		})
	}
}
