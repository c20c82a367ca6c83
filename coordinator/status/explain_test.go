package status

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

func factOf(t *testing.T, e Explanation, name string) Fact {
	t.Helper()
	for _, f := range e.Facts {
		if f.Name == name {
			return f
		}
	}
	require.Failf(t, "no such fact", "%s among %v", name, e.Facts)
	return Fact{}
}

func TestExplainVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		pod     string
		changes []func(*model.Snapshot)
		verdict Verdict
		rule    model.Rule
		text    []string
	}{
		"goes": {
			pod: "search-1", verdict: VerdictGo,
			text: []string{"go     search-1 Restart after Handoff (Outdated)"},
		},
		"is held": {
			pod: "search-0", verdict: VerdictHold, rule: model.RuleLeaderLast,
			text: []string{"hold   search-0 leader-last: ", "unblocked by: "},
		},
		"is held with the whole cluster": {
			pod: "search-1", verdict: VerdictHold, rule: model.RulePaused,
			changes: []func(*model.Snapshot){func(s *model.Snapshot) { s.Cluster.Paused = true }},
			text:    []string{"hold   search-1 paused: "},
		},
		"is claimed": {
			pod: "search-1", verdict: VerdictClaimed,
			changes: []func(*model.Snapshot){claimed(model.PhaseGone)},
			text:    []string{"claim  search-1 Gone Restart after Handoff (Outdated)", "the recreated pod is awaited", "claimed 12s ago"},
		},
		"is up to date": {
			pod: "search-2", verdict: VerdictUpToDate,
			text: []string{"it runs revision v2, which StatefulSet search wants"},
		},
		"nothing is known of the revision": {
			pod: "search-2", verdict: VerdictUpToDate,
			changes: []func(*model.Snapshot){func(s *model.Snapshot) { s.Pools[0].Revision = "" }},
			text:    []string{"which revision its StatefulSet wants is not known"},
		},
		"Kubernetes has not looked": {
			pod: "search-2", verdict: VerdictUpToDate,
			changes: []func(*model.Snapshot){func(s *model.Snapshot) { s.Pools[0].Observed = false }},
			text:    []string{"has not yet looked at the newest change of StatefulSet search"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := Explain(search(t, c.changes...), c.pod)
			require.NoError(t, err)
			require.Equal(t, c.verdict, e.Verdict, e.Text)
			require.Equal(t, c.rule, e.Rule)
			for _, text := range c.text {
				require.Contains(t, e.Text, text)
			}
		})
	}
}

// A replacement says in words what it waits for.
func TestExplainReplacements(t *testing.T) {
	replacing := func(phase model.ClaimPhase, volumes ...model.VolumeClaim) func(*model.Snapshot) {
		return func(s *model.Snapshot) {
			claimed(phase)(s)
			c := &s.Cluster.Status.Claims[0]
			c.Action, c.Prepare, c.Reason, c.Volumes = model.ActionReplace, model.PrepareEvacuate, model.ReasonReplacement, volumes
		}
	}
	data, logs := model.VolumeClaim{Name: "data-search-1", UID: "v1"}, model.VolumeClaim{Name: "logs-search-1", UID: "v2"}
	for name, c := range map[string]struct {
		change func(*model.Snapshot)
		waits  string
		want   []string
	}{
		"data is moved": {func(s *model.Snapshot) {
			replacing(model.PhaseDraining)(s)
			podOf(s, "search-1").Report.DrainDetail = "excluded, 3 roles left"
		}, "excluded, 3 roles left", []string{"claim  search-1 Draining Replace after Evacuate (Replacement)", "moving data off search-1: excluded, 3 roles left"}},
		"something is left": {replacing(model.PhaseDrained), "not empty: books/s1 has a member on it that is Active",
			[]string{"data is off search-1, says its agent", "waiting: not empty: books/s1 has a member on it that is Active"}},
		"it is empty": {replacing(model.PhaseEmptied, data, logs), "pod-budget: too many",
			[]string{"nothing is left on search-1; volume claim data-search-1 and 1 more and the pod are about to be deleted", "waiting: pod-budget: too many"}},
		"its volume goes": {replacing(model.PhaseGone, data), "volume claim data-search-1 is being deleted",
			[]string{"the recreated pod is awaited with fresh data, in place of volume claim data-search-1", "waiting: volume claim data-search-1 is being deleted"}},
		"it is included": {replacing(model.PhaseRestoring), "", []string{"what kept data away from it is being undone"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := search(t, c.change)
			if c.waits != "" {
				d.Waiting = map[string]string{"search-1": c.waits}
			}
			e, err := Explain(d, "search-1")
			require.NoError(t, err)
			for _, text := range c.want {
				require.Contains(t, e.Text, text)
			}
			if c.waits != "" {
				require.Contains(t, claimWait(d, d.Claims[0]).Reason, c.waits, "and so does the condition when it stalls")
			}
		})
	}
}

func TestExplainShowsFactsWithTheirAge(t *testing.T) {
	e, err := Explain(search(t), "search-1")
	require.NoError(t, err)
	require.Equal(t, Fact{"phase", "Ready", 3 * 60 * 60}, factOf(t, e, "phase"))
	require.Equal(t, Fact{"revision", "v1, should be v2", -1}, factOf(t, e, "revision"))
	require.Equal(t, Fact{"zone", "z2", -1}, factOf(t, e, "zone"))
	require.Equal(t, Fact{"node", "n2, cordoned", -1}, factOf(t, e, "node"))
	require.Equal(t, Fact{"report", "by its own agent, fresh", 0.8}, factOf(t, e, "report"))
	require.Equal(t, Fact{"member", "Live", 0.8}, factOf(t, e, "member"))
	require.Equal(t, "Shard, 3 of 3 Active: search-0 Active leader, search-1 Active, search-2 Active", factOf(t, e, "group books/s1").Value)
	require.Equal(t, "0 of at most 1 pods unavailable, of which 0 claimed", factOf(t, e, "budget").Value)
	require.Equal(t, "Green", factOf(t, e, "health").Value)

	e, err = Explain(search(t), "search-0")
	require.NoError(t, err)
	require.Equal(t, "overseer, goes last", factOf(t, e, "roles").Value)
}

func TestExplainBadNews(t *testing.T) {
	d := search(t, func(s *model.Snapshot) {
		p := podOf(s, "search-1")
		p.Phase, p.Problem, p.Report = model.PodPhaseFailed, model.ProblemCrashLoop, nil
		podOf(s, "search-0").Report.Fresh = false
		podOf(s, "search-0").Report.Self = false
		podOf(s, "search-0").Report.Veto = "a backup runs"
		s.Groups[0].Members[1].State = model.MemberRecovering
		progress := 0.7
		s.Groups[0].Members[1].Progress = &progress
		s.Health = model.Health{Verdict: model.VerdictYellow, Reason: "one copy is missing", Disagree: "search-2 sees another leader"}
	})
	e, err := Explain(d, "search-1")
	require.NoError(t, err)
	require.Equal(t, "Failed, CrashLoop", factOf(t, e, "phase").Value)
	require.Equal(t, "none: its agent has not been heard", factOf(t, e, "report").Value)
	require.Contains(t, factOf(t, e, "group books/s1").Value, "2 of 3 Active: search-0 Active leader, search-1 Recovering 70%")
	require.Equal(t, "Yellow, one copy is missing", factOf(t, e, "health").Value)
	require.Equal(t, "search-2 sees another leader", factOf(t, e, "disagreement").Value)

	d.Refused = map[string]string{podOf(&d.Snapshot, "search-1").UID: "its message is refused (amplification)"}
	e, err = Explain(d, "search-1")
	require.NoError(t, err)
	require.Equal(t, "its message is refused (amplification)", factOf(t, e, "agent").Value)

	e, err = Explain(d, "search-0")
	require.NoError(t, err)
	require.Equal(t, "by the agents of other pods, too old to decide on", factOf(t, e, "report").Value)
	require.Equal(t, "a backup runs", factOf(t, e, "veto").Value)
}

// What the agent waits for while it drains a pod is what keeps the rollout.
func TestExplainSaysWhatADrainWaitsFor(t *testing.T) {
	const words = "nobody can take over: search-1 lags 34s"
	d := search(t, claimed(model.PhaseDraining), func(s *model.Snapshot) {
		report := podOf(s, s.Cluster.Status.Claims[0].Pod).Report
		report.Drain, report.DrainDetail = model.DrainRunning, words
	})
	claim := d.Snapshot.Cluster.Status.Claims[0]
	e, err := Explain(d, claim.Pod)
	require.NoError(t, err)
	require.Contains(t, e.Text, "its agent makes it safe to stop: "+words)
	require.Equal(t, "Draining: "+words, factOf(t, e, "drain").Value)

	d.Snapshot.Cluster.Status.Claims[0].UID = "another pod of this name"
	require.NotContains(t, claimWords(d, d.Snapshot.Cluster.Status.Claims[0]), words)
}

func TestExplainUnknownPod(t *testing.T) {
	_, err := Explain(search(t), "search-9")
	require.ErrorIs(t, err, ErrNoSuchPod)
	require.ErrorContains(t, err, "search-9 is not one of the 3 pods of prod/search")
}

// Every phase of a claim has words, so that nobody reads a bare name.
func TestEveryClaimPhaseHasWords(t *testing.T) {
	for _, phase := range model.ClaimPhases() {
		require.NotContains(t, claimPhaseText(phase), "this version does not know", phase)
	}
	require.Contains(t, claimPhaseText("Dancing"), "Dancing")
}

func TestVerdictRoundTrip(t *testing.T) {
	for _, v := range []Verdict{VerdictGo, VerdictHold, VerdictClaimed, VerdictUpToDate} {
		text, err := json.Marshal(v)
		require.NoError(t, err)
		var back Verdict
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, v, back)
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second:           "0s",
		800 * time.Millisecond: "800ms",
		12 * time.Second:       "12s",
		90 * time.Second:       "90s",
		5 * time.Minute:        "5m",
		3 * time.Hour:          "3h",
		50 * time.Hour:         "2d",
	} {
		require.Equal(t, want, Age(d))
	}
	require.NotContains(t, Age(time.Minute), " ")
}

// A pod whose new image cannot be pulled halts the rollout; asked about it, the explanation says
// all of that.
func TestExplainPodThatHaltedTheRollout(t *testing.T) {
	d := search(t, claimed(model.PhaseGone), back, later(11*time.Minute), func(s *model.Snapshot) {
		p := podOf(s, "search-1")
		p.Phase, p.Problem, p.Report, p.Since = model.PodPhaseNotStarted, model.ProblemImagePull, nil, model.At(s.Now.Add(-11*time.Minute))
		s.Groups[0].Members[1].State = model.MemberDown
	})
	e, err := Explain(d, "search-1")
	require.NoError(t, err)
	require.Equal(t, VerdictClaimed, e.Verdict)
	require.Contains(t, e.Text, "claim  search-1 Gone Restart after Handoff (Outdated)\nremoved; ")
	require.Contains(t, e.Text, "\nwaiting: ")
	require.Contains(t, e.Text, "\nit counts as failed")
	require.Contains(t, e.Text, "\nhold   - rollout-halted: ")
	require.Equal(t, "NotStarted, ImagePull", factOf(t, e, "phase").Value)

	for _, c := range Conditions(d, nil, 1) {
		if c.Type == "Reconciling" || c.Type == "Ready" {
			require.Equal(t, string(model.RuleRolloutHalted), c.Reason, "not that a pod is on its way")
		}
	}
}

// All rules that fail are said, the one that counts first.
func TestExplainSaysAllThatHolds(t *testing.T) {
	e, err := Explain(search(t, func(s *model.Snapshot) { podOf(s, "search-0").Report.Veto = "a backup runs" }), "search-0")
	require.NoError(t, err)
	require.Equal(t, model.RuleVeto, e.Rule)
	require.Contains(t, e.Text, "hold   search-0 veto: ")
	require.Contains(t, e.Text, "\nalso   search-0 leader-last: ")
}
