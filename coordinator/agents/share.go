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

// shareEntries lets the rosters of a cluster hold what they tell of each pod once: three agents tell of the same pods, and
// mostly the same. Since when the gossip says so is not kept: nothing is made of it here. mu is held.
func (c *cluster) shareEntries(roster *rollcallv1.Roster) {
	kept := make(map[string]*rollcallv1.RosterEntry, len(roster.GetEntries()))
	for i, e := range roster.GetEntries() {
		uid := e.GetHeadline().GetPodUid()
		if k := c.entries[uid]; k != nil && k.GetLiveness() == e.GetLiveness() && sameHeadline(k.GetHeadline(), e.GetHeadline()) {
			roster.Entries[i], kept[uid] = k, k
			continue
		}
		e.Since = nil
		kept[uid] = e
	}
	c.entries = kept
}

func sameHeadline(a, b *rollcallv1.Headline) bool {
	return b != nil && sameNews(a, b) && a.GetSequence() == b.GetSequence() && a.GetAlive() == b.GetAlive() && a.GetDigest() == b.GetDigest()
}
