package view

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// voice is what one pod says about one group.
type voice struct {
	pod   int
	group *rollcallv1.Group
}

// mergeGroups makes one group of everything that is said about it. The witnesses' reports are
// joined, the worst state of each member counts, and a member that not all of them list is unknown.
// Of a group that no witness reports only bad news is kept: what was good is unknown.
func (w *world) mergeGroups() []model.Group {
	heard := map[string][]voice{}
	for _, i := range w.witnesses {
		for _, g := range w.pods[i].report.GetGroups() {
			voices := heard[g.GetId()]
			if voices == nil {
				voices = make([]voice, 0, len(w.witnesses))
			}
			heard[g.GetId()] = append(voices, voice{i, g})
		}
	}
	rumours := map[string][]voice{}
	for i := range w.pods {
		p := &w.pods[i]
		if !p.observed() {
			continue
		}
		for _, g := range p.report.GetGroups() {
			if heard[g.GetId()] == nil {
				rumours[g.GetId()] = append(rumours[g.GetId()], voice{i, g})
			}
		}
	}
	groups := make([]model.Group, 0, len(heard)+len(rumours))
	for id, voices := range heard {
		groups = append(groups, w.merge(id, voices, true))
	}
	for id, voices := range rumours {
		groups = append(groups, w.merge(id, voices, false))
	}
	for _, g := range w.in.Known {
		if heard[g.ID] == nil && rumours[g.ID] == nil && w.missing(g) && !w.unattended() {
			groups = append(groups, w.forgotten(g))
		}
	}
	slices.SortFunc(groups, func(a, b model.Group) int { return cmp.Compare(a.ID, b.ID) })
	slices.Sort(w.disagree)
	w.dismissOutvoted()
	return groups
}

// forgetAfter is how long pods without agents must have been unchanged until what was remembered
// about them is dropped. A copy that is being made again needs its time.
const forgetAfter = 5 * time.Minute

// unattended reports whether there are pods, all have long been ready or are overdue, and none has
// an agent. What is remembered is then out of date, and no agent will ever contradict it: the
// database is adopted again, by a person's approval and one pod at a time.
func (w *world) unattended() bool {
	there := false
	for i := range w.pods {
		if k := w.pods[i].kube; k != nil {
			there = true
			if at, ok := unattendedAt(k, w.in.Kube.Cluster); !ok || w.in.Now.Before(at) {
				return false
			}
		}
	}
	return there
}

// unattendedAt returns from when on a pod, in its present state, has long been without an agent
// that could report on it. A starting pod may take startSeconds, as elsewhere.
func unattendedAt(p *kube.Pod, c *v1alpha1.DatabaseCluster) (time.Time, bool) {
	switch {
	case p.Agent:
	case p.Phase == kube.Ready:
		return p.Since.Add(forgetAfter), true
	case p.Phase == kube.Started:
		start := time.Duration(c.Spec.WithDefaults().Policy.StartSeconds) * time.Second
		return p.Since.Add(max(forgetAfter, start)), true
	}
	return time.Time{}, false
}

// missing reports whether a pod that was in the group cannot report. Pods of a StatefulSet that is
// not shown may still exist, and come back with it: if a group is on such pods alone, none can
// report. If others were in it, too, they report, unless a claim says that one of those pods is
// unavailable.
func (w *world) missing(g model.Group) bool {
	shown, hidden := false, false
	for _, m := range g.Members {
		i, ok := w.byName[m.Pod]
		switch {
		case ok && !slices.Contains(w.witnesses, i):
			return true
		case ok:
			shown = true
		case w.hidden(m.Pod):
			if w.claimed(m.Pod) {
				return true
			}
			hidden = true
		}
	}
	return hidden && !shown
}

// hidden reports whether the pod's StatefulSet is not shown. A StatefulSet that has lost its label,
// or was deleted without its pods, hides them.
func (w *world) hidden(pod string) bool { return pod != "" && !kube.HasSetOf(w.in.Kube.Pools, pod) }

// forgotten returns a group that no pod reports: nothing good is known about it. A member on a pod
// whose database does not run, or is no member, serves nobody; if it were unknown, the only pod of
// a group that could not start would be kept from its correction. A group that made no sense held
// all pods while it was reported. Nobody reports it any more, and nobody may ever correct it, so it
// counts as copies of data, all of which are needed, until a pod reports it.
func (w *world) forgotten(g model.Group) model.Group {
	g.Members = slices.Clone(g.Members)
	if !sensible(g) {
		g.Kind, g.MinAvailable = model.GroupShard, new(int32(len(g.Members)))
	}
	for i := range g.Members {
		m := &g.Members[i]
		m.Leader, m.Progress, m.State = false, nil, model.MemberUnknown
		if at, ok := w.byName[m.Pod]; ok && !w.pods[at].mayServe() {
			m.State = model.MemberDown
		}
	}
	return g
}

// sensible reports whether the group is of a known kind, and has what that kind requires.
func sensible(g model.Group) bool {
	switch g.Kind {
	case model.GroupShard:
		return g.MinAvailable == nil || *g.MinAvailable >= 0
	case model.GroupQuorum, model.GroupAcks, model.GroupRole:
		return g.MinAvailable != nil && *g.MinAvailable >= 0
	}
	return false
}

// mayServe reports whether the pod's database runs and does not deny being a member.
func (p *pod) mayServe() bool {
	return p.running() && p.says() != rollcallv1.Membership_MEMBERSHIP_NOT_LIVE
}

// copyOf is a member while its voices are joined.
type copyOf struct {
	model.Member
	node    string
	voices  int
	ownSays bool // the hosting pod itself lists it as not down
}

func (w *world) merge(id string, voices []voice, good bool) model.Group {
	first := voices[0].group
	out := model.Group{ID: id, Kind: meaning(groupKinds, first.GetKind(), unknownKind)}
	copies := make([]copyOf, 0, len(first.GetMembers()))
	places := map[string]int{} // in copies
	var least int32
	for _, v := range voices {
		g := v.group
		if meaning(groupKinds, g.GetKind(), unknownKind) != out.Kind {
			w.disagree = append(w.disagree, fmt.Sprintf("of which kind %s is", id))
		}
		least = max(least, g.GetMinAvailable())
		out.NeedsLeader = out.NeedsLeader || g.GetNeedsLeader()
		out.Moving = out.Moving || g.GetMoving()
		for i, m := range g.GetMembers() {
			at, ok := i, i < len(copies) && copies[i].ID == m.GetId() // usually all have the same order
			if !ok {
				at, ok = places[m.GetId()]
			}
			if !ok {
				at = len(copies)
				copies = append(copies, copyOf{node: m.GetNode(), Member: model.Member{ID: m.GetId(), State: model.MemberActive, Domain: m.GetDomain(), Eligible: true}})
				places[m.GetId()] = at
			}
			c := &copies[at]
			c.voices++
			state := meaning(memberStates, m.GetState(), model.MemberUnknown)
			if m.GetNode() != c.node {
				state = model.MemberUnknown // its host is not known
			}
			if m.GetDomain() != c.Domain {
				state, c.Domain = model.MemberUnknown, "" // nor its failure domain
			}
			if h, ok := w.hosts[m.GetNode()]; ok && h.pod == v.pod && good && state != model.MemberDown && state != model.MemberUnknown {
				c.ownSays = true
			}
			c.State = worse(c.State, state)
			c.Eligible = c.Eligible && m.GetEligible()
			if p := m.GetProgress(); p > 0 && p <= 1 && (c.Progress == nil || p < *c.Progress) {
				c.Progress = &p
			}
		}
	}
	if out.Kind != model.GroupShard || least > 0 {
		out.MinAvailable = &least
	}
	var leader []string
	if good {
		leader = w.leaderOf(id, voices)
	}
	slices.SortFunc(copies, func(a, b copyOf) int { return cmp.Compare(a.ID, b.ID) })
	out.Members = make([]model.Member, 0, len(copies))
	for i := range copies {
		c := &copies[i]
		c.Leader = slices.Contains(leader, c.ID)
		w.place(c)
		switch {
		case c.voices < len(voices),
			!good && (c.State == model.MemberActive || c.State == model.MemberMoving),
			c.State == model.MemberDown && c.ownSays && w.mayHold(c.Pod):
			// Not all list it; or it was good when last reported; or the others have it as down and
			// its own pod has not.
			c.State = model.MemberUnknown
		}
		if c.State != model.MemberRecovering {
			c.Progress = nil
		}
		out.Members = append(out.Members, c.Member)
	}
	return out
}

// place finds the member's pod, and limits its state to what is known about that pod.
func (w *world) place(c *copyOf) {
	h, ok := w.hosts[c.node]
	if !ok {
		return // hosted elsewhere
	}
	p := &w.pods[h.pod]
	c.Pod = p.name
	if c.State == model.MemberDown {
		return
	}
	switch {
	case h.unsure:
		c.State = model.MemberUnknown
	case p.kube == nil || p.kube.Phase == kube.Pending || p.kube.Phase == kube.NotStarted:
		c.State = model.MemberDown // no process of it exists
	case !p.mayServe():
		c.State = model.MemberUnknown
	}
}

// mayHold reports whether a pod may have a process that holds copies.
func (w *world) mayHold(name string) bool {
	i, ok := w.byName[name]
	return ok && w.pods[i].running()
}
