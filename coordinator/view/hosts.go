package view

import (
	"net"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/coordinator/kube"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// host is the pod behind a name in the database.
type host struct {
	pod int
	// unsure: more than one pod can be meant.
	unsure bool
}

// nameHosts finds out which pod each name in the database belongs to.
//
// A pod knows its own name, so its own report decides, and a fresh one before a
// stale one. A pod that has not said its name (it has no agent, is starting, or
// is gone) is found by the address that the others see, and at last by what the
// gossip remembers of it. Finding a pod that way only ever takes away: a member
// of a pod that is away is not available, one that is hosted elsewhere may be.
// A name that fits two pods, and a pod that fits two living names, is unsure.
func (w *world) nameHosts() {
	claims := map[string][]int{}
	for _, fresh := range []bool{true, false} {
		said := map[string][]int{}
		for i := range w.pods {
			if p := &w.pods[i]; p.report.GetNode() != "" && p.fresh == fresh {
				said[p.report.GetNode()] = append(said[p.report.GetNode()], i)
			}
		}
		for name, pods := range said {
			if len(claims[name]) == 0 {
				claims[name] = pods
			}
		}
	}
	silent := func(i int) bool { return w.pods[i].report.GetNode() == "" }
	places, alive := w.addresses()
	byIP := map[string][]int{}
	for i := range w.pods {
		if p := &w.pods[i]; silent(i) && p.kube != nil && p.kube.IP != "" && p.kube.Phase != kube.Failed {
			byIP[p.kube.IP] = append(byIP[p.kube.IP], i)
		}
	}
	for name, hosts := range places {
		if len(claims[name]) > 0 {
			continue
		}
		for _, h := range hosts {
			found := byIP[h]
			if i, ok := w.podAt(h); ok && silent(i) {
				found = append(slices.Clone(found), i)
			}
			for _, i := range found {
				if !slices.Contains(claims[name], i) {
					claims[name] = append(claims[name], i)
				}
			}
		}
	}
	for name, pods := range w.remembered() {
		if len(claims[name]) == 0 {
			claims[name] = slices.DeleteFunc(pods, func(i int) bool { return !silent(i) })
		}
	}

	w.hosts = make(map[string]host, len(claims))
	living := map[int]int{}
	for name, pods := range claims {
		if len(pods) == 0 {
			continue
		}
		slices.Sort(pods)
		w.hosts[name] = host{pod: pods[0], unsure: len(pods) > 1}
		for _, i := range pods {
			w.pods[i].names = append(w.pods[i].names, name)
			if len(pods) > 1 {
				w.pods[i].ambiguous = true
			}
			if alive[name] && silent(i) {
				living[i]++
			}
		}
	}
	for i, names := range living {
		if names < 2 {
			continue
		}
		w.pods[i].ambiguous = true
		for _, name := range w.pods[i].names {
			w.hosts[name] = host{pod: w.hosts[name].pod, unsure: true}
		}
	}
	for i := range w.pods {
		slices.Sort(w.pods[i].names)
	}
}

// addresses are the hosts at which the agents see each name, and whether any of
// them sees it alive. Stale reports count: an address is not good news.
func (w *world) addresses() (places map[string][]string, alive map[string]bool) {
	places, alive = map[string][]string{}, map[string]bool{}
	for _, l := range w.lists {
		for _, n := range l.nodes {
			if h := hostOf(n.GetAddress()); h != "" && !slices.Contains(places[n.GetName()], h) {
				places[n.GetName()] = append(places[n.GetName()], h)
			}
			if n.GetMember() != rollcallv1.Membership_MEMBERSHIP_NOT_LIVE {
				alive[n.GetName()] = true
			}
		}
	}
	return places, alive
}

// remembered are the names that the gossip has of pods, of dead and earlier ones too.
func (w *world) remembered() map[string][]int {
	names := map[string][]int{}
	for _, roster := range w.in.Agents.Rosters {
		for _, e := range roster.Roster.GetEntries() {
			name := e.GetHeadline().GetNode()
			if i, ok := w.byName[e.GetHeadline().GetPod()]; ok && name != "" && !slices.Contains(names[name], i) {
				names[name] = append(names[name], i)
			}
		}
	}
	return names
}

// podAt finds the pod that a host name names: the pod's own name, or a name
// below it such as search-0.search.prod.svc.
func (w *world) podAt(host string) (int, bool) {
	if i, ok := w.byName[host]; ok {
		return i, true
	}
	first, _, ok := strings.Cut(host, ".")
	if !ok {
		return 0, false
	}
	i, ok := w.byName[first]
	return i, ok
}

// hostOf takes the host out of host, host:port, [v6]:port or a bare v6 address.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return strings.Trim(address, "[]")
}
