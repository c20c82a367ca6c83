package agents

import (
	"crypto/tls"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

var zero = Target{Pod: "search-0", UID: "u0", IP: "10.0.0.1", Zone: "z1"}

func TestReportsArriveAsTheyChange(t *testing.T) {
	h := start(t, nil)
	f := newFakeAgent("search-0", "u0")
	h.serve("10.0.0.1", search, f)
	before := time.Now()
	h.Follow(search, following(zero))
	eventually(t, func() bool { return h.State(search).Reports["u0"].Report.GetSequence() == 1 })

	heard := h.timesHeard()
	f.say(func(r *rollcallv1.Report) { r.Roles = []string{"overseer"}; r.Epoch = 7 })
	eventually(t, func() bool { return len(h.State(search).Reports["u0"].Report.GetRoles()) > 0 })
	eventually(t, func() bool { return h.timesHeard() > heard })
	got := h.State(search).Reports["u0"]
	require.Equal(t, []string{"overseer"}, got.Report.GetRoles())
	require.True(t, got.At.After(before) && !got.At.After(time.Now()), got.At)
	require.EqualValues(t, 7, h.State(search).Epoch())
	eventually(t, func() bool { return len(h.State(search).Problems) == 0 })
}

// A stream belongs to one pod: when another answers at its address, nothing of
// what it says is kept.
func TestAnotherPodAtTheSameAddressIsNotHeard(t *testing.T) {
	h := start(t, nil)
	first := newFakeAgent("search-0", "u0")
	stop := h.serve("10.0.0.1", search, first)
	h.Follow(search, following(zero))
	eventually(t, func() bool { return h.State(search).Reports["u0"].Report != nil })

	second := newFakeAgent("search-0", "u0-new")
	second.report.Roles = []string{"impostor"}
	stop()
	h.serve("10.0.0.1", search, second)
	eventually(t, func() bool { return strings.Contains(h.State(search).Problems["u0"], "another pod answered") })
	require.Empty(t, h.State(search).Reports["u0"].Report.GetRoles())
	_, err := h.Fresh(t.Context(), search, "u0")
	require.ErrorIs(t, err, ErrWrongPod)
	_, err = h.Restore(t.Context(), search, "u0", &rollcallv1.RestoreRequest{})
	require.ErrorIs(t, err, ErrWrongPod)

	// Once the new pod is the one that is meant, it is heard, and the old one forgotten.
	meant := zero
	meant.UID = "u0-new"
	h.Follow(search, following(meant))
	eventually(t, func() bool { return len(h.State(search).Reports["u0-new"].Report.GetRoles()) == 1 })
	require.NotContains(t, h.State(search).Reports, "u0")
	eventually(t, func() bool { return len(h.State(search).Problems) == 0 })
}

func TestUIDThatChangesInMidStreamClosesIt(t *testing.T) {
	h := start(t, nil)
	f := newFakeAgent("search-0", "u0")
	h.serve("10.0.0.1", search, f)
	h.Follow(search, following(zero))
	eventually(t, func() bool { return h.State(search).Reports["u0"].Report != nil })
	f.say(func(r *rollcallv1.Report) { r.Identity.PodUid = "u9"; r.Roles = []string{"impostor"} })
	eventually(t, func() bool { return h.State(search).Problems["u0"] != "" })
	require.Empty(t, h.State(search).Reports["u0"].Report.GetRoles())
	f.say(func(r *rollcallv1.Report) { r.Identity.PodUid = "u0" })
	eventually(t, func() bool {
		return len(h.State(search).Reports["u0"].Report.GetRoles()) == 1 && h.State(search).Problems["u0"] == ""
	})
}

func TestOtherClustersAreNotHeard(t *testing.T) {
	for name, change := range map[string]func(*rollcallv1.Identity){
		"name":      func(i *rollcallv1.Identity) { i.Cluster = "other" },
		"namespace": func(i *rollcallv1.Identity) { i.Namespace = "test" },
		"uid":       func(i *rollcallv1.Identity) { i.ClusterUid = "d1" },
		"pod":       func(i *rollcallv1.Identity) { i.Pod = "search-1" },
		"nobody":    func(i *rollcallv1.Identity) { i.Reset() },
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t, nil)
			f := newFakeAgent("search-0", "u0")
			change(f.report.Identity)
			h.serve("10.0.0.1", search, f)
			h.Follow(search, following(zero))
			eventually(t, func() bool { return strings.Contains(h.State(search).Problems["u0"], "another pod answered") })
			require.Empty(t, h.State(search).Reports)
			require.Empty(t, h.State(search).Rosters)
		})
	}
}

// The certificate names the database cluster, so an agent of another one is not
// even asked.
func TestCertificateOfAnotherClusterIsRefused(t *testing.T) {
	h := start(t, nil)
	f := newFakeAgent("search-0", "u0")
	h.serve("10.0.0.1", Key{Namespace: "prod", Name: "other"}, f)
	h.Follow(search, following(zero))
	eventually(t, func() bool { return strings.Contains(h.State(search).Problems["u0"], "certificate") })
	require.Zero(t, f.open("reports"))
}

func TestRenewedAuthorityCountsWithoutRestart(t *testing.T) {
	other := newAuthority(t)
	h := start(t, func(o *Options) {
		good := o.TLS
		calls := 0
		o.TLS = func() (*tls.Config, error) {
			config, err := good()
			if calls++; calls < 3 {
				config.RootCAs = other.pool
			}
			return config, err
		}
	})
	h.serve("10.0.0.1", search, newFakeAgent("search-0", "u0"))
	h.Follow(search, following(zero))
	eventually(t, func() bool { return h.State(search).Reports["u0"].Report != nil })
}

func TestStreamsComeBackAfterARestart(t *testing.T) {
	h := start(t, nil)
	stop := h.serve("10.0.0.1", search, newFakeAgent("search-0", "u0"))
	h.Follow(search, following(zero))
	eventually(t, func() bool { return h.State(search).Reports["u0"].Report != nil })
	stop()
	eventually(t, func() bool { return h.State(search).Problems["u0"] != "" })
	require.NotNil(t, h.State(search).Reports["u0"].Report, "what was said last stays, and ages")

	// A later run of the agent counts its observations from one again.
	again := newFakeAgent("search-0", "u0")
	again.report.Identity.Incarnation, again.report.Roles = 2, []string{"back"}
	h.serve("10.0.0.1", search, again)
	eventually(t, func() bool { return len(h.State(search).Reports["u0"].Report.GetRoles()) == 1 })
	eventually(t, func() bool { return len(h.State(search).Problems) == 0 })
}

func TestSilentStreamIsStartedAnew(t *testing.T) {
	h := start(t, func(o *Options) { o.Silence = 50 * time.Millisecond })
	f := newFakeAgent("search-0", "u0")
	f.hang = true
	h.serve("10.0.0.1", search, f)
	h.Follow(search, following(zero))
	eventually(t, func() bool { return strings.Contains(h.State(search).Problems["u0"], "no report for 50ms") })
	f.say(func(*rollcallv1.Report) { f.hang = false })
	eventually(t, func() bool { return h.State(search).Reports["u0"].Report != nil })
}

// A report that was overtaken does not come back.
func TestOldReportsAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, nil)
		f := newFakeAgent("search-0", "u0")
		h.serve("10.0.0.1", search, f)
		h.Follow(search, following(zero))
		f.say(func(r *rollcallv1.Report) { r.Sequence = 50 })
		eventually(t, func() bool { return h.State(search).Reports["u0"].Report.GetSequence() == 50 })
		f.say(func(r *rollcallv1.Report) { r.Sequence = 20; r.Roles = []string{"old"} })
		synctest.Wait()
		require.Empty(t, h.State(search).Reports["u0"].Report.GetRoles())
	})
}

// Not even by way of a rest, in which no report is held.
func TestOldReportsStayDroppedAfterARest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, nil)
		f := newFakeAgent("search-0", "u0")
		f.report.Sequence = 50
		h.serve("10.0.0.1", search, f)
		rest := following(zero)
		rest.Reports = false
		came := func() bool { return h.State(search).Reports["u0"].Report.GetSequence() == 50 }
		h.Follow(search, following(zero))
		eventually(t, came)
		h.Follow(search, rest)
		eventually(t, func() bool { return f.open("reports") == 0 })
		require.Empty(t, h.State(search).Reports)

		f.say(func(r *rollcallv1.Report) { r.Sequence = 20; r.Roles = []string{"old"} })
		h.Follow(search, following(zero))
		synctest.Wait()
		require.Equal(t, 1, f.open("reports"), "it was sent")
		require.Empty(t, h.State(search).Reports)
		f.say(func(r *rollcallv1.Report) { r.Sequence = 19 })
		_, err := h.Fresh(t.Context(), search, "u0")
		require.ErrorIs(t, err, ErrPlayedBack)
		f.say(func(r *rollcallv1.Report) { r.Sequence = 50 })
		eventually(t, came)
	})
}

// What a fresh report shows began after the call for it.
func TestFreshIsLaterThanTheCall(t *testing.T) {
	h := start(t, nil)
	f := newFakeAgent("search-0", "u0")
	h.serve("10.0.0.1", search, f)
	h.Follow(search, Following{Agents: []Target{zero}, AllGroups: true})
	before := time.Now()
	r, err := h.Fresh(t.Context(), search, "u0")
	require.NoError(t, err)
	require.False(t, r.At.Before(before))
	require.EqualValues(t, 2, r.Report.GetSequence())
	require.Equal(t, r, h.State(search).Reports["u0"])
	require.True(t, f.requests[0].GetFresh() && f.requests[0].GetAllGroups())
	require.NoError(t, h.Refresh(t.Context(), search))
	require.EqualValues(t, 3, h.State(search).Reports["u0"].Report.GetSequence())
}

func TestCallsFailWithReasons(t *testing.T) {
	h := start(t, func(o *Options) { o.CallTimeout = 50 * time.Millisecond })
	_, err := h.Fresh(t.Context(), search, "u0")
	require.ErrorIs(t, err, ErrNotFollowed)
	without := zero
	without.IP = ""
	h.Follow(search, following(without))
	_, err = h.Drain(t.Context(), search, "u0", &rollcallv1.DrainRequest{}, time.Now().Add(time.Minute))
	require.ErrorIs(t, err, ErrNotFollowed)
	h.Follow(search, following(zero))
	_, err = h.Fresh(t.Context(), search, "u0")
	require.Equal(t, codes.DeadlineExceeded, status.Code(err))
	require.ErrorContains(t, h.Refresh(t.Context(), search), "fresh report of search-0")
}

func TestOrdersReachTheirPod(t *testing.T) {
	h := start(t, nil)
	f := newFakeAgent("search-0", "u0")
	f.drain = func(r *rollcallv1.DrainRequest) (*rollcallv1.DrainResponse, error) {
		if r.GetFence().GetEpoch() < 5 {
			return nil, status.Error(codes.FailedPrecondition, "epoch 4 is lower than 5")
		}
		return &rollcallv1.DrainResponse{Detail: r.GetPodUid()}, nil
	}
	f.restore = func(r *rollcallv1.RestoreRequest) (*rollcallv1.RestoreResponse, error) {
		return &rollcallv1.RestoreResponse{Done: true, Detail: r.GetClaim()}, nil
	}
	h.serve("10.0.0.1", search, f)
	h.Follow(search, Following{Agents: []Target{zero}})
	p, err := h.Drain(t.Context(), search, "u0", &rollcallv1.DrainRequest{Fence: &rollcallv1.Fence{Epoch: 5}}, time.Now().Add(time.Minute))
	require.NoError(t, err)
	require.Equal(t, "u0", p.GetDetail(), "the pod that is meant is named")
	_, err = h.Drain(t.Context(), search, "u0", &rollcallv1.DrainRequest{Fence: &rollcallv1.Fence{Epoch: 4}}, time.Now().Add(time.Minute))
	require.Equal(t, codes.FailedPrecondition, status.Code(err))
	r, err := h.Restore(t.Context(), search, "u0", &rollcallv1.RestoreRequest{Claim: "c1"})
	require.NoError(t, err)
	require.Equal(t, "c1", r.GetDetail())
}

// An idle cluster costs two rosters, from two zones, and no reports; one with work three and all reports.
func TestIdleClusterHasRostersOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, nil)
		var targets []Target
		var fakes []*fakeAgent
		for i := range 6 {
			target := Target{Pod: fmt.Sprintf("search-%d", i), UID: fmt.Sprintf("u%d", i), IP: fmt.Sprintf("10.0.0.%d", i), Zone: fmt.Sprintf("z%d", i/2)}
			f := newFakeAgent(target.Pod, target.UID)
			h.serve(target.IP, search, f)
			targets, fakes = append(targets, target), append(fakes, f)
		}
		idle := following(targets...)
		idle.Reports = false
		h.Follow(search, idle)
		eventually(t, func() bool { return len(h.State(search).Rosters) == 2 })
		require.Equal(t, []string{"search-0", "search-2"}, podsOf(h.State(search).Rosters))
		require.Empty(t, h.State(search).Reports)

		h.Follow(search, following(targets...))
		eventually(t, func() bool { return len(h.State(search).Reports) == 6 && len(h.State(search).Rosters) == 3 })
		require.Equal(t, []string{"search-0", "search-2", "search-4"}, podsOf(h.State(search).Rosters))
		all := following(targets...)
		all.AllGroups = true
		h.Follow(search, all)
		eventually(t, func() bool { return fakes[5].open("all") == 1 && fakes[5].open("reports") == 0 })
		h.Follow(search, idle)
		eventually(t, func() bool { return fakes[5].open("all") == 0 && fakes[0].open("roster") == 1 })
		require.Empty(t, h.State(search).Reports, "what nobody follows is not kept")

		h.Forget(search)
		eventually(t, func() bool { return fakes[0].open("roster") == 0 })
		require.Empty(t, h.State(search).Rosters)
	})
}

// A witness that does not answer is replaced.
func TestWitnessThatFailsIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, func(o *Options) { o.Witnesses = 1 })
		one := Target{Pod: "search-1", UID: "u1", IP: "10.0.0.2", Zone: "z1"}
		h.serve(one.IP, search, newFakeAgent("search-1", "u1"))
		idle := following(zero, one)
		idle.Reports = false
		h.Follow(search, idle)
		eventually(t, func() bool { return len(h.State(search).Rosters) == 1 })
		require.Equal(t, []string{"search-1"}, podsOf(h.State(search).Rosters))
	})
}

func podsOf(rosters []ReceivedRoster) []string {
	var pods []string
	for _, r := range rosters {
		pods = append(pods, r.Pod)
	}
	return pods
}

func TestWitnesses(t *testing.T) {
	targets := []Target{
		{Pod: "a", UID: "a", IP: "1", Zone: "z1"}, {Pod: "b", UID: "b", IP: "1", Zone: "z1"},
		{Pod: "c", UID: "c", IP: "1", Zone: "z2"}, {Pod: "d", UID: "d", Zone: "z3"},
	}
	names := func(failing ...string) string {
		bad := strings.Join(failing, "")
		text := ""
		for _, w := range witnesses(targets, func(t Target) bool { return strings.Contains(bad, t.Pod) }, 2) {
			text += w.Pod
		}
		return text
	}
	require.Equal(t, "ac", names())
	require.Equal(t, "bc", names("a"))
	require.Equal(t, "ab", names("c"))
	require.Equal(t, "ca", names("a", "b"), "better one that fails than none")
}

func TestMessagesAreBounded(t *testing.T) {
	h := start(t, func(o *Options) { o.MaxMessage = 1 << 10 })
	f := newFakeAgent("search-0", "u0")
	f.report.VerdictReason = strings.Repeat("x", 2<<10)
	h.serve("10.0.0.1", search, f)
	h.Follow(search, following(zero))
	eventually(t, func() bool { return strings.Contains(h.State(search).Problems["u0"], "larger than max") })
	require.Empty(t, h.State(search).Reports)
}

func TestNothingIsLeftAfterRun(t *testing.T) {
	h := start(t, nil)
	f := newFakeAgent("search-0", "u0")
	h.serve("10.0.0.1", search, f)
	h.Follow(search, following(zero))
	eventually(t, func() bool { return f.open("reports") == 1 && f.open("roster") == 1 })
	h.stop()
	eventually(t, func() bool { return f.open("reports") == 0 && f.open("roster") == 0 })
	h.Follow(search, following(zero)) // too late
	require.Empty(t, h.State(search).Reports)
}

func TestReportAgeMetric(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		h := start(t, func(o *Options) { o.Registerer = registry })
		f := newFakeAgent("search-0", "u0")
		f.report.Age, f.report.ObservedAt = durationpb.New(90*time.Second), timestamppb.New(time.Now().Add(-90*time.Second))
		h.serve("10.0.0.1", search, f)
		h.Follow(search, following(zero))
		eventually(t, func() bool { return h.State(search).Reports["u0"].Report != nil })
		families, err := registry.Gather()
		require.NoError(t, err)
		require.Equal(t, "rollcall_report_age_seconds", families[3].GetName())
		metric := families[3].GetMetric()[0]
		require.InDelta(t, 90, metric.GetGauge().GetValue(), 5)
		require.Equal(t, "prod/search", metric.GetLabel()[0].GetValue())
		h.Forget(search)
		families, err = registry.Gather()
		require.NoError(t, err)
		require.Len(t, families, 2, "what was refused, and had to wait, is of no cluster")
	})
}

func TestOptionsAreValidated(t *testing.T) {
	_, err := New(Options{})
	require.ErrorContains(t, err, "TLS is required")
	_, err = New(Options{Plaintext: true, TLS: func() (*tls.Config, error) { return nil, nil }})
	require.ErrorContains(t, err, "exclude each other")
	a, err := New(Options{Plaintext: true})
	require.NoError(t, err)
	require.Equal(t, 7947, a.opts.Port)
}
