package progress

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

func TestProgress(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	busy := func(updated, away int32, phases ...model.ClaimPhase) Moment {
		d := Moment{Plan: model.Plan{Order: []string{"s-0"}}, Pods: model.PodCounts{Updated: updated, Away: away}}
		for i, phase := range phases {
			d.Claims = append(d.Claims, model.Claim{ID: string(rune('a' + i)), UID: string(rune('a' + i)), Phase: phase})
		}
		return d
	}
	p := New(at(1))
	note := func(now time.Time, m Moment) (better bool) {
		m.DecidedAt = now
		p, better = p.Next(&m)
		return better
	}
	note(at(10), busy(0, 0))
	require.Equal(t, at(1), p.at, "a successor knows of no progress")
	note(at(20), busy(0, 1, model.PhaseClaimed))
	require.Equal(t, at(20), p.at, "a claim")
	note(at(30), busy(0, 1, model.PhaseClaimed))
	require.Equal(t, at(20), p.at, "nothing changed")
	note(at(40), busy(0, 1, model.PhaseGone))
	require.Equal(t, at(40), p.at, "the claim went on")
	note(at(50), busy(1, 1, model.PhaseGone))
	require.Equal(t, at(50), p.at, "a pod is updated")
	note(at(60), busy(1, 2, model.PhaseGone))
	require.Equal(t, at(50), p.at, "worse is no progress")
	note(at(70), Moment{Pods: model.PodCounts{Updated: 1, Away: 2}})
	require.Equal(t, at(70), p.at, "the claim was released")
	note(at(80), busy(1, 2))
	require.Equal(t, at(80), p.at, "there is something to do again, from now on")

	reported := func(member model.Membership) Moment {
		d := busy(1, 2)
		d.Snapshot.Pods = []model.Pod{{Name: "s-0", UID: "a", Phase: model.PodPhaseReady, Agent: true, Report: &model.Report{Member: member, Settled: true}}}
		return d
	}
	note(at(90), reported(model.MembershipNotLive))
	require.Equal(t, at(80), p.at, "Ready, and not back in the database")
	note(at(100), reported(model.MembershipLive))
	require.Equal(t, at(100), p.at, "back")
	note(at(110), reported(model.MembershipNotLive))
	require.Equal(t, at(100), p.at)
}

// What begins, or goes on after a person or a clock said that it may, is not
// stalled by the time of what came before it; and a claim that is made and given
// up again and again gets nowhere.
func TestWaitsHaveADeadlineOfTheirOwn(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	waits := func(rule model.Rule, claims ...model.Claim) Moment {
		return Moment{Claims: claims, Plan: model.Plan{Order: []string{"s-0"}, Holds: []model.Hold{{Rule: rule, Reason: "because"}}},
			Snapshot: model.Snapshot{Pods: []model.Pod{{Name: "s-0", UID: "u0"}}}}
	}
	p := New(at(1))
	note := func(now time.Time, m Moment) (better bool) {
		m.DecidedAt = now
		p, better = p.Next(&m)
		return better
	}
	note(at(5), Moment{})
	require.True(t, note(at(10), waits(model.RuleOutsideWindow)), "there is something to do")
	require.False(t, note(at(5000), waits(model.RuleOutsideWindow)))
	require.Empty(t, p.held, "nobody needs to look at what was asked for")
	require.True(t, note(at(6000), waits(model.RuleHealth)), "the window has opened")
	require.False(t, note(at(6100), waits(model.RuleHealth)))
	require.Equal(t, at(6000), p.held["health"])
	require.False(t, note(at(6200), waits(model.RuleViewSplit)))
	require.Equal(t, map[string]time.Time{"view-split": at(6200)}, p.held, "one that ends and comes again begins again")

	claim := model.Claim{ID: "a", Pod: "s-0", UID: "u0", Phase: model.PhaseDrained}
	require.True(t, note(at(7000), waits(model.RuleViewSplit, claim)))
	for i := range 5 {
		claim.ID += "a"
		claim.Phase = model.PhaseClaimed
		require.False(t, note(at(7100+100*i), waits(model.RuleViewSplit)), "given up")
		require.False(t, note(at(7110+100*i), waits(model.RuleViewSplit, claim)), "claimed again")
		claim.Phase = model.PhaseDrained
		require.False(t, note(at(7120+100*i), waits(model.RuleViewSplit, claim)), "and drained again")
		claim.Phase = model.PhaseRestoring
		require.False(t, note(at(7130+100*i), waits(model.RuleViewSplit, claim)), "and undone")
	}
	require.Equal(t, at(7000), p.at)
	claim.Phase = model.PhaseOpened
	require.True(t, note(at(8000), waits(model.RuleViewSplit, claim)), "it went on")
}
