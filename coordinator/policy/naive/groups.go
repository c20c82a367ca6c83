package naive

import "github.com/rollcall-dev/rollcall/coordinator/model"

// Section "Groups: what if".

// available reports whether the member is Active or Moving, and elsewhere or on a pod that is
// counted on and not chosen. On a pod that the snapshot does not have it is not. For a pod that is
// live unready, and asked about before its turn, others like it are counted on, too.
func (w *world) available(m *model.Member) bool {
	if !serving(m) {
		return false
	}
	if m.Pod == "" {
		return true
	}
	p := w.podNamed(m.Pod)
	if p == nil || w.isChosen(p) {
		return false
	}
	return w.way(p) == countedOn || w.early != nil && w.liveUnready(w.early.Pod) && w.liveUnready(p)
}

// whatIf is one group when one pod is unavailable.
type whatIf struct {
	n, own, after, missing int
	limit, least           int
	unprotectable          bool
}

func (w *world) whatIf(g *model.Group, p *model.Pod) whatIf {
	var x whatIf
	for _, d := range domainsOf(g) {
		x.n++
		switch {
		case d.isOwn(g.Kind, p.Name):
			x.own++
		case d.isThereWithout(w, g.Kind, p.Name):
			x.after++
		}
	}
	x.missing = x.n - x.own - x.after
	minAvailable := 0
	if g.MinAvailable != nil {
		minAvailable = int(*g.MinAvailable)
	}
	switch g.Kind {
	case model.GroupQuorum:
		x.least = max(minAvailable, x.n/2+1)
		x.limit = max(x.n-x.least, 0)
	case model.GroupAcks, model.GroupRole:
		x.least = max(minAvailable, 0)
		x.limit = max(x.n-x.least, 0)
	default:
		x.limit = resolve(w.spec.Policy.MaxShardUnavailable, x.n)
		if g.MinAvailable != nil {
			x.limit = min(x.limit, x.n-minAvailable)
		}
		x.limit = max(x.limit, 0)
		x.least = max(x.n-x.limit, 0)
	}
	x.unprotectable = x.n == 1 && x.own == 1 || w.inOnePlace(g) || x.own > x.limit
	return x
}

// inOnePlace reports whether its members are all on the same pod, or all elsewhere or on unknown
// pods.
func (w *world) inOnePlace(g *model.Group) bool {
	places := map[string]bool{}
	for i := range g.Members {
		if p := w.podNamed(g.Members[i].Pod); p != nil {
			places["pod "+p.Name] = true
		} else {
			places["elsewhere"] = true
		}
	}
	return len(places) == 1
}

// domain is what fails together: members of the same domain, or one without.
type domain []*model.Member

func domainsOf(g *model.Group) []domain {
	var domains []domain
	named := map[string]int{}
	for i := range g.Members {
		m := &g.Members[i]
		at, known := named[m.Domain]
		if m.Domain == "" || !known {
			named[m.Domain] = len(domains)
			domains = append(domains, domain{m})
			continue
		}
		domains[at] = append(domains[at], m)
	}
	return domains
}

// isOwn reports whether a domain has a member on the pod; of a Role, whether all its members are
// there.
func (d domain) isOwn(kind model.GroupKind, pod string) bool {
	n := 0
	for _, m := range d {
		if m.Pod == pod {
			n++
		}
	}
	if kind == model.GroupRole {
		return n == len(d)
	}
	return n > 0
}

// isThereWithout reports whether all of the domain's members, of a Role any, are available and not
// on the pod.
func (d domain) isThereWithout(w *world, kind model.GroupKind, pod string) bool {
	n := 0
	for _, m := range d {
		if m.Pod != pod && w.available(m) {
			n++
		}
	}
	if kind == model.GroupRole {
		return n > 0
	}
	return n == len(d)
}

// hosted returns the groups with a member on the pod, by ID.
func (w *world) hosted(c *candidate) []*model.Group {
	var groups []*model.Group
	for _, g := range w.groups() {
		if count(g, func(m *model.Member) bool { return m.Pod == c.Name }) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

// asks reports whether the group is checked: not for a pod that is denied; nor for one that is
// live, whose report says settled, and whose members of the group are all Down; nor in a shutdown
// or an outage.
func (w *world) asks(g *model.Group, c *candidate) bool {
	if w.denied(c.Pod) || w.shutdown(c.Pod) || w.outage() {
		return false
	}
	notDown := count(g, func(m *model.Member) bool { return m.Pod == c.Name && m.State != model.MemberDown })
	r := report(c.Pod)
	return !w.live(c.Pod) || r == nil || !r.Settled || notDown > 0
}

func ofKind(kind model.GroupKind) func(*world, *candidate) (string, bool) {
	return func(w *world, c *candidate) (string, bool) {
		for _, g := range w.hosted(c) {
			if g.Kind == kind && w.asks(g, c) && w.groupHolds(w.whatIf(g, c.Pod)) {
				return g.ID, true
			}
		}
		return "", false
	}
}

// groupHolds reports whether the group holds the pod: one that cannot be protected if unprotected
// is Hold, or others are missing; any other if after is less than least.
func (w *world) groupHolds(x whatIf) bool {
	if x.unprotectable {
		return w.spec.Policy.Unprotected == model.PermissionHold || x.missing > 0
	}
	return x.after < x.least
}

// noneEligible reports whether the group is checked, needs a leader, is not unprotectable, and no
// available member that is eligible is left without the pod's own. A group that is led only from
// the pod holds like one that cannot be protected.
func (w *world) noneEligible(c *candidate) (string, bool) {
	for _, g := range w.hosted(c) {
		x := w.whatIf(g, c.Pod)
		if !g.NeedsLeader || !w.asks(g, c) || x.unprotectable ||
			count(g, func(m *model.Member) bool { return m.Eligible && m.Pod != c.Name && w.available(m) }) > 0 {
			continue
		}
		if !ledOnlyFrom(g, c.Pod) || w.spec.Policy.Unprotected == model.PermissionHold || x.missing > 0 {
			return g.ID, true
		}
	}
	return "", false
}

// ledOnlyFrom reports whether all eligible members of a Shard, in any state, are on the pod.
func ledOnlyFrom(g *model.Group, p *model.Pod) bool {
	all := count(g, func(m *model.Member) bool { return m.Eligible })
	return g.Kind == model.GroupShard && all > 0 && all == count(g, func(m *model.Member) bool { return m.Eligible && m.Pod == p.Name })
}

// soleCopy reports whether the last copy would go.
func (w *world) soleCopy(c *candidate) (string, bool) {
	if w.shutdown(c.Pod) {
		return "", false
	}
	if c.lost && (w.noAgents() || w.assumed) || c.action == model.ActionReplace && w.deadDatabase() {
		return "", true
	}
	// A live pod that is first evacuated is checked after that.
	later := w.barrier == "" && c.prepare == model.PrepareEvacuate && w.live(c.Pod) && !w.outage()
	for _, g := range w.hosted(c) {
		x := w.whatIf(g, c.Pod)
		hasData := c.reason != model.ReasonNeverStarted || w.toBeLeft(c.Pod)
		if c.lost && g.Kind != model.GroupRole && hasData && !later && w.lastCopy(g, c, x) {
			return g.ID, true
		}
		if x.after == 0 && w.asks(g, c) && !x.unprotectable {
			return g.ID, true
		}
	}
	return "", false
}

// lastCopy reports whether after is 0; for a Quorum with other members, whether it is less than
// least.
func (w *world) lastCopy(g *model.Group, c *candidate, x whatIf) bool {
	others := count(g, func(m *model.Member) bool { return m.Pod != c.Name })
	return x.after == 0 || g.Kind == model.GroupQuorum && others > 0 && x.after < x.least
}

// catchingUp reports whether the group is checked, a member on the pod is Recovering or of unknown
// state, and missing is above 0. Before its turn, without progress, only unknown state counts.
func (w *world) catchingUp(c *candidate) (string, bool) {
	inVain := w.early == c && (w.barrier != "" || w.noProgress())
	for _, g := range w.hosted(c) {
		recovering := count(g, func(m *model.Member) bool {
			return m.Pod == c.Name && (m.State == model.MemberRecovering && !inVain || unknownState(m))
		})
		if recovering > 0 && w.asks(g, c) && w.whatIf(g, c.Pod).missing > 0 {
			return g.ID, true
		}
	}
	return "", false
}

// beingMoved reports whether a group with a member on the pod is moving.
func (w *world) beingMoved(c *candidate) (string, bool) {
	for _, g := range w.hosted(c) {
		if g.Moving {
			return g.ID, true
		}
	}
	return "", false
}
