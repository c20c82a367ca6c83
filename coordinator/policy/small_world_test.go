package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// smallWorld is a database of one or two small pools without a partition, played to its end: who
// decides, who acts, and the controllers of the StatefulSets. A word for each pool, a letter for
// each pod, from ordinal 0 up:
//
//	u up to date                           o outdated
//	b outdated, broken on that template    x up to date, broken
//	c outdated, a copy stays Down          k up to date, a copy stays Down
//	s outdated, recovers for ever          v up to date, recovers for ever
//	w outdated, never settled              i outdated, live, never Ready
//	h outdated, of a higher rank           l outdated, last
//	a outdated, no agent                   j up to date, no agent
//	t outdated, no agent, late             d outdated, node to be left
//	n up to date, node to be left          e up to date, node to be left, broken
//	r asked to restart                     q asked to restart, broken
//	g asked to restart, a copy stays Down  z to be removed
//	m Missing                              f outdated, of a higher rank, a copy stays Down
//	y outdated, last, recovers for ever    p outdated, of a higher rank, live, never Ready
//
// A restart mends all but x.
type smallWorld struct {
	played
	s     model.Snapshot
	pools []string
	smallSet
	kinds map[string]byte         // of pods, as they are now
	words map[string]model.Report // what agents say of them

	turned bool
}

// smallSet is how a small world is run.
type smallSet struct {
	limit   int
	ordered bool // OrderedReady, else Parallel
	guarded bool // RollingUpdate by guard, else OnDelete
	zones   bool // unit Zone, of which there are two; a copy in each domain, else of each pod
	part    bool // a second group on all but the first pod
	pace    int  // 0: pods come at once, 1: while nobody acts
	turns   byte // when the first has gone, the lowest that serves and is outdated turns to this; 0: it does not
}

func (w *smallWorld) String() string {
	return fmt.Sprintf("%s limit %d ordered %v guarded %v zones %v part %v pace %d turns %q", strings.Join(w.pools, " "),
		w.limit, w.ordered, w.guarded, w.zones, w.part, w.pace, w.turns)
}

func (w *smallWorld) start() {
	w.s, w.kinds, w.words, w.turned = defaultSnapshot(), map[string]byte{}, map[string]model.Report{}, false
	w.played = played{at: &w.s, log: w.log}
	s, limit := &w.s, model.Count(int64(w.limit))
	s.Now = model.At(noon)
	s.Cluster.Namespace, s.Cluster.Name = "prod", "shop"
	s.Cluster.Status.LastProgress = &model.Time{Time: noon.Add(-24 * time.Hour)}
	spec := &s.Cluster.Spec
	spec.Engine, spec.Update.Adopt, spec.Update.NodeDrains.Follow, spec.Drain.Data.NodeDrain = model.Solr, model.AdoptAllow, true, model.DataKeep
	spec.Policy.MaxUnavailable, spec.Policy.MaxShardUnavailable = &limit, &limit
	if w.zones {
		spec.Policy.Unit = model.UnitZone
	}
	s.Nodes = []model.Node{{Name: "cordoned", Cordoned: true}}
	for i, letters := range w.pools {
		pool := defaultPool()
		pool.Name, pool.Replicas, pool.Revision = string(rune('a'+i)), int32(len(letters)-strings.Count(letters, "z")), "v2"
		if w.ordered {
			pool.Management = model.ManagementOrderedReady
		}
		if w.guarded {
			pool.Strategy = model.StrategyRollingUpdate
		}
		s.Pools = append(s.Pools, pool)
		for n := range letters {
			p := defaultPod()
			p.Name, p.Pool, p.Ordinal, p.Since = fmt.Sprintf("%s-%d", pool.Name, n), pool.Name, int32(n), model.Time{Time: noon.Add(-48 * time.Hour)}
			p.UID, p.Zone = "u"+p.Name, "zone-"+string(rune('a'+n%2))
			w.kinds[p.Name] = letters[n]
			w.come(&p, "v2")
			s.Pods = append(s.Pods, p)
		}
	}
	w.elect()
}

// come is a pod as its letter says.
func (w *smallWorld) come(p *model.Pod, revision string) {
	kind, r := w.kinds[p.Name], defaultReport()
	is := func(letters string) bool { return strings.IndexByte(letters, kind) >= 0 }
	p.Phase, p.Problem, p.Revision = model.PodPhaseReady, "", revision
	if is("obcswhlatdifyp") {
		p.Revision = "v1"
	}
	if is("dne") {
		p.Node = "cordoned"
	}
	p.Restart, p.Agent = is("rqg"), !is("atj")
	r.UID, r.Last = p.UID, is("lLy")
	if is("hHfp") {
		r.Rank = 1
	}
	switch {
	case is("bxeq"):
		p.Phase, p.Problem = model.PodPhaseFailed, model.ProblemCrashLoop
		r.Member, r.NotLiveSeconds, r.Settled = model.MembershipNotLive, 86400, false
	case is("svwy"):
		r.Settled = false
	case is("ip"):
		p.Phase = model.PodPhaseStarted
	case is("t"):
		p.Phase = model.PodPhaseStarted
		r.Member, r.NotLiveSeconds, r.Settled = model.MembershipNotLive, 86400, false
	case is("m"):
		p.Phase, p.UID, p.Revision, p.Report = model.PodPhaseMissing, "", "", nil
		return
	}
	p.Report, w.words[p.Name] = &r, r
}

// elect says of the members what the database would, and of pods without an agent what the others do. Who is
// claimed hands over.
func (w *smallWorld) elect() {
	s := &w.s
	agents := slices.ContainsFunc(s.Pods, func(p model.Pod) bool {
		return p.Agent && (p.Phase == model.PodPhaseReady || p.Phase == model.PodPhaseStarted)
	})
	led := map[string]string{}
	for _, g := range s.Groups {
		for _, m := range g.Members {
			if m.Leader {
				led[g.ID] = m.Pod
			}
		}
	}
	s.Groups, s.Health.Verdict = nil, model.VerdictGreen
	for i := range s.Pods {
		p := &s.Pods[i]
		switch {
		case p.Agent || p.Phase == model.PodPhaseMissing || p.Phase == model.PodPhaseNotStarted || p.Phase == model.PodPhaseTerminating:
		case !agents:
			p.Report = nil
		default:
			r := w.words[p.Name]
			r.Self, p.Report = false, &r
		}
	}
	if !slices.ContainsFunc(s.Pods, func(p model.Pod) bool { return p.Agent && p.Phase != model.PodPhaseMissing }) {
		s.Health.Verdict = model.VerdictUnknown
		return
	}
	for n, id := range []string{"all", "part"}[:1+cluster.Count(w.part)] {
		g := defaultGroup()
		g.ID = id
		leader := -1
		better := func(i int) int {
			name := g.Members[i].Pod
			return 2*cluster.Count(w.claimOf(name) < 0) + cluster.Count(led[id] == name)
		}
		for i := range s.Pods {
			if p := &s.Pods[i]; i >= n && !w.emptied(p) {
				m := defaultMember()
				m.ID, m.Pod, m.State = p.Name, p.Name, w.stateOf(p)
				if w.zones {
					m.Domain = p.Zone
				}
				g.Members = append(g.Members, m)
				if k := len(g.Members) - 1; m.State == model.MemberActive && (leader < 0 || better(k) > better(leader)) {
					leader = k
				}
				if m.State != model.MemberActive && s.Health.Verdict == model.VerdictGreen {
					s.Health.Verdict = model.VerdictRecoverable
				}
			}
		}
		switch {
		case leader >= 0:
			g.Members[leader].Leader = true
		case len(g.Members) > 0:
			s.Health.Verdict = model.VerdictRed
		}
		if len(g.Members) > 0 {
			s.Groups = append(s.Groups, g)
		}
	}
}

// emptied reports whether it is to be removed, and what it had is elsewhere.
func (w *smallWorld) emptied(p *model.Pod) bool {
	at := w.claimOf(p.Name)
	return w.kinds[p.Name] == 'z' && at >= 0
}

func (w *smallWorld) stateOf(p *model.Pod) model.MemberState {
	switch kind := w.kinds[p.Name]; {
	case p.Phase != model.PodPhaseReady && p.Phase != model.PodPhaseStarted || strings.IndexByte("ckgtf", kind) >= 0:
		return model.MemberDown
	case strings.IndexByte("svy", kind) >= 0:
		return model.MemberRecovering
	}
	return model.MemberActive
}
