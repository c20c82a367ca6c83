package peers

import (
	"net"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/agent/gossip"
	"github.com/rollcall-dev/rollcall/engines"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// NodesOf returns the database's names of pods: as their agents announce them, else
// by address in the local member's list of nodes (a pod's DNS name begins with its
// name). An unknown pod keeps its own name, so that a list of pods never turns into
// "any".
func NodesOf(pods []string, roster gossip.Roster, nodes []engines.Node) []string {
	if len(pods) == 0 {
		return nil
	}
	told := map[string]string{}
	for _, e := range roster.Entries {
		if e.Liveness == rollcallv1.Liveness_LIVENESS_ALIVE && e.Headline.GetNode() != "" {
			told[e.Headline.GetPod()] = e.Headline.GetNode()
		}
	}
	var names []string
	for _, pod := range pods {
		name, ok := told[pod]
		if !ok {
			name = nodeAt(pod, nodes)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func nodeAt(pod string, nodes []engines.Node) string {
	found := ""
	for _, n := range nodes {
		host := n.Address
		if h, _, err := net.SplitHostPort(n.Address); err == nil {
			host = h
		}
		if host != pod && !strings.HasPrefix(host, pod+".") {
			continue
		}
		if found != "" {
			return pod // two of them: ambiguous
		}
		found = n.Name
	}
	if found == "" {
		return pod
	}
	return found
}
