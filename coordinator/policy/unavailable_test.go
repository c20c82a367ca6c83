package policy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// A pod that does not serve is named, whatever the cause and whatever else goes on. A pod that
// serves is not.
func TestUnavailablePods(t *testing.T) {
	one := func(change func(*model.Snapshot, *model.Pod)) []UnavailablePod {
		s := threePods(t)
		change(&s, &s.Pods[2])
		return UnavailablePods(s)
	}
	require.Empty(t, one(func(*model.Snapshot, *model.Pod) {}), "solr-2 is claimed, out of date, and serves")
	for name, c := range map[string]struct {
		change func(*model.Snapshot, *model.Pod)
		want   UnavailablePod
	}{
		"missing":     {func(_ *model.Snapshot, p *model.Pod) { p.Phase, p.UID = model.PodPhaseMissing, "" }, UnavailablePod{Why: "missing"}},
		"no entry":    {func(s *model.Snapshot, _ *model.Pod) { s.Pods = s.Pods[:2] }, UnavailablePod{Why: "missing"}},
		"terminating": {func(_ *model.Snapshot, p *model.Pod) { p.Phase = model.PodPhaseTerminating }, UnavailablePod{Why: "terminating"}},
		"unschedulable": {func(_ *model.Snapshot, p *model.Pod) {
			p.Phase, p.Problem = model.PodPhasePending, model.ProblemUnschedulable
		}, UnavailablePod{Why: "pending (Unschedulable)", Problem: model.ProblemUnschedulable}},
		"image": {func(_ *model.Snapshot, p *model.Pod) {
			p.Phase, p.Problem = model.PodPhaseNotStarted, model.ProblemImagePull
		}, UnavailablePod{Why: "not started (ImagePull)", Problem: model.ProblemImagePull}},
		"not ready": {func(_ *model.Snapshot, p *model.Pod) { p.Phase = model.PodPhaseStarted }, UnavailablePod{Why: "not ready"}},
		"failed": {func(_ *model.Snapshot, p *model.Pod) {
			p.Phase, p.Problem = model.PodPhaseFailed, model.ProblemCrashLoop
		}, UnavailablePod{Why: "failed (CrashLoop)", Problem: model.ProblemCrashLoop}},
		"node gone":   {func(_ *model.Snapshot, p *model.Pod) { p.Problem = model.ProblemNodeGone }, UnavailablePod{Why: "on a node that is gone", Problem: model.ProblemNodeGone}},
		"not live":    {func(_ *model.Snapshot, p *model.Pod) { p.Report.Member = model.MembershipNotLive }, UnavailablePod{Why: "not live in the database"}},
		"unknown":     {func(_ *model.Snapshot, p *model.Pod) { p.Report.Member = model.MembershipUnknown }, UnavailablePod{Why: "not known to be live in the database"}},
		"silent":      {func(_ *model.Snapshot, p *model.Pod) { p.Report = nil }, UnavailablePod{Why: "without a report"}},
		"not settled": {func(_ *model.Snapshot, p *model.Pod) { p.Report.Settled = false }, UnavailablePod{Why: "not settled"}},
	} {
		c.want.Pod = "solr-2"
		require.Equal(t, []UnavailablePod{c.want}, one(c.change), name)
	}

	since := model.At(threePods(t).Now.Add(-time.Hour))
	require.Equal(t, since, one(func(_ *model.Snapshot, p *model.Pod) { p.Phase, p.Since = model.PodPhaseStarted, since })[0].Since)
	require.Zero(t, one(func(_ *model.Snapshot, p *model.Pod) { p.Report.Member, p.Since = model.MembershipNotLive, since })[0].Since,
		"it has been Ready since then, and nobody says since when it is not live")
	require.Equal(t, since, one(func(_ *model.Snapshot, p *model.Pod) {
		p.Report.Member, p.Report.NotLiveSeconds = model.MembershipNotLive, 3600
	})[0].Since)
	require.Empty(t, one(func(s *model.Snapshot, p *model.Pod) { s.Cluster.Spec.Policy.SoakSeconds, p.Since = 600, s.Now }), "it soaks")
	require.Empty(t, one(func(s *model.Snapshot, _ *model.Pod) {
		s.Pools[0].Strategy, s.Cluster.GuardEnforcing = model.StrategyRollingUpdate, false
	}), "its controller may take it")
	require.Empty(t, one(func(s *model.Snapshot, p *model.Pod) { s.Pools[0].Replicas, p.Phase = 2, model.PodPhaseTerminating }), "it is not wanted")
}
