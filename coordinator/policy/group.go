package policy

import (
	"slices"
	"strings"
)

// addGroups counts every group's members once, and notes with each pod what it
// has of which group.
func (x *index) addGroups() {
	sorted := make([]*Group, len(x.s.Groups))
	members := 0
	for i := range x.s.Groups {
		sorted[i] = &x.s.Groups[i]
		members += len(x.s.Groups[i].Members)
	}
	byID := func(a, b *Group) int { return strings.Compare(a.ID, b.ID) }
	if !slices.IsSortedFunc(sorted, byID) {
		slices.SortFunc(sorted, byID)
	}
	x.groups = make([]group, len(sorted))
	x.hosted = make([]int32, 0, members)
	counts := make([]int32, len(x.pods))
	for i, g := range sorted {
		x.groups[i] = group{Group: g, from: len(x.hosted)}
		for j := range g.Members {
			at := x.place(g.Members[j].Pod)
			x.hosted = append(x.hosted, at)
			if at >= 0 {
				counts[at]++
			}
		}
	}
	// One allocation for what all pods host; a pod's share is cut off, so that
	// it never grows into the next one's.
	all := make([]hosting, members)
	for i := range x.pods {
		n := int(counts[i])
		x.pods[i].hosts = all[:0:n]
		all = all[n:]
	}
	for i := range x.groups {
		x.countGroup(int32(i))
	}
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
func (x *index) placeOf(g *group, j int) int32 { return x.hosted[g.from+j] }

func (x *index) countGroup(i int32) {
	g := &x.groups[i]
	g.total, g.kind = len(g.Members), kindBit(g.Kind)
	others := 0
	for j := range g.Members {
		m := &g.Members[j]
		if m.Leader && m.State != Down {
			g.claimants++
			g.leaders += count(isAvailable(m.State))
		}
		switch at := x.placeOf(g, j); at {
		case elsewhere: // nothing that is done here takes it away
			others++
			if isAvailable(m.State) {
				g.available++
				g.eligible += count(m.Eligible)
			}
		case nowhere: // there, and not available
			others++
		default:
			x.countMember(i, at, m)
		}
	}
	g.pods += count(others > 0)
	g.limit = x.limitOf(g)
	g.least = g.leastOf()
	if g.pods <= 1 || g.Moving {
		x.noteWithPods(g)
	}
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

func (x *index) countMember(i, at int32, m *Member) {
	g, p := &x.groups[i], &x.pods[at]
	if n := len(p.hosts); n == 0 || p.hosts[n-1].group != i {
		p.hosts = append(p.hosts, hosting{group: i})
		g.pods++
	}
	h := &p.hosts[len(p.hosts)-1]
	h.total++
	p.kinds |= g.kind
	p.members++
	p.leaders += int32(count(m.Leader))
	switch m.State {
	case Active, Moving:
		h.available++
		h.eligible += int32(count(m.Eligible))
		h.notDown++
		p.busy++
		h.moved += int32(count(m.State == Moving))
	case Recovering:
		h.recovering++
		h.notDown++
		p.busy++
		p.recovering = true
	case Down:
	default:
		h.maybe++
		h.notDown++ // not known to be down
		p.recovering = true
	}
	if p.counted && isAvailable(m.State) {
		g.available++
		g.eligible += count(m.Eligible)
	}
}

// kindBit is a bit for each kind of group.
func kindBit(k GroupKind) uint8 {
	switch k {
	case Shard:
		return 1
	case Quorum:
		return 2
	case Acks:
		return 4
	case Role:
		return 8
	}
	return 0
}

// isAvailable: a copy that is being moved still serves at its source.
func isAvailable(s MemberState) bool { return s == Active || s == Moving }

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// limitOf is how many of the group's members may be unavailable.
func (x *index) limitOf(g *group) int {
	if g.Kind == Shard {
		n, _ := x.spec.Policy.MaxShardUnavailable.Resolve(g.total)
		return n
	}
	return max(g.total-g.leastOf(), 0)
}

// leastOf is how many members must stay available; of a quorum never less than
// more than half.
func (g *group) leastOf() int {
	switch {
	case g.Kind == Shard:
		return max(g.total-g.limit, 0)
	case g.MinAvailable == nil:
		return g.total // nobody said how few would do
	case g.Kind == Quorum:
		return max(int(*g.MinAvailable), g.total/2+1)
	}
	return int(*g.MinAvailable)
}

// unprotectable: no order of restarts could keep enough of the group while a
// pod that has n of its members goes, even when all is well.
func (g *group) unprotectable(n int) bool {
	return g.total <= 1 || g.pods <= 1 || n > g.limit
}
