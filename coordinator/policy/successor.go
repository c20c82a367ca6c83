package policy

import (
	"cmp"
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Successors are the pods that may take over the duties of a claimed pod, so
// that duties move as seldom as they can: those that stay; if all must go
// themselves, those that go last. Where only some of them can take over what the
// pod leads, the others are none.
//
// The versions that the pod waits for (Report.After) bind its successor, too: it
// runs none that is newer than another member's. If that leaves nobody, the pod
// itself is the answer, because an empty one means anybody.
func Successors(s model.Snapshot, name string) []string {
	d := newDecision(&s, name, true)
	var fit []*pod
	for i := range d.x.pods {
		p := &d.x.pods[i]
		if p.Name != name && p.claim == nil && p.Phase == model.Ready && p.report != nil && p.report.Member == model.Live {
			fit = append(fit, p)
		}
	}
	at, known := d.x.byName[name]
	if len(fit) == 0 || !known {
		return names(fit)
	}
	fit = d.x.ableToLead(fit, name)
	if fit = d.x.notNewer(fit, &d.x.pods[at]); len(fit) == 0 {
		return []string{name}
	}
	return names(d.goLast(fit))
}

func names(pods []*pod) []string {
	list := make([]string, len(pods))
	for i, p := range pods {
		list[i] = p.Name
	}
	slices.Sort(list)
	return list
}

// ableToLead are the pods that could take over a group which the named pod
// leads, or all when none can be told from the others by that.
func (x *index) ableToLead(pods []*pod, name string) []*pod {
	able := map[string]bool{}
	for i := range x.groups {
		g := &x.groups[i]
		if !slices.ContainsFunc(g.Members, func(m model.Member) bool { return m.Pod == name && m.Leader }) {
			continue
		}
		for _, m := range g.Members {
			able[m.Pod] = able[m.Pod] || m.Eligible && m.State == model.Active
		}
	}
	some := kept(pods, func(p *pod) bool { return able[p.Name] })
	if len(some) == 0 {
		return pods
	}
	return some
}

// notNewer are the pods that may lead those which the pod goes after.
func (x *index) notNewer(pods []*pod, from *pod) []*pod {
	if from.report == nil || len(from.report.After) == 0 {
		return pods
	}
	return kept(pods, func(p *pod) bool {
		return !slices.ContainsFunc(from.report.After, func(name string) bool {
			at, known := x.byName[name]
			return known && newer(p, &x.pods[at])
		})
	})
}

// newer: p runs a newer version than o, as far as can be told. If that is
// unknown, the revision tells.
func newer(p, o *pod) bool {
	if p.pool == o.pool && p.Revision == o.Revision {
		return false
	}
	if p.report != nil && o.report != nil {
		v, knownV := model.ParseEngineVersion(p.report.EngineVersion)
		w, knownW := model.ParseEngineVersion(o.report.EngineVersion)
		if knownV && knownW {
			return v.Compare(w) > 0
		}
	}
	return !isOutdated(p) && isOutdated(o)
}

// goLast are those of the pods that need not go, or go last.
func (d *decision) goLast(pods []*pod) []*pod {
	goes := map[*pod]*candidate{}
	for i := range d.order {
		goes[d.order[i].pod] = &d.order[i]
	}
	stays := func(p *pod) bool { return goes[p] == nil }
	free := func(p *pod) bool { return !goes[p].leaves && !p.pool.byLine } // whoever leads can wait for the others
	comesBack := func(p *pod) bool { return !goes[p].leaves }
	for _, better := range []func(*pod) bool{stays, free} {
		if some := kept(pods, better); len(some) > 0 {
			return some
		}
	}
	if some := kept(pods, comesBack); len(some) > 0 {
		pods = some
	}
	// The line comes to the lowest ordinal last.
	low := slices.MinFunc(pods, func(a, b *pod) int { return cmp.Compare(a.Ordinal, b.Ordinal) }).Ordinal
	return kept(pods, func(p *pod) bool { return p.Ordinal == low || !p.pool.byLine })
}

func kept(pods []*pod, keep func(*pod) bool) []*pod {
	return slices.DeleteFunc(slices.Clone(pods), func(p *pod) bool { return !keep(p) })
}
