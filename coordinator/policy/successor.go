package policy

import (
	"cmp"
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// Successors returns the pods that may take over the duties of a claimed pod, so that duties move
// as seldom as possible: the pods that stay or, if all must go themselves, those that go last. If
// only some of them can take over what the pod leads, the others are left out.
//
// The versions that the pod waits for (Report.After) bind its successor, too: its version may not
// be newer than another member's. If that leaves no pod, the pod itself is returned, because an
// empty list means any pod.
//
// Where a copy cannot follow a leader of a newer version (EngineFacts.OldestLeads), duties go to pods
// of the oldest version, although these go themselves later.
func Successors(s model.Snapshot, name string) []string {
	s.Cluster.Spec.Update.Primary = "" // that Kubernetes finds a pod Ready makes it no successor
	d := newDecision(&s, name, true)
	var fit []*cluster.Pod
	for i := range d.x.Pods {
		p := &d.x.Pods[i]
		if p.Name != name && p.Claim == nil && p.Phase == model.PodPhaseReady && p.OwnReport != nil && p.OwnReport.Member == model.MembershipLive {
			fit = append(fit, p)
		}
	}
	at, known := d.x.ByName[name]
	if len(fit) == 0 || !known {
		return names(fit)
	}
	fit = ableToLead(d.x, fit, name)
	if fit = notNewer(d.x, fit, &d.x.Pods[at]); len(fit) == 0 {
		return []string{name}
	}
	if s.Cluster.Engine.OldestLeads {
		fit = oldest(fit)
	}
	return names(d.goLast(fit))
}

func names(pods []*cluster.Pod) []string {
	list := make([]string, len(pods))
	for i, p := range pods {
		list[i] = p.Name
	}
	slices.Sort(list)
	return list
}

// ableToLead returns the pods that could take over a group which the named pod leads, or all of
// them if that does not tell them apart.
func ableToLead(x *cluster.Index, pods []*cluster.Pod, name string) []*cluster.Pod {
	able := map[string]bool{}
	for i := range x.Groups {
		g := &x.Groups[i]
		if !slices.ContainsFunc(g.Members, func(m model.Member) bool { return m.Pod == name && m.Leader }) {
			continue
		}
		for _, m := range g.Members {
			able[m.Pod] = able[m.Pod] || m.Eligible && m.State == model.MemberActive
		}
	}
	some := kept(pods, func(p *cluster.Pod) bool { return able[p.Name] })
	if len(some) == 0 {
		return pods
	}
	return some
}

// notNewer returns the pods that may lead the pods after which the pod goes.
func notNewer(x *cluster.Index, pods []*cluster.Pod, from *cluster.Pod) []*cluster.Pod {
	if from.OwnReport == nil || len(from.OwnReport.After) == 0 {
		return pods
	}
	return kept(pods, func(p *cluster.Pod) bool {
		return !slices.ContainsFunc(from.OwnReport.After, func(name string) bool {
			at, known := x.ByName[name]
			return known && newer(p, &x.Pods[at])
		})
	})
}

// oldest returns the pods than which no other is older.
func oldest(pods []*cluster.Pod) []*cluster.Pod {
	return kept(pods, func(p *cluster.Pod) bool {
		return !slices.ContainsFunc(pods, func(o *cluster.Pod) bool { return newer(p, o) })
	})
}

// newer reports whether p runs a newer version than o, as far as is known. If the version is
// unknown, the revision decides.
func newer(p, o *cluster.Pod) bool {
	if p.OwnPool == o.OwnPool && p.Revision == o.Revision {
		return false
	}
	if p.OwnReport != nil && o.OwnReport != nil {
		v, knownV := model.ParseEngineVersion(p.OwnReport.EngineVersion)
		w, knownW := model.ParseEngineVersion(o.OwnReport.EngineVersion)
		if knownV && knownW {
			return v.Compare(w) > 0
		}
	}
	return !cluster.IsOutdated(p) && cluster.IsOutdated(o)
}

// goLast returns the pods that do not have to go, or go last.
func (d *decision) goLast(pods []*cluster.Pod) []*cluster.Pod {
	goes := map[*cluster.Pod]*candidate{}
	for i := range d.order {
		goes[d.order[i].Pod] = &d.order[i]
	}
	stays := func(p *cluster.Pod) bool { return goes[p] == nil }
	free := func(p *cluster.Pod) bool { return !goes[p].leaves && !p.OwnPool.ByPartition } // a leader can wait for the others
	comesBack := func(p *cluster.Pod) bool { return !goes[p].leaves }
	for _, better := range []func(*cluster.Pod) bool{stays, free} {
		if some := kept(pods, better); len(some) > 0 {
			return some
		}
	}
	if some := kept(pods, comesBack); len(some) > 0 {
		pods = some
	}
	// The partition comes to the lowest ordinal last.
	low := slices.MinFunc(pods, func(a, b *cluster.Pod) int { return cmp.Compare(a.Ordinal, b.Ordinal) }).Ordinal
	return kept(pods, func(p *cluster.Pod) bool { return p.Ordinal == low || !p.OwnPool.ByPartition })
}

func kept(pods []*cluster.Pod, keep func(*cluster.Pod) bool) []*cluster.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(p *cluster.Pod) bool { return !keep(p) })
}
