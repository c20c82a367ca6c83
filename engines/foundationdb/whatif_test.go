package foundationdb

import (
	"slices"

	"github.com/rollcall-dev/rollcall/engines"
)

// permits asks of groups what the policy asks: may these pods go, beside those that are
// unavailable, one after the other? Written without a look at how it does that. With noted, a group
// that can never be protected lets a pod go while nothing else of it is missing; without, it lets
// none.
func permits(groups []engines.Group, limit int, away, going []string, noted bool) (bool, string) {
	gone := slices.Clone(away)
	for _, pod := range going {
		for _, g := range groups {
			if !mayGo(g, limit, gone, pod, noted) {
				return false, g.ID
			}
		}
		gone = append(gone, pod)
	}
	return true, ""
}

func mayGo(g engines.Group, limit int, gone []string, pod string, noted bool) bool {
	hosted := func(m engines.Member) bool { return m.Node == pod }
	if !slices.ContainsFunc(g.Members, func(m engines.Member) bool { return hosted(m) && m.State != engines.MemberDown }) {
		return true
	}
	all, own, whole, pods := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	role := g.Kind == engines.GroupRole
	for _, m := range g.Members {
		all[domainOf(m)], whole[domainOf(m)], pods[m.Node] = true, !role, true
	}
	for d := range all { // what the pod can take away by itself
		mine := func(m engines.Member) bool { return domainOf(m) == d && hosted(m) }
		others := func(m engines.Member) bool { return domainOf(m) == d && !hosted(m) }
		own[d] = slices.ContainsFunc(g.Members, mine) && !(role && slices.ContainsFunc(g.Members, others))
	}
	for _, m := range g.Members {
		there := m.State == engines.MemberActive && (m.Node == "" || !slices.Contains(gone, m.Node)) && !hosted(m)
		if there == role { // one will do for a role, else one that is missing is too many
			whole[domainOf(m)] = role
		}
	}
	count := func(set map[string]bool) (n int) {
		for _, in := range set {
			if in {
				n++
			}
		}
		return n
	}
	least := g.MinAvailable
	if g.Kind == engines.GroupShard {
		least = max(least, count(all)-limit)
	}
	left, total, mine := count(whole), count(all), count(own)
	if total <= 1 && mine > 0 || len(pods) <= 1 || mine > total-least {
		return noted && total-mine-left <= 0
	}
	return left >= least
}

func domainOf(m engines.Member) string {
	if m.Domain == "" {
		return "member " + m.ID
	}
	return "domain " + m.Domain
}
