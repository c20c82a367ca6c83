package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// snapshots are what the coordinator decided on last, in order.
func (f *Facts) snapshots(ask func(name string, s *model.Snapshot) []Finding) (out []Finding) {
	if f.Live == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(f.Live.Snapshots)) {
		for _, found := range ask(name, f.Live.Snapshots[name]) {
			found.Object = "DatabaseCluster " + name
			out = append(out, found)
		}
	}
	return out
}

// reports finds agents without a report, and servers that are not members.
func reports(f *Facts) []Finding {
	return f.snapshots(func(_ string, s *model.Snapshot) []Finding {
		var silent, strange, without []string
		for i := range s.Pods {
			p := &s.Pods[i]
			switch {
			case p.Phase == model.PodPhaseMissing:
			case !p.Agent:
				without = append(without, p.Name)
			case p.Report == nil:
				silent = append(silent, p.Name)
			case p.Report.Member != model.MembershipLive:
				strange = append(strange, fmt.Sprintf("%s (%s)", p.Name, p.Report.Member))
			}
		}
		var out []Finding
		if len(without) > 0 {
			out = append(out, Finding{Severity: Info, Found: fmt.Sprintf("%d pods have no agent yet, such as %s", len(without), without[0]),
				Fix: "kubectl rollcall approve " + s.Cluster.Name + " -n " + s.Cluster.Namespace + " --what adopt lets Rollcall restart them one after the other, once the label is in the pod template"})
		}
		if len(silent) > 0 {
			out = append(out, Finding{Severity: Error, Found: fmt.Sprintf("the coordinator has no report of %s", strings.Join(silent, ", ")),
				Fix: "look at the logs of container rollcall-agent, and at NetworkPolicies between the agents (7946 TCP and UDP) and from the coordinator (7947 TCP)"})
		}
		if len(strange) > 0 {
			out = append(out, Finding{Severity: Warning, Found: "in the database's own membership are not: " + strings.Join(strange, ", "),
				Fix: "the agent's log says what it was refused (a missing grant, credentials, TLS); the guide of the database lists the grants"})
		}
		if text := skewed(s); text != "" {
			out = append(out, Finding{Severity: Warning, Found: text,
				Fix: "look at time synchronization (chrony, ntpd) on these nodes; if all are off by the same, on the coordinator's. Rollcall decides nothing by it; what Kubernetes dates on such a node (since when a pod is Ready) is off by as much"})
		}
		// Where no pod has an agent nobody could say how the database is.
		if len(without) < len(s.Pods) && (s.Health.Verdict == model.VerdictRed || s.Health.Verdict == model.VerdictUnknown) {
			out = append(out, Finding{Severity: Warning, Found: fmt.Sprintf("the database says %s: %s", s.Health.Verdict, s.Health.Reason), Fix: "mend the database first: with policy.health above it nothing goes"})
		}
		return out
	})
}

// skewed names the nodes whose clock differs from the coordinator's.
func skewed(s *model.Snapshot) string {
	var off []string
	for i := range s.Pods {
		p := &s.Pods[i]
		switch {
		case p.Report == nil || p.Report.ClockSkewSeconds == 0:
		case p.Report.ClockSkewSeconds > 0:
			off = append(off, fmt.Sprintf("%s (%d s ahead)", p.Name, p.Report.ClockSkewSeconds))
		default:
			off = append(off, fmt.Sprintf("%s (%d s behind)", p.Name, -p.Report.ClockSkewSeconds))
		}
	}
	if len(off) == 0 {
		return ""
	}
	return "the clocks of nodes differ from the coordinator's: " + strings.Join(off, ", ")
}

// holds finds what a change would wait for now. Without a change there is no candidate, so it looks
// for groups that can never spare a member.
func holds(f *Facts) []Finding {
	return f.snapshots(func(_ string, s *model.Snapshot) []Finding {
		single := map[string][]string{}
		for _, g := range s.Groups {
			if g.Kind == model.GroupShard && len(g.Members) == 1 && g.Members[0].Pod != "" {
				single[g.Members[0].Pod] = append(single[g.Members[0].Pod], g.ID)
			}
		}
		var out []Finding
		for _, pod := range slices.Sorted(maps.Keys(single)) {
			groups := single[pod]
			slices.Sort(groups)
			out = append(out, Finding{Severity: Warning, Found: fmt.Sprintf("%s has the only copy of %s%s: out of reach while it restarts (policy.unprotected: %s)", pod, groups[0], others(len(groups)), s.Cluster.Spec.WithDefaults().Policy.Unprotected),
				Fix: "add a copy on another pod"})
		}
		for _, h := range policy.Decide(*s).Holds {
			if h.Pod == "" {
				out = append(out, Finding{Severity: Info, Found: fmt.Sprintf("nothing would go now: %s: %s", h.Rule, h.Reason), Fix: "kubectl rollcall explain says more; deploy/docs/runbook.md has a section for " + string(h.Rule)})
			}
		}
		return out
	})
}

func others(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n-1)
}
