package policy

import "slices"

// goes: it does not come back.
func (n *naive) goes(p *Pod) bool {
	pool := n.pool(p.Pool)
	return p.Remove || !n.wanted(p) || pool.ScalingTo != nil && p.Ordinal >= pool.Start+*pool.ScalingTo
}

func (n *naive) marked(p *Pod) bool {
	return p.Removal.Marked != nil || slices.ContainsFunc(n.s.Cluster.Status.Claims, func(c Claim) bool {
		return c.Pod == p.Name && c.UID == p.UID && c.UID != "" && c.Action == Replace
	})
}

func (n *naive) mustBeReplaced(p *Pod) bool {
	if p.Phase == Missing {
		return false
	}
	if len(p.MustReplace) > 0 {
		return true
	}
	pool := n.pool(p.Pool)
	if !n.old(p) || n.corrected(p) || pool.Force && pool.Strategy == RollingUpdateStrategy {
		return false
	}
	r := n.heard(p)
	known := r != nil && len(r.Roles) > 0
	return map[UpdateStrategy]bool{
		UpdateReplace:                  true,
		UpdateReplaceTransactionSystem: known && !slices.Contains(r.Roles, "storage") && !slices.Contains(r.Roles, "general"),
	}[n.sp.Replacement.UpdateStrategy]
}

// corrected: another template may heal what is broken.
func (n *naive) corrected(p *Pod) bool {
	return n.old(p) && n.sick(p) != "" && n.harmless(p, n.sick(p))
}

// lasted: strictly longer than so many seconds, and its beginning is known.
func (n *naive) lasted(since Time, seconds int64) bool {
	return !since.IsZero() && n.s.Now.Sub(since.Time).Seconds() > float64(seconds)
}

func (n *naive) failing(p *Pod) bool {
	r := n.sp.Replacement
	if !r.Enabled || *r.MaxConcurrentFailed == 0 || p.Exempt || n.corrected(p) {
		return false
	}
	named := []string{"MissingProcesses", "PodFailing", "MissingPod", "MissingPVC", "MissingService", "PodPending", "ProcessIsMarkedAsExcluded"}
	for _, c := range p.Conditions {
		if slices.Contains(named, c.Type) && n.lasted(c.Since, r.FailureDetectionSeconds) {
			return true
		}
	}
	return n.tainted(p)
}

func (n *naive) tainted(p *Pod) bool {
	r := n.sp.Replacement
	var replacing Time
	for _, c := range p.Conditions {
		if c.Type == "NodeTaintReplacing" && (replacing.IsZero() || c.Since.Before(replacing.Time)) {
			replacing = c.Since
		}
	}
	recorded := n.lasted(replacing, r.TaintReplacementSeconds)
	if n.nodeOf(p).Name == "" {
		return recorded
	}
	any, since := false, false
	for _, t := range n.nodeOf(p).Taints {
		options := slices.DeleteFunc(slices.Clone(r.Taints), func(o ReplacementTaint) bool { return o.DurationSeconds == nil })
		if slices.ContainsFunc(options, func(o ReplacementTaint) bool { return o.Key == t.Key }) {
			options = slices.DeleteFunc(options, func(o ReplacementTaint) bool { return o.Key != t.Key })
		} else {
			options = slices.DeleteFunc(options, func(o ReplacementTaint) bool { return o.Key != "*" || slices.Contains(p.Tolerates, t.Key) })
		}
		began := n.underTaint(p, t)
		for _, o := range options {
			any = true
			since = since || n.lasted(began, *o.DurationSeconds+r.TaintReplacementSeconds)
		}
	}
	if any && !replacing.IsZero() {
		return recorded
	}
	return since
}

// underTaint is since when the pod is on the tainted node, as far as that is known.
func (n *naive) underTaint(p *Pod, t Taint) Time {
	var detected []Time
	for _, c := range p.Conditions {
		if c.Type == "NodeTaintDetected" && c.Key == t.Key && !c.Since.IsZero() {
			detected = append(detected, c.Since)
		}
	}
	if len(detected) == 0 {
		return t.Since
	}
	first := slices.MinFunc(detected, func(a, b Time) int { return a.Compare(b.Time) })
	if t.Since.IsZero() || t.Since.Before(first.Time) {
		return first
	}
	return t.Since
}

// replacedAnyway: not for an update only.
func (n *naive) replacedAnyway(p *Pod) bool {
	return n.why(p) == ReasonReplacement && (n.marked(p) || n.failing(p))
}

// sameAgain: nothing comes back, or what ran before.
func (n *naive) sameAgain(p *Pod) bool {
	return n.why(p) == ReasonScaleDown || n.why(p) == ReasonReplacement && !n.old(p)
}

// spared: the rule does not mean the pod.
func (n *naive) spared(r Rule, p *Pod) bool {
	if r == LineStopped && n.sameAgain(p) {
		return true
	}
	keeps := (n.why(p) == ReasonReplacement || n.why(p) == ReasonScaleDown) && (r == ViewSplit || r == Unhealthy || r == Settling)
	return n.free(p) && starred[r] && !keeps
}

// emptying are the pods that are marked, or leave for good, or were chosen to
// be replaced, and are not known to be empty.
func (n *naive) emptying() []*Pod {
	var all []*Pod
	for _, p := range n.everyPodThere() {
		pool := n.pool(p.Pool)
		counts := n.marked(p) || n.goes(p) && p.Phase != Missing ||
			n.why(p) == ReasonReplacement && slices.Contains(n.chosen, p.Name)
		if c := n.claimed(p); c != nil && (c.Action == Replace || c.Action == Remove) && (c.UID == p.UID || p.Phase == Missing) {
			counts = counts && !emptyBy(*c)
		}
		if counts && !p.Removal.Excluded && !(shutsDown(pool)) {
			all = append(all, p)
		}
	}
	return all
}

// emptyBy: the claim says that nothing is left on its pod.
func emptyBy(c Claim) bool {
	return c.EmptiedAt != nil || slices.Contains([]ClaimPhase{PhasePrepared, PhaseEmptied, PhaseOpened, PhaseGone}, c.Phase)
}

// replaceRule: the limits of replacements hold a pod by this rule.
func (n *naive) replaceRule(rule Rule, p *Pod) bool {
	if n.why(p) != ReasonReplacement || n.marked(p) {
		return false
	}
	r, zones, busy, unknown := n.sp.Replacement, map[string]bool{}, 0, 0
	charge := func(zone string) {
		busy++
		if zone == "" {
			unknown++
		} else {
			zones[zone] = true
		}
	}
	for _, o := range n.emptying() {
		charge(n.zone(o))
	}
	for _, c := range n.strayClaims() {
		if (c.Action == Replace || c.Action == Remove) && !emptyBy(c) {
			charge(c.Zone)
		}
	}
	if n.mustBeReplaced(p) {
		if most := r.MaxConcurrentMisconfigured; most == nil || busy < int(*most) {
			return false
		}
	}
	most, used := int(*r.MaxConcurrentFailed), len(zones)+unknown
	switch {
	case !n.failing(p):
		return rule == PodsAway && n.mustBeReplaced(p)
	case !r.FaultDomainBased:
		return rule == PodsAway && busy >= most
	case rule == ZoneUnknown:
		return n.zone(p) == ""
	}
	return rule == ZonesAway && (used > most || used == most && !zones[n.zone(p)])
}

// replacements makes some pods of a snapshot ones to be replaced.
func (g generator) replacements(s *Snapshot) {
	r := &s.Cluster.Spec.Replacement
	r.Enabled = !g.rarely(4)
	r.FailureDetectionSeconds = pick(g, int64(0), 500, 1000)
	r.TaintReplacementSeconds = pick(g, int64(0), 200)
	if !g.rarely(4) {
		n := pick(g, int32(0), 1, 1, 2, 3)
		r.MaxConcurrentFailed = &n
	}
	r.FaultDomainBased = g.rarely(3)
	r.UpdateStrategy = pick(g, UpdateStrategy(""), UpdateDelete, UpdateReplaceTransactionSystem, UpdateReplace)
	if g.rarely(3) {
		n := int32(1 + g.IntN(2))
		r.MaxConcurrentMisconfigured = &n
	}
	for _, key := range []string{"k", "*"} {
		if !g.rarely(3) {
			option := ReplacementTaint{Key: key}
			if !g.rarely(5) {
				n := pick(g, int64(0), 600, 1<<62)
				option.DurationSeconds = &n
			}
			r.Taints = append(r.Taints, option)
		}
	}
	for i := range s.Nodes {
		for _, key := range []string{"k", "other"} {
			if g.rarely(4) {
				s.Nodes[i].Taints = append(s.Nodes[i].Taints, Taint{Key: key, Since: pick(g, Time{}, g.ago(2000), g.ago(2000))})
			}
		}
	}
	for i := range s.Pods {
		g.replaced(&s.Pods[i])
	}
	for i := range s.Cluster.Status.Claims {
		c := &s.Cluster.Status.Claims[i]
		c.Action = pick(g, Restart, Replace, Remove)
	}
}

// taintKey is one of those that nodes have and options name.
func (g generator) taintKey() string { return pick(g, "k", "other") }

func (g generator) replaced(p *Pod) {
	if p.Report != nil {
		p.Report.Roles = pick(g, nil, []string{"storage"}, []string{"log"}, []string{"log", "storage"}, []string{"coordinator", "log"})
	}
	if g.rarely(4) {
		kind := pick(g, MissingProcesses, PodFailing, MissingPod, MissingPVC, MissingService, PodPending, ProcessIsMarkedAsExcluded,
			NodeTaintDetected, NodeTaintReplacing, "SidecarUnreachable")
		c := PodCondition{Type: kind, Since: g.ago(2000)}
		if kind == NodeTaintDetected {
			c.Key = g.taintKey()
		}
		p.Conditions = append(p.Conditions, c)
	}
	if g.rarely(6) {
		p.Tolerates = []string{g.taintKey()}
	}
	if p.Phase == Missing {
		if g.rarely(2) {
			p.Conditions = append(p.Conditions, PodCondition{Type: MissingPod, Since: g.ago(2000)})
		}
		return
	}
	if g.rarely(8) {
		p.MustReplace = pick(g, []string{"volume"}, []string{"nodeSelector", "volume"})
	}
	if g.rarely(10) {
		p.Removal.Marked = g.agoOrNever(2000)
		p.Removal.Excluded = g.rarely(3)
	}
	p.Exempt = g.rarely(12)
	if g.rarely(40) {
		p.Refused = Vetoed
	}
}
