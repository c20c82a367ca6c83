package policy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Whoever does not serve is named, whatever the cause and whatever else goes on; who
// serves is not.
func TestAbsences(t *testing.T) {
	one := func(change func(*Snapshot, *Pod)) []Absence {
		s := threePods(t)
		change(&s, &s.Pods[2])
		return Absences(s)
	}
	require.Empty(t, one(func(*Snapshot, *Pod) {}), "solr-2 is claimed, out of date, and serves")
	for name, c := range map[string]struct {
		change func(*Snapshot, *Pod)
		want   Absence
	}{
		"missing":       {func(_ *Snapshot, p *Pod) { p.Phase, p.UID = Missing, "" }, Absence{Why: "missing"}},
		"no entry":      {func(s *Snapshot, _ *Pod) { s.Pods = s.Pods[:2] }, Absence{Why: "missing"}},
		"terminating":   {func(_ *Snapshot, p *Pod) { p.Phase = Terminating }, Absence{Why: "terminating"}},
		"unschedulable": {func(_ *Snapshot, p *Pod) { p.Phase, p.Problem = Pending, Unschedulable }, Absence{Why: "pending (Unschedulable)", Problem: Unschedulable}},
		"image":         {func(_ *Snapshot, p *Pod) { p.Phase, p.Problem = NotStarted, ImagePull }, Absence{Why: "not started (ImagePull)", Problem: ImagePull}},
		"not ready":     {func(_ *Snapshot, p *Pod) { p.Phase = Started }, Absence{Why: "not ready"}},
		"failed":        {func(_ *Snapshot, p *Pod) { p.Phase, p.Problem = Failed, CrashLoop }, Absence{Why: "failed (CrashLoop)", Problem: CrashLoop}},
		"node gone":     {func(_ *Snapshot, p *Pod) { p.Problem = NodeGone }, Absence{Why: "on a node that is gone", Problem: NodeGone}},
		"not live":      {func(_ *Snapshot, p *Pod) { p.Report.Member = NotLive }, Absence{Why: "not live in the database"}},
		"unknown":       {func(_ *Snapshot, p *Pod) { p.Report.Member = UnknownMember }, Absence{Why: "not known to be live in the database"}},
		"silent":        {func(_ *Snapshot, p *Pod) { p.Report = nil }, Absence{Why: "without a report"}},
		"not settled":   {func(_ *Snapshot, p *Pod) { p.Report.Settled = false }, Absence{Why: "not settled"}},
	} {
		c.want.Pod = "solr-2"
		require.Equal(t, []Absence{c.want}, one(c.change), name)
	}

	since := At(threePods(t).Now.Add(-time.Hour))
	require.Equal(t, since, one(func(_ *Snapshot, p *Pod) { p.Phase, p.Since = Started, since })[0].Since)
	require.Zero(t, one(func(_ *Snapshot, p *Pod) { p.Report.Member, p.Since = NotLive, since })[0].Since,
		"it has been Ready since then, and nobody says since when it is not live")
	require.Equal(t, since, one(func(_ *Snapshot, p *Pod) { p.Report.Member, p.Report.NotLiveSeconds = NotLive, 3600 })[0].Since)
	require.Empty(t, one(func(s *Snapshot, p *Pod) { s.Cluster.Spec.Policy.SoakSeconds, p.Since = 600, s.Now }), "it soaks")
	require.Empty(t, one(func(s *Snapshot, _ *Pod) {
		s.Pools[0].Strategy, s.Cluster.GuardEnforcing = RollingUpdateStrategy, false
	}), "its controller may take it")
	require.Empty(t, one(func(s *Snapshot, p *Pod) { s.Pools[0].Replicas, p.Phase = 2, Terminating }), "it is not wanted")
}
