package status

import (
	"errors"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
)

func conditionOf(t *testing.T, list []v1alpha1.Condition, kind string) v1alpha1.Condition {
	t.Helper()
	for _, c := range list {
		if c.Type == kind {
			return c
		}
	}
	require.Failf(t, "no such condition", "%s", kind)
	return v1alpha1.Condition{}
}

func TestConditions(t *testing.T) {
	phase := func(d Decision, p model.ClusterPhase) Decision {
		d.Phase = p
		return d
	}
	done := search(t, func(s *model.Snapshot) { s.Pools[0].Revision = "v1"; podOf(s, "search-2").Revision = "v1" })
	paused := search(t, func(s *model.Snapshot) { s.Cluster.Paused = true })
	for name, c := range map[string]struct {
		d                           Decision
		ready, reconciling, stalled metav1.ConditionStatus
		readyReason                 string
	}{
		"done":                         {phase(done, model.ClusterDone), "True", "False", "False", "Done"},
		"rolling":                      {search(t, claimed(model.PhaseGone)), "False", "True", "False", "Rolling"},
		"about to begin":               {search(t), "False", "True", "False", "Rolling"},
		"paused":                       {phase(paused, model.ClusterPaused), "False", "False", "False", "paused"},
		"stalled":                      {phase(paused, model.ClusterStalled), "False", "False", "True", "Stalled"},
		"waiting":                      {phase(paused, model.ClusterWaiting), "False", "True", "False", "paused"},
		"idle with an unavailable pod": {phase(Decision{Moment: progress.Moment{Pods: PodCounts{Desired: 3, Away: 1}}}, model.ClusterIdle), "False", "False", "False", "PodsUnavailable"},
		"idle, little is known":        {phase(Decision{}, model.ClusterIdle), "False", "False", "False", "Idle"},
	} {
		t.Run(name, func(t *testing.T) {
			list := Conditions(c.d, nil, 7)
			require.Equal(t, c.ready, conditionOf(t, list, v1alpha1.ConditionReady).Status)
			require.Equal(t, c.readyReason, conditionOf(t, list, v1alpha1.ConditionReady).Reason)
			require.Equal(t, c.reconciling, conditionOf(t, list, v1alpha1.ConditionReconciling).Status)
			require.Equal(t, c.stalled, conditionOf(t, list, v1alpha1.ConditionStalled).Status)
			for _, c := range list {
				require.EqualValues(t, 7, c.ObservedGeneration)
				require.NotEmpty(t, c.Message, c.Type)
			}
		})
	}
}

func TestReasonIsTheRule(t *testing.T) {
	d := search(t, func(s *model.Snapshot) { s.Health.Verdict = model.VerdictRed })
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionReconciling} {
		require.Equal(t, string(model.RuleHealth), conditionOf(t, Conditions(d, nil, 1), kind).Reason, kind)
	}
	long := d
	long.Phase = model.ClusterStalled
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled} {
		require.Equal(t, string(model.RuleHealth), conditionOf(t, Conditions(long, nil, 1), kind).Reason, kind)
	}
	available := conditionOf(t, Conditions(d, nil, 1), v1alpha1.ConditionAvailable)
	require.Equal(t, metav1.ConditionFalse, available.Status)
	require.Equal(t, string(model.RuleHealth), available.Reason)
}

func TestAvailableIsUnknownWhenNobodySays(t *testing.T) {
	d := search(t, func(s *model.Snapshot) { s.Health.Verdict = model.VerdictUnknown })
	require.Equal(t, metav1.ConditionUnknown, conditionOf(t, Conditions(d, nil, 1), v1alpha1.ConditionAvailable).Status)
	d.Snapshot.Health.Verdict = ""
	require.Equal(t, metav1.ConditionUnknown, conditionOf(t, Conditions(d, nil, 1), v1alpha1.ConditionAvailable).Status)
}

func TestTransitionTimeMovesWithTheStatusOnly(t *testing.T) {
	first := search(t)
	list := Conditions(first, []v1alpha1.Condition{{Type: "SomebodyElses", Status: "True", Reason: "X"}}, 1)
	again := Conditions(search(t, later(time.Minute)), list, 2)
	require.Equal(t, "X", conditionOf(t, again, "SomebodyElses").Reason)
	require.Equal(t, first.DecidedAt, conditionOf(t, again, v1alpha1.ConditionReady).LastTransitionTime.Time)

	d := search(t, later(2*time.Minute))
	d.Phase = model.ClusterDone
	changed := Conditions(d, again, 2)
	require.Equal(t, d.DecidedAt, conditionOf(t, changed, v1alpha1.ConditionReady).LastTransitionTime.Time)
	require.Equal(t, first.DecidedAt, conditionOf(t, changed, v1alpha1.ConditionInitialized).LastTransitionTime.Time)
	require.Equal(t, first.DecidedAt, conditionOf(t, list, v1alpha1.ConditionReady).LastTransitionTime.Time, "the object's own list is not written to")
}

func TestForeignBudgetIsACondition(t *testing.T) {
	d := search(t, func(s *model.Snapshot) { podOf(s, "search-1").Refused = model.RuleForeignBudget })
	require.Equal(t, metav1.ConditionTrue, conditionOf(t, Conditions(d, nil, 1), v1alpha1.ConditionForeignBudget).Status)
	require.Equal(t, metav1.ConditionFalse, conditionOf(t, Conditions(search(t), nil, 1), v1alpha1.ConditionForeignBudget).Status)
}

// One that selects a pod is a condition before it has refused anything.
func TestForeignBudgetThatSelectsIsACondition(t *testing.T) {
	d := search(t)
	d.Guard.ForeignBudget = "PodDisruptionBudget charts selects search-1"
	c := conditionOf(t, Conditions(d, nil, 1), v1alpha1.ConditionForeignBudget)
	require.Equal(t, metav1.ConditionTrue, c.Status)
	require.Equal(t, "SelectsPods", c.Reason)
	require.Equal(t, d.Guard.ForeignBudget, c.Message)
}

// The schema of conditions refuses other reasons.
func TestReasonsFitTheSchema(t *testing.T) {
	fits := regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:-]*[A-Za-z0-9_])?$`)
	for _, rule := range model.Rules() {
		require.Regexp(t, fits, string(rule))
	}
	for _, phase := range []model.ClusterPhase{"", "Idle", "Rolling", "Waiting", "Paused", "Stalled", "Done"} {
		for _, d := range []Decision{
			{},
			{Moment: progress.Moment{Pods: PodCounts{Desired: 3, Away: 1}}},
			{Moment: progress.Moment{Pods: PodCounts{Desired: 3}, Resets: map[string]int{"search": 3}}},
			{Guard: Guard{ForeignBudget: "PodDisruptionBudget charts selects search-1"}},
			{Moment: progress.Moment{Claims: []model.Claim{{Pod: "search-1"}}}, SpecError: errors.New("no")},
			{Moment: progress.Moment{Snapshot: model.Snapshot{Cluster: model.Cluster{Status: model.Status{Initialized: true}}, Health: model.Health{Verdict: model.VerdictGreen}}}},
		} {
			d.Phase = phase
			for _, c := range Conditions(d, nil, 1) {
				require.Regexp(t, fits, c.Reason, c.Type)
			}
		}
	}
	for _, c := range Unknown(nil, "the pods are not known", true, 1, time.Unix(1, 0)) {
		require.Regexp(t, fits, c.Reason, c.Type)
	}
}

// What cannot be read is told where people look for what they must mend.
func TestASpecThatCannotBeReadIsStalled(t *testing.T) {
	d := search(t)
	d.SpecError = errors.New("spec.update.restartSchedule: no")
	for _, c := range Conditions(d, nil, 1) {
		if c.Type == v1alpha1.ConditionStalled {
			require.Equal(t, metav1.ConditionTrue, c.Status)
			require.Equal(t, "bad-input", c.Reason)
			require.Equal(t, "spec.update.restartSchedule: no", c.Message)
			return
		}
	}
	t.Fatal("no condition Stalled")
}

// What is missing until the database is healthy for the first time is said: until then
// nothing is guarded.
func TestReasonWhyItWasNeverHealthy(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(d *Decision)
		want string
	}{
		"pods are not Ready":                      {func(d *Decision) { d.Pods.Ready, d.Pods.Away = 2, 1 }, ": 2 of 3 pods are Ready, 1 unavailable"},
		"pods are Ready and not counted on yet":   {func(d *Decision) { d.Pods.Ready, d.Pods.Away = 3, 3 }, ": 3 of 3 pods are Ready, 3 unavailable"},
		"rosters alone tell, which is not enough": {func(d *Decision) { d.Snapshot.Health.Verdict = model.VerdictGreen }, ""},
		"no verdict": {func(d *Decision) { d.Snapshot.Health.Reason = "no agent gives a verdict" }, ": its health is Unknown, not Green: no agent gives a verdict"},
		"copies are missing": {func(d *Decision) {
			d.Snapshot.Health = model.Health{Verdict: model.VerdictRecoverable, Reason: "db-2 is broken"}
		}, ": its health is Recoverable, not Green: db-2 is broken"},
	} {
		t.Run(name, func(t *testing.T) {
			d := search(t)
			d.Snapshot.Cluster.Status.Initialized = false
			d.Snapshot.Health = model.Health{Verdict: model.VerdictUnknown}
			d.Pods.Desired, d.Pods.Ready, d.Pods.Away = 3, 3, 0
			c.edit(&d)
			require.Equal(t, "the database has not been healthy yet"+c.want, conditionOf(t, Conditions(d, nil, 1), v1alpha1.ConditionInitialized).Message)
		})
	}
}
