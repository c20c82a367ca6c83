package status

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
)

// ErrNoSuchPod is returned for a pod that the decision does not know.
var ErrNoSuchPod = errors.New("no such pod")

// Explanation says why one pod goes, waits, or is left alone, and what that was decided on.
type Explanation struct {
	Pod     string  `json:"pod"`
	Verdict Verdict `json:"verdict"`
	// Rule is the first one that holds the pod. It is empty unless the verdict is Hold.
	Rule model.Rule `json:"rule,omitempty"`
	// Text is the verdict in words, one line for each fact. Lines of the plan are quoted as in the
	// text of the plan.
	Text  string `json:"text"`
	Facts []Fact `json:"facts"`
}

// Fact is one thing that a decision looked at.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// AgeSeconds is the time since the fact was observed. It is negative if that means nothing.
	AgeSeconds float64 `json:"ageSeconds"`
}

// timeless is the age of facts that have none.
const timeless = -1

// Explain says what a decision means for one pod. The error is ErrNoSuchPod
// when the decision does not know the pod.
func Explain(d Decision, name string) (Explanation, error) {
	pod, known := d.Pod(name)
	claim, claimed := d.ClaimOf(name)
	if !known && !claimed {
		return Explanation{}, fmt.Errorf("%w: %s is not one of the %d pods of %s", ErrNoSuchPod, name, len(d.Snapshot.Pods), d.Key)
	}
	e := Explanation{Pod: name}
	step, goes := stepOf(d.Plan, name)
	holds := holdsOf(d.Plan, name)
	switch {
	case claimed:
		e.Verdict, e.Text = VerdictClaimed, claimText(d, claim)
	case goes:
		e.Verdict, e.Text = VerdictGo, goText(step)
	case slices.Contains(d.Plan.Order, name) || slices.ContainsFunc(holds, func(h model.Hold) bool { return h.Pod == name }):
		e.Verdict = VerdictHold
		if len(holds) > 0 {
			e.Rule = holds[0].Rule
		}
		e.Text = holdText(d, name, holds)
	default:
		e.Verdict, e.Text = VerdictUpToDate, upToDateText(d, pod)
	}
	e.Facts = slices.Concat(podFacts(d, pod), reportFacts(pod), refusedFacts(d, pod), groupFacts(d, name), clusterFacts(d))
	return e, nil
}

func stepOf(p model.Plan, pod string) (model.Step, bool) {
	for _, s := range p.Steps {
		if s.Pod == pod {
			return s, true
		}
	}
	return model.Step{}, false
}

// holdsOf returns the pod's own holds, then those of the whole cluster that say something else.
func holdsOf(p model.Plan, pod string) []model.Hold {
	var holds []model.Hold
	own := map[model.Rule]bool{}
	for _, h := range p.Holds {
		if h.Pod == pod {
			holds = append(holds, h)
			own[h.Rule] = true
		}
	}
	for _, h := range p.Holds {
		if h.Pod == "" && !own[h.Rule] {
			holds = append(holds, h)
		}
	}
	return holds
}

func actionText(a model.Action, p model.Prepare) string {
	if p == "" || p == model.PrepareNone {
		return string(a)
	}
	return fmt.Sprintf("%s after %s", a, p)
}

func goText(s model.Step) string {
	lines := []string{s.Text()}
	if s.OutsideBudget {
		lines = append(lines, "outside of the budget: it is broken, and taking it takes nothing away")
	}
	if s.BeforeTurn {
		lines = append(lines, "before its turn: nobody else can go, and its restart may be what they wait for")
	}
	return strings.Join(append(lines, fewNotes(s.Notes)...), "\n")
}

// fewNotes cuts a list where more would not help.
func fewNotes(notes []string) []string {
	const most = 5
	if len(notes) <= most {
		return notes
	}
	return append(notes[:most:most], fmt.Sprintf("and %d more", len(notes)-most))
}

// holdText returns the hold that counts first, and then whatever else would hold.
func holdText(d Decision, pod string, holds []model.Hold) string {
	if len(holds) == 0 {
		return "held; the plan does not say why"
	}
	var lines []string
	said := map[model.Rule]bool{}
	for _, h := range holds {
		lines = append(lines, holdLines(h)...)
		said[h.Rule] = true
	}
	for _, h := range policy.Explain(d.Snapshot, pod) {
		if !said[h.Rule] {
			lines = append(lines, "also   "+strings.TrimPrefix(h.Text(), "hold   "))
			said[h.Rule] = true
		}
	}
	return strings.Join(lines, "\n")
}

func holdLines(h model.Hold) []string {
	if h.Unblocks == "" {
		return []string{h.Text()}
	}
	return []string{h.Text(), "unblocked by: " + h.Unblocks}
}

func upToDateText(d Decision, pod model.Pod) string {
	pool, ok := d.Pool(pod.Pool)
	switch {
	case !progress.Exists(pod):
		return "the pod is missing, and nothing asks it to go"
	case !ok || pool.Revision == "":
		return "nothing asks it to go; which revision its StatefulSet wants is not known"
	case !pool.Observed:
		return "nothing asks it to go; Kubernetes has not yet looked at the newest change of StatefulSet " + pool.Name
	case pod.Revision != pool.Revision:
		return fmt.Sprintf("nothing asks it to go, although it runs %s and StatefulSet %s wants %s", pod.Revision, pool.Name, pool.Revision)
	}
	return fmt.Sprintf("it runs revision %s, which StatefulSet %s wants", pod.Revision, pool.Name)
}

func podFacts(d Decision, pod model.Pod) []Fact {
	var facts facts
	pool, _ := d.Pool(pod.Pool)
	sinceAge := float64(timeless)
	if !pod.Since.IsZero() {
		sinceAge = max(0, d.Snapshot.Now.Sub(pod.Since.Time).Seconds())
	}
	phase := string(pod.Phase)
	if pod.Problem != model.ProblemNone {
		phase += ", " + string(pod.Problem)
	}
	facts.add("phase", sinceAge, "%s", cmp.Or(phase, "unknown"))
	if wrong := pod.Problem.Wrong(); wrong != "" {
		facts.add("problem", sinceAge, "%s", wrong)
		facts.add("to do", timeless, "%s", pod.Problem.Advice())
	}
	switch {
	case pod.Revision == "":
		facts.add("revision", timeless, "unknown, should be %s", cmp.Or(pool.Revision, "unknown"))
	case pod.Revision == pool.Revision:
		facts.add("revision", timeless, "%s, up to date", pod.Revision)
	default:
		facts.add("revision", timeless, "%s, should be %s", pod.Revision, cmp.Or(pool.Revision, "unknown"))
	}
	if way := rollingWay(d, pool); way != "" {
		facts.add("update", timeless, "%s", way)
	}
	facts.add("zone", timeless, "%s", cmp.Or(pod.Zone, zoneOf(d.Snapshot.Nodes, pod.Node), "unknown"))
	facts.add("node", timeless, "%s", cmp.Or(nodeText(d.Snapshot.Nodes, pod.Node), "none"))
	if pod.Unit != "" {
		facts.add("unit", timeless, "%s", pod.Unit)
	}
	if pod.Guard != "" {
		facts.add("guard", timeless, "%s", pod.Guard)
	}
	for _, c := range pod.Conditions {
		facts.add("condition", max(0, d.Snapshot.Now.Sub(c.Since.Time).Seconds()), "%s", c.Type)
	}
	return facts
}

func zoneOf(nodes []model.Node, name string) string {
	for _, n := range nodes {
		if n.Name == name {
			return n.Zone
		}
	}
	return ""
}

func nodeText(nodes []model.Node, name string) string {
	for _, n := range nodes {
		switch {
		case n.Name != name:
		case n.Gone:
			return name + ", gone"
		case n.Cordoned:
			return name + ", cordoned"
		}
	}
	return name
}

func reportFacts(pod model.Pod) []Fact {
	var facts facts
	r := pod.Report
	if r == nil {
		if pod.Agent {
			facts.add("report", timeless, "none: its agent has not been heard")
		} else {
			facts.add("report", timeless, "none: no agent is in this pod")
		}
		return facts
	}
	by, fresh := "by its own agent", "fresh"
	if !r.Self {
		by = "by the agents of other pods"
	}
	if !r.Fresh {
		fresh = "too old to decide on"
	}
	facts.add("report", r.AgeSeconds, "%s, %s", by, fresh)
	facts.add("member", r.AgeSeconds, "%s", cmp.Or(r.Member, model.MembershipUnknown))
	if r.EngineVersion != "" {
		facts.add("version", r.AgeSeconds, "%s", r.EngineVersion)
	}
	if len(r.Roles) > 0 {
		last := ""
		if r.Last {
			last = ", goes last"
		}
		facts.add("roles", r.AgeSeconds, "%s%s", strings.Join(r.Roles, ", "), last)
	}
	if r.Rank != 0 {
		facts.add("rank", r.AgeSeconds, "%d", r.Rank)
	}
	facts.add("settled", r.AgeSeconds, "%s", yes(r.Settled))
	if r.Drain != "" && r.Drain != model.DrainNone {
		facts.add("drain", r.AgeSeconds, "%s", strings.TrimSuffix(string(r.Drain)+": "+r.DrainDetail, ": "))
	}
	if r.Busy != "" {
		facts.add("busy", r.AgeSeconds, "%s", r.Busy)
	}
	if r.Veto != "" {
		facts.add("veto", r.AgeSeconds, "%s", r.Veto)
	}
	if len(r.After) > 0 {
		facts.add("after", r.AgeSeconds, "%s", strings.Join(r.After, ", "))
	}
	return facts
}

// refusedFacts says why messages of an agent are not accepted.
func refusedFacts(d Decision, pod model.Pod) []Fact {
	var facts facts
	if why := d.Refused[pod.UID]; why != "" {
		facts.add("agent", timeless, "%s", why)
	}
	return facts
}

// groupFacts returns a line for each group with a member on the pod.
func groupFacts(d Decision, pod string) []Fact {
	var facts facts
	for _, g := range d.Snapshot.Groups {
		if !slices.ContainsFunc(g.Members, func(m model.Member) bool { return m.Pod == pod }) {
			continue
		}
		active := 0
		members := make([]string, 0, len(g.Members))
		for _, m := range g.Members {
			if m.State == model.MemberActive {
				active++
			}
			members = append(members, memberText(m))
		}
		text := fmt.Sprintf("%s, %d of %d Active", g.Kind, active, len(g.Members))
		if g.MinAvailable != nil {
			text += fmt.Sprintf(", needs %d", *g.MinAvailable)
		}
		if g.Moving {
			text += ", being moved"
		}
		facts.add("group "+g.ID, timeless, "%s: %s", text, strings.Join(members, ", "))
	}
	return facts
}

func memberText(m model.Member) string {
	text := fmt.Sprintf("%s %s", cmp.Or(m.Pod, "elsewhere"), cmp.Or(m.State, model.MemberUnknown))
	if m.Domain != "" {
		text += " in " + m.Domain
	}
	if m.Leader {
		text += " leader"
	}
	if m.Progress != nil {
		text += fmt.Sprintf(" %.0f%%", *m.Progress*100)
	}
	return text
}

func clusterFacts(d Decision) []Fact {
	var facts facts
	s := d.Snapshot
	if stall := StallOf(d); stall != nil {
		facts.add("stalled", timeless, "%s: %s", stall.Rule, stall.Message)
	}
	if d.Withheld != "" {
		facts.add("withheld", timeless, "%s", d.Withheld)
	}
	b := d.Plan.Budget
	facts.add("budget", timeless, "%d of at most %d pods unavailable, of which %d claimed", b.Pods.Away, b.Pods.Limit, b.Pods.Claimed)
	if b.Zones.Limit > 0 {
		facts.add("zones", timeless, "%d of at most %d zones with an unavailable pod", b.Zones.Away, b.Zones.Limit)
	}
	health := string(cmp.Or(s.Health.Verdict, model.VerdictUnknown))
	if s.Health.Reason != "" {
		health += ", " + s.Health.Reason
	}
	facts.add("health", timeless, "%s", health)
	if topology := s.Cluster.Topology; topology != "" {
		facts.add("topology", timeless, "%s", strings.TrimSuffix(string(topology)+", "+s.Cluster.TopologyWhy, ", "))
	}
	if s.Health.Disagree != "" {
		facts.add("disagreement", timeless, "%s", s.Health.Disagree)
	}
	if s.Cluster.Paused {
		facts.add("paused", timeless, "yes")
	}
	if !s.Cluster.Window.Open {
		facts.add("window", timeless, "closed")
	}
	if last := s.Cluster.Status.LastDeparture; last != nil {
		facts.add("last departure", max(0, s.Now.Sub(last.Time).Seconds()), "%s", last.UTC().Format(time.RFC3339))
	}
	return facts
}

type facts []Fact

func (f *facts) add(name string, age float64, format string, args ...any) {
	*f = append(*f, Fact{Name: name, Value: fmt.Sprintf(format, args...), AgeSeconds: age})
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// Age formats a duration as people write it in tables: 800ms, 12s, 3m, 5h, 2d.
func Age(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
