package agents

import (
	"slices"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// shared are tables of what is held of a cluster once, however many of its agents report it. Each
// has what is held, and nothing else.
type shared struct {
	groups  map[string]*rollcallv1.Group
	members map[node]*rollcallv1.MemberNode
}

type node struct {
	name, address string
	member        rollcallv1.Membership
}

func nodeOf(n *rollcallv1.MemberNode) node { return node{n.GetName(), n.GetAddress(), n.GetMember()} }

func newShared() shared {
	return shared{groups: map[string]*rollcallv1.Group{}, members: map[node]*rollcallv1.MemberNode{}}
}

// share lets a report share equal parts with other reports. mu is held.
func (c *cluster) share(report *rollcallv1.Report) {
	c.shareNodes(report)
	for i, g := range report.GetGroups() {
		if k := c.groups[g.GetId()]; k != nil && sameGroup(k, g) {
			report.Groups[i] = k
		} else {
			c.groups[g.GetId()] = g
		}
	}
}

// unshare removes from the tables what is not held any more. mu is held.
func (c *cluster) unshare(item any) {
	switch m := item.(type) {
	case *rollcallv1.Group:
		if c.groups[m.GetId()] == m {
			delete(c.groups, m.GetId())
		}
	case *rollcallv1.MemberNode:
		if c.members[nodeOf(m)] == m {
			delete(c.members, nodeOf(m))
		}
	}
}

// shareNodes lets reports with the same membership share one list. Nearly all have the same, and it
// is most of a report: of 100 pods that each name 100 members, one list is kept and not 100.
// Different lists share their members. mu is held.
func (c *cluster) shareNodes(report *rollcallv1.Report) {
	if slices.EqualFunc(c.nodes, report.GetNodes(), sameNode) {
		report.Nodes = c.nodes
		return
	}
	c.nodes = report.GetNodes()
	for i, n := range c.nodes {
		if k := c.members[nodeOf(n)]; k != nil {
			c.nodes[i] = k
		} else {
			c.members[nodeOf(n)] = n
		}
	}
}

func sameNode(a, b *rollcallv1.MemberNode) bool {
	return a == b || a.GetName() == b.GetName() && a.GetAddress() == b.GetAddress() && a.GetMember() == b.GetMember()
}

func sameGroup(a, b *rollcallv1.Group) bool {
	return a.GetKind() == b.GetKind() && a.GetMinAvailable() == b.GetMinAvailable() && a.GetNeedsLeader() == b.GetNeedsLeader() &&
		a.GetMoving() == b.GetMoving() && slices.EqualFunc(a.GetMembers(), b.GetMembers(), sameMember)
}

func sameMember(a, b *rollcallv1.Member) bool {
	return a.GetId() == b.GetId() && a.GetNode() == b.GetNode() && a.GetState() == b.GetState() && a.GetLeader() == b.GetLeader() &&
		a.GetEligible() == b.GetEligible() && a.GetProgress() == b.GetProgress() && a.GetDomain() == b.GetDomain()
}

// shareEntries lets the rosters of a cluster share their entries: three agents report on the same
// pods, and mostly the same. The time since which the gossip says so is dropped, because it is not
// used here. mu is held.
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
