package policy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Whoever does not serve is named, whatever the cause and whatever else goes on; who
// serves is not.
func TestAbsences(t *testing.T) {
	one := func(change func(*model.Snapshot, *model.Pod)) []Absence {
		s := threePods(t)
		change(&s, &s.Pods[2])
		return Absences(s)
	}
	require.Empty(t, one(func(*model.Snapshot, *model.Pod) {}), "solr-2 is claimed, out of date, and serves")
	for name, c := range map[string]struct {
		change func(*model.Snapshot, *model.Pod)
		want   Absence
	}{
		"missing":       {func(_ *model.Snapshot, p *model.Pod) { p.Phase, p.UID = model.Missing, "" }, Absence{Why: "missing"}},
		"no entry":      {func(s *model.Snapshot, _ *model.Pod) { s.Pods = s.Pods[:2] }, Absence{Why: "missing"}},
		"terminating":   {func(_ *model.Snapshot, p *model.Pod) { p.Phase = model.Terminating }, Absence{Why: "terminating"}},
		"unschedulable": {func(_ *model.Snapshot, p *model.Pod) { p.Phase, p.Problem = model.Pending, model.Unschedulable }, Absence{Why: "pending (Unschedulable)", Problem: model.Unschedulable}},
		"image":         {func(_ *model.Snapshot, p *model.Pod) { p.Phase, p.Problem = model.NotStarted, model.ImagePull }, Absence{Why: "not started (ImagePull)", Problem: model.ImagePull}},
		"not ready":     {func(_ *model.Snapshot, p *model.Pod) { p.Phase = model.Started }, Absence{Why: "not ready"}},
		"failed":        {func(_ *model.Snapshot, p *model.Pod) { p.Phase, p.Problem = model.Failed, model.CrashLoop }, Absence{Why: "failed (CrashLoop)", Problem: model.CrashLoop}},
		"node gone":     {func(_ *model.Snapshot, p *model.Pod) { p.Problem = model.NodeGone }, Absence{Why: "on a node that is gone", Problem: model.NodeGone}},
		"not live":      {func(_ *model.Snapshot, p *model.Pod) { p.Report.Member = model.NotLive }, Absence{Why: "not live in the database"}},
		"unknown":       {func(_ *model.Snapshot, p *model.Pod) { p.Report.Member = model.UnknownMember }, Absence{Why: "not known to be live in the database"}},
		"silent":        {func(_ *model.Snapshot, p *model.Pod) { p.Report = nil }, Absence{Why: "without a report"}},
		"not settled":   {func(_ *model.Snapshot, p *model.Pod) { p.Report.Settled = false }, Absence{Why: "not settled"}},
	} {
		c.want.Pod = "solr-2"
		require.Equal(t, []Absence{c.want}, one(c.change), name)
	}

	since := model.At(threePods(t).Now.Add(-time.Hour))
	require.Equal(t, since, one(func(_ *model.Snapshot, p *model.Pod) { p.Phase, p.Since = model.Started, since })[0].Since)
	require.Zero(t, one(func(_ *model.Snapshot, p *model.Pod) { p.Report.Member, p.Since = model.NotLive, since })[0].Since,
		"it has been Ready since then, and nobody says since when it is not live")
	require.Equal(t, since, one(func(_ *model.Snapshot, p *model.Pod) { p.Report.Member, p.Report.NotLiveSeconds = model.NotLive, 3600 })[0].Since)
	require.Empty(t, one(func(s *model.Snapshot, p *model.Pod) { s.Cluster.Spec.Policy.SoakSeconds, p.Since = 600, s.Now }), "it soaks")
	require.Empty(t, one(func(s *model.Snapshot, _ *model.Pod) {
		s.Pools[0].Strategy, s.Cluster.GuardEnforcing = model.RollingUpdateStrategy, false
	}), "its controller may take it")
	require.Empty(t, one(func(s *model.Snapshot, p *model.Pod) { s.Pools[0].Replicas, p.Phase = 2, model.Terminating }), "it is not wanted")
}
