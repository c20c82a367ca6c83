package view

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/agents"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// world is the input in which everything is joined that is needed more than once. Pods are in one
// canonical order, and every loop runs over lists in an order, so that no answer depends on the
// order of the input or of a map.
type world struct {
	in   Input
	pods []pod
	// byName finds a pod in pods.
	byName map[string]int
	// lists are the different memberships that reports show.
	lists []*list
	// hosts finds the pod behind a name in the database.
	hosts map[string]host
	// witnesses are the reports whose good news counts: fresh, from a member of
	// the database, and not contradicted by a majority of the others.
	witnesses []int
	// opinions are the witnesses' views of the membership.
	opinions []*opinion
	// disagree says in which way the witnesses contradict each other.
	disagree []string
	// contested is true if not all witnesses name the same leader of some group.
	contested bool
	// disputed are the groups of which a witness names another leader than the majority.
	disputed map[string]bool
}

// pod is a desired or existing pod with what is known about it.
type pod struct {
	kube *kube.Pod // nil when missing
	name string
	pool int
	// ordinal in its pool.
	ordinal int
	desired bool

	// report is its own agent's newest report, or nil.
	report *rollcallv1.Report
	at     time.Time
	fresh  bool
	// list is the membership in the report, or nil.
	list *list
	// headline is the newest one of this very pod in a roster, or nil.
	headline *rollcallv1.Headline
	// outvoted is true if a majority of the other witnesses contradicts it.
	outvoted bool
	// ambiguous is true if another pod has the same name in the database.
	ambiguous bool
	// names are its names in the database, by its own report or by address.
	names []string
}

// observed reports whether the report holds an observation.
func (p *pod) observed() bool { return p.report != nil && p.report.GetError() == "" }

// running reports whether the database container may have a process.
func (p *pod) running() bool {
	if p.kube == nil {
		return false
	}
	switch p.kube.Phase {
	case kube.Started, kube.Ready, kube.Terminating:
		return true
	}
	return false
}

// says returns what the pod's own agent says about its membership, including bad news of any age.
func (p *pod) says() rollcallv1.Membership {
	if !p.observed() {
		return rollcallv1.Membership_MEMBERSHIP_UNSPECIFIED
	}
	return p.report.GetMember()
}

func newWorld(in Input) *world {
	w := &world{in: in, disputed: map[string]bool{}}
	w.addPods()
	w.addReports()
	w.addLists()
	w.nameHosts()
	w.callWitnesses()
	return w
}

// addPods lists one entry per desired ordinal and per existing pod beyond.
func (w *world) addPods() {
	existing := map[string][]*kube.Pod{}
	for i := range w.in.Kube.Pods {
		p := &w.in.Kube.Pods[i]
		if existing[p.Pool] == nil {
			existing[p.Pool] = make([]*kube.Pod, 0, len(w.in.Kube.Pods)-i)
		}
		existing[p.Pool] = append(existing[p.Pool], p)
	}
	w.pods = make([]pod, 0, len(w.in.Kube.Pods))
	for i := range w.in.Kube.Pools {
		pool := &w.in.Kube.Pools[i]
		have := map[int]*kube.Pod{}
		for _, p := range existing[pool.Name] {
			have[p.Ordinal] = p
		}
		for n := range pool.Replicas {
			ordinal := pool.Start + n
			w.pods = append(w.pods, pod{
				kube: have[ordinal], name: pool.Name + "-" + strconv.Itoa(ordinal),
				pool: i, ordinal: ordinal, desired: true,
			})
			delete(have, ordinal)
		}
		beyond := make([]*kube.Pod, 0, len(have))
		for _, p := range have {
			beyond = append(beyond, p)
		}
		slices.SortFunc(beyond, func(a, b *kube.Pod) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
		for _, p := range beyond {
			w.pods = append(w.pods, pod{kube: p, name: p.Name, pool: i, ordinal: p.Ordinal})
		}
	}
	w.byName = make(map[string]int, len(w.pods))
	for i := range w.pods {
		w.byName[w.pods[i].name] = i
	}
}

// addReports binds reports and headlines to the pods of the same UID.
func (w *world) addReports() {
	uids := make(map[string]int, len(w.pods))
	for i := range w.pods {
		p := &w.pods[i]
		if p.kube == nil {
			continue
		}
		uids[string(p.kube.UID)] = i
		received, ok := w.in.Agents.Reports[string(p.kube.UID)]
		if !ok || received.Report == nil {
			continue
		}
		p.report, p.at = received.Report, received.At
		p.fresh = fresh(w.in, p.at)
	}
	for uid, h := range headlines(w.in.Agents.Rosters) {
		if i, ok := uids[uid]; ok {
			w.pods[i].headline = h
		}
	}
}

// fresh reports whether an observation began after the barrier, and not too long ago.
func fresh(in Input, at time.Time) bool { return !tooOld(in, at) && !at.Before(in.Barrier) }

func tooOld(in Input, at time.Time) bool { return at.IsZero() || in.Now.Sub(at) > in.MaxAge }

// headlines returns the newest headline in the rosters of each pod whose agent is not known to have
// ended, by UID.
func headlines(rosters []agents.ReceivedRoster) map[string]*rollcallv1.Headline {
	var newest map[string]*rollcallv1.Headline
	for _, roster := range rosters {
		if newest == nil {
			newest = make(map[string]*rollcallv1.Headline, len(roster.Roster.GetEntries()))
		}
		for _, e := range roster.Roster.GetEntries() {
			if e.GetLiveness() == rollcallv1.Liveness_LIVENESS_DEAD || e.GetLiveness() == rollcallv1.Liveness_LIVENESS_LEFT {
				continue
			}
			h := e.GetHeadline()
			if known := newest[h.GetPodUid()]; known == nil || laterHeadline(h, known) {
				newest[h.GetPodUid()] = h
			}
		}
	}
	return newest
}

func laterHeadline(a, b *rollcallv1.Headline) bool {
	return cmp.Or(cmp.Compare(a.GetIncarnation(), b.GetIncarnation()), cmp.Compare(a.GetSequence(), b.GetSequence())) > 0
}

// gossip returns the roster's headline of this pod's agent, unless its own report is of a later run
// of the agent.
func (p *pod) gossip() *rollcallv1.Headline { return gossiped(p.headline, p.report) }

func gossiped(h *rollcallv1.Headline, r *rollcallv1.Report) *rollcallv1.Headline {
	if h == nil || r != nil && h.GetIncarnation() < r.GetIdentity().GetIncarnation() {
		return nil
	}
	return h
}

func saysNotLive(h *rollcallv1.Headline) bool {
	return h.GetMember() == rollcallv1.Membership_MEMBERSHIP_NOT_LIVE
}

func saysRed(h *rollcallv1.Headline) bool { return h.GetVerdict() == rollcallv1.Verdict_VERDICT_RED }
