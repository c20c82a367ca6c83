package model

import (
	"slices"
	"strconv"
	"strings"
)

func (v *validator) pods(s *Snapshot) {
	pools := make(map[string]*Pool, len(s.Pools))
	for i := range s.Pools {
		pools[s.Pools[i].Name] = &s.Pools[i]
	}
	names := make(map[string]bool, len(s.Pods))
	uids := make(map[string]bool, len(s.Pods))
	named := true // each for its pool and ordinal
	for i := range s.Pods {
		p := &s.Pods[i]
		if names[p.Name] {
			v.twice(podField(p, "name"), "is given twice")
		}
		names[p.Name] = true
		if p.UID != "" {
			if uids[p.UID] {
				v.twice(podField(p, "uid"), "is %s, which another pod has, too: each pod has its own", p.UID)
			}
			uids[p.UID] = true
		}
		named = v.pod(p, pools[p.Pool]) && named
	}
	if !named || len(names) < len(s.Pods) {
		v.places(s.Pods)
	}
}

// places checks that no two pods have the same pool and ordinal. It is needed only if some
// name is not pool-ordinal; otherwise unique names suffice.
func (v *validator) places(pods []Pod) {
	type place struct {
		pool    string
		ordinal int32
	}
	seen := make(map[place]bool, len(pods))
	for i := range pods {
		p := &pods[i]
		at := place{p.Pool, p.Ordinal}
		if seen[at] {
			v.twice(podField(p, "ordinal"), "is %d, which pool %s has twice", p.Ordinal, p.Pool)
		}
		seen[at] = true
	}
}

func podField(p *Pod, field string) string { return "pods[" + p.Name + "]." + field }

// pod also reports whether the name is that of its pool and ordinal.
func (v *validator) pod(p *Pod, pool *Pool) (named bool) {
	if pool == nil {
		v.add(podField(p, "pool"), "is %q: no pool has this name", p.Pool)
	}
	if p.Ordinal < 0 || p.Ordinal > 2*maxOrdinal {
		v.add(podField(p, "ordinal"), "is %d: must be a number from 0", p.Ordinal)
	}
	text, ok := strings.CutPrefix(p.Name, p.Pool+"-")
	switch n, err := strconv.Atoi(text); {
	case p.Name == "":
		v.twice(podField(p, "name"), "is empty")
	case !ok || err != nil || text != strconv.Itoa(n):
		v.add(podField(p, "name"), "is not the name of its pool with an ordinal: must be %s-%d", p.Pool, p.Ordinal)
	case n != int(p.Ordinal):
		v.add(podField(p, "ordinal"), "is %d, and its name says %d", p.Ordinal, n)
	default:
		named = true
	}
	switch p.Phase {
	case PodPhaseMissing, PodPhasePending, PodPhaseNotStarted, PodPhaseStarted, PodPhaseReady, PodPhaseTerminating, PodPhaseFailed:
	default:
		oneOf(v, podField(p, "phase"), p.Phase, PodPhaseMissing, PodPhasePending, PodPhaseNotStarted, PodPhaseStarted, PodPhaseReady, PodPhaseTerminating, PodPhaseFailed)
	}
	switch p.Guard {
	case "", GuardClosed, GuardOpen, GuardNone:
	default:
		oneOf(v, podField(p, "guard"), p.Guard, GuardClosed, GuardOpen, GuardNone)
	}
	switch p.Refused {
	case "", RuleForeignBudget, RuleConflict, RuleVeto:
	default:
		oneOf(v, podField(p, "refused"), p.Refused, RuleForeignBudget, RuleConflict, RuleVeto)
	}
	if !(p.EstimateSeconds >= 0 && p.EstimateSeconds <= MaxSeconds) {
		within(v, podField(p, "estimateSeconds"), p.EstimateSeconds, 0)
	}
	if slices.Contains(p.MustReplace, "") {
		v.add(podField(p, "mustReplace"), "is empty: must name what changed")
	}
	for i := range p.Conditions {
		v.condition(p, &p.Conditions[i])
	}
	if r := p.Report; r != nil {
		switch r.Member {
		case "", MembershipLive, MembershipNotLive, MembershipUnknown:
		default:
			oneOf(v, podField(p, "report.member"), r.Member, MembershipLive, MembershipNotLive, MembershipUnknown)
		}
		switch r.Drain {
		case "", DrainNone, DrainRunning, DrainDone, DrainRefused:
		default:
			oneOf(v, podField(p, "report.drain"), r.Drain, DrainNone, DrainRunning, DrainDone, DrainRefused)
		}
		if !(r.AgeSeconds >= 0) {
			v.add(podField(p, "report.ageSeconds"), "is %v: must be at least 0", r.AgeSeconds)
		}
		if !(r.NotLiveSeconds >= 0) {
			v.add(podField(p, "report.notLiveSeconds"), "is %v: must be at least 0", r.NotLiveSeconds)
		}
	}
	return named
}

func (v *validator) condition(p *Pod, c *PodCondition) {
	switch {
	case c.Type == "":
		v.add(podField(p, "conditions[].type"), "is empty: must be the type of the condition")
	case c.Since.IsZero():
		v.add(podField(p, "conditions["+c.Type+"].since"), "is missing: must be when it began")
	}
}
