package policy

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// rollout is a database in virtual time: pods that go come back when their time is over, and
// leaders move off before. Everything else is healthy.
type rollout struct {
	s     model.Snapshot
	start time.Time
	truth []float64 // seconds that each pod is unavailable
	pods  map[string]int
	back  map[int]float64 // the unavailable pods, and when they are back
	now   float64
}

func newRollout(s model.Snapshot, truth []float64) *rollout {
	r := &rollout{s: s, start: s.Now.Time, truth: truth, pods: map[string]int{}, back: map[int]float64{}}
	for i := range s.Pods {
		r.pods[s.Pods[i].Name] = i
	}
	return r
}

// run calls choose to select who goes after every return of a pod or, when polled, at the next
// multiple of so many seconds. It returns the time at which all pods are back.
func (r *rollout) run(t *testing.T, poll float64, choose func(*rollout) []int) float64 {
	left := len(r.s.Pods)
	for {
		for _, i := range choose(r) {
			r.leave(t, i)
			left--
		}
		if len(r.back) == 0 {
			require.Zero(t, left, "nobody is unavailable, and nobody goes")
			return r.now
		}
		next := math.Inf(1)
		for _, at := range r.back {
			next = min(next, at)
		}
		if poll > 0 && left > 0 {
			next = max(math.Ceil(next/poll)*poll, r.now+poll)
		} else if left == 0 {
			for _, at := range r.back {
				next = max(next, at)
			}
		}
		r.now = next
		r.s.Now = model.At(r.start.Add(time.Duration(next * float64(time.Second))))
		for i, at := range r.back {
			if at <= next {
				r.comeBack(i)
			}
		}
	}
}

func (r *rollout) leave(t *testing.T, i int) {
	p := &r.s.Pods[i]
	require.Equal(t, "v1", p.Revision, "%s goes twice", p.Name)
	r.back[i] = r.now + r.truth[i]
	p.Revision, p.Phase, p.Since, p.UID, p.Report = "v2", model.PodPhasePending, r.s.Now, p.UID+"'", nil
	r.s.Cluster.Status.Claims = append(r.s.Cluster.Status.Claims, model.Claim{
		ID: p.Name, Pod: p.Name, UID: "u", To: "v2", Phase: model.PhaseGone, StartedAt: r.s.Now, Zone: p.Zone,
	})
	limit, _ := r.s.Cluster.Spec.Policy.MaxUnavailable.Resolve(len(r.s.Pods))
	require.LessOrEqual(t, len(r.back), limit, "more pods are unavailable than may be")
	r.eachMember(p.Name, func(g *model.Group, m *model.Member) {
		m.State = model.MemberDown
		down := slices.DeleteFunc(slices.Clone(g.Members), func(m model.Member) bool { return m.State == model.MemberActive })
		require.LessOrEqual(t, len(down), 1, "more of %s is unavailable than may be", g.ID)
		if other := slices.IndexFunc(g.Members, func(m model.Member) bool { return m.State == model.MemberActive }); m.Leader && other >= 0 {
			m.Leader, g.Members[other].Leader = false, true
		}
	})
}

func (r *rollout) comeBack(i int) {
	delete(r.back, i)
	p := &r.s.Pods[i]
	report := defaultReport()
	report.UID = p.UID
	p.Phase, p.Report = model.PodPhaseReady, &report
	claims := r.s.Cluster.Status.Claims
	r.s.Cluster.Status.Claims = slices.DeleteFunc(claims, func(c model.Claim) bool { return c.Pod == p.Name })
	r.eachMember(p.Name, func(g *model.Group, m *model.Member) { m.State = model.MemberActive })
}

func (r *rollout) eachMember(pod string, do func(*model.Group, *model.Member)) {
	for i := range r.s.Groups {
		for j := range r.s.Groups[i].Members {
			if m := &r.s.Groups[i].Members[j]; m.Pod == pod {
				do(&r.s.Groups[i], m)
			}
		}
	}
}

// decided returns the pods that go by Decide.
func decided(r *rollout) []int {
	var who []int
	for _, step := range Decide(r.s).Steps {
		who = append(who, r.pods[step.Pod])
	}
	return who
}

// solrsOrder goes the Solr operator's way: fewer leaders first, then fewer copies, as many as the
// limits allow. Names are compared as numbers.
func solrsOrder(r *rollout) []int {
	limit, _ := r.s.Cluster.Spec.Policy.MaxUnavailable.Resolve(len(r.s.Pods))
	leaders, copies := make([]int, len(r.s.Pods)), make([]int, len(r.s.Pods))
	hosts := make([][]*model.Group, len(r.s.Pods))
	down := map[*model.Group]int{}
	var waiting, who []int
	for i := range r.s.Groups {
		g := &r.s.Groups[i]
		for _, m := range g.Members {
			at := r.pods[m.Pod]
			leaders[at] += cluster.Count(m.Leader)
			copies[at]++
			hosts[at] = append(hosts[at], g)
			down[g] += cluster.Count(m.State != model.MemberActive)
		}
	}
	for i := range r.s.Pods {
		if r.s.Pods[i].Revision == "v1" {
			waiting = append(waiting, i)
		}
	}
	slices.SortFunc(waiting, func(a, b int) int {
		return cmp.Or(cmp.Compare(leaders[a], leaders[b]), cmp.Compare(copies[a], copies[b]), cmp.Compare(a, b))
	})
	for _, i := range waiting {
		full := func(g *model.Group) bool { return len(g.Members) > 1 && down[g] >= 1 }
		if len(r.back)+len(who) >= limit || slices.ContainsFunc(hosts[i], full) {
			continue
		}
		for _, g := range hosts[i] {
			down[g]++
		}
		who = append(who, i)
	}
	return who
}

// inWaves waits until all pods are back, and then takes as many as it can.
func inWaves(r *rollout) []int {
	if len(r.back) > 0 {
		return nil
	}
	return solrsOrder(r)
}

// oneByOne does what a StatefulSet does.
func oneByOne(r *rollout) []int {
	if len(r.back) > 0 {
		return nil
	}
	for i := len(r.s.Pods) - 1; i >= 0; i-- {
		if r.s.Pods[i].Revision == "v1" {
			return []int{i}
		}
	}
	return nil
}
