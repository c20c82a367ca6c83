package policy_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/coordinator/policy/naive"
)

// worsening makes one fact worse, or does not apply. The pod is the one that the fact is about, or
// empty if it is about all of them.
type worsening struct {
	name  string
	apply func(policy.Generator, *model.Snapshot) (pod string, applies bool)
}

// bringsBadNews reports whether less is known to be wrong without this report, so that losing it is
// no worsening: it says that the database has lost the pod, or refuses.
func bringsBadNews(r *model.Report) bool {
	return r.Member == model.MembershipNotLive || r.Veto != "" || r.Busy != ""
}

func ofReport(change func(*model.Pod)) func(policy.Generator, *model.Snapshot) (string, bool) {
	return func(g policy.Generator, s *model.Snapshot) (string, bool) {
		p := &s.Pods[g.IntN(len(s.Pods))]
		if p.Report == nil || bringsBadNews(p.Report) {
			return "", false
		}
		change(p)
		return p.Name, true
	}
}

// ofMember leaves out one of two leaders: that it no longer leads is good news.
func ofMember(change func(*model.Member)) func(policy.Generator, *model.Snapshot) (string, bool) {
	return func(g policy.Generator, s *model.Snapshot) (string, bool) {
		if len(s.Groups) == 0 {
			return "", false
		}
		gr := &s.Groups[g.IntN(len(s.Groups))]
		m := &gr.Members[g.IntN(len(gr.Members))]
		if m.Leader && leaders(gr) > 1 {
			return "", false
		}
		pod := m.Pod
		change(m)
		return pod, true
	}
}

func leaders(g *model.Group) int {
	n := 0
	for _, m := range g.Members {
		if m.Leader && m.State != model.MemberDown {
			n++
		}
	}
	return n
}

func inState(state model.MemberState) func(policy.Generator, *model.Snapshot) (string, bool) {
	badness := []model.MemberState{model.MemberActive, model.MemberMoving, model.MemberRecovering, model.MemberUnknown, model.MemberDown}
	return ofMember(func(m *model.Member) {
		if slices.Index(badness, m.State) < slices.Index(badness, state) {
			m.State = state
		}
	})
}

// neverRuns reports whether a report that says Live contradicts such a phase.
func neverRuns(phase model.PodPhase) bool {
	return phase == model.PodPhasePending || phase == model.PodPhaseNotStarted || phase == model.PodPhaseFailed
}

var worsenings = []worsening{
	{"report lost", ofReport(func(p *model.Pod) { p.Report = nil })},
	{"report of another pod", ofReport(func(p *model.Pod) { p.Report.UID = "another" })},
	{"stale", ofReport(func(p *model.Pod) { p.Report.Fresh = false })},
	{"unsettled", ofReport(func(p *model.Pod) { p.Report.Settled = false })},
	{"settled just now", ofReport(func(p *model.Pod) { at := model.At(policy.Noon); p.Report.SettledSince = &at })},
	{"membership unknown", ofReport(func(p *model.Pod) { p.Report.Member = model.MembershipUnknown })},
	{"not live", ofReport(func(p *model.Pod) {
		// That an answer is known, or no longer contradicts the phase, is not worse.
		if p.Report.Member == model.MembershipLive && !neverRuns(p.Phase) {
			p.Report.Member = model.MembershipNotLive
		}
	})},
	{"vetoed", ofReport(func(p *model.Pod) { p.Report.Veto = "no" })},
	{"busy", ofReport(func(p *model.Pod) { p.Report.Busy = "backup" })},
	{"must wait for another", ofReport(func(p *model.Pod) { p.Report.After = append(p.Report.After, "nobody") })},
	{"member recovering", inState(model.MemberRecovering)},
	{"member down", inState(model.MemberDown)},
	{"member unknown", inState(model.MemberUnknown)},
	{"member may not lead", ofMember(func(m *model.Member) { m.Eligible = false })},
	{"member leads no more", ofMember(func(m *model.Member) { m.Leader = false })},
	{"health unknown", func(_ policy.Generator, s *model.Snapshot) (string, bool) {
		s.Health.Verdict = model.VerdictUnknown
		return "", !naive.NewJudge(s).NoAgents() // no agent could give a verdict
	}},
	{"health red", func(_ policy.Generator, s *model.Snapshot) (string, bool) {
		known := slices.Contains([]model.Verdict{model.VerdictGreen, model.VerdictRecoverable, model.VerdictYellow}, s.Health.Verdict)
		if known {
			s.Health.Verdict = model.VerdictRed
		}
		return "", known
	}},
	{"views split", func(_ policy.Generator, s *model.Snapshot) (string, bool) {
		s.Health.Disagree = "they do"
		return "", true
	}},
}

// requireNoBolder makes the snapshot worse and looks at every pod that goes now and did not before.
// It must have been free to go before, too, had the same pods been chosen before it: then it only
// takes the place of another one. Anything else would be a fact that permits something by being bad
// or missing.
func requireNoBolder(t testing.TB, g policy.Generator, s model.Snapshot, w worsening) {
	t.Helper()
	policy.WithoutVersions(&s)
	s.Cluster.Spec.Overrides = nil
	worse := *s.DeepCopy()
	if len(s.Pods) == 0 || g.Broken() != "" {
		return
	}
	pod, applies := w.apply(g, &worse)
	if !applies || len(model.Validate(&worse)) > 0 {
		return
	}
	before, after := podsOf(goes(policy.Decide(s))), podsOf(goes(policy.Decide(worse)))
	for i, name := range after {
		if slices.Contains(before, name) {
			continue
		}
		j := naive.NewJudge(&s)
		if !slices.Contains(j.Order(), name) {
			continue // before, it should not even have gone: that is new, but not bolder
		}
		v := j.Ask(name, after[:i])
		if v.Rule != "" && i == 0 && naive.NewJudge(&worse).BeforeItsTurn(name) {
			v = j.AskBeforeItsTurn(name) // only now no other pod goes: except for the order it was free to go
		}
		now := naive.NewJudge(&worse)
		if now.Begun() && !j.Begun() || v.Rule == model.RuleRolloutHalted && w.name == "unsettled" {
			continue // in an outage that has begun waiting does not help; and a recovering pod has not failed to return
		}
		if v.Rule != "" && (mayBeBolder(j, now, name, v.Rule) || name == pod && mayBeBolderItself(j, now, name, v.Rule)) {
			continue
		}
		require.Empty(t, v.Rule, "%s goes because of %s, %s; was held by %s %s", name, w.name, pod, v.Rule, v.Group)
	}
}

// mayBeBolder reports the exceptions that the policy makes for other pods than the one that is
// worse off.
func mayBeBolder(before, after *naive.Judge, name string, rule model.Rule) bool {
	p, q := before.Pod(name), after.Pod(name)
	if after.DeadDatabase() && !before.DeadDatabase() && after.Denied(q) && !before.Denied(p) {
		return slices.Contains(notOfTheDenied, rule) // no report contradicts any more that it is not live
	}
	// The partition does not go back up over a pod that does not serve.
	return rule == model.RuleOrderedReady && before.GoesBackUp(p) && !after.GoesBackUp(q)
}

// notOfTheDenied are the rules that ask nothing, or less, of a pod that is known not to serve.
var notOfTheDenied = []model.Rule{
	model.RulePodBudget, model.RuleZoneBudget, model.RuleShardBudget, model.RuleQuorum, model.RuleAcks, model.RuleRole,
	model.RuleEligible, model.RuleSoleCopy, model.RuleCatchingUp,
}

// mayBeBolderItself reports the exceptions for the pod that is worse off.
func mayBeBolderItself(before, after *naive.Judge, name string, rule model.Rule) bool {
	p, q := before.Pod(name), after.Pod(name)
	switch {
	case after.Outside(q) && !before.Outside(p):
		return true // broken, with nothing left to lose: outside of the budget
	case !after.CountedOn(q) && (before.CountedOn(p) || before.OnlySoaks(p) && !after.OnlySoaks(q)):
		// It is unavailable already and costs nothing more. In an OrderedReady pool it waits for no
		// Ready pod that is neither claimed nor chosen, because two would wait for each other.
		return rule == model.RulePodBudget || rule == model.RuleZoneBudget || rule == model.RuleOrderedReady
	case after.Denied(q) && !before.Denied(p):
		return slices.Contains(notOfTheDenied, rule)
	}
	// A group in which all that the pod hosts is down does not hold it back.
	return after.Serves(q) < before.Serves(p)
}

// TestNothingBadOrMissingPermits tests all facts, with the exceptions named above. Which versions
// run is left out: a version that nobody reports any more refuses nothing.
func TestNothingBadOrMissingPermits(t *testing.T) {
	policy.EachSnapshot(t, func(t *testing.T, g policy.Generator, s model.Snapshot) {
		for range 4 {
			requireNoBolder(t, g, s, worsenings[g.IntN(len(worsenings))])
		}
	})
}

// FuzzWorse lets the fuzzer choose the snapshot, and what gets worse.
func FuzzWorse(f *testing.F) {
	f.Add(uint64(1), uint8(0))
	f.Fuzz(func(t *testing.T, seed uint64, which uint8) {
		g := policy.NewGenerator(seed)
		s := g.Snapshot()
		requireNoBolder(t, *g, s, worsenings[int(which)%len(worsenings)])
	})
}
