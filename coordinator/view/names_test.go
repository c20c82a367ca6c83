package view

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/kube"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// namedByPod makes the database call each member what its pod is called.
func namedByPod(in *Input) {
	in.NamedByPod = true
	for _, r := range in.Agents.Reports {
		r.Report.Node, _, _ = strings.Cut(r.Report.Node, ".")
		for _, n := range r.Report.Nodes {
			n.Name, _, _ = strings.Cut(n.Name, ".")
			n.Address = "10.0.9.9:4500" // nobody's
		}
		for _, m := range r.Report.Groups[0].Members {
			m.Node, _, _ = strings.Cut(m.Node, ".")
		}
	}
}

// What is certain of the name of a pod that does not say it.
func TestNames(t *testing.T) {
	stranded := func(in *Input) {
		noReport(1)(in)
		editPod(1, func(k *kube.Pod) { k.Phase, k.IP, k.Node = kube.Pending, "", "" })(in)
	}
	unseen := allSay([]int{0, 2}, func(r *rollcallv1.Report) {
		r.Nodes = append(r.Nodes[:1], r.Nodes[2:]...)
		r.Groups[0].Members = append(r.Groups[0].Members[:1], r.Groups[0].Members[2:]...)
	})
	for name, c := range map[string]struct {
		edits []edit
		want  string
	}{
		"by its own word":                      {nil, nodeName("search-1")},
		"by its address":                       {[]edit{stranded}, nodeName("search-1")},
		"nobody sees it":                       {[]edit{stranded, unseen}, ""},
		"by its pod":                           {[]edit{stranded, namedByPod}, "search-1"},
		"by its pod, and nobody sees it":       {[]edit{stranded, unseen, namedByPod}, "search-1"},
		"by its pod, though that is missing":   {[]edit{missing(1), unseen, namedByPod}, "search-1"},
		"another says that it has the name":    {[]edit{stranded, namedByPod, says(2, func(r *rollcallv1.Report) { r.Node = "search-1" })}, ""},
		"somebody else is seen at its address": {[]edit{noReport(1), namedByPod, says(0, func(r *rollcallv1.Report) { r.Nodes[1].Name, r.Nodes[1].Address = "other", "10.0.0.1:4500" })}, ""},
		"another pod's is seen at its address": {[]edit{noReport(1), noReport(2), namedByPod, says(0, func(r *rollcallv1.Report) { r.Nodes[2].Address = "10.0.0.1:4500" })}, "search-1"},
		"it says another than that of its pod": {[]edit{namedByPod, says(1, func(r *rollcallv1.Report) { r.Node = "other" })}, "other"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, Names(made(c.edits...))["search-1"])
		})
	}
}

// A pod whose word of its name cannot be taken has the members that are seen where it is, and is no
// better for that.
func TestDoubtfulNames(t *testing.T) {
	all, both, longAgo := []int{0, 1, 2}, []int{0, 1}, observedAt(2, noon.Add(-time.Minute))
	garbled := says(2, func(r *rollcallv1.Report) { r.Node = "garbled" })
	beside := allSay(all, func(r *rollcallv1.Report) {
		r.Groups[0].Members[2].Node = "beside"
		r.Nodes = append(r.Nodes, &rollcallv1.MemberNode{Name: "beside", Address: "10.0.0.2:7574", Member: live})
	})
	for name, c := range map[string]struct {
		edits          []edit
		member, copied string
	}{
		"nobody has it": {[]edit{garbled}, "Unknown", "search-2 Active"},
		"nobody has it, and it was said long ago": {[]edit{garbled, longAgo}, "Unknown", "search-2 Active"},
		"nobody has it, and the address is not its own": {[]edit{garbled, headline(2, func(*rollcallv1.RosterEntry) {}),
			allSay(all, func(r *rollcallv1.Report) { r.Nodes[2].Address = "lb.example:80" })}, "Unknown", "search-2 Active"},
		"nobody has it any more": {[]edit{longAgo,
			allSay(both, func(r *rollcallv1.Report) { r.Nodes[2].Name, r.Groups[0].Members[2].Node = "new", "new" })}, "Unknown", "search-2 Unknown"},
		"all see it: what is seen beside it is somebody else's": {[]edit{beside}, "Live", " Active"},
		"a silent pod is at the address, too":                   {[]edit{garbled, beside, noReport(1), editPod(1, func(p *kube.Pod) { p.IP = "10.0.0.2" })}, "Unknown", "search-1 Unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			in := made(c.edits...)
			for range 5 {
				s := Join(shuffled(in))
				require.Equal(t, c.member, string(s.Pods[2].Report.Member))
				m := s.Groups[0].Members[2]
				require.Equal(t, c.copied, m.Pod+" "+string(m.State))
			}
		})
	}
}
