package status

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

func reasons(events []Event) []string {
	var list []string
	for _, e := range events {
		list = append(list, e.Reason)
	}
	return list
}

func eventOf(t *testing.T, events []Event, reason string) Event {
	t.Helper()
	for _, e := range events {
		if e.Reason == reason {
			return e
		}
	}
	require.Failf(t, "no such event", "%s among %v", reason, reasons(events))
	return Event{}
}

func TestNoEventsBeforeTheFirstDecision(t *testing.T) {
	require.Empty(t, Events(nil, search(t, claimed(model.PhaseGone))))
}

func TestNoEventsBetweenEqualDecisions(t *testing.T) {
	d := search(t, claimed(model.PhaseDraining))
	require.Empty(t, Events(&d, search(t, claimed(model.PhaseDraining), later(time.Second))))
}

// One restart, decision by decision.
func TestEventsOfOneRestart(t *testing.T) {
	decisions := []Decision{
		search(t),
		search(t, claimed(model.PhaseClaimed)),
		search(t, claimed(model.PhaseDraining)),
		search(t, claimed(model.PhaseDrained)),
		search(t, claimed(model.PhaseOpened)),
		search(t, claimed(model.PhaseGone)),
		search(t, claimed(model.PhaseGone), back),
		search(t, claimed(model.PhaseRejoined), back),
		search(t, claimed(model.PhaseRestoring), back),
		search(t, claimed(model.PhaseSettling), back),
		search(t, back),
	}
	var got []string
	for i := range decisions[1:] {
		for _, e := range Events(&decisions[i], decisions[i+1]) {
			if e.Reason == EventRestartHeld {
				continue // told in a test of its own
			}
			require.Equal(t, "search-1", e.Pod)
			require.Equal(t, "c1", e.ClusterUID)
			got = append(got, fmt.Sprintf("%s %s", e.Reason, e.PodUID))
		}
	}
	require.Equal(t, []string{
		"RestartSelected u1", "DrainStarted u1", "Drained u1", "PodRestarted u1", "PodReturned u1b",
	}, got)
}

// A claim that is given up undoes its drain. Its pod never went, and so nothing says that it did.
func TestEventsOfAClaimThatIsGivenUp(t *testing.T) {
	decisions := []Decision{
		search(t, claimed(model.PhaseDraining)), search(t, claimed(model.PhaseRestoring)), search(t),
	}
	require.Empty(t, Events(&decisions[0], decisions[1]))
	require.Empty(t, Events(&decisions[1], decisions[2]))
	e, err := Explain(decisions[1], "search-1")
	require.NoError(t, err)
	require.Contains(t, e.Text, "what its preparation changed is being undone")
	require.NotContains(t, e.Text, "waiting: ")
}

// Decisions are coalesced, so phases are skipped; nothing is told twice or lost.
func TestEventsOfSkippedPhases(t *testing.T) {
	before, after := search(t), search(t, claimed(model.PhaseSettling), back)
	got := reasons(Events(&before, after))
	require.Equal(t, []string{EventRestartSelected, EventDrainStarted, EventDrained, EventPodRestarted, EventPodReturned}, without(got, EventRestartHeld))

	gone := search(t, claimed(model.PhaseGone))
	released := search(t, back)
	require.Equal(t, []string{EventPodReturned}, without(reasons(Events(&gone, released)), EventRestartHeld))
}

// A claim whose recreated pod does not start says so, and not that the
// pod is back.
func TestEventsOfAPodThatDoesNotReturn(t *testing.T) {
	crashes := func(s *model.Snapshot) {
		back(s)
		p := podOf(s, "search-1")
		p.Phase, p.Problem, p.Report.Member = model.PodPhaseFailed, model.ProblemCrashLoop, model.MembershipNotLive
	}
	gone, restoring, over := search(t, claimed(model.PhaseGone), crashes), search(t, claimed(model.PhaseRestoring), crashes), search(t, crashes)
	events := slices.DeleteFunc(Events(&gone, restoring), func(e Event) bool { return e.Reason == EventRestartHeld })
	require.Len(t, events, 1)
	require.Equal(t, EventPodNotReturned, events[0].Reason)
	require.True(t, events[0].Warning)
	require.Contains(t, events[0].Note, "on revision v2: CrashLoop")
	require.NotContains(t, reasons(Events(&restoring, over)), EventPodNotReturned, "once")
	require.Equal(t, []string{EventPodNotReturned}, without(reasons(Events(&gone, over)), EventRestartHeld))
}

// Nor does a pod fail to return that has no session for a moment when its claim ends.
func TestABlipIsNoFailureToReturn(t *testing.T) {
	blip := func(s *model.Snapshot) {
		back(s)
		r := podOf(s, "search-1").Report
		r.Member, r.NotLiveSeconds = model.MembershipNotLive, 1
	}
	gone, over := search(t, claimed(model.PhaseGone), back), search(t, blip)
	require.Equal(t, []string{EventPodReturned}, without(reasons(Events(&gone, over)), EventRestartHeld))
}

func without(list []string, out string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return s == out })
}

func TestGivenUpClaimIsNoReturn(t *testing.T) {
	prepared, released := search(t, claimed(model.PhaseDrained)), search(t)
	require.NotContains(t, reasons(Events(&prepared, released)), EventPodReturned)
}

func TestPodRemovedByOthersWasNotDrained(t *testing.T) {
	never := func(s *model.Snapshot) { s.Cluster.Status.Claims[0].Undo = nil }
	before, after := search(t, claimed(model.PhaseClaimed), never), search(t, claimed(model.PhaseGone), never)
	require.NotContains(t, reasons(Events(&before, after)), EventDrained)
}

func TestDrainTimesOutOnce(t *testing.T) {
	at := func(d time.Duration) Decision {
		return search(t, claimed(model.PhaseDraining), func(s *model.Snapshot) {
			s.Cluster.Spec.Drain.TimeoutSeconds = 60
			start := s.Cluster.Status.Claims[0].StartedAt
			s.Now = model.At(start.Add(d))
		})
	}
	before, after, later := at(59*time.Second), at(60*time.Second), at(61*time.Second)
	e := eventOf(t, Events(&before, after), EventDrainTimedOut)
	require.True(t, e.Warning)
	require.Contains(t, e.Note, "Handoff is not done after 60s")
	require.NotContains(t, reasons(Events(&after, later)), EventDrainTimedOut)

	// The default is 300 s.
	plain, plainLater := search(t, claimed(model.PhaseDraining)), search(t, claimed(model.PhaseDraining), later299)
	require.Contains(t, reasons(Events(&plain, plainLater)), EventDrainTimedOut)
}

func later299(s *model.Snapshot) { s.Now = model.At(s.Now.Add(299 * time.Second)) }

func TestUnplannedUpdate(t *testing.T) {
	before, after := search(t), search(t, back)
	e := eventOf(t, Events(&before, after), EventUnplannedUpdate)
	require.True(t, e.Warning)
	require.Equal(t, "search-1: went from revision v1 to v2 without being asked to", e.Note)

	planned := search(t, claimed(model.PhaseGone))
	require.NotContains(t, reasons(Events(&planned, after)), EventUnplannedUpdate)

	same := search(t, func(s *model.Snapshot) { podOf(s, "search-1").UID = "u1b" })
	require.NotContains(t, reasons(Events(&before, same)), EventUnplannedUpdate, "a restart on the old revision is no update")
}

func TestHeldEventWhenTheRuleChanges(t *testing.T) {
	free := search(t)
	vetoed := func(words string) Decision {
		return search(t, func(s *model.Snapshot) { podOf(s, "search-1").Report.Veto = words })
	}
	held := vetoed("a backup runs")
	events := Events(&free, held)
	require.Equal(t, []string{EventRestartHeld, EventRestartHeld}, reasons(events), "what is told of the only pod stands on the cluster too")
	require.Contains(t, events[1].Note, "leader-last", "nothing goes, so that is told as well")
	require.Equal(t, "search-1", events[0].Pod)
	require.Contains(t, events[0].Note, "search-1: veto: ")
	require.Contains(t, events[0].Note, "a backup runs")

	more := vetoed("a backup runs, 50 %")
	require.Empty(t, Events(&held, more), "other words of the same rule are no news")
}

// What a pod on its way sets off is told only when it lasts.
func TestEffectsOfARestartAreNoEvents(t *testing.T) {
	red := func(s *model.Snapshot) { s.Health.Verdict = model.VerdictRed }
	before, during := search(t), search(t, claimed(model.PhaseGone), red)
	for _, e := range Events(&before, during) {
		require.NotContains(t, e.Note, "health: ")
	}
	after := search(t, back, red)
	e := eventOf(t, Events(&during, after), EventRestartHeld)
	require.Contains(t, e.Note, "health: ", "it still holds, and nothing is on its way")
	require.Empty(t, e.Pod)
	require.NotContains(t, reasons(Events(&after, after)), EventRestartHeld)

	idle := search(t, red)
	require.Contains(t, eventOf(t, Events(&before, idle), EventRestartHeld).Note, "health: ")
}

func TestHeldPodsAreBounded(t *testing.T) {
	many := func(veto string) Decision {
		return search(t, func(s *model.Snapshot) {
			s.Pools[0].Replicas = 50
			for i := int32(3); i < 50; i++ {
				s.Pods = append(s.Pods, model.Pod{
					Name: fmt.Sprintf("search-%d", i), UID: fmt.Sprint("u", i), Pool: "search", Ordinal: i, Revision: "v1", Phase: model.PodPhaseReady, Agent: true, Guard: model.GuardClosed,
					Report: &model.Report{UID: fmt.Sprint("u", i), Self: true, Fresh: true, Member: model.MembershipLive, Settled: true, Veto: veto},
				})
			}
		})
	}
	free, held := many(""), many("no")
	pods, cluster := 0, 0
	for _, e := range Events(&free, held) {
		if e.Pod != "" {
			pods++
		} else {
			cluster++
			require.Less(t, len(e.Note), 500)
		}
	}
	require.Equal(t, maxHeldPods, pods)
	require.NotZero(t, cluster)
}

func TestWaitingForATurnIsNoEvent(t *testing.T) {
	full := search(t, func(s *model.Snapshot) { s.Pools[0].Revision = "v1"; podOf(s, "search-2").Revision = "v1" })
	for _, rolling := range []Decision{search(t), search(t, claimed(model.PhaseClaimed))} {
		require.NotEmpty(t, rolling.Plan.Holds)
		require.NotContains(t, reasons(Events(&full, rolling)), EventRestartHeld)
	}

	stuck := search(t, func(s *model.Snapshot) {
		podOf(s, "search-2").Phase, podOf(s, "search-2").Since = model.PodPhasePending, s.Now
	})
	require.Empty(t, stuck.Plan.Steps)
	e := eventOf(t, Events(&full, stuck), EventRestartHeld)
	require.Contains(t, e.Note, "pod-budget")
	require.False(t, e.Warning)
	require.Empty(t, e.Pod)
}

func TestOverrideUsed(t *testing.T) {
	override := func(s *model.Snapshot) {
		s.Health.Verdict = model.VerdictRed
		s.Cluster.Spec.Overrides = []model.Override{{
			Rule: model.RuleHealth, Pods: []string{"search-1"}, Reason: "INC-4711", Expires: model.At(s.Now.Add(time.Hour)),
		}}
	}
	before := search(t, override)
	require.NotEmpty(t, before.Plan.Steps, before.Plan.Text())
	e := eventOf(t, Events(&before, search(t, override, claimed(model.PhaseClaimed))), EventOverrideUsed)
	require.Contains(t, e.Note, "INC-4711")
	require.Equal(t, "search-1", e.Pod)
	require.True(t, e.Warning)
}

func TestUnprotectedRestart(t *testing.T) {
	sole := func(s *model.Snapshot) {
		s.Groups = []model.Group{{ID: "logs/s1", Kind: model.GroupShard, NeedsLeader: true, Members: []model.Member{
			{ID: "r1", Pod: "search-1", State: model.MemberActive, Leader: true, Eligible: true},
		}}}
	}
	before := search(t, sole)
	require.NotEmpty(t, before.Plan.Steps, before.Plan.Text())
	e := eventOf(t, Events(&before, search(t, sole, claimed(model.PhaseClaimed))), EventUnprotectedRestart)
	require.Contains(t, e.Note, "logs/s1")
}

// A primary that restarts in place is announced when a rollout begins that includes it, long before
// its turn, and again when it is chosen.
func TestRestartInPlaceIsAnnounced(t *testing.T) {
	fixed := func(s *model.Snapshot) {
		s.Cluster.Topology = model.TopologyFixedPrimary
		s.Groups = []model.Group{{ID: "primary", Kind: model.GroupRole, MinAvailable: new(int32(1)), NeedsLeader: true, Members: []model.Member{
			{ID: "search-1", Pod: "search-1", State: model.MemberActive, Leader: true, Eligible: true},
		}}}
	}
	updated := func(s *model.Snapshot) {
		for i := range s.Pods {
			s.Pods[i].Revision = s.Pools[0].Revision
		}
	}
	idle, before := search(t, fixed, updated), search(t, fixed)
	require.NotContains(t, idle.Plan.Order, "search-1")
	e := eventOf(t, Events(&idle, before), EventRestartsInPlace)
	require.Equal(t, "search-1", e.Pod)
	require.True(t, e.Warning)
	require.Contains(t, e.Note, "goes last and restarts in place: nobody writes until it is back, in about ")
	for _, e := range Events(&before, before) {
		require.NotEqual(t, EventRestartsInPlace, e.Reason, "once")
	}
	e = eventOf(t, Events(&before, search(t, fixed, claimed(model.PhaseClaimed))), EventRestartsInPlace)
	require.Contains(t, e.Note, "search-1: restarts in place: nobody writes")
}

// One Event for all of them: a pod may have thousands of such shards.
func TestUnprotectedRestartOfMany(t *testing.T) {
	many := func(s *model.Snapshot) {
		s.Groups = nil
		for i := range 8 {
			s.Groups = append(s.Groups, model.Group{ID: fmt.Sprintf("logs/s%d", i), Kind: model.GroupShard, Members: []model.Member{
				{ID: "r1", Pod: "search-1", State: model.MemberActive, Eligible: true},
			}})
		}
	}
	before := search(t, many)
	events := Events(&before, search(t, many, claimed(model.PhaseClaimed)))
	e := eventOf(t, events, EventUnprotectedRestart)
	require.Contains(t, e.Note, "logs/s4")
	require.NotContains(t, e.Note, "logs/s5")
	require.Contains(t, e.Note, "and 3 more")
	n := 0
	for _, e := range events {
		if e.Reason == EventUnprotectedRestart {
			n++
		}
	}
	require.Equal(t, 1, n)
}

func TestPhaseEvents(t *testing.T) {
	phase := func(p model.ClusterPhase, changes ...func(*model.Snapshot)) Decision {
		d := search(t, changes...)
		d.Phase = p
		return d
	}
	rolling, stalled, done := phase(model.ClusterRolling), phase(model.ClusterStalled), phase(model.ClusterDone)
	e := eventOf(t, Events(&rolling, stalled), EventStalled)
	require.True(t, e.Warning)
	require.Contains(t, e.Note, "no progress: ")

	e = eventOf(t, Events(&rolling, done), EventRolloutFinished)
	require.False(t, e.Warning)
	require.Contains(t, e.Note, "search on v2")

	idle := phase(model.ClusterIdle)
	require.NotContains(t, reasons(Events(&idle, done)), EventRolloutFinished, "nothing was rolled out")
	require.NotContains(t, reasons(Events(&done, done)), EventRolloutFinished)
}

func TestRolloutHaltedAndVersionRefused(t *testing.T) {
	free := search(t)
	refused := search(t, func(s *model.Snapshot) {
		s.Pools[0].Version, s.Pools[0].RunningVersion = "9.8.0", "9.9.0"
	})
	require.Equal(t, model.RuleVersionRefused, refused.Plan.Holds[0].Rule, refused.Plan.Text())
	e := eventOf(t, Events(&free, refused), EventVersionRefused)
	require.True(t, e.Warning)
	require.Empty(t, e.Pod)

	stopped := free
	stopped.Plan.Holds = []model.Hold{{Rule: model.RuleRolloutHalted, Reason: "1 pod of v2 failed"}}
	e = eventOf(t, Events(&free, stopped), EventRolloutHalted)
	require.Equal(t, "rollout-halted: 1 pod of v2 failed", e.Note)
}

func TestGuardEvents(t *testing.T) {
	with := func(enforcing bool, g Guard) Decision {
		d := search(t)
		d.Snapshot.Cluster.GuardEnforcing, d.Guard = enforcing, g
		return d
	}
	on, off := with(true, Guard{}), with(false, Guard{})
	lost := with(false, Guard{Why: "there is no policy"})
	foreign := with(false, Guard{Why: "in the way", ForeignBudget: "PodDisruptionBudget charts selects search-1"})
	require.Equal(t, []string{EventGuardEnforced}, reasons(Events(&off, on)))
	require.Empty(t, Events(&on, on))
	require.Empty(t, Events(&on, off), "nobody asks for it any more")
	e := eventOf(t, Events(&on, lost), EventGuardLost)
	require.True(t, e.Warning)
	require.Contains(t, e.Note, "there is no policy")
	require.Empty(t, Events(&lost, lost))
	require.Equal(t, []string{EventForeignBudget}, reasons(Events(&lost, foreign)))
	require.Equal(t, []string{EventGuardLost, EventForeignBudget}, reasons(Events(&on, foreign)))
	require.Empty(t, Events(&foreign, foreign))
}
