package status

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// The condition Stalled names the rule that has held longest of those that others
// do not merely follow from, for how long, and what a person can do.
func TestStalledNamesWhatHeldLongest(t *testing.T) {
	gone := func(s *model.Snapshot) {
		claimed(model.PhaseGone)(s)
		p := podOf(s, "search-1")
		p.UID, p.Phase, p.Problem, p.Revision, p.Report = "u1b", model.PodPhaseNotStarted, model.ProblemVolume, "v2", nil
		p.Since = model.At(s.Now.Add(-8 * time.Minute))
	}
	stopped := func(s *model.Snapshot) {
		p := podOf(s, "search-2")
		p.Phase, p.Problem, p.Report = model.PodPhaseNotStarted, model.ProblemImagePull, nil
		s.Pools[0].FinishedRevision = "v1"
	}
	sick := func(s *model.Snapshot) { s.Health.Verdict = model.VerdictRed }
	split := func(s *model.Snapshot) { s.Health.Disagree = "search-0 sees 2 members, search-1 sees 3" }
	window := func(s *model.Snapshot) { s.Cluster.Window.Open = false }
	for name, c := range map[string]struct {
		d               Decision
		held            map[string]time.Duration
		reason, message string
	}{
		"a claim that does not go on": {search(t, gone), map[string]time.Duration{"pod-budget": time.Hour, "k1 Gone": 11 * time.Minute}, "claimed",
			"search-1: the recreated pod is NotStarted and its agent has sent no report: a volume cannot be attached or mounted, or the pod gets no network, for 11m" +
				"; unblocked by: a report from its agent; to do: look for FailedAttachVolume, FailedMount or FailedCreatePodSandBox in kubectl describe pod; " +
				"a volume that is still attached to another node is let go when its VolumeAttachment is, or that node is back"},
		"a drain that does not end": {search(t, claimed(model.PhaseDraining), sick), map[string]time.Duration{"k1 Draining": 20 * time.Minute}, "health",
			"search-1: the database is Red, policy.health requires at least Recoverable, for 20m; unblocked by: a verdict of at least Recoverable"},
		"the partition stops everybody": {search(t, stopped), map[string]time.Duration{"rollout-halted": 3 * time.Minute, "pod-budget": time.Hour}, "rollout-halted",
			"1 new pod of revision v2 failed to return, such as search-2 (not started (ImagePull)): an image cannot be pulled; the limit is 1" +
				"; revision v1 of search finished last, for 3m; unblocked by: a corrected template, or search-2 back; to do: correct the image or its " +
				"pull secret in the template, or make the registry answer; kubectl describe pod names the image"},
		"no claim, and two rules of everybody": {search(t, sick, split), map[string]time.Duration{"health": 30 * time.Minute, "view-split": 12 * time.Minute}, "health",
			"the database is Red, policy.health requires at least Recoverable, for 30m; unblocked by: a verdict of at least Recoverable"},
		"the other one is older": {search(t, sick, split), map[string]time.Duration{"health": 12 * time.Minute, "view-split": 30 * time.Minute}, "view-split",
			"the agents do not agree: search-0 sees 2 members, search-1 sees 3, for 30m; unblocked by: a majority of the agents agreeing"},
		"a closed window is no stall": {search(t, sick, window), map[string]time.Duration{"outside-window": time.Hour}, "health",
			"the database is Red, policy.health requires at least Recoverable; unblocked by: a verdict of at least Recoverable"},
		"steps that nobody takes": {search(t, func(s *model.Snapshot) {
			p := podOf(s, "search-0")
			p.Revision = "v2"
		}), nil, "Stalled", "2 of 3 pods updated, and nothing holds the others: see the coordinator's log"},
	} {
		t.Run(name, func(t *testing.T) {
			c.d.Phase = model.ClusterStalled
			c.d.HeldSince = map[string]time.Time{}
			for key, lasted := range c.held {
				c.d.HeldSince[key] = c.d.DecidedAt.Add(-lasted)
			}
			var keys []string
			for _, w := range Waits(c.d) {
				keys = append(keys, w.Key)
			}
			require.Equal(t, keys, progress.WaitKeys(&c.d.Moment))
			stalled := conditionOf(t, Conditions(c.d, nil, 1), v1alpha1.ConditionStalled)
			require.Equal(t, c.reason, stalled.Reason)
			require.Equal(t, c.message, stalled.Message)

			// Everything that shows it says the same.
			require.Equal(t, &rollcallv1.Stall{Rule: c.reason, Message: c.message}, ClusterProto(c.d).GetStalled())
			e, err := Explain(c.d, c.d.Snapshot.Pods[0].Name)
			require.NoError(t, err)
			require.Contains(t, e.Facts, Fact{Name: "stalled", Value: c.reason + ": " + c.message, AgeSeconds: timeless})
			m := newMetrics(prometheus.NewRegistry())
			m.Decided(nil, c.d)
			require.Equal(t, 1.0, testutil.ToFloat64(m.stalled.WithLabelValues(c.d.Key.String(), c.reason)))
			moved := c.d
			moved.Phase = model.ClusterRolling
			m.Decided(&c.d, moved)
			require.Zero(t, testutil.CollectAndCount(m.stalled))
			require.Nil(t, ClusterProto(moved).GetStalled())

			before := c.d
			before.Phase = model.ClusterWaiting
			events := Events(&before, c.d)
			require.Equal(t, "no progress: "+c.reason+": "+c.message, events[len(events)-1].Note)
		})
	}
}

// Whoever asks about a pod reads what is wrong with it, and what to do.
func TestExplainSaysWhatToDo(t *testing.T) {
	d := search(t, func(s *model.Snapshot) {
		p := podOf(s, "search-1")
		p.Phase, p.Problem, p.Node, p.Report = model.PodPhaseTerminating, model.ProblemNodeGone, "n2", nil
		s.Nodes[1].Gone = true
	})
	e, err := Explain(d, "search-1")
	require.NoError(t, err)
	require.Contains(t, e.Text, "node-gone: it is terminating on n2, which is gone")
	facts := map[string]string{}
	for _, f := range e.Facts {
		facts[f.Name] = f.Value
	}
	require.Equal(t, model.ProblemNodeGone.Wrong(), facts["problem"])
	require.Equal(t, model.ProblemNodeGone.Advice(), facts["to do"])
}

// A setting of the whole database that is not put back stalls in the end, with the words of whoever
// tried, even if there is nothing else to do.
func TestASettingThatIsNotPutBackStalls(t *testing.T) {
	d := search(t)
	d.Claims, d.Plan = nil, model.Plan{Phase: model.ClusterDone}
	judge := func() time.Time {
		var next time.Time
		d.Phase, next = progress.Judge(&d.Moment, false, false)
		return next
	}
	require.Zero(t, judge())

	d.Settings = map[string]string{"cluster.routing.allocation.enable": "no agent is there to put it back"}
	d.Snapshot.Cluster.Spec.Policy.ProgressSeconds = 600
	require.Equal(t, []string{"setting cluster.routing.allocation.enable"}, progress.WaitKeys(&d.Moment))
	require.Equal(t, d.DecidedAt.Add(10*time.Minute), judge())
	require.Equal(t, model.ClusterDone, d.Phase)
	d.HeldSince = map[string]time.Time{"setting cluster.routing.allocation.enable": d.DecidedAt.Add(-599 * time.Second)}
	require.Equal(t, d.DecidedAt.Add(time.Second), judge())
	require.Equal(t, model.ClusterDone, d.Phase)
	d.HeldSince["setting cluster.routing.allocation.enable"] = d.DecidedAt.Add(-10 * time.Minute)
	judge()
	require.Equal(t, model.ClusterStalled, d.Phase)
	paused := d.Moment
	paused.Plan.Phase = model.ClusterPaused
	phase, _ := progress.Judge(&paused, false, false)
	require.Equal(t, model.ClusterPaused, phase)

	require.Equal(t, &Stall{Rule: "SettingNotRestored", Message: "cluster.routing.allocation.enable is still as a restart has set it, and could not be put back: " +
		"no agent is there to put it back, for 10m; unblocked by: a live pod with an agent, or the setting put back by hand"}, StallOf(d))
}
