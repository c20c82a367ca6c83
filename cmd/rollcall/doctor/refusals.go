package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// remedies by the first words of what was refused.
var remedies = []struct{ what, fix string }{
	{"stop hook: address", "if these are kubelets, add their network to agent.stopHookCIDRs of Rollcall's chart: pods that others stop are not handed over meanwhile"},
	{"stop hook", "somebody else than the kubelet calls the hook: see who may read pods here, and let a NetworkPolicy close port 7948 to pods (deploy/docs/security.md, The stop hook)"},
	{"gossip: address", "if these are database pods, add their network to agent.gossipCIDRs of Rollcall's chart; else close port 7946 to them"},
	{"gossip: version", "bring all agents to one version: kubectl rollcall upgrade-agents"},
	{"gossip: malformed", "bring all agents to one version: kubectl rollcall upgrade-agents"},
	{"gossip: compressed", "somebody has the gossip key: change it (deploy/docs/security.md, To change a secret)"},
	{"gossip: content", "somebody has the gossip key: change it (deploy/docs/security.md, To change a secret)"},
	{"gossip", "find the sender: an agent of another database, or with another key, or somebody who should not be there; a NetworkPolicy closes port 7946 to strangers (deploy/docs/network.md)"},
	{"caller", "find the sender: a coordinator of another installation, or somebody who should not be there; a NetworkPolicy closes port 7947 to strangers (deploy/docs/network.md)"},
	{"connections", "somebody keeps many connections open: find the sender, and let a NetworkPolicy keep it out (deploy/docs/network.md)"},
	{"message", "its agent is of another version, or it is no agent: compare the versions (kubectl rollcall upgrade-agents), and look at what runs in the pod"},
	{"webhook", "if pods started without an agent, see the coordinator's log; who sends what no API server sends is kept out by networkPolicy.webhookFrom or webhook.clientCA of the chart"},
	{"token", "somebody shows the coordinator tokens that Kubernetes does not know, or too many: its log, and a NetworkPolicy for port 7950"},
}

// refusals reports what was refused within the last hour, with one finding for each kind and its
// last sender.
func refusals(f *Facts) []Finding {
	if f.Live == nil {
		return nil
	}
	var out []Finding
	for n, name := range slices.Sorted(maps.Keys(f.Live.Refusals)) {
		type kind struct{ object, what string }
		kinds := map[kind][]*rollcallv1.Refusal{}
		for _, r := range f.Live.Refusals[name] {
			k := kind{"DatabaseCluster " + name, r.GetWhat()}
			if r.GetPod() == "" {
				if k.object = "coordinator"; n > 0 {
					continue // told with each database
				}
			}
			kinds[k] = append(kinds[k], r)
		}
		order := func(a, b kind) int { return cmp.Or(cmp.Compare(a.object, b.object), cmp.Compare(a.what, b.what)) }
		for _, k := range slices.SortedFunc(maps.Keys(kinds), order) {
			out = append(out, Finding{Severity: Warning, Object: k.object, Found: refused(k.what, kinds[k]), Fix: remedy(k.what)})
		}
	}
	return out
}

func refused(what string, of []*rollcallv1.Refusal) string {
	last := slices.MinFunc(of, func(a, b *rollcallv1.Refusal) int {
		return cmp.Compare(a.GetLast().AsDuration(), b.GetLast().AsDuration())
	})
	var count uint64
	var since time.Duration
	for _, r := range of {
		count += r.GetCount()
		since = max(since, r.GetSince().AsDuration())
	}
	where := "the coordinator"
	if last.GetPod() != "" {
		where = "the agent of " + last.GetPod()
		if len(of) > 1 {
			where += fmt.Sprintf(" and of %d other pods", len(of)-1)
		}
	}
	text := fmt.Sprintf("refused %d times since %s ago, last %s ago: %s, at %s", count, since.Round(time.Second), last.GetLast().AsDuration().Round(time.Second), what, where)
	if last.GetFrom() != "" {
		text += ", from " + last.GetFrom()
	}
	return text
}

func remedy(what string) string {
	for _, r := range remedies {
		if strings.HasPrefix(what, r.what) {
			return r.fix
		}
	}
	return "deploy/docs/runbook.md, What was refused"
}
