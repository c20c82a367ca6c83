package agents

import (
	"slices"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// shareNodes lets reports that show the same membership hold the same list of it. Nearly all do, and it is most of a
// report: of 100 pods that each name 100 members, one list is kept and not 100. mu is held.
func (c *cluster) shareNodes(report *rollcallv1.Report) {
	if slices.EqualFunc(c.nodes, report.GetNodes(), sameNode) {
		report.Nodes = c.nodes
	} else {
		c.nodes = report.GetNodes()
	}
}

func sameNode(a, b *rollcallv1.MemberNode) bool {
	return a.GetName() == b.GetName() && a.GetAddress() == b.GetAddress() && a.GetMember() == b.GetMember()
}
