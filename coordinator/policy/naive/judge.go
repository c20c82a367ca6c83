package naive

import (
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Judge answers single questions about a snapshot, for properties of plans.
type Judge struct{ w *world }

// NewJudge returns a Judge of a snapshot, which it only reads.
func NewJudge(s *model.Snapshot) *Judge {
	w := newWorld(s)
	if !w.twoAreOne() {
		w.order = w.candidates()
		w.lookBehind()
	}
	return &Judge{w}
}

// Pod returns the pod of a name. It is nil if the snapshot does not have it.
func (j *Judge) Pod(name string) *model.Pod { return j.w.podNamed(name) }

// Order returns the pods that should go, in order.
func (j *Judge) Order() []string {
	var names []string
	for _, c := range j.w.order {
		names = append(names, c.Name)
	}
	return names
}

// Ask returns the rule that would hold a pod of the order, by itself and with others chosen before
// it. It is empty if the pod may go, in its turn or before it.
func (j *Judge) Ask(name string, chosen []string) model.Hold {
	w := j.with(chosen)
	c := find(w.order, w.podNamed(name))
	hold := w.holdOf(c)
	if hold.Rule != "" && w.nothingElseGoes() && w.goesBeforeItsTurn(c, w.noProgress()) {
		return j.AskBeforeItsTurn(name)
	}
	return hold
}

// AskBeforeItsTurn returns the rule that would hold a pod of the order with none chosen before it,
// if it were asked about before its turn.
func (j *Judge) AskBeforeItsTurn(name string) model.Hold {
	w := j.with(nil)
	w.early = find(w.order, w.podNamed(name))
	return w.holdOf(w.early)
}

// with returns a world in which others are chosen.
func (j *Judge) with(chosen []string) *world {
	w := *j.w
	w.chosen = nil
	for _, other := range chosen {
		if c := find(w.order, w.podNamed(other)); c != nil {
			w.chosen = append(w.chosen, c)
		}
	}
	return &w
}

// holdOf returns the hold of a pod that is asked about alone.
func (w *world) holdOf(c *candidate) model.Hold {
	w.batch = []*candidate{c}
	rule, group, _ := w.firstHold(c)
	return model.Hold{Pod: c.Name, Rule: rule, Group: group}
}

// BeforeItsTurn reports whether the pod goes before its turn if no other goes.
func (j *Judge) BeforeItsTurn(name string) bool {
	w := j.with(nil)
	c := find(w.order, w.podNamed(name))
	return w.holdOf(c).Rule != "" && w.nothingElseGoes() && w.goesBeforeItsTurn(c, w.noProgress())
}

// Outside reports whether the pod is outside of the budget: broken, and its restart makes nothing
// unavailable.
func (j *Judge) Outside(p *model.Pod) bool {
	c := find(j.w.order, p)
	return c != nil && c.outside
}

// Broken reports whether there is direct evidence that the pod is broken, and it is to be
// corrected.
func (j *Judge) Broken(p *model.Pod) bool {
	c := find(j.w.order, p)
	return c != nil && c.broken
}

// Live reports whether the pod is live in the database.
func (j *Judge) Live(p *model.Pod) bool { return j.w.live(p) }

// DeadDatabase reports whether no pod is live.
func (j *Judge) DeadDatabase() bool { return j.w.deadDatabase() }

// Claimed reports whether a claim names it.
func (j *Judge) Claimed(p *model.Pod) bool { return j.w.claimed(p) }

// GoesBackUp reports whether the partition of the pod's pool goes back up.
func (j *Judge) GoesBackUp(p *model.Pod) bool { return j.w.goesBackUp(j.w.pool(p)) }

// Denied reports whether it is known not to serve.
func (j *Judge) Denied(p *model.Pod) bool { return j.w.denied(p) }

// CountedOn reports whether it serves, and its copies count.
func (j *Judge) CountedOn(p *model.Pod) bool { return j.w.way(p) == countedOn }

// OnlySoaks reports whether soaking is all that is wrong with it.
func (j *Judge) OnlySoaks(p *model.Pod) bool { return j.w.way(p) == isSoaking }

// NoAgents reports whether nobody can be asked.
func (j *Judge) NoAgents() bool { return j.w.noAgents() }

// Begun reports whether an outage has begun, and the others follow.
func (j *Judge) Begun() bool { return j.w.outage() && j.w.outageBegun() }

// Outage reports whether all go together.
func (j *Judge) Outage() bool { return j.w.outage() }

// Shutdown reports whether no pod of its pool is to be left.
func (j *Judge) Shutdown(p *model.Pod) bool { return j.w.shutdown(p) }

// Pool returns the pool of the pod.
func (j *Judge) Pool(p *model.Pod) *model.Pool { return j.w.pool(p) }

// Zone returns the pod's zone. It is empty if not known.
func (j *Judge) Zone(p *model.Pod) string { return j.w.zone(p) }

// Together reports whether they are of one unit.
func (j *Judge) Together(a, b *model.Pod) bool { return j.w.unitOf(a) == j.w.unitOf(b) }

// Limit returns how many pods may be unavailable.
func (j *Judge) Limit() int { return j.w.podLimit() }

// ZoneLimit returns the limit of zones; 0 if none is set.
func (j *Judge) ZoneLimit() int { return j.w.zoneLimit() }

// Away returns the names of all unavailable pods, with claims on unknown pods.
func (j *Judge) Away() []string {
	var names []string
	for _, p := range j.w.pods {
		if j.w.away(p) {
			names = append(names, p.Name)
		}
	}
	for _, c := range j.w.unknownClaims() {
		names = append(names, c.Pod)
	}
	return names
}

// ZonesAway returns the unavailable zones if others have gone, too.
func (j *Judge) ZonesAway(gone []string) int {
	return len(j.w.zonesOf(func(p *model.Pod) bool { return j.w.away(p) || slices.Contains(gone, p.Name) }, everyClaim))
}

// Group returns how many parts (domains, or members without one) a group has, and how many of them
// are there when some pods have gone.
func (j *Judge) Group(g *model.Group, gone []string) (all, there int) {
	for _, d := range domainsOf(g) {
		all++
		n := 0
		for _, m := range d {
			if j.w.available(m) && !slices.Contains(gone, m.Pod) {
				n++
			}
		}
		if n == len(d) || g.Kind == model.GroupRole && n > 0 {
			there++
		}
	}
	return all, there
}

// Least returns how many parts of a group must stay.
func (j *Judge) Least(g *model.Group) int { return j.w.whatIf(g, &model.Pod{}).least }

// Unprotectable reports whether the pod has so much of a group that no limit can hold. It counts
// the group's parts on the pod.
func (j *Judge) Unprotectable(g *model.Group, p *model.Pod) (own int, unprotectable bool) {
	x := j.w.whatIf(g, p)
	return x.own, x.own > 0 && x.unprotectable
}

// Leaders returns how many may lead when some pods have gone.
func (j *Judge) Leaders(g *model.Group, gone []string) int {
	return count(g, func(m *model.Member) bool {
		return m.Eligible && j.w.available(m) && !slices.Contains(gone, m.Pod)
	})
}

// LedOnlyFrom reports whether no other place ever has a leader of the group.
func (j *Judge) LedOnlyFrom(g *model.Group, p *model.Pod) bool { return ledOnlyFrom(g, p) }

// Serves returns how many members on the pod are not Down.
func (j *Judge) Serves(p *model.Pod) int {
	return j.w.members(p, func(m *model.Member) bool { return m.State != model.MemberDown })
}

// GoesWith returns the broken pod of an OrderedReady pool with whose correction a claimed pod goes
// when it is rechecked.
func (j *Judge) GoesWith(name string) *model.Pod {
	w := *j.w
	w.barrier = name
	c := find(w.order, w.podNamed(name))
	if c == nil || w.pool(c.Pod).Management != model.ManagementOrderedReady {
		return nil
	}
	_, corrected := w.withoutWhoStandsBehind(c)
	return w.podNamed(corrected)
}
