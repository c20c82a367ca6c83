package show

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/status"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// maxRows bounds the tables of one cluster.
const maxRows = 25

// List writes a line for each cluster; wide, it also says how long the rollout may take yet, how
// many pods may be unavailable, and how old the decision is.
func List(w io.Writer, p Palette, clusters []*rollcallv1.Cluster, allNamespaces, wide bool, now time.Time) {
	header := []string{"NAME", "ENGINE", "PHASE", "UPDATED", "READY", "UNAVAIL", "FAILED", "WAITING FOR"}
	const beforeLast = 7
	if wide {
		header = slices.Insert(header, beforeLast, "LIMIT", "FORECAST", "DECIDED")
	}
	if allNamespaces {
		header = append([]string{"NAMESPACE"}, header...)
	}
	t := NewTable(header...)
	for _, c := range clusters {
		pods := c.GetPods()
		row := []string{
			c.GetName(), c.GetEngine(), cmp.Or(c.GetPhase(), "Unknown"),
			fmt.Sprintf("%d/%d", pods.GetUpdated(), pods.GetDesired()),
			fmt.Sprintf("%d/%d", pods.GetReady(), pods.GetDesired()),
			fmt.Sprint(pods.GetUnavailable()), fmt.Sprint(pods.GetFailed()), waitingFor(c),
		}
		if wide {
			row = slices.Insert(row, beforeLast, wideCells(c, now)...)
		}
		if allNamespaces {
			row = append([]string{c.GetNamespace()}, row...)
		}
		t.Row(phaseMark(c.GetPhase()), row...)
	}
	t.Write(w, p)
}

func wideCells(c *rollcallv1.Cluster, now time.Time) []string {
	limit, forecast, decided := "-", "-", "-"
	if n := c.GetPlan().GetBudget().GetPodLimit(); n > 0 {
		limit = fmt.Sprint(n)
	}
	if f := c.GetPlan().GetForecast(); f.GetSeconds() > 0 {
		forecast = status.Age(seconds(f.GetSeconds()))
	}
	if at := c.GetDecidedAt(); at != nil {
		decided = status.Age(now.Sub(at.AsTime()))
	}
	return []string{limit, forecast, decided}
}

// waitingFor returns the rule that holds the cluster for good, or the pods that are on their way,
// or the rule that holds the next pod.
func waitingFor(c *rollcallv1.Cluster) string {
	if h := lastingHold(c); h != nil {
		return h.GetRule()
	}
	if len(c.GetClaims()) > 0 {
		var pods []string
		for _, claim := range c.GetClaims() {
			pods = append(pods, fmt.Sprintf("%s (%s)", claim.GetPod(), claim.GetPhase()))
		}
		if len(pods) > 2 {
			pods = append(pods[:2], fmt.Sprintf("%d more", len(pods)-2))
		}
		return strings.Join(pods, ", ")
	}
	if h := leadingHold(c); h != nil {
		return h.GetRule()
	}
	if unlabelled(c) {
		return "a StatefulSet"
	}
	return "-"
}

// unlabelled reports whether no StatefulSet belongs to the cluster.
func unlabelled(c *rollcallv1.Cluster) bool {
	return c.GetPods().GetDesired() == 0 && c.GetPhase() == string(model.ClusterIdle)
}

// leadingHold returns the hold that says most about the cluster: the first of the plan, except for
// pods that are on their way.
func leadingHold(c *rollcallv1.Cluster) *rollcallv1.Hold {
	for _, h := range c.GetPlan().GetHolds() {
		if h.GetRule() != string(model.RuleClaimed) && h.GetRule() != string(model.RuleTerminating) {
			return h
		}
	}
	return nil
}

// lastingHold returns a hold of the whole cluster that does not end when the pods on their way are
// back.
func lastingHold(c *rollcallv1.Cluster) *rollcallv1.Hold {
	if h := leadingHold(c); h != nil && h.GetPod() == "" && len(c.GetPlan().GetSteps()) == 0 && !status.Passing(model.Rule(h.GetRule())) {
		return h
	}
	return nil
}

func phaseMark(phase string) Mark {
	switch model.ClusterPhase(phase) {
	case model.ClusterDone:
		return Good
	case model.ClusterWaiting, model.ClusterPaused:
		return Waiting
	case model.ClusterStalled:
		return Bad
	}
	return Plain
}

// untold reports whether there are pods but no report of any.
func untold(c *rollcallv1.Cluster) bool {
	return len(c.GetPodStates()) > 0 && !slices.ContainsFunc(c.GetPodStates(), func(s *rollcallv1.PodState) bool { return s.GetReportAgeSeconds() >= 0 })
}

// Cluster writes everything about one cluster. Source says who says so.
func Cluster(w io.Writer, p Palette, c *rollcallv1.Cluster, source string, now time.Time) {
	pods, budget := c.GetPods(), c.GetPlan().GetBudget()
	head := NewTable("cluster", fmt.Sprintf("%s/%s (%s)", c.GetNamespace(), c.GetName(), c.GetEngine()))
	phase := cmp.Or(c.GetPhase(), "Unknown")
	if untold(c) {
		phase += ", as far as Kubernetes knows: no agent has told of the database yet"
	}
	head.Row(phaseMark(c.GetPhase()), "phase", phase)
	if topology := c.GetTopology(); topology != "" {
		switch model.Topology(topology) {
		case model.TopologyFixedPrimary, model.TopologySingleServer:
			topology += ": its primary restarts in place, last, and nobody writes meanwhile"
		}
		if why := c.GetTopologyWhy(); why != "" {
			topology += ": " + Clean(why)
		}
		head.Row(Plain, "topology", topology)
	}
	if s := c.GetStalled(); s != nil {
		head.Row(Bad, "stalled", s.GetRule()+": "+Clean(s.GetMessage()))
	}
	if why := c.GetWithheld(); why != "" {
		head.Row(Bad, "withheld", Clean(why))
	}
	count := fmt.Sprintf("%d of %d updated, %d ready, %d unavailable", pods.GetUpdated(), pods.GetDesired(), pods.GetReady(), pods.GetUnavailable())
	if budget.GetPodLimit() > 0 {
		count += fmt.Sprintf(" (at most %d)", budget.GetPodLimit())
	}
	if back := pods.GetUnavailable() - max(pods.GetDesired()-pods.GetReady(), 0); back > 0 {
		count += fmt.Sprintf(", %d of them Ready but not settled", back)
	}
	if pods.GetFailed() > 0 {
		count += fmt.Sprintf(", %d failed", pods.GetFailed())
	}
	head.Row(Plain, "pods", count)
	if f := c.GetPlan().GetForecast(); f.GetSeconds() > 0 {
		head.Row(Plain, "forecast", fmt.Sprintf("%s, in %d waves%s", status.Age(seconds(f.GetSeconds())), f.GetWaves(), condition(phase)))
	}
	if open := openGuards(c); len(open) > 0 {
		named := open
		if len(open) > maxRows {
			named = append(slices.Clone(open[:maxRows]), fmt.Sprintf("and %d more", len(open)-maxRows))
		}
		head.Row(Waiting, "guards", fmt.Sprintf("%d of %d open: %s", len(open), len(c.GetPodStates()), Clean(strings.Join(named, ", "))))
	}
	decided := source
	if at := c.GetDecidedAt(); at != nil {
		decided = fmt.Sprintf("%s ago, %s", status.Age(now.Sub(at.AsTime())), source)
	}
	head.Row(Plain, "decided", decided)
	head.Write(w, p)

	for _, t := range []*Table{poolTable(c), claimTable(c, now), holdTable(c), podTable(c), refusalTable(c)} {
		t.Write(w, p)
	}
}

// section is a table of one cluster.
func section(title string, header ...string) *Table {
	t := NewTable(header...)
	t.Title, t.Indent, t.Most = "\n"+title+":", gap, maxRows
	return t
}

// openGuards are the pods that anybody may remove, and whether Rollcall itself has
// let them go.
func openGuards(c *rollcallv1.Cluster) []string {
	var open []string
	for _, s := range c.GetPodStates() {
		if s.GetGuard() != string(model.GuardOpen) {
			continue
		}
		name := s.GetPod()
		if s.GetClaimPhase() != "" {
			name += " (on its way)"
		}
		open = append(open, name)
	}
	return open
}

// poolTable shows the progress of each StatefulSet, if there is more than one.
func poolTable(c *rollcallv1.Cluster) *Table {
	t := section("StatefulSets", "STATEFULSET", "UPDATED", "READY", "REVISION", "VERSION")
	t.Most = 0
	pools := c.GetPools()
	if len(pools) < 2 {
		return t
	}
	for _, p := range pools {
		mark := Plain
		if p.GetComplete() {
			mark = Good
		}
		t.Row(mark, p.GetName(), fmt.Sprintf("%d/%d", p.GetUpdated(), p.GetDesired()), fmt.Sprintf("%d/%d", p.GetReady(), p.GetDesired()),
			cmp.Or(p.GetRevision(), "?"), cmp.Or(p.GetVersion(), "-"))
	}
	return t
}

func claimTable(c *rollcallv1.Cluster, now time.Time) *Table {
	t := section("On their way", "POD", "SINCE", "PHASE", "WHAT")
	t.Most = 0
	for _, claim := range c.GetClaims() {
		since := "-"
		if at := claim.GetStartedAt(); at != nil {
			since = status.Age(now.Sub(at.AsTime()))
		}
		t.Row(Plain, claim.GetPod(), since, claim.GetPhase(), what(claim.GetAction(), claim.GetDrain(), claim.GetReason()))
	}
	for _, s := range c.GetPlan().GetSteps() {
		t.Row(Good, s.GetPod(), "-", "next", what(s.GetAction(), s.GetDrain(), s.GetReason()))
	}
	return t
}

func what(action, prepare, reason string) string {
	text := action
	if prepare != "" && prepare != string(model.PrepareNone) {
		text += " after " + prepare
	}
	if reason != "" {
		text += " (" + reason + ")"
	}
	return text
}

func holdTable(c *rollcallv1.Cluster) *Table {
	t := section("Held", "POD", "RULE", "REASON")
	for _, h := range distinct(c.GetPlan().GetHolds()) {
		t.Row(Waiting, cmp.Or(h.GetPod(), "(all)"), h.GetRule(), Clean(h.GetReason()))
	}
	return t
}

// distinct omits holds of pods that repeat a hold of the whole cluster.
func distinct(holds []*rollcallv1.Hold) []*rollcallv1.Hold {
	everybody := map[string]bool{}
	for _, h := range holds {
		if h.GetPod() == "" {
			everybody[h.GetRule()] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(holds), func(h *rollcallv1.Hold) bool {
		return h.GetPod() != "" && everybody[h.GetRule()]
	})
}

func podTable(c *rollcallv1.Cluster) *Table {
	t := section("Pods", "POD", "ZONE", "PHASE", "UPDATED", "MEMBER", "REPORT", "ROLES")
	for _, s := range c.GetPodStates() {
		updated := "no"
		mark := Plain
		if s.GetUpdated() {
			updated = "yes"
		}
		if s.GetPhase() == string(model.PodPhaseFailed) || s.GetMember() == string(model.MembershipNotLive) {
			mark = Bad
		}
		report := "none"
		if s.GetReportAgeSeconds() >= 0 {
			report = status.Age(seconds(s.GetReportAgeSeconds()))
		}
		t.Row(mark, s.GetPod(), cmp.Or(s.GetZone(), "?"), s.GetPhase(), updated, cmp.Or(s.GetMember(), "-"), report,
			cmp.Or(Clean(strings.Join(s.GetRoles(), ",")), "-"))
	}
	return t
}

// Progress returns one line about the progress of a rollout. Two lines are equal if nothing has
// changed.
func Progress(c *rollcallv1.Cluster) string {
	pods := c.GetPods()
	line := fmt.Sprintf("%s: %d of %d updated, %d unavailable", cmp.Or(c.GetPhase(), "Unknown"), pods.GetUpdated(), pods.GetDesired(), pods.GetUnavailable())
	if pods.GetFailed() > 0 {
		line += fmt.Sprintf(", %d failed", pods.GetFailed())
	}
	for _, claim := range c.GetClaims() {
		line += fmt.Sprintf("; %s %s", claim.GetPod(), claim.GetPhase())
	}
	if s := c.GetStalled(); s != nil {
		return line + "; " + s.GetRule() + " for long: " + Clean(s.GetMessage())
	}
	h := lastingHold(c)
	if len(c.GetClaims()) == 0 && len(c.GetPlan().GetSteps()) == 0 {
		h = leadingHold(c)
	}
	if h != nil {
		line += fmt.Sprintf("; %s holds %s: %s", h.GetRule(), cmp.Or(h.GetPod(), "all"), Clean(h.GetReason()))
	}
	if unlabelled(c) {
		line += "; no StatefulSet of namespace " + c.GetNamespace() + " has the label rollcall.dev/cluster=" + c.GetName()
	}
	return line
}

// Happened returns a line for each change of a cluster, for a view that only grows.
func Happened(before, after *rollcallv1.Cluster) []string {
	known := map[string]bool{}
	for _, line := range planLines(before) {
		known[line] = true
	}
	var lines []string
	if before == nil || counts(before) != counts(after) {
		lines = append(lines, counts(after))
	}
	for _, line := range planLines(after) {
		if !known[line] {
			lines = append(lines, line)
		}
	}
	return lines
}

func counts(c *rollcallv1.Cluster) string {
	p := c.GetPods()
	return fmt.Sprintf("phase  %s: %d of %d updated, %d ready, %d unavailable, %d failed",
		cmp.Or(c.GetPhase(), "Unknown"), p.GetUpdated(), p.GetDesired(), p.GetReady(), p.GetUnavailable(), p.GetFailed())
}

// planLines are claims, and the plan as it is written everywhere.
func planLines(c *rollcallv1.Cluster) []string {
	var lines []string
	for _, claim := range c.GetClaims() {
		lines = append(lines, fmt.Sprintf("claim  %s %s %s", claim.GetPod(), claim.GetPhase(), what(claim.GetAction(), claim.GetDrain(), claim.GetReason())))
	}
	for _, s := range c.GetPlan().GetSteps() {
		lines = append(lines, model.Step{
			Pod: s.GetPod(), Action: model.Action(s.GetAction()), Prepare: model.Prepare(s.GetDrain()), Reason: model.Reason(s.GetReason()),
		}.Text())
	}
	for _, h := range c.GetPlan().GetHolds() {
		if h.GetRule() == string(model.RuleClaimed) {
			continue
		}
		lines = append(lines, Clean(model.Hold{
			Pod: h.GetPod(), Rule: model.Rule(h.GetRule()), Group: h.GetGroup(), Reason: h.GetReason(),
		}.Text()))
	}
	return lines
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// condition under which the forecast begins to count.
func condition(phase string) string {
	switch model.ClusterPhase(phase) {
	case model.ClusterWaiting, model.ClusterStalled, model.ClusterPaused:
		return " once it goes on"
	}
	return ""
}
