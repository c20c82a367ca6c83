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
	// unsure is true if more than one pod can be meant.
	unsure bool
}

// nameHosts finds out which pod each name in the database belongs to.
//
// A pod knows its own name, so its own report decides, a fresh one before a stale one. A pod that
// has not reported its name (it has no agent, is starting, or is gone) is found by its own name if
// members are named after their pods, by the address that the others see, and finally by what the
// gossip remembers about it. The remaining names may belong to a pod whose reported name is
// doubtful. Finding a pod that way can only make things worse: a member of an unavailable pod is
// not available, one that is hosted elsewhere may be. A name that fits two pods, and a pod that
// fits two living names, is unsure.
func (w *world) nameHosts() {
	claims := map[string][]int{}
	w.claim(claims)
	alive := w.findOthers(claims)
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
			if alive[name] {
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

// silent reports whether a pod has not reported its name.
func (w *world) silent(i int) bool { return w.pods[i].report.GetNode() == "" }

// doubtful reports for each pod whether the name that it reports may not be its own: the report is
// stale, another pod reports the same, or no pod sees it alive.
func (w *world) doubtful(claims map[string][]int) []bool {
	doubtful := make([]bool, len(w.pods))
	for i := range w.pods {
		name := w.pods[i].report.GetNode()
		doubtful[i] = name != "" && (!w.pods[i].fresh || len(claims[name]) > 1 || !slices.ContainsFunc(w.lists, func(l *list) bool {
			n := l.byName[name]
			return n != nil && n.GetMember() != rollcallv1.Membership_MEMBERSHIP_NOT_LIVE
		}))
	}
	return doubtful
}

// claim adds the pods that report a name as theirs, in order.
func (w *world) claim(claims map[string][]int) {
	each := make([]int, len(w.pods)) // most names belong to one pod
	for _, fresh := range []bool{true, false} {
		for i := range w.pods {
			p := &w.pods[i]
			if w.silent(i) || p.fresh != fresh {
				continue
			}
			name := p.report.GetNode()
			switch others := claims[name]; {
			case len(others) == 0:
				each[i] = i
				claims[name] = each[i : i+1 : i+1]
			case w.pods[others[0]].fresh == fresh:
				claims[name] = append(others, i)
			}
		}
	}
}

// findOthers adds the pods that may be behind names that no pod claims: those that are silent, and
// for the rest those whose name is doubtful. It returns which names any pod sees alive. If there is
// no such pod it does not look.
func (w *world) findOthers(claims map[string][]int) (alive map[string]bool) {
	silent := make([]bool, len(w.pods))
	for i := range w.pods {
		silent[i] = w.silent(i)
	}
	doubtful := w.doubtful(claims)
	if !slices.Contains(silent, true) && !slices.Contains(doubtful, true) {
		return nil
	}
	for i := range w.pods {
		if name := w.pods[i].name; w.in.NamedByPod && silent[i] && len(claims[name]) == 0 {
			claims[name] = []int{i}
		}
	}
	places, alive := w.addresses()
	remembered := w.remembered()
	w.find(claims, silent, places, remembered)
	if w.in.Unlisted {
		w.claimUnlisted(claims)
	}
	w.find(claims, doubtful, places, remembered)
	return alive
}

// find adds those of the wanted pods that may be behind names that no pod claims yet.
func (w *world) find(claims map[string][]int, wanted []bool, places map[string][]string, remembered map[string][]int) {
	byIP := map[string][]int{}
	for i := range w.pods {
		if k := w.pods[i].kube; wanted[i] && k != nil && k.IP != "" && k.Phase != kube.Failed {
			byIP[k.IP] = append(byIP[k.IP], i)
		}
	}
	for name, hosts := range places {
		if len(claims[name]) > 0 {
			continue
		}
		for _, h := range hosts {
			found := byIP[h]
			if i, ok := w.podAt(h); ok && wanted[i] {
				found = append(slices.Clone(found), i)
			}
			for _, i := range found {
				if !slices.Contains(claims[name], i) {
					claims[name] = append(claims[name], i)
				}
			}
		}
	}
	for name, pods := range remembered {
		if len(claims[name]) > 0 {
			continue
		}
		for _, i := range pods {
			if wanted[i] {
				claims[name] = append(claims[name], i)
			}
		}
	}
}

// claimUnlisted gives the pods that have no name yet their own.
func (w *world) claimUnlisted(claims map[string][]int) {
	named := make([]bool, len(w.pods))
	for _, pods := range claims {
		for _, i := range pods {
			named[i] = true
		}
	}
	for i := range w.pods {
		if name := w.pods[i].name; !named[i] && w.silent(i) && len(claims[name]) == 0 {
			claims[name] = []int{i}
		}
	}
}

// addresses returns the hosts at which the agents see each name, and whether any of them sees it
// alive. Stale reports count: an address is not good news.
func (w *world) addresses() (places map[string][]string, alive map[string]bool) {
	places, alive = make(map[string][]string, len(w.pods)), make(map[string]bool, len(w.pods))
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

// remembered returns the names that the gossip has of pods, also of dead and earlier ones.
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

// podAt finds the pod of a host name: the pod's own name, or a name below it such as
// search-0.search.prod.svc.
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

// hostOf returns the host of host, host:port, [v6]:port or a bare v6 address.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return strings.Trim(address, "[]")
}
