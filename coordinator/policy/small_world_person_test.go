package policy

import (
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// asksPerson reports whether the world stands still, and the page says that only a person can end
// that: every pod that should go is barred.
func (w *smallWorld) asksPerson() bool {
	order := Decide(w.s).Order
	for i := range w.s.Pods {
		p := &w.s.Pods[i]
		if p.Phase == model.PodPhaseMissing && !w.waitsForLower(p) || slices.Contains(order, p.Name) && !w.barred(p, order) {
			return false
		}
	}
	return true
}

func (w *smallWorld) is(p *model.Pod, letters string) bool {
	return strings.IndexByte(letters, w.kinds[p.Name]) >= 0
}

// waitsForLower reports whether its controller creates it only when a lower one is Ready.
func (w *smallWorld) waitsForLower(p *model.Pod) bool {
	return w.ordered && slices.ContainsFunc(w.s.Pods, func(o model.Pod) bool {
		return o.Pool == p.Pool && o.Ordinal < p.Ordinal && o.Phase != model.PodPhaseReady
	})
}

// barred reports whether there is no room for the pod, nobody knows it, or a barred pod goes before
// it.
func (w *smallWorld) barred(p *model.Pod, order []string) bool {
	if w.waitsForLower(p) || !p.Agent && p.Phase == model.PodPhaseStarted && p.Report == nil {
		return true
	}
	if p.Phase == model.PodPhaseFailed || w.is(p, "t") {
		return false // a correction always gets through
	}
	away, first, failed := 0, false, false
	alone, unit := true, 1 // all unavailable pods are of its unit
	for i := range w.s.Pods {
		o := &w.s.Pods[i]
		failed = failed || o.Phase == model.PodPhaseFailed && o.Revision == "v2"
		if o.Name == p.Name {
			continue
		}
		unit += cluster.Count(o.Zone == p.Zone)
		goes := slices.Contains(order, o.Name)
		if !w.serves(o) {
			away++
			goes, alone = true, alone && o.Zone == p.Zone
			first = first || w.ordered && o.Pool == p.Pool
		}
		first = first || goes && (w.is(p, "lL") || w.is(p, "h") && !w.is(o, "hHfp"))
	}
	limit := w.limit
	if w.zones && alone {
		limit = max(limit, unit)
	}
	// Another pod goes before it. But a pod that has a broken copy, or never becomes Ready, goes
	// before its turn.
	first = first && !w.is(p, "cgfsywip")
	return failed && !w.is(p, "nz") || w.groupBars(p) || w.serves(p) && away+1 > limit || first
}

// groupBars reports whether a group of the pod, or any group, has no leader, or too many copies
// would be missing without those on the pod.
func (w *smallWorld) groupBars(p *model.Pod) bool {
	for i := range w.s.Groups {
		g := &w.s.Groups[i]
		state := model.MemberDown
		for _, m := range g.Members {
			if m.Pod == p.Name {
				state = m.State
			}
		}
		total, missing := w.missing(g, p)
		led := slices.ContainsFunc(g.Members, func(m model.Member) bool { return m.Leader })
		if !led || state != model.MemberDown && missing > 0 && (missing+1 > w.limit || missing+1 == total) {
			return true
		}
	}
	return false
}

// missing counts the copies of a group that cannot be counted on, or domains, without that of the
// pod. For pods that never become Ready the others are counted on.
func (w *smallWorld) missing(g *model.Group, p *model.Pod) (total, missing int) {
	domain := func(m *model.Member) string {
		if m.Domain != "" {
			return m.Domain
		}
		return m.ID
	}
	there, own := map[string]bool{}, ""
	for i := range g.Members {
		m := &g.Members[i]
		at := slices.IndexFunc(w.s.Pods, func(o model.Pod) bool { return o.Name == m.Pod })
		counts := m.State == model.MemberActive && at >= 0 && (w.serves(&w.s.Pods[at]) || w.is(p, "ip") && w.is(&w.s.Pods[at], "ip"))
		before, seen := there[domain(m)]
		there[domain(m)] = counts && (!seen || before)
		if m.Pod == p.Name {
			own = domain(m)
		}
	}
	for name, ok := range there {
		missing += cluster.Count(!ok && name != own)
	}
	return len(there), missing
}
