package coordinator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/agents"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/status"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

func TestPatience(t *testing.T) {
	base := v1alpha1.Status{
		ObservedGeneration: 3, Phase: model.ClusterRolling, Epoch: 2,
		Pods:   v1alpha1.PodCounts{Desired: 3, Ready: 3},
		Holds:  []model.Hold{{Pod: "s-0", Rule: model.PodsAway, Reason: "2 of 3"}},
		Claims: []model.Claim{{ID: "c", Phase: model.PhasePrepared}},
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
		"another template":          {func(s *v1alpha1.Status) { s.UpdateRevisions = map[string]string{"s": "v2"} }, promptly},
		"stalled":                   {func(s *v1alpha1.Status) { s.Conditions[0].Status = metav1.ConditionTrue }, promptly},
		"the line is stopped":       {func(s *v1alpha1.Status) { s.Holds = []model.Hold{{Rule: model.LineStopped}} }, promptly},
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
}

// While a database rests no report tells what runs, and the tag of an image may be of another thing.
func TestTheFinishedVersionStaysAtRest(t *testing.T) {
	d := status.Decision{Idle: true, Phase: model.ClusterDone, Snapshot: model.Snapshot{Pools: []model.Pool{{Name: "s", Revision: "v2", Version: "2026.11"}}}}
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
	require.Equal(t, model.At(now.Add(time.Hour)), followed(d, now.Add(time.Hour)).Since, "a changed one begins anew")

	wait, differs := patience(v1alpha1.Status{}, v1alpha1.Status{RestartSchedule: d.Status.RestartSchedule})
	require.True(t, differs)
	require.Equal(t, promptly, wait, "until it is noted nothing is due")
}

func TestProgress(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	busy := func(updated, away int32, phases ...model.ClaimPhase) status.Decision {
		d := status.Decision{Plan: model.Plan{Order: []string{"s-0"}}, Pods: status.PodCounts{Updated: updated, Away: away}}
		for i, phase := range phases {
			d.Claims = append(d.Claims, model.Claim{ID: string(rune('a' + i)), UID: string(rune('a' + i)), Phase: phase})
		}
		return d
	}
	p := newProgress(at(1))
	p.note(at(10), busy(0, 0))
	require.Equal(t, at(1), p.at, "a successor knows of no progress")
	p.note(at(20), busy(0, 1, model.PhaseClaimed))
	require.Equal(t, at(20), p.at, "a claim")
	p.note(at(30), busy(0, 1, model.PhaseClaimed))
	require.Equal(t, at(20), p.at, "nothing changed")
	p.note(at(40), busy(0, 1, model.PhaseGone))
	require.Equal(t, at(40), p.at, "the claim went on")
	p.note(at(50), busy(1, 1, model.PhaseGone))
	require.Equal(t, at(50), p.at, "a pod is updated")
	p.note(at(60), busy(1, 2, model.PhaseGone))
	require.Equal(t, at(50), p.at, "worse is no progress")
	p.note(at(70), status.Decision{Pods: status.PodCounts{Updated: 1, Away: 2}})
	require.Equal(t, at(70), p.at, "the claim was released")
	p.note(at(80), busy(1, 2))
	require.Equal(t, at(80), p.at, "there is something to do again, from now on")

	reported := func(member model.Membership) status.Decision {
		d := busy(1, 2)
		d.Snapshot.Pods = []model.Pod{{Name: "s-0", UID: "a", Phase: model.Ready, Agent: true, Report: &model.Report{Member: member, Settled: true}}}
		return d
	}
	p.note(at(90), reported(model.NotLive))
	require.Equal(t, at(80), p.at, "Ready, and not back in the database")
	p.note(at(100), reported(model.Live))
	require.Equal(t, at(100), p.at, "back")
	p.note(at(110), reported(model.NotLive))
	require.Equal(t, at(100), p.at)
}

// What begins, or goes on after a person or a clock said that it may, is not
// stalled by the time of what came before it; and a claim that is made and given
// up again and again gets nowhere.
func TestWaitsHaveADeadlineOfTheirOwn(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	waits := func(rule model.Rule, claims ...model.Claim) status.Decision {
		return status.Decision{Claims: claims, Plan: model.Plan{Order: []string{"s-0"}, Holds: []model.Hold{{Rule: rule, Reason: "because"}}},
			Snapshot: model.Snapshot{Pods: []model.Pod{{Name: "s-0", UID: "u0"}}}}
	}
	p := newProgress(at(1))
	p.note(at(5), status.Decision{})
	require.True(t, p.note(at(10), waits(model.OutsideWindow)), "there is something to do")
	require.False(t, p.note(at(5000), waits(model.OutsideWindow)))
	require.Empty(t, p.held, "nobody needs to look at what was asked for")
	require.True(t, p.note(at(6000), waits(model.Unhealthy)), "the window has opened")
	require.False(t, p.note(at(6100), waits(model.Unhealthy)))
	require.Equal(t, at(6000), p.held["health"])
	require.False(t, p.note(at(6200), waits(model.ViewSplit)))
	require.Equal(t, map[string]time.Time{"view-split": at(6200)}, p.held, "one that ends and comes again begins anew")

	claim := model.Claim{ID: "a", Pod: "s-0", UID: "u0", Phase: model.PhasePrepared}
	require.True(t, p.note(at(7000), waits(model.ViewSplit, claim)))
	for i := range 5 {
		claim.ID += "a"
		claim.Phase = model.PhaseClaimed
		require.False(t, p.note(at(7100+100*i), waits(model.ViewSplit)), "given up")
		require.False(t, p.note(at(7110+100*i), waits(model.ViewSplit, claim)), "claimed again")
		claim.Phase = model.PhasePrepared
		require.False(t, p.note(at(7120+100*i), waits(model.ViewSplit, claim)), "and prepared again")
		claim.Phase = model.PhaseRestoring
		require.False(t, p.note(at(7130+100*i), waits(model.ViewSplit, claim)), "and undone")
	}
	require.Equal(t, at(7000), p.at)
	claim.Phase = model.PhaseOpened
	require.True(t, p.note(at(8000), waits(model.ViewSplit, claim)), "it went on")
}

func TestHealthByRoster(t *testing.T) {
	entry := func(v rollcallv1.Verdict, l rollcallv1.Liveness) *rollcallv1.RosterEntry {
		return &rollcallv1.RosterEntry{Liveness: l, Headline: &rollcallv1.Headline{Verdict: v}}
	}
	alive, dead := rollcallv1.Liveness_LIVENESS_ALIVE, rollcallv1.Liveness_LIVENESS_DEAD
	green, yellow, red := rollcallv1.Verdict_VERDICT_GREEN, rollcallv1.Verdict_VERDICT_YELLOW, rollcallv1.Verdict_VERDICT_RED
	for want, entries := range map[model.Verdict][]*rollcallv1.RosterEntry{
		model.UnknownHealth: nil,
		model.Green:         {entry(green, alive), entry(red, dead)},
		model.Yellow:        {entry(green, alive), entry(yellow, alive)},
	} {
		state := agents.State{Rosters: []agents.ReceivedRoster{{Roster: &rollcallv1.Roster{Entries: entries}}}}
		require.Equal(t, want, healthByRoster(state).Verdict)
	}
}
