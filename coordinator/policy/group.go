package policy

import (
	"math"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// addGroups counts every group's members once, and notes with each pod what it
// has of which group.
func (x *index) addGroups() {
	sorted := make([]*model.Group, len(x.s.Groups))
	members := 0
	for i := range x.s.Groups {
		sorted[i] = &x.s.Groups[i]
		members += len(x.s.Groups[i].Members)
	}
	byID := func(a, b *model.Group) int { return strings.Compare(a.ID, b.ID) }
	if !slices.IsSortedFunc(sorted, byID) {
		slices.SortFunc(sorted, byID)
	}
	x.groups = make([]group, len(sorted))
	x.hosted = make([]int32, 0, members)
	c := counter{x: x, pods: make([]tallied, len(x.pods))}
	for i, g := range sorted {
		x.groups[i] = group{Group: g, from: int32(len(x.hosted))}
		for j := range g.Members {
			at := x.place(g.Members[j].Pod)
			x.hosted = append(x.hosted, at)
			if at >= 0 {
				c.pods[at].members++
			}
		}
	}
	// One allocation for what all pods host, a share for each.
	c.hosts = make([]hosting, members)
	var from int32
	for i := range c.pods {
		p := &c.pods[i]
		p.from, p.to = from, from
		from += p.members
		p.on = x.pods[i].counted
	}
	for i := range x.groups {
		c.countGroup(int32(i))
	}
	for i := range c.pods {
		p := &c.pods[i]
		x.pods[i].tally, x.pods[i].hosts = p.tally, c.hosts[p.from:p.to:p.to]
	}
	for i := range x.groups {
		if g := &x.groups[i]; g.pods <= 1 || g.Moving {
			x.noteWithPods(g)
		}
	}
}

// counter counts members, for the groups and for the pods that host them. What
// it needs of a pod is kept apart from all else, since members come in an order
// in which every pod is a far one.
type counter struct {
	x     *index
	pods  []tallied
	hosts []hosting
}

// tallied is what a counter has of a pod.
type tallied struct {
	tally
	from, to int32 // what it hosts
	on       bool  // its copies are counted on
}

// Where a member is that is on no pod of the snapshot.
const (
	elsewhere int32 = -1 // hosted outside of this cluster
	nowhere   int32 = -2 // on a pod that nothing is known of
)

// place is the position of a member's pod, or one of the above.
func (x *index) place(pod string) int32 {
	if pod == "" {
		return elsewhere
	}
	if at, known := x.byName[pod]; known {
		return at
	}
	return nowhere
}

// placeOf is the place of the j-th member of a group.
func (x *index) placeOf(g *group, j int) int32 { return x.hosted[int(g.from)+j] }

func (c *counter) countGroup(i int32) {
	x, g := c.x, &c.x.groups[i]
	g.total, g.kind = int32(len(g.Members)), kindBit(g.Kind)
	others := int32(0)
	for j := range g.Members {
		m := &g.Members[j]
		if m.Leader && m.State != model.Down {
			g.claimants++
			g.leaders += int32(count(isAvailable(m.State) && c.x.mayLead(x.placeOf(g, j))))
		}
		switch at := x.placeOf(g, j); at {
		case elsewhere: // nothing that is done here takes it away
			others++
			if isAvailable(m.State) {
				g.available++
				g.eligible += int32(count(m.Eligible))
			}
		case nowhere: // there, and not available
			others++
		default:
			c.countMember(g, i, at, m)
		}
	}
	g.pods += int32(count(others > 0))
	if g.inDomains() {
		c.countDomains(g)
	}
	g.limit = x.limitOf(g)
	g.least = g.leastOf()
}

// mayLead: nothing shows that who is at this place is no member of the database. One
// that has lost its session leads nobody, whatever the last view says.
func (x *index) mayLead(at int32) bool {
	if at < 0 {
		return true
	}
	p := &x.pods[at]
	return runs(p.Phase) && (p.report == nil || p.report.Member != model.NotLive)
}

// noteWithPods lets the pods of an unusual group know of it, so that all
// others need not look through their groups.
func (x *index) noteWithPods(g *group) {
	for j := range g.Members {
		if at := x.placeOf(g, j); at >= 0 {
			p := &x.pods[at]
			p.alone = p.alone || g.pods <= 1
			p.moving = p.moving || g.Moving
		}
	}
}

func (c *counter) countMember(g *group, i, at int32, m *model.Member) {
	p := &c.pods[at]
	if p.to == p.from || c.hosts[p.to-1].group != i {
		c.hosts[p.to].group = i
		p.to++
		g.pods++
	}
	h := &c.hosts[p.to-1]
	h.total++
	p.kinds |= g.kind
	p.leaders += int32(count(m.Leader))
	switch m.State {
	case model.Active, model.Moving:
		h.available++
		h.eligible += int32(count(m.Eligible))
		h.notDown++
		p.busy++
	case model.Recovering:
		h.recovering++
		h.notDown++
		p.busy++
		p.recovering = true
	case model.Down:
	default:
		h.maybe++
		h.notDown++ // not known to be down
		p.recovering = true
	}
	if p.on && isAvailable(m.State) {
		g.available++
		g.eligible += int32(count(m.Eligible))
	}
}

// kindBit is a bit for each kind of group.
func kindBit(k model.GroupKind) uint8 {
	switch k {
	case model.Shard:
		return 1
	case model.Quorum:
		return 2
	case model.Acks:
		return 4
	case model.Role:
		return 8
	}
	return 0
}

// isAvailable: a copy that is being moved still serves at its source.
func isAvailable(s model.MemberState) bool { return s == model.Active || s == model.Moving }

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// limitOf is how many of the group's members may be unavailable.
func (x *index) limitOf(g *group) int32 {
	if g.Kind == model.Shard {
		n, _ := x.spec.Policy.MaxShardUnavailable.Resolve(int(g.total))
		if g.MinAvailable != nil {
			n = min(n, int(max(g.total-*g.MinAvailable, 0)))
		}
		return int32(min(n, math.MaxInt32))
	}
	return max(g.total-g.leastOf(), 0)
}

// leastOf is how many members must stay available; of a quorum never less than
// more than half.
func (g *group) leastOf() int32 {
	switch {
	case g.Kind == model.Shard:
		return max(g.total-g.limit, 0)
	case g.MinAvailable == nil:
		return g.total // nobody said how few would do
	case g.Kind == model.Quorum:
		return max(*g.MinAvailable, g.total/2+1)
	}
	return *g.MinAvailable
}

// unprotectable: no order of restarts could keep enough of the group while a
// pod that has n of its members goes, even when all is well.
func (g *group) unprotectable(n int32) bool {
	return g.total <= 1 && n > 0 || g.pods <= 1 || n > g.limit
}
