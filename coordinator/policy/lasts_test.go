package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/test/race"
)

// layout is one pool: a letter for each pod, from ordinal 0 up. o is outdated, d outdated and on a node
// that is to be left, r up to date and asked to restart. A capital is one that goes last.
type layout struct {
	pods        string
	byPartition bool
}

// lasts is a database of such pools, rolled by plans alone, without a guard: one pod may be
// unavailable.
type lasts struct {
	t      *testing.T
	s      model.Snapshot
	pinned bool // who goes last stays so; else the next pod does when it has gone
	went   []string
}

func newLasts(t *testing.T, pools ...layout) *lasts {
	m := &lasts{t: t, s: defaultSnapshot(), pinned: true}
	m.s.Now = model.At(noon)
	m.s.Cluster.Namespace, m.s.Cluster.Name = "prod", "shop"
	spec, one := &m.s.Cluster.Spec, model.Count(1)
	spec.Engine, spec.Update.RollingUpdate, spec.Guard, spec.Policy.MaxUnavailable = model.Solr, model.RollingUpdateByPartition, model.GuardOff, &one
	spec.Update.NodeDrains.Follow, spec.Drain.Data.NodeDrain = true, model.DataKeep
	m.s.Nodes = []model.Node{{Name: "cordoned", Cordoned: true}}
	for i, l := range pools {
		pool := defaultPool()
		pool.Name, pool.Replicas, pool.Revision = string(rune('a'+i)), int32(len(l.pods)), "v2"
		if l.byPartition {
			pool.Strategy, pool.Partition = model.StrategyRollingUpdate, model.FirstOrdinalNone
		}
		m.s.Pools = append(m.s.Pools, pool)
		for n, letter := range l.pods {
			p, r := defaultPod(), defaultReport()
			p.Name, p.Pool, p.Ordinal, p.Revision, p.Guard = fmt.Sprintf("%s-%d", pool.Name, n), pool.Name, int32(n), "v2", model.GuardNone
			p.UID = "u" + p.Name
			r.UID, r.Last = p.UID, strings.ContainsRune("ODR", letter)
			p.Restart = strings.ContainsRune("rR", letter)
			if strings.ContainsRune("oOdD", letter) {
				p.Revision = "v1"
			}
			if strings.ContainsRune("dD", letter) {
				p.Node = "cordoned"
			}
			p.Report = &r
			m.s.Pods = append(m.s.Pods, p)
		}
	}
	return m
}

func (m *lasts) pool(p *model.Pod) *model.Pool {
	i := slices.IndexFunc(m.s.Pools, func(o model.Pool) bool { return o.Name == p.Pool })
	return &m.s.Pools[i]
}

// toGo are the pods that have yet to.
func (m *lasts) toGo() []*model.Pod {
	var all []*model.Pod
	for i := range m.s.Pods {
		if p := &m.s.Pods[i]; p.Restart || p.Revision != m.pool(p).Revision {
			all = append(all, p)
		}
	}
	return all
}

// behind reports whether the partition comes to the pod only after one that goes last.
func (m *lasts) behind(p *model.Pod) bool {
	pool := m.pool(p)
	return pool.Strategy == model.StrategyRollingUpdate && p.Ordinal < pool.Partition && slices.ContainsFunc(m.toGo(), func(o *model.Pod) bool {
		return o.Pool == p.Pool && o.Ordinal > p.Ordinal && o.Ordinal < pool.Partition && o.Revision != pool.Revision && o.Report.Last
	})
}

func (m *lasts) move(p model.Plan) {
	for _, l := range p.Lines {
		m.s.Pools[slices.IndexFunc(m.s.Pools, func(o model.Pool) bool { return o.Name == l.Pool })].Partition = l.Partition
	}
}

// roll carries out plans until there is nothing left to do. Partition moves that free no pod come
// first.
func (m *lasts) roll() {
	for {
		m.s.Now = model.At(m.s.Now.Add(time.Minute))
		p := Decide(m.s)
		for len(p.Lines) > 0 {
			m.move(p)
			p = Decide(m.s)
		}
		if len(p.Steps) == 0 {
			require.Empty(m.t, m.toGo(), p.Text())
			require.Equal(m.t, model.ClusterDone, p.Phase, p.Text())
			return
		}
		require.Len(m.t, p.Steps, 1, p.Text())
		m.restart(p.Steps[0])
	}
}

func (m *lasts) restart(step model.Step) {
	i := slices.IndexFunc(m.s.Pods, func(p model.Pod) bool { return p.Name == step.Pod })
	p := &m.s.Pods[i]
	if p.Report.Last {
		for _, o := range m.toGo() {
			require.True(m.t, o.Report.Last || m.behind(o), "%s goes, which is last, before %s", p.Name, o.Name)
		}
	}
	m.s.Cluster.Status.Claims = []model.Claim{{ID: "k", Pod: p.Name, UID: p.UID, Action: step.Action, Reason: step.Reason,
		Prepare: step.Prepare, From: p.Revision, To: "v2", Phase: model.PhaseDrained}}
	again, hold := Recheck(m.s, p.Name)
	require.Nil(m.t, hold)
	pool := m.pool(p)
	if again.Partition != nil {
		pool.Partition = *again.Partition
	}
	for _, o := range m.toGo() { // whom its controller takes now
		if o != p && o.Pool == p.Pool && pool.Strategy == model.StrategyRollingUpdate && o.Revision != pool.Revision {
			require.Less(m.t, o.Ordinal, pool.Partition, "%s is free beside %s", o.Name, p.Name)
		}
	}
	to := pool.Revision
	if pool.Strategy == model.StrategyRollingUpdate && p.Ordinal < pool.Partition && slices.ContainsFunc(m.toGo(), func(o *model.Pod) bool {
		return o.Pool == p.Pool && o.Revision != pool.Revision
	}) {
		to = "v1"
		require.NotEmpty(m.t, p.Node, "%s comes back old", p.Name)
	}
	m.went = append(m.went, p.Name)
	m.s.Cluster.Status.Claims[0].Phase = model.PhaseGone
	was := p.Report.Last
	p.Phase, p.UID, p.Report, p.Revision, p.Restart = model.PodPhaseNotStarted, p.UID+"'", nil, to, false
	p.Node, p.Since = "", m.s.Now
	away := Decide(m.s)
	require.Empty(m.t, away.Steps, "one is unavailable: %s", away.Text())
	m.move(away)
	r := defaultReport()
	r.UID, r.Last = p.UID, was && m.pinned
	p.Phase, p.Report, m.s.Cluster.Status.Claims = model.PodPhaseReady, &r, nil
	if was && !m.pinned {
		m.s.Pods[(i+1)%len(m.s.Pods)].Report.Last = true
	}
}

// A pod that goes last does not wait for those that the partition of another pool frees only after
// one that goes last, and later than itself.
func TestLastPodsOfTwoPartitions(t *testing.T) {
	line := func(pods string) layout { return layout{pods, true} }
	onDelete := func(pods string) layout { return layout{pods, false} }
	for name, c := range map[string]struct {
		pools []layout
		want  string
	}{
		"both on top":                           {[]layout{line("ooO"), line("ooO")}, "a-2 a-1 a-0 b-2 b-1 b-0"},
		"one of a pool without a partition":     {[]layout{onDelete("Ooo"), line("ooO")}, "a-2 a-1 a-0 b-2 b-1 b-0"},
		"the partition frees a third pod first": {[]layout{line("ooO"), line("oOo")}, "b-2 a-2 a-1 a-0 b-1 b-0"},
		"two in a row":                          {[]layout{line("ooO"), line("oOO")}, "a-2 a-1 a-0 b-2 b-1 b-0"},
		"three lines":                           {[]layout{line("oO"), line("oO"), line("oO")}, "a-1 a-0 b-1 b-0 c-1 c-0"},
		"a restart that would come back old":    {[]layout{onDelete("O"), line("rO")}, "a-0 b-1 b-0"},
		"a requested restart of the other one":  {[]layout{onDelete("R"), line("rO")}, "a-0 b-1 b-0"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newLasts(t, c.pools...)
			m.roll()
			require.Equal(t, c.want, strings.Join(m.went, " "))
		})
	}
}

// Pods below the partition wait until the pod is going. It comes back on the old revision, and goes
// once more when the partition comes to it.
func TestLastPodsAtThePartitionLeaveTheirNode(t *testing.T) {
	for pods, want := range map[string]string{
		"ooD": "a-2 a-2 a-1 a-0",
		"oDo": "a-2 a-1 a-1 a-0",
		"Doo": "a-2 a-1 a-0 a-0",
		"odD": "a-1 a-2 a-2 a-1 a-0",
		"rD":  "a-1 a-1 a-0",
	} {
		m := newLasts(t, layout{pods, true})
		m.roll()
		require.Equal(t, want, strings.Join(m.went, " "), pods)
	}
}

// Whoever goes last in pools of either kind, a rollout ends. A pod that goes last waits for all
// that the partition does not keep behind another one.
func TestLastPodsNeverWaitForEachOther(t *testing.T) {
	const letters = "oOrR"
	for n := range 4 * 4 * 4 * 4 * 4 * 8 {
		if !race.Part(n, 5) {
			continue
		}
		kinds, left := n%8, n/8
		var b strings.Builder
		for range 5 {
			b.WriteByte(letters[left%4])
			left /= 4
		}
		pods := b.String()
		pools := []layout{{pods[:2], kinds&1 > 0}, {pods[2:], kinds&2 > 0}}
		t.Run(fmt.Sprintf("%v %v", pools, kinds&4 > 0), func(t *testing.T) {
			m := newLasts(t, pools...)
			m.pinned = kinds&4 == 0
			m.roll()
			require.Len(t, m.went, 5)
			slices.Sort(m.went)
			require.Len(t, slices.Compact(m.went), 5)
		})
	}
}
