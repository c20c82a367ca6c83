package cluster

import (
	"math"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Group is a model.Group with what was counted in it. It is small, because members look up their
// groups in an order with poor locality.
type Group struct {
	*model.Group
	Domains *domains // nil if each member fails by itself, and members are counted
	from    int32    // where its members begin in Index.Hosted
	Total   int32
	// Available and Eligible members are on pods that are counted on and not chosen, or hosted
	// elsewhere.
	Available, Eligible int32
	leaders             int32 // Active members that lead
	Claimants           int32 // members that say they lead and are not known to be down
	Pods                int32 // pods that host a member, elsewhere counting as one
	Limit               int32 // members that may be unavailable
	Least               int32 // members that must stay available
	KindBit             uint8 // its kindBit
}

// addGroups counts every group's members once, and notes for each pod what it has of which group.
func (x *Index) addGroups() {
	sorted := make([]*model.Group, len(x.Snapshot.Groups))
	members := 0
	for i := range x.Snapshot.Groups {
		sorted[i] = &x.Snapshot.Groups[i]
		members += len(x.Snapshot.Groups[i].Members)
	}
	byID := func(a, b *model.Group) int { return strings.Compare(a.ID, b.ID) }
	if !slices.IsSortedFunc(sorted, byID) {
		slices.SortFunc(sorted, byID)
	}
	x.Groups = make([]Group, len(sorted))
	x.Hosted = make([]int32, 0, members)
	c := counter{x: x, pods: make([]tallied, len(x.Pods))}
	for i, g := range sorted {
		x.Groups[i] = Group{Group: g, from: int32(len(x.Hosted))}
		for j := range g.Members {
			at := x.place(g.Members[j].Pod)
			x.Hosted = append(x.Hosted, at)
			if at >= 0 {
				c.pods[at].Members++
			}
		}
	}
	// One allocation for what all pods host, of which each gets a share.
	c.hosts = make([]Hosting, members)
	var from int32
	for i := range c.pods {
		p := &c.pods[i]
		p.from, p.to = from, from
		from += p.Members
		p.on = x.Pods[i].Counted
	}
	for i := range x.Groups {
		c.countGroup(int32(i))
	}
	for i := range c.pods {
		p := &c.pods[i]
		x.Pods[i].tally, x.Pods[i].Hosts = p.tally, c.hosts[p.from:p.to:p.to]
	}
	for i := range x.Groups {
		if g := &x.Groups[i]; g.Pods <= 1 || g.Moving {
			x.noteWithPods(g)
		}
	}
}

// counter counts members, for the groups and for the pods that host them. What it needs of a pod is
// stored separately, because members come in an order with poor locality.
type counter struct {
	x     *Index
	pods  []tallied
	hosts []Hosting
}

// tallied is what a counter has about a pod.
type tallied struct {
	tally
	from, to int32 // what it hosts
	on       bool  // its copies are counted on
}

// The places of members that are on no pod of the snapshot.
const (
	Elsewhere int32 = -1 // hosted outside of this cluster
	Nowhere   int32 = -2 // on an unknown pod
)

// place returns the position of a member's pod, or one of the above.
func (x *Index) place(pod string) int32 {
	if pod == "" {
		return Elsewhere
	}
	if at, known := x.ByName[pod]; known {
		return at
	}
	return Nowhere
}

// PlaceOf returns the place of the j-th member of a group.
func (x *Index) PlaceOf(g *Group, j int) int32 { return x.Hosted[int(g.from)+j] }

func (c *counter) countGroup(i int32) {
	x, g := c.x, &c.x.Groups[i]
	g.Total, g.KindBit = int32(len(g.Members)), KindBit(g.Kind)
	others := int32(0)
	for j := range g.Members {
		m := &g.Members[j]
		if m.Leader && m.State != model.MemberDown {
			g.Claimants++
			g.leaders += int32(Count(IsAvailable(m.State) && c.x.mayLead(x.PlaceOf(g, j))))
		}
		switch at := x.PlaceOf(g, j); at {
		case Elsewhere: // nothing done here makes it unavailable
			others++
			if IsAvailable(m.State) {
				g.Available++
				g.Eligible += int32(Count(m.Eligible))
			}
		case Nowhere: // it exists, but is not available
			others++
		default:
			c.countMember(g, i, at, m)
		}
	}
	g.Pods += int32(Count(others > 0))
	if g.inDomains() {
		c.countDomains(g)
	}
	g.Limit = x.limitOf(g)
	g.Least = g.leastOf()
}

// mayLead reports whether the member at this place may belong to the database. A member that has
// lost its session leads nobody, whatever the last view says.
func (x *Index) mayLead(at int32) bool {
	if at < 0 {
		return true
	}
	p := &x.Pods[at]
	return runs(p.Phase) && (p.OwnReport == nil || p.OwnReport.Member != model.MembershipNotLive)
}

// noteWithPods marks the pods of an unusual group, so that all others do not have to look through
// their groups.
func (x *Index) noteWithPods(g *Group) {
	for j := range g.Members {
		if at := x.PlaceOf(g, j); at >= 0 {
			p := &x.Pods[at]
			p.Alone = p.Alone || g.Pods <= 1
			p.Moving = p.Moving || g.Moving
		}
	}
}

func (c *counter) countMember(g *Group, i, at int32, m *model.Member) {
	p := &c.pods[at]
	if p.to == p.from || c.hosts[p.to-1].Group != i {
		c.hosts[p.to].Group = i
		p.to++
		g.Pods++
	}
	h := &c.hosts[p.to-1]
	h.Total++
	p.Kinds |= g.KindBit
	p.Leaders += int32(Count(m.Leader))
	switch m.State {
	case model.MemberActive, model.MemberMoving:
		h.available++
		h.Eligible += int32(Count(m.Eligible))
		h.NotDown++
		p.Busy++
	case model.MemberRecovering:
		h.Recovering++
		h.NotDown++
		p.Busy++
		p.Recovering = true
	case model.MemberDown:
	default:
		h.Maybe++
		h.NotDown++ // not known to be down
		p.Recovering = true
	}
	if p.on && IsAvailable(m.State) {
		g.Available++
		g.Eligible += int32(Count(m.Eligible))
	}
}

// KindBit returns a bit for each kind of group.
func KindBit(k model.GroupKind) uint8 {
	switch k {
	case model.GroupShard:
		return 1
	case model.GroupQuorum:
		return 2
	case model.GroupAcks:
		return 4
	case model.GroupRole:
		return 8
	}
	return 0
}

// IsAvailable reports whether a copy that is being moved still serves at its source.
func IsAvailable(s model.MemberState) bool { return s == model.MemberActive || s == model.MemberMoving }

// limitOf returns how many of the group's members may be unavailable.
func (x *Index) limitOf(g *Group) int32 {
	if g.Kind == model.GroupShard {
		n, _ := x.Spec.Policy.MaxShardUnavailable.Resolve(int(g.Total))
		if g.MinAvailable != nil {
			n = min(n, int(max(g.Total-*g.MinAvailable, 0)))
		}
		return int32(min(n, math.MaxInt32))
	}
	return max(g.Total-g.leastOf(), 0)
}

// leastOf returns how many members must stay available, for a quorum never less than a majority.
func (g *Group) leastOf() int32 {
	switch {
	case g.Kind == model.GroupShard:
		return max(g.Total-g.Limit, 0)
	case g.MinAvailable == nil:
		return g.Total // the minimum is not known
	case g.Kind == model.GroupQuorum:
		return max(*g.MinAvailable, g.Total/2+1)
	}
	return *g.MinAvailable
}

// Unprotectable reports whether no order of restarts could keep enough of the group while a pod
// that has n of its members goes, even if everything else is healthy.
func (g *Group) Unprotectable(n int32) bool {
	return g.Total <= 1 && n > 0 || g.Pods <= 1 || n > g.Limit
}

// Leaderless reports whether the group needs a leader, and has none.
func (g *Group) Leaderless() bool { return g.NeedsLeader && g.leaders == 0 }

// Take removes a chosen pod's members from the available ones.
func (x *Index) Take(p *Pod) {
	x.OnDuty[p.At] = false
	if !p.Counted {
		return
	}
	for i := range p.Hosts {
		h := &p.Hosts[i]
		x.Groups[h.Group].lose(p.At, h)
	}
}
