package view

import (
	"fmt"
	"maps"
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/kube"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// callWitnesses finds whose reports count as good news: fresh ones, of pods that run and are in the
// database by their own word. A pod that denies a member which a majority affirms sees another
// database than the rest: it is outvoted and counts as unknown itself. If there is no majority
// either way, the witnesses disagree.
//
// Affirming a member that the majority does not know is no such sign: the first pod to see a new
// member is not wrong. Nor is denying one that Kubernetes has not found Ready for a while: members
// come and go, and not all see that at once.
func (w *world) callWitnesses() {
	for i := range w.pods {
		p := &w.pods[i]
		if p.fresh && p.running() && !p.ambiguous && p.says() == rollcallv1.Membership_MEMBERSHIP_LIVE {
			w.witnesses = append(w.witnesses, i)
		}
	}
	w.opinions = w.memberships()
	opinions := w.opinions
	total := len(w.witnesses)
	for _, name := range contradicted(opinions) {
		if !w.established(name) {
			continue
		}
		affirm, deny := 0, 0
		for _, l := range opinions {
			switch l.state(name) {
			case rollcallv1.Membership_MEMBERSHIP_LIVE:
				affirm += len(l.pods)
			case rollcallv1.Membership_MEMBERSHIP_NOT_LIVE:
				deny += len(l.pods)
			}
		}
		switch {
		case deny == 0 || 2*deny > total:
		case 2*affirm > total:
			for _, l := range opinions {
				if l.state(name) != rollcallv1.Membership_MEMBERSHIP_NOT_LIVE {
					continue
				}
				for _, i := range l.pods {
					w.pods[i].outvoted = true
				}
			}
		default:
			w.disagree = append(w.disagree, fmt.Sprintf("%d of %d agents say that %s is live, %d that it is not", affirm, total, w.called(name), deny))
		}
	}
	w.dismissOutvoted()
}

// established reports whether all pods have had the time to see a member.
func (w *world) established(name string) bool {
	h, ok := w.hosts[name]
	if !ok || h.unsure {
		return true
	}
	k := w.pods[h.pod].kube
	return k != nil && k.Phase == kube.Ready && w.in.Now.Sub(k.Since) >= w.in.MaxAge
}

// dismissOutvoted removes outvoted pods from the witnesses.
func (w *world) dismissOutvoted() {
	if w.opinions != nil && !slices.ContainsFunc(w.witnesses, func(i int) bool { return w.pods[i].outvoted }) {
		return
	}
	w.witnesses = slices.DeleteFunc(w.witnesses, func(i int) bool { return w.pods[i].outvoted })
	w.opinions = w.memberships()
}

// called returns a name in the database for people: the pod's, if there is one.
func (w *world) called(name string) string {
	if h, ok := w.hosts[name]; ok && !h.unsure {
		return w.pods[h.pod].name
	}
	return name
}

// list is a membership of the database as some of its members see it. In a
// database at rest there is one, whatever the number of its members.
type list struct {
	nodes  []*rollcallv1.MemberNode
	byName map[string]*rollcallv1.MemberNode
}

// same reports whether nodes lists the same members, in any order.
func (l *list) same(nodes []*rollcallv1.MemberNode) bool {
	if slices.EqualFunc(l.nodes, nodes, sameNode) {
		return true
	}
	if len(nodes) != len(l.byName) {
		return false
	}
	for _, n := range nodes {
		if m := l.byName[n.GetName()]; m == nil || !sameNode(m, n) {
			return false
		}
	}
	return true
}

func sameNode(a, b *rollcallv1.MemberNode) bool {
	return a == b || a.GetMember() == b.GetMember() && a.GetName() == b.GetName() && a.GetAddress() == b.GetAddress()
}

// addLists finds the different lists of nodes among the reports.
func (w *world) addLists() {
	for i := range w.pods {
		p := &w.pods[i]
		nodes := p.report.GetNodes()
		if !p.observed() || len(nodes) == 0 {
			continue // has no opinion
		}
		at := slices.IndexFunc(w.lists, func(l *list) bool { return l.same(nodes) })
		if at < 0 {
			l := &list{nodes: nodes, byName: make(map[string]*rollcallv1.MemberNode, len(nodes))}
			for _, n := range nodes {
				l.byName[n.GetName()] = n
			}
			at = len(w.lists)
			w.lists = append(w.lists, l)
		}
		p.list = w.lists[at]
	}
}

// opinion is a list and the witnesses who hold it.
type opinion struct {
	*list
	pods []int
}

// state returns the state of a name. A name that is not listed is not a member.
func (o *opinion) state(name string) rollcallv1.Membership {
	if n := o.byName[name]; n != nil {
		return n.GetMember()
	}
	return rollcallv1.Membership_MEMBERSHIP_NOT_LIVE
}

// memberships returns the different opinions of the witnesses.
func (w *world) memberships() []*opinion {
	var opinions []*opinion
	for _, i := range w.witnesses {
		l := w.pods[i].list
		if l == nil {
			continue
		}
		at := slices.IndexFunc(opinions, func(o *opinion) bool { return o.list == l })
		if at < 0 {
			at = len(opinions)
			opinions = append(opinions, &opinion{list: l, pods: make([]int, 0, len(w.witnesses))})
		}
		opinions[at].pods = append(opinions[at].pods, i)
	}
	return opinions
}

// contradicted returns all names that some opinion has as live, in order, if there is another
// opinion.
func contradicted(opinions []*opinion) []string {
	if len(opinions) < 2 {
		return nil
	}
	set := map[string]bool{}
	for _, o := range opinions {
		for name, n := range o.byName {
			if n.GetMember() == rollcallv1.Membership_MEMBERSHIP_LIVE {
				set[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// vote counts, among the witnesses other than the pod itself, which have any of its names as a
// living member and which have none. Of a pod that reports its name only that name counts: being
// seen under another does not confirm its report.
func (w *world) vote(i int) (live, notLive, total int) {
	p := &w.pods[i]
	for _, l := range w.opinions {
		n := len(l.pods)
		if slices.Contains(l.pods, i) {
			n--
		}
		total += n
		best := rollcallv1.Membership_MEMBERSHIP_NOT_LIVE
		for _, name := range p.names {
			if said := p.report.GetNode(); said != "" && said != name {
				continue
			}
			if state := l.state(name); state != rollcallv1.Membership_MEMBERSHIP_NOT_LIVE && best != rollcallv1.Membership_MEMBERSHIP_LIVE {
				best = state
			}
		}
		switch best {
		case rollcallv1.Membership_MEMBERSHIP_LIVE:
			live += n
		case rollcallv1.Membership_MEMBERSHIP_NOT_LIVE:
			notLive += n
		}
	}
	return live, notLive, total
}
