package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// partitionWorld is a pool that is driven by its partition, played to its end: the policy, the
// coordinator, and the controller of a StatefulSet. A letter for each pod, from ordinal 0 up: u is
// updated, o outdated, b outdated and broken on that template, x updated and broken, d outdated on
// a node to be left, e the same and broken, l outdated and last.
type partitionWorld struct {
	*lasts
	played
	pods    string
	line    int32
	limit   int
	ordered bool // OrderedReady, else Parallel
	guarded bool
	pace    int // 0: pods come and go at once, 1: while nobody acts, 2: one step of each in turn

	current string // revision of pods created below the partition
}

func (w *partitionWorld) String() string {
	return fmt.Sprintf("%s line %d limit %d ordered %v guarded %v pace %d", w.pods, w.line, w.limit, w.ordered, w.guarded, w.pace)
}

func (w *partitionWorld) start(t *testing.T) {
	w.lasts = newLasts(t, layout{strings.NewReplacer("b", "o", "e", "d").Replace(w.pods), true})
	s, limit := &w.s, model.Count(int64(w.limit))
	w.current, w.played = "v1", played{at: s, log: w.log}
	s.Cluster.Spec.Policy.MaxUnavailable, s.Cluster.Spec.Policy.MaxShardUnavailable = &limit, &limit
	s.Cluster.Status.LastProgress = &model.Time{Time: s.Now.Time}
	s.Pools[0].Partition = w.line
	if w.ordered {
		s.Pools[0].Management = model.ManagementOrderedReady
	}
	group := defaultGroup()
	group.ID = "data"
	for i := range s.Pods {
		p := &s.Pods[i]
		if w.guarded {
			p.Guard = model.GuardClosed
		}
		if w.pods[i] == 'l' {
			p.Revision = "v1"
		}
		w.come(i)
		m := defaultMember()
		m.ID, m.Pod = p.Name, p.Name
		group.Members = append(group.Members, m)
	}
	s.Groups = []model.Group{group}
	if w.guarded {
		s.Cluster.Spec.Guard = model.GuardEnforce
	}
	w.elect()
}

// come starts a pod. On the template on which it is broken it fails.
func (w *partitionWorld) come(i int) {
	p, r := &w.s.Pods[i], defaultReport()
	r.UID, r.Last = p.UID, w.pods[i] == 'l'
	p.Phase, p.Report, p.Problem = model.PodPhaseReady, &r, ""
	if w.pods[i] == 'x' || strings.IndexByte("be", w.pods[i]) >= 0 && p.Revision == "v1" {
		p.Phase, p.Problem = model.PodPhaseFailed, model.ProblemCrashLoop
		r.Member, r.NotLiveSeconds, r.Settled = model.MembershipNotLive, 86400, false
	}
}

// elect sets the members as the database would. Claimed pods hand over.
func (w *partitionWorld) elect() {
	leader := -1
	for i := range w.s.Pods {
		m := &w.s.Groups[0].Members[i]
		m.Leader, m.State = false, model.MemberDown
		if w.s.Pods[i].Phase == model.PodPhaseReady {
			m.State = model.MemberActive
			if leader < 0 || w.claimOf(w.s.Pods[leader].Name) >= 0 {
				leader = i
			}
		}
	}
	if leader >= 0 {
		w.s.Groups[0].Members[leader].Leader = true
	}
}

// turn takes one step of the pods, or of the controller. It returns false if there is none to take.
func (w *partitionWorld) turn() bool {
	s, pool := &w.s, &w.s.Pools[0]
	s.Now = model.At(s.Now.Add(time.Second))
	defer w.elect()
	for i := range s.Pods {
		switch p := &s.Pods[i]; p.Phase {
		case model.PodPhaseTerminating:
			p.Phase, p.Report, p.Since, p.Revision, p.UID, p.Node = model.PodPhaseMissing, nil, s.Now, "", "", ""
			return true
		case model.PodPhaseNotStarted:
			w.come(i)
			p.Since, s.Cluster.Status.LastProgress = s.Now, &model.Time{Time: s.Now.Time}
			w.say("%s is %s on %s", p.Name, p.Phase, p.Revision)
			return true
		}
	}
	updated := true
	for i := range s.Pods { // it creates missing pods
		p := &s.Pods[i]
		if p.Phase == model.PodPhaseMissing {
			w.made++
			p.Phase, p.Since, p.UID, p.Revision = model.PodPhaseNotStarted, s.Now, fmt.Sprint(p.Name, " ", w.made), "v2"
			if p.Ordinal < pool.Partition {
				p.Revision = w.current
			}
			if w.guarded {
				p.Guard = model.GuardClosed
			}
			return true
		}
		if w.ordered && p.Phase != model.PodPhaseReady {
			return false
		}
		updated = updated && p.Phase == model.PodPhaseReady && p.Revision == "v2"
	}
	if updated && w.current == "v1" {
		w.current = "v2"
		return true
	}
	for i := len(s.Pods) - 1; i >= 0 && s.Pods[i].Ordinal >= pool.Partition; i-- { // it updates outdated pods
		p := &s.Pods[i]
		switch {
		case p.Revision == "v1" && w.guarded:
			return false // the guard refuses it
		case p.Revision == "v1":
			w.say("the controller takes %s", p.Name)
			p.Phase, p.Since = model.PodPhaseTerminating, s.Now
			return true
		case p.Phase != model.PodPhaseReady:
			return false
		}
	}
	return false
}

// free returns the pods that serve and that nothing keeps from the controller.
func (w *partitionWorld) free() (free []string) {
	for i := range w.s.Pods {
		if p := &w.s.Pods[i]; !w.guarded && p.Phase == model.PodPhaseReady && p.Revision == "v1" && p.Ordinal >= w.s.Pools[0].Partition {
			free = append(free, p.Name)
		}
	}
	return free
}

// unavailable counts the pods that do not serve, or are free.
func (w *partitionWorld) unavailable() int {
	n := len(w.free())
	for i := range w.s.Pods {
		n += cluster.Count(w.s.Pods[i].Phase != model.PodPhaseReady)
	}
	return n
}

// to moves the partition, which frees no pod.
func (w *partitionWorld) to(line int32) {
	free := w.free()
	w.s.Pools[0].Partition = line
	for _, name := range w.free() {
		if !slices.Contains(free, name) {
			w.wrong("%s is free with the partition at %d", name, line)
		}
	}
}
