package policy

import (
	"fmt"
	"slices"
	"time"
)

func (n *naive) approved(what Approved, revision string) bool {
	return slices.ContainsFunc(n.s.Cluster.Status.Approvals, func(a Approval) bool {
		return a.What == what && (a.Revision == "" || a.Revision == revision)
	})
}

func (n *naive) adoptable(p *Pod) bool {
	for _, a := range n.s.Cluster.Status.Approvals {
		fits := a.Revision == "" || a.Revision == n.pool(p.Pool).Revision
		late := n.why(p) == ReasonAdopt && !a.At.IsZero() && p.Since.After(a.At.Time)
		if a.What == ApprovedAdopt && fits && !late {
			return true
		}
	}
	return false
}

func (n *naive) stopped() bool {
	for _, pool := range n.s.Pools {
		k := 0
		for _, p := range n.everyPodThere() {
			if p.Pool != pool.Name || !n.wanted(p) || pool.Revision == "" || !pool.Observed {
				continue
			}
			if p.Phase == Missing {
				c := n.claimed(p)
				if c != nil && c.To == pool.Revision && c.Action != Remove && n.slow(p) {
					k++
				}
				continue
			}
			if p.Revision != pool.Revision || n.alive(p) {
				continue
			}
			late := p.Phase != Ready && p.Phase != Terminating && n.slow(p)
			if n.sick(p) != "" || late && !n.lost(p) {
				k++
			}
		}
		if k > 0 && k >= int(n.sp.Policy.MaxFailed) {
			return true
		}
	}
	return false
}

func numbers(v string) []int {
	var a, b, c, d int
	if k, _ := fmt.Sscanf(v, "%d.%d.%d.%d", &a, &b, &c, &d); k == 0 {
		return nil
	}
	return []int{a, b, c, d}
}

// refusedFor: p would come back on a version that is refused, or is part of a rollout that is.
func (n *naive) refusedFor(p *Pod) bool {
	w := n.why(p)
	if !n.old(p) || w == ReasonScaleDown {
		return false
	}
	rollout := w == ReasonOutdated && !n.leaving(p)
	return slices.ContainsFunc(n.s.Pools, func(pool Pool) bool {
		return (rollout || pool.Name == p.Pool) && n.versionRefused(pool)
	})
}

func (n *naive) versionRefused(pool Pool) bool {
	for range 1 {
		next := numbers(pool.Version)
		rolls := slices.ContainsFunc(n.everyPodThere(), func(p *Pod) bool { return p.Pool == pool.Name && n.old(p) })
		if next == nil || !rolls {
			continue
		}
		own, all := [][]int{}, [][]int{}
		hear := func(where, text string) {
			if v := numbers(text); v != nil {
				all = append(all, v)
				if where == pool.Name {
					own = append(own, v)
				}
			}
		}
		for _, q := range n.s.Pools {
			hear(q.Name, q.RunningVersion)
		}
		for _, p := range n.everyPodThere() {
			if r := n.heard(p); r != nil && r.Member != NotLive {
				hear(p.Pool, r.EngineVersion)
			}
		}
		below := func(floor []int) func([]int) bool {
			return func(v []int) bool { return slices.Compare(v, floor) < 0 }
		}
		than := own
		if len(own) == 0 {
			than = all
		}
		if n.sp.Policy.Downgrade != Allow && slices.ContainsFunc(than, func(v []int) bool { return slices.Compare(next, v) < 0 }) {
			return true
		}
		same := func(v []int) bool { return slices.Equal(v, next) }
		if slices.ContainsFunc(own, same) && !slices.ContainsFunc(own, below(next)) {
			continue // its oldest stays as it is
		}
		most, least := n.s.Cluster.Engine.MaxMajorStep, numbers(n.s.Cluster.Engine.MinSourceVersion)
		for _, v := range all {
			if next[0]-v[0] > most {
				return true
			}
			if n.s.Cluster.Engine.SameMinor && !n.outage && (v[0] != next[0] || v[1] != next[1]) {
				return true
			}
			newer := func(p Pool) bool { w := numbers(p.Version); return w != nil && w[0] > next[0] }
			demanded := least != nil && !slices.ContainsFunc(n.s.Pools, newer) // it is for the newest
			if demanded && !slices.ContainsFunc(all, below(v)) && !same(v) && below(least)(v) {
				return true
			}
		}
	}
	return false
}

// holdsEverybody asks a rule about the cluster as a whole.
func (n *naive) holdsEverybody(r Rule) (bool, string) {
	s := n.s
	known := func(name string) bool { return n.find(name) != nil }
	switch r {
	case ObserveOnly:
		return n.sp.Update.Mode == Observe, ""
	case Paused:
		return n.sp.Update.Paused || s.Cluster.Paused, ""
	case OutsideWindow:
		return !s.Cluster.Window.Open, ""
	case FleetFull:
		return s.Fleet.Max > 0 && s.Fleet.Restarts >= s.Fleet.Max, ""
	case PoolUnobserved:
		return slices.ContainsFunc(s.Pools, func(p Pool) bool { return !p.Observed }), ""
	case LineStopped:
		return n.stopped(), ""
	case ViewSplit:
		return s.Health.Disagree != "", ""
	case NoLeader:
		for _, g := range n.groups() {
			if g.NeedsLeader && leads(g, up) == 0 && len(hostsOf(g, known)) > 1 {
				return true, g.ID
			}
		}
	case TwoLeaders:
		for _, g := range n.groups() {
			if g.NeedsLeader && leads(g, func(m Member) bool { return m.State != Down }) > 1 {
				return true, g.ID
			}
		}
	case Unhealthy:
		grades := []Verdict{Red, Yellow, Recoverable, Green}
		grade := slices.Index(grades, s.Health.Verdict)
		if grade < 0 {
			return !n.noAgentAnywhere(), ""
		}
		return grade < map[LeastHealth]int{LeastAny: 0, LeastRecoverable: 2, LeastGreen: 3}[n.sp.Policy.Health], ""
	case Settling:
		l := s.Cluster.Status.LastDeparture
		return l != nil && s.Now.Sub(l.Time).Seconds() < s.Cluster.Engine.SettleSeconds, ""
	}
	return false, ""
}

// fails asks one rule about one pod. The order is that in which pods are considered.
func (n *naive) fails(r Rule, p *Pod, order []*Pod, unitNeeds int) (bool, string) {
	if fails, group := n.holdsEverybody(r); fails {
		return true, group
	}
	pool, rep, s := n.pool(p.Pool), n.heard(p), n.s
	shut := shutsDown(pool)
	switch r {
	case Paused:
		return n.stoppedByPartition(p), ""
	case FleetFull:
		return s.Fleet.Max > 0 && s.Fleet.Restarts+len(n.chosen) >= s.Fleet.Max, ""
	case NeedsApproval:
		restarts := !slices.Contains([]Action{Remove, Evacuate, Handoff}, n.action(p)) && !n.replacedAnyway(p)
		return n.outage && !n.approved(ApprovedOutage, pool.Revision) ||
			!p.Agent && restarts && n.sp.Update.Adopt == AdoptAsk && !n.adoptable(p) ||
			n.why(p) == ReasonAdopt && !p.Since.IsZero() && n.s.Now.Sub(p.Since.Time) < 5*time.Minute ||
			n.sp.Update.ApproveLeader && n.last(p) && !n.approved(ApprovedLeader, pool.Revision), ""
	case CanaryFirst:
		return n.canary(p), ""
	case NoLeader:
		known := func(name string) bool { return n.find(name) != nil }
		for _, g := range n.groups() {
			mine := slices.ContainsFunc(g.Members, func(m Member) bool { return m.Pod == p.Name && m.State != Down })
			if g.NeedsLeader && leads(g, up) == 0 && len(hostsOf(g, known)) <= 1 && mine {
				return true, g.ID
			}
		}
		return false, ""
	case OtherOperation:
		return pool.Operation != "" && n.why(p) != ReasonScaleDown && n.why(p) != ReasonReplacement, ""
	case Shutdown:
		return toNothing(pool) && !pool.AllowShutdown, ""
	case VersionRefused:
		return n.refusedFor(p), ""
	case InOrder:
		if n.comesBackOld(p) {
			return true, ""
		}
		for _, name := range n.awayNow() {
			o := n.find(name)
			if o == nil {
				continue
			}
			same := n.unit(o) != "" && n.unit(o) == n.unit(p)
			if pool.Management == OrderedReady && o.Pool == p.Pool && o.Name != p.Name && !same &&
				(!n.isSick(p) || o.Ordinal < p.Ordinal && (o.Phase != Ready || n.sick(o) != "" || slices.Contains(n.chosen, o.Name))) {
				return true, ""
			}
		}
	case NoReport:
		if rep == nil {
			return !n.noAgentAnywhere(), ""
		}
		return rep.Member != NotLive && (rep.Member != Live || p.Phase == Pending || p.Phase == NotStarted || p.Phase == Failed), ""
	case StaleReport:
		return rep != nil && !rep.Fresh, ""
	case OnDeadNode:
		return p.Phase == Terminating && n.lost(p), ""
	case OnItsWay:
		return p.Phase == Terminating || n.inHands(p), ""
	case Claimed:
		c := n.claimed(p)
		return c != nil && (!n.free(p) || c.UID == p.UID || c.UID == "" || p.UID == ""), ""
	case Vetoed:
		return rep != nil && rep.Veto != "" || p.Refused == Vetoed && n.why(p) == ReasonReplacement, ""
	case Busy:
		return rep != nil && rep.Busy != "" || n.comingUp(p), ""
	case VersionOrder:
		if rep == nil || !n.old(p) || n.why(p) == ReasonScaleDown {
			return false, ""
		}
		return slices.ContainsFunc(rep.After, func(name string) bool {
			o := n.find(name)
			if o != nil && n.mustWaitFor(o, p) && n.prepare(p) == PrepareHandoff {
				return false
			}
			return name != p.Name && (o == nil || o.Revision != n.pool(o.Pool).Revision || !n.alive(o))
		}), ""
	case RankOrder:
		return !n.outage && n.why(p) != ReasonScaleDown && slices.ContainsFunc(n.everyPodThere(), func(o *Pod) bool {
			rolls := n.why(o) != "" && n.why(o) != ReasonScaleDown && (n.why(o) != ReasonReplacement || n.old(o))
			return n.rank(o) < n.rank(p) && (rolls && !(n.serving(p) && !n.gone(o)) || n.wanted(o) && n.gone(o)) && !n.needsCure(o, p)
		}), ""
	case LeaderLast:
		before := false
		for _, o := range order[:slices.Index(order, p)] {
			asks := n.why(o) == ReasonAdopt && n.sp.Update.Adopt == AdoptAsk && !n.adoptable(o)
			stops := n.why(p) == ReasonScaleDown && o.Pool == p.Pool && pool.Operation != "" && n.why(o) != ReasonScaleDown && n.why(o) != ReasonReplacement
			before = before || !n.mustWaitFor(o, p) && !stops && !n.needsCure(o, p) && (n.gone(o) || !n.serving(p)) && (!asks || n.why(p) == ReasonAdopt)
		}
		others := slices.ContainsFunc(n.everyPodThere(), func(o *Pod) bool {
			stays := n.claimed(o) != nil && o.Phase == Ready && n.mustWaitFor(o, p)
			return o.Name != p.Name && n.gone(o) && !stays
		})
		return n.last(p) && !shut && !n.outage && (before || others || len(n.strayClaims()) > 0), ""
	case ZoneUnknown:
		counts := n.sp.Policy.Unit == UnitZone && !n.noAgentAnywhere() || n.sp.Policy.MaxZonesUnavailable != nil && !n.outage
		return counts && n.zone(p) == "" && !shut, ""
	case ZonesAway:
		return n.zoneBudget(p, shut), ""
	case PodsAway:
		return n.podBudget(p, shut, unitNeeds), ""
	case SoleCopy:
		mute := n.why(p) == ReasonReplacement && !slices.ContainsFunc(n.everyPodThere(), n.alive)
		if n.losesData(p) && (n.noAgentAnywhere() || mute) && !shut {
			return true, ""
		}
	case ForeignBudget, Unstable:
		return p.Refused == r, ""
	}
	for _, g := range n.groups() {
		if n.group(r, g, p) {
			return true, g.ID
		}
	}
	return false, ""
}

func (n *naive) canary(p *Pod) bool {
	c, pool := n.sp.Update.Canary, n.pool(p.Pool)
	leaves := n.why(p) == ReasonScaleDown || n.replacedAnyway(p) || n.leaving(p) && n.why(p) != ReasonReplacement
	if c.Pods == 0 || !n.old(p) || leaves {
		return false
	}
	went, soaked := 0, 0
	for _, o := range n.everyPodThere() {
		if o.Pool != p.Pool || pool.Revision == "" {
			continue
		}
		if n.old(o) && slices.Contains(n.chosen, o.Name) {
			went++
		}
		if !n.wanted(o) {
			continue
		}
		current := o.Phase != Missing && o.Revision == pool.Revision
		if cl := n.claimed(o); current || cl != nil && cl.To == pool.Revision {
			went++
		}
		if current && !n.gone(o) && n.s.Now.Sub(n.calmSince(o)) >= time.Duration(c.SoakSeconds)*time.Second {
			soaked++
		}
	}
	return went >= int(c.Pods) && (soaked < int(c.Pods) || c.Approve && !n.approved(ApprovedCanary, pool.Revision))
}

func (n *naive) zoneBudget(p *Pod, shut bool) bool {
	q := n.sp.Policy.MaxZonesUnavailable
	if q == nil || n.gone(p) && !n.mayBeThere(p) || shut || n.outage {
		return false
	}
	all := map[string]bool{}
	for _, o := range n.everyPodThere() {
		if z := n.zone(o); z != "" {
			all[z] = true
		}
	}
	most := of(q, len(all))
	zones, number := n.zonesNow()
	return number > most || number == most && !zones[n.zone(p)] && !n.gone(p)
}

func (n *naive) podBudget(p *Pod, shut bool, unitNeeds int) bool {
	if n.dead(p) {
		for _, o := range n.everyPodThere() {
			unmade := n.pool(o.Pool).Management == OrderedReady && slices.ContainsFunc(n.everyPodThere(), func(l *Pod) bool {
				return l.Pool == o.Pool && n.wanted(l) && l.Ordinal < o.Ordinal && l.Phase != Ready
			})
			unmade = unmade && o.Phase == Missing
			hopeless := n.sick(o) != "" || o.Phase == Missing && n.slow(o)
			if o.Name != p.Name && n.wanted(o) && !(unmade && !slices.Contains(n.chosen, o.Name)) && (n.claimed(o) != nil || slices.Contains(n.chosen, o.Name) || !hopeless) {
				return true
			}
		}
		return false
	}
	if n.free(p) || shut {
		return false
	}
	if n.mayBeThere(p) {
		return len(n.awayNow())+unitNeeds > n.limit()
	}
	away := len(n.awayNow())
	if n.serving(p) {
		away = n.reallyAway()
	}
	if n.noAgentAnywhere() && p.Phase == Started && n.slow(p) && n.claimed(p) == nil && n.gone(p) {
		away--
	}
	return away+max(unitNeeds, 1) > n.limit() && (!n.gone(p) || n.serving(p) || n.noAgentAnywhere())
}

var starred = map[Rule]bool{
	OutsideWindow: true, FleetFull: true, NeedsApproval: true, CanaryFirst: true, LineStopped: true, ViewSplit: true,
	NoLeader: true, TwoLeaders: true, Unhealthy: true, Settling: true, OtherOperation: true, NoReport: true, StaleReport: true,
	VersionOrder: true, RankOrder: true, LeaderLast: true, ZoneUnknown: true, ZonesAway: true, BeingMoved: true,
}
