package coordinator

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/agents"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
	"github.com/rollcall-dev/rollcall/coordinator/status"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
	"github.com/rollcall-dev/rollcall/test/race"
)

func TestPatience(t *testing.T) {
	base := v1alpha1.Status{
		ObservedGeneration: 3, Phase: model.ClusterRolling, Epoch: 2,
		Pods:   model.PodCounts{Desired: 3, Ready: 3},
		Holds:  []model.Hold{{Pod: "s-0", Rule: model.RulePodBudget, Reason: "2 of 3"}},
		Claims: []model.Claim{{ID: "c", Phase: model.PhaseDrained}},
		Conditions: []v1alpha1.Condition{
			{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionFalse, Reason: "Progressing"},
			{Type: v1alpha1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: "Healthy"},
		},
	}
	for name, c := range map[string]struct {
		change func(s *v1alpha1.Status)
		wait   time.Duration
	}{
		"nothing":                   {func(*v1alpha1.Status) {}, 0},
		"words":                     {func(s *v1alpha1.Status) { s.Holds[0].Reason = "3 of 3" }, 0},
		"times":                     {func(s *v1alpha1.Status) { s.LastProgress = model.At(time.Unix(5, 0)) }, 0},
		"phase":                     {func(s *v1alpha1.Status) { s.Phase = model.ClusterStalled }, promptly},
		"another topology":          {func(s *v1alpha1.Status) { s.Topology = model.TopologyFixedPrimary }, promptly},
		"another template":          {func(s *v1alpha1.Status) { s.UpdateRevisions = map[string]string{"s": "v2"} }, promptly},
		"stalled":                   {func(s *v1alpha1.Status) { s.Conditions[0].Status = metav1.ConditionTrue }, promptly},
		"the rollout is halted":     {func(s *v1alpha1.Status) { s.Holds = []model.Hold{{Rule: model.RuleRolloutHalted}} }, promptly},
		"a pod failed":              {func(s *v1alpha1.Status) { s.Pods.Failed = 1 }, promptly},
		"a number, claims are open": {func(s *v1alpha1.Status) { s.Pods.Ready = 2 }, sometimes},
		"a phase on the way":        {func(s *v1alpha1.Status) { s.Claims[0].Phase = model.PhaseOpened }, sometimes},
		"a claimed pod went":        {func(s *v1alpha1.Status) { s.Claims[0].Phase = model.PhaseGone }, soon},
		"a number, nothing is open": {func(s *v1alpha1.Status) { s.Claims, s.Pods.Ready = nil, 2 }, soon},
	} {
		t.Run(name, func(t *testing.T) {
			next := *base.DeepCopy()
			c.change(&next)
			wait, differs := patience(base, next)
			require.Equal(t, c.wait != 0, differs)
			require.Equal(t, c.wait, wait)
		})
	}
	source, err := os.ReadFile(filepath.Join("api", "v1alpha1", "status.go"))
	require.NoError(t, err)
	types := regexp.MustCompile(`(?m)^\tCondition\w+ += "(\w+)"`).FindAllSubmatch(source, -1)
	require.GreaterOrEqual(t, len(types), 8)
	for _, m := range types {
		next := *base.DeepCopy()
		next.Conditions = append(slices.DeleteFunc(next.Conditions, func(c v1alpha1.Condition) bool { return c.Type == string(m[1]) }),
			v1alpha1.Condition{Type: string(m[1]), Status: metav1.ConditionUnknown, Reason: "Another"})
		_, differs := patience(base, next)
		require.True(t, differs, "condition %s", m[1])
	}
	for _, phase := range model.ClaimPhases() {
		next := *base.DeepCopy()
		next.Claims[0].Phase = phase
		_, differs := patience(base, next)
		require.Equal(t, phase != base.Claims[0].Phase, differs, "claim %s", phase)
	}
}

// While a database rests no report tells what runs, and the tag of an image may be of another thing.
func TestFinishedVersionIsKept(t *testing.T) {
	d := status.Decision{Idle: true, Moment: progress.Moment{Phase: model.ClusterDone, Snapshot: model.Snapshot{Pools: []model.Pool{{Name: "s", Revision: "v2", Version: "2026.11"}}}}}
	noted := []v1alpha1.FinishedRollout{{Pool: "s", Revision: "v2", Version: "9.9.0"}}
	require.Equal(t, noted, finished(noted, d))
	d.Idle = false
	require.Equal(t, "2026.11", finished(noted, d)[0].Version, "what reports say counts")
	d.Idle = true
	d.Snapshot.Pools[0].Revision = "v3"
	require.Equal(t, []v1alpha1.FinishedRollout{{Pool: "s", Revision: "v3", Version: "2026.11"}}, finished(noted, d))
}

// What a stalled rollout waits for may change while the rule stays.
func TestWhatAStallSaysIsKeptUp(t *testing.T) {
	says := func(text string) v1alpha1.Status {
		return v1alpha1.Status{
			Claims:     []model.Claim{{ID: "c", Phase: model.PhaseGone}},
			Conditions: []v1alpha1.Condition{{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: "LineStopped", Message: text}},
		}
	}
	_, differs := patience(says("s-2 (claimed, gone): no node takes it, for 75s"), says("s-2 (claimed, gone): no node takes it, for 1m15s"))
	require.False(t, differs)
	wait, differs := patience(says("s-2 (claimed, restoring): no node takes it, for 75s"), says("s-2 (claimed, gone): no node takes it, for 75s"))
	require.True(t, differs)
	require.Equal(t, soon, wait)
}

// A wait that counts down says nothing new.
func TestAStallThatCountsDownIsNotWrittenAgain(t *testing.T) {
	race.Heavy(t)
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("search", 3)
		db.edit(func(c *v1alpha1.DatabaseCluster) { c.Spec.Policy.SoakSeconds = 2400 })
		p := w.start()
		defer p.end()
		time.Sleep(45 * time.Minute)
		db.roll("v2")
		time.Sleep(15 * time.Minute)
		require.Equal(t, model.ClusterStalled, db.status().Phase)
		before := p.total()
		time.Sleep(10 * time.Minute)
		require.LessOrEqual(t, p.total()-before, 2, "%v", p.writes)
	})
}

func TestAScheduleIsFollowedFromWhenItIsFirstSeen(t *testing.T) {
	now := time.Unix(1000, 0)
	d := &v1alpha1.DatabaseCluster{}
	require.Nil(t, followed(d, now))
	d.Spec.Update.RestartSchedule = "0 3 * * *"
	d.Status.RestartSchedule = followed(d, now)
	require.Equal(t, &v1alpha1.RestartSchedule{Schedule: "0 3 * * *", Since: model.At(now)}, d.Status.RestartSchedule)
	require.Equal(t, d.Status.RestartSchedule, followed(d, now.Add(time.Hour)), "the first time stays")
	d.Spec.Update.RestartSchedule = "0 4 * * *"
	require.Equal(t, model.At(now.Add(time.Hour)), followed(d, now.Add(time.Hour)).Since, "a changed one begins again")

	wait, differs := patience(v1alpha1.Status{}, v1alpha1.Status{RestartSchedule: d.Status.RestartSchedule})
	require.True(t, differs)
	require.Equal(t, promptly, wait, "until it is noted nothing is due")
}

func TestHealthByRoster(t *testing.T) {
	entry := func(v rollcallv1.Verdict, l rollcallv1.Liveness) *rollcallv1.RosterEntry {
		return &rollcallv1.RosterEntry{Liveness: l, Headline: &rollcallv1.Headline{Verdict: v}}
	}
	alive, dead := rollcallv1.Liveness_LIVENESS_ALIVE, rollcallv1.Liveness_LIVENESS_DEAD
	green, yellow, red := rollcallv1.Verdict_VERDICT_GREEN, rollcallv1.Verdict_VERDICT_YELLOW, rollcallv1.Verdict_VERDICT_RED
	for want, entries := range map[model.Verdict][]*rollcallv1.RosterEntry{
		model.VerdictUnknown: nil,
		model.VerdictGreen:   {entry(green, alive), entry(red, dead)},
		model.VerdictYellow:  {entry(green, alive), entry(yellow, alive)},
	} {
		state := agents.State{Rosters: []agents.ReceivedRoster{{Roster: &rollcallv1.Roster{Entries: entries}}}}
		require.Equal(t, want, healthByRoster(state).Verdict)
	}
}
