package policy

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// worsening makes one fact worse, or does not apply. The pod is the one that
// the fact is about, empty when it is about all of them.
type worsening struct {
	name  string
	apply func(generator, *Snapshot) (pod string, applies bool)
}

// bringsBadNews: without this report less is known to be wrong, so that losing
// it is no worsening. It says that the database has lost the pod, or refuses.
func bringsBadNews(r *Report) bool { return r.Member == NotLive || r.Veto != "" || r.Busy != "" }

func ofReport(change func(*Pod)) func(generator, *Snapshot) (string, bool) {
	return func(g generator, s *Snapshot) (string, bool) {
		p := &s.Pods[g.IntN(len(s.Pods))]
		if p.Report == nil || bringsBadNews(p.Report) {
			return "", false
		}
		change(p)
		return p.Name, true
	}
}

// ofMember leaves out one of two leaders: that it leads no more is good news.
func ofMember(change func(*Member)) func(generator, *Snapshot) (string, bool) {
	return func(g generator, s *Snapshot) (string, bool) {
		if len(s.Groups) == 0 {
			return "", false
		}
		gr := &s.Groups[g.IntN(len(s.Groups))]
		m := &gr.Members[g.IntN(len(gr.Members))]
		if m.Leader && leads(*gr, func(m Member) bool { return m.State != Down }) > 1 {
			return "", false
		}
		pod := m.Pod
		change(m)
		return pod, true
	}
}

func inState(state MemberState) func(generator, *Snapshot) (string, bool) {
	badness := []MemberState{Active, Moving, Recovering, UnknownState, Down}
	return ofMember(func(m *Member) {
		if slices.Index(badness, m.State) < slices.Index(badness, state) {
			m.State = state
		}
	})
}

var worsenings = []worsening{
	{"report lost", ofReport(func(p *Pod) { p.Report = nil })},
	{"report of another pod", ofReport(func(p *Pod) { p.Report.UID = "another" })},
	{"stale", ofReport(func(p *Pod) { p.Report.Fresh = false })},
	{"unsettled", ofReport(func(p *Pod) { p.Report.Settled = false })},
	{"settled just now", ofReport(func(p *Pod) { at := At(noon); p.Report.SettledSince = &at })},
	{"membership unknown", ofReport(func(p *Pod) { p.Report.Member = UnknownMember })},
	{"not live", ofReport(func(p *Pod) {
		// That an answer is known, or no longer contradicts the phase, is no worse.
		if p.Report.Member == Live && !neverRuns(p.Phase) {
			p.Report.Member = NotLive
		}
	})},
	{"vetoed", ofReport(func(p *Pod) { p.Report.Veto = "no" })},
	{"busy", ofReport(func(p *Pod) { p.Report.Busy = "backup" })},
	{"must wait for another", ofReport(func(p *Pod) { p.Report.After = append(p.Report.After, "nobody") })},
	{"member recovering", inState(Recovering)},
	{"member down", inState(Down)},
	{"member unknown", inState(UnknownState)},
	{"member may not lead", ofMember(func(m *Member) { m.Eligible = false })},
	{"member leads no more", ofMember(func(m *Member) { m.Leader = false })},
	{"health unknown", func(_ generator, s *Snapshot) (string, bool) {
		s.Health.Verdict = UnknownHealth
		return "", !newNaive(s).noAgentAnywhere() // nobody could give a verdict
	}},
	{"health red", func(_ generator, s *Snapshot) (string, bool) {
		known := slices.Contains([]Verdict{Green, Recoverable, Yellow}, s.Health.Verdict)
		if known {
			s.Health.Verdict = Red
		}
		return "", known
	}},
	{"views split", func(_ generator, s *Snapshot) (string, bool) { s.Health.Disagree = "they do"; return "", true }},
}

// requireNoBolder makes the snapshot worse and looks at every pod that goes
// now and did not before. It must have been free to go before, too, had the
// same pods been chosen before it: then it only takes the place of another
// one. Anything else is a fact that permits by being bad or missing.
func requireNoBolder(t testing.TB, g generator, s Snapshot, w worsening) {
	t.Helper()
	withoutVersions(&s)
	s.Cluster.Spec.Overrides = nil
	worse := *s.DeepCopy()
	if len(s.Pods) == 0 || g.broken != "" {
		return
	}
	pod, applies := w.apply(g, &worse)
	if !applies || len(Validate(&worse)) > 0 {
		return
	}
	before, after := podsOf(goes(Decide(s))), podsOf(goes(Decide(worse)))
	for i, name := range after {
		if slices.Contains(before, name) {
			continue
		}
		n := newNaive(&s)
		n.chosen = after[:i]
		p := n.find(name)
		v := n.ask(p, n.order())
		if v.Rule != "" && name == pod && mayBeBolder(&s, &worse, p, v.Rule) {
			continue
		}
		require.Empty(t, v.Rule, "%s goes because of %s, %s; was held by %s %s", name, w.name, pod, v.Rule, v.Group)
	}
}

// mayBeBolder are the exceptions that the policy makes, all for the pod itself
// that is worse off.
func mayBeBolder(s, worse *Snapshot, p *Pod, rule Rule) bool {
	n, m := newNaive(s), newNaive(worse)
	q := m.find(p.Name)
	switch {
	case m.free(q) && !n.free(p):
		return true // broken, with nothing left to lose: outside of the budget
	case n.alive(p) && !m.alive(q):
		return true // no group holds a pod back that is not live, and it costs nothing more
	case m.gone(q) && (!n.gone(p) || n.soaks(p) && !n.unwell(p) && m.unwell(q)):
		return rule == PodsAway || rule == ZonesAway // it is away already and costs nothing more
	}
	return m.hostsLess(n, p)
}

// hostsLess: a group in which all that the pod hosts is down does not hold it back.
func (n *naive) hostsLess(before *naive, p *Pod) bool {
	mine := func(m Member) bool { return m.State != Down }
	return n.members(p, mine) < before.members(p, mine)
}

// TestNothingBadOrMissingPermits, beside the exceptions named above. Which
// versions run is left out: one that nobody reports any more refuses nothing.
func TestNothingBadOrMissingPermits(t *testing.T) {
	eachSnapshot(t, func(t *testing.T, g generator, s Snapshot) {
		for range 4 {
			requireNoBolder(t, g, s, worsenings[g.IntN(len(worsenings))])
		}
	})
}

// FuzzWorse lets the fuzzer choose the snapshot, and what gets worse.
func FuzzWorse(f *testing.F) {
	f.Add(uint64(1), uint8(0))
	f.Fuzz(func(t *testing.T, seed uint64, which uint8) {
		g := newGenerator(seed)
		s := g.snapshot()
		requireNoBolder(t, *g, s, worsenings[int(which)%len(worsenings)])
	})
}
