package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// adopting is a database of which one pod has no agent, and a claim on that pod.
func adopting() (*step, model.Claim) {
	live := func() *model.Report { return &model.Report{Member: model.MembershipLive, Fresh: true, Settled: true} }
	a := stepOn(Facts{MemberNames: map[string]string{"s-0": "n0"}}, time.Unix(10_000, 0))
	a.Snapshot.Pods = []model.Pod{
		{Name: "s-0", UID: "0", Phase: model.PodPhaseReady, Revision: "v1"},
		{Name: "s-1", UID: "1", Phase: model.PodPhaseReady, Revision: "v1", Agent: true, Report: live()},
		{Name: "s-2", UID: "2", Phase: model.PodPhaseReady, Revision: "v2", Agent: true, Report: live()},
	}
	claim := model.Claim{ID: "c", Pod: "s-0", UID: "0", Action: model.ActionRestart, Prepare: model.PrepareNone, Reason: model.ReasonOutdated, To: "v2"}
	a.Record.Claims = []model.Claim{claim}
	return a, claim
}

func TestHandoffOnBehalfPrefersUpdatedAgents(t *testing.T) {
	a, claim := adopting()
	require.True(t, a.alone(claim))
	require.Equal(t, []effect.Target{{Pod: "s-2", UID: "2"}, {Pod: "s-1", UID: "1"}}, a.handoffAgents(claim))

	a.Snapshot.Pods[2].Report.Member = model.MembershipNotLive
	a.Snapshot.Pods[1].Phase = model.PodPhaseStarted
	require.Empty(t, a.handoffAgents(claim))
	require.False(t, a.alone(claim), "there are agents, but none that can")
}

func TestWithAgent(t *testing.T) {
	for name, change := range map[string]func(*step, *model.Claim){
		"has an agent":          func(a *step, _ *model.Claim) { a.Snapshot.Pods[0].Agent = true },
		"serves nothing":        func(a *step, _ *model.Claim) { a.Snapshot.Pods[0].Phase = model.PodPhaseStarted },
		"never started":         func(_ *step, c *model.Claim) { c.Reason = model.ReasonNeverStarted },
		"failed":                func(_ *step, c *model.Claim) { c.Reason = model.ReasonFailed },
		"is not known by name":  func(a *step, _ *model.Claim) { a.MemberNames = nil },
		"is not there any more": func(a *step, _ *model.Claim) { a.Snapshot.Pods = a.Snapshot.Pods[1:] },
	} {
		a, claim := adopting()
		change(a, &claim)
		require.False(t, a.alone(claim), name)
	}
}

func TestTheFirstIsHandedOverByTheCoordinator(t *testing.T) {
	a, claim := adopting()
	a.MemberNames = nil
	for i := range a.Snapshot.Pods {
		a.Snapshot.Pods[i].Agent = false
	}
	require.True(t, a.alone(claim))
	require.Empty(t, a.handoffAgents(claim))
}

// A pod that was broken when it was claimed, and serves again, may be the primary.
func TestBrokenPodThatServesAgainMustAnswer(t *testing.T) {
	a, claim := adopting()
	claim.Reason = model.ReasonFailed
	a.Engine.OwnAgentOnly = true
	require.True(t, a.alone(claim))
	a.Snapshot.Pods[0].Phase = model.PodPhaseStarted
	require.False(t, a.alone(claim), "a correction must get through")
}

// Somebody makes it the leader again and again. If only an answer frees it, it stays.
func TestHandoffThatNeverLasts(t *testing.T) {
	for _, own := range []bool{false, true} {
		a, claim := adopting()
		a.Snapshot.Groups = []model.Group{{ID: "primary", Members: []model.Member{
			{Pod: "s-0", State: model.MemberActive}, {Pod: "s-1", State: model.MemberActive, Eligible: true}}}}
		led := &a.Snapshot.Groups[0].Members[0].Leader
		a.Engine.OwnAgentOnly = own
		var r attempt
		for r.giveUp == "" {
			r.handedOffBy("s-1")
			for _, *led = range []bool{false, true} {
				r.observedAt = a.now
				a.observeHandoff(claim, &r)
			}
			if r.known.HandedOff {
				break
			}
		}
		require.Equal(t, own, r.giveUp != "")
		require.Equal(t, maxLapses+1, r.lapses)
	}
}

// A primary for which nobody can hand over stays, however long that takes, and a person reads why.
func TestPodThatNeedsItsOwnAgentStays(t *testing.T) {
	a, claim := adopting()
	own := fmt.Errorf("hand over for it through s-2: %w", &effect.OwnAgentOnlyError{Why: "s-2 follows s-0, which has no agent"})
	for _, began := range []time.Time{{}, a.now, a.now.Add(-time.Hour)} {
		r := &attempt{drainBegan: began}
		a.s.attempts[claim.ID] = r
		a.learn(effect.HandedOff{Claim: claim.ID, Began: a.now, By: "s-2", Err: own})
		require.False(t, r.known.HandedOff)
		require.Equal(t, "s-2 follows s-0, which has no agent", r.giveUp)
		require.Equal(t, model.RuleVeto, r.backoff)
		moves := Case{Claim: claim, Pod: PodPresent, WithoutAgent: true, GiveUp: r.giveUp != ""}
		require.Equal(t, MoveCloseGuard, next(moves))
		moves.Known.Guard = GuardKnownClosed
		require.Equal(t, MoveRelease, next(moves))
	}
}

// neighbours are agents of which some do not answer.
type neighbours struct {
	silent  []string
	answers model.DrainState
	asked   []string
}

// handOff returns the result of the effect, and how long it takes.
func (n *neighbours) handOff(e effect.HandoffOnBehalf, began time.Time) (effect.HandedOff, time.Duration) {
	res := effect.HandedOff{Claim: e.Claim, Began: began, By: "the coordinator"}
	if e.By == nil {
		res.Err = errors.New("hand over for it: the database asks for credentials")
		return res, 0
	}
	res.By = e.By.Pod
	n.asked = append(n.asked, e.By.Pod)
	if slices.Contains(n.silent, e.By.Pod) {
		res.Err = fmt.Errorf("hand over for it through %s: %w", e.By.Pod, context.DeadlineExceeded)
		return res, effect.CallTimeout
	}
	res.Progress = effect.Progress{State: n.answers, Detail: "1 left"}
	return res, 0
}

// One silent neighbour decides nothing: the next one is asked. If none answers, a pod that others
// can succeed goes as it is, and one for which only its own agent could hand over stays, with a
// reason.
func TestWhichAgentHandsOffOnBehalf(t *testing.T) {
	both, prepared := []string{"s-1", "s-2"}, model.DrainDone
	nobody := func(a *step) {
		a.Snapshot.Pods[1].Report.Member, a.Snapshot.Pods[2].Phase = model.MembershipNotLive, model.PodPhaseStarted
	}
	first := func(a *step) { a.Snapshot.Pods[1].Agent, a.Snapshot.Pods[2].Agent = false, false }
	for name, c := range map[string]struct {
		own     bool
		silent  []string
		answers model.DrainState
		change  func(*step)
		alone   bool
		asked   []string
		by      string // who has answered
		stays   string // why
	}{
		"one is silent":                      {false, both[1:], prepared, nil, true, []string{"s-2", "s-1"}, "s-1", ""},
		"one is silent, and it may lead":     {true, both[1:], prepared, nil, true, []string{"s-2", "s-1"}, "s-1", ""},
		"all are silent":                     {false, both, prepared, nil, true, []string{"s-2", "s-1", "s-2"}, "", ""},
		"all are silent, and it may lead":    {true, both, prepared, nil, true, []string{"s-2", "s-1", "s-2"}, "", "through s-2: context deadline exceeded"},
		"it takes for ever":                  {false, nil, model.DrainRunning, nil, true, nil, "", ""},
		"it takes for ever, and it may lead": {true, nil, model.DrainRunning, nil, true, nil, "", "has said that it may go: 1 left"},
		"nobody is well":                     {false, nil, prepared, nobody, false, nil, "", ""},
		"nobody is well, and it may lead":    {true, nil, prepared, nobody, true, nil, "", databaseUnreachable},
		"its name is not known":              {false, nil, prepared, func(a *step) { a.MemberNames = nil }, false, nil, "", ""},
		"its name is not known, may lead":    {true, nil, prepared, func(a *step) { a.MemberNames = nil }, true, nil, "", nameUnknown},
		"it is the first":                    {false, nil, prepared, first, true, nil, "", ""},
		"it is the first, and it may lead":   {true, nil, prepared, first, true, nil, "", ""},
		"who has an agent is unavailable for a moment": {true, nil, prepared, func(a *step) {
			first(a)
			a.Snapshot.Pods[2].Phase = model.PodPhaseMissing
		}, true, nil, "", databaseUnreachable},
		"its primary restarts in place": {true, nil, prepared, func(a *step) {
			a.Snapshot.Cluster.Topology, a.Snapshot.Cluster.Spec.Update.Primary = model.TopologyFixedPrimary, model.PrimaryRestartInPlace
		}, false, nil, "", ""},
		"the agents do not know yet that it restarts in place": {true, nil, prepared, func(a *step) {
			a.Snapshot.Cluster.Topology, a.Snapshot.Cluster.Spec.Update.Primary = model.TopologySwitchable, model.PrimaryRestartInPlace
		}, true, []string{"s-2"}, "s-2", ""},
		"it serves no more for a moment": {true, nil, prepared, func(a *step) { a.Snapshot.Pods[0].Phase = model.PodPhaseStarted }, true, []string{"s-2"}, "s-2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			a, claim := adopting()
			if c.change != nil {
				c.change(a)
			}
			a.Engine.OwnAgentOnly = c.own
			agents := &neighbours{silent: c.silent, answers: c.answers}
			require.Equal(t, c.alone, a.alone(claim))
			if !c.alone {
				return
			}
			r := &attempt{}
			a.s.attempts[claim.ID] = r
			for began := a.now; !r.known.HandedOff && r.giveUp == ""; {
				require.Less(t, a.now.Sub(began), 2*handoffTimeout)
				a.out.Effects, r.busy = nil, true
				a.handOffOnBehalf(claim, r)
				for _, e := range a.out.Effects {
					res, takes := agents.handOff(e.(effect.HandoffOnBehalf), a.now)
					a.now = a.now.Add(takes)
					a.learn(res)
				}
				require.False(t, r.busy)
				if r.retryAt.After(a.now) {
					a.now = r.retryAt
				}
			}
			require.Equal(t, c.by, r.handoffBy)
			require.Equal(t, c.stays != "", r.giveUp != "", r.giveUp)
			require.Equal(t, c.stays != "", r.backoff == model.RuleVeto)
			require.Contains(t, r.giveUp, c.stays)
			if c.asked != nil {
				require.Equal(t, c.asked, agents.asked[:min(len(c.asked), len(agents.asked))])
			}
		})
	}
}
