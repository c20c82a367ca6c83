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

// shareHeadlines lets the rosters of a cluster hold each headline once: three agents tell of the same pods, and mostly
// the same. mu is held.
func (c *cluster) shareHeadlines(roster *rollcallv1.Roster) {
	kept := make(map[string]*rollcallv1.Headline, len(roster.GetEntries()))
	for _, e := range roster.GetEntries() {
		if h := c.headlines[e.GetHeadline().GetPodUid()]; h != nil && sameHeadline(h, e.GetHeadline()) {
			e.Headline = h
		}
		kept[e.GetHeadline().GetPodUid()] = e.GetHeadline()
	}
	c.headlines = kept
}

func sameHeadline(a, b *rollcallv1.Headline) bool {
	return b != nil && sameNews(a, b) && a.GetSequence() == b.GetSequence() && a.GetAlive() == b.GetAlive() && a.GetDigest() == b.GetDigest()
}
