package policy

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// replicated is a database with one primary that is rolled by plans alone: a small model of
// servers, of what the adapter reports about them, of a planned switchover, and of a StatefulSet's
// controller.
type replicated struct {
	t        *testing.T
	s        model.Snapshot
	primary  int
	acks     int // for which a commit waits
	versions map[string]string
	choose   func(successors []string) string
	unfit    bool // no replica could take over

	switchovers int
	went        []string
}

func newReplicated(t *testing.T, n, primary int, way rolled) *replicated {
	m := &replicated{t: t, primary: primary, acks: n / 2, versions: map[string]string{"v1": "8.4.6", "v2": "8.4.6"}, choose: first}
	m.s = defaultSnapshot()
	m.s.Now = model.At(noon)
	m.s.Cluster.Namespace, m.s.Cluster.Name = "prod", "shop"
	spec := &m.s.Cluster.Spec
	spec.Engine, spec.Update.RollingUpdate, spec.Guard = model.MySQL, way.by, way.guard
	pool := defaultPool()
	pool.Name, pool.Replicas, pool.Revision, pool.Strategy = "mysql", int32(n), "v2", way.strategy
	if way.by == model.RollingUpdateByPartition {
		pool.Partition = model.FirstOrdinalNone
	}
	m.s.Pools = []model.Pool{pool}
	for i := range n {
		p := defaultPod()
		p.Name, p.UID, p.Pool, p.Ordinal, p.Revision = fmt.Sprintf("mysql-%d", i), fmt.Sprintf("u%d", i), "mysql", int32(i), "v1"
		if way.guard == model.GuardOff {
			p.Guard = model.GuardNone
		}
		r := defaultReport()
		p.Report = &r
		m.s.Pods = append(m.s.Pods, p)
	}
	return m
}

func least(n int) *int32 {
	number := int32(n)
	return &number
}

func first(names []string) string { return names[0] }
func last(names []string) string  { return names[len(names)-1] }

// at returns the snapshot, with what the adapter would report.
func (m *replicated) at() model.Snapshot {
	primary := model.Group{ID: "primary", Kind: model.GroupRole, MinAvailable: least(1), NeedsLeader: true}
	acks := model.Group{ID: "acks", Kind: model.GroupAcks, MinAvailable: least(m.acks)}
	data := model.Group{ID: "data", Kind: model.GroupShard}
	for i := range m.s.Pods {
		p := &m.s.Pods[i]
		member := model.Member{ID: p.Name, Pod: p.Name, State: model.MemberDown}
		if r := p.Report; r != nil {
			r.UID, r.EngineVersion, r.Roles, r.After = p.UID, m.versions[p.Revision], nil, nil
			if r.Member == model.MembershipLive {
				member.State = model.MemberRecovering
			}
		}
		if p.Phase == model.PodPhaseReady && p.Report.Settled {
			member.State = model.MemberActive
		}
		eligible := member
		eligible.Eligible, eligible.Leader = member.State == model.MemberActive && !m.unfit, i == m.primary && member.State == model.MemberActive
		primary.Members = append(primary.Members, eligible)
		data.Members = append(data.Members, member)
		if i == m.primary {
			p.Report.Roles = []string{"primary"}
			for j := range m.s.Pods {
				if j != i {
					p.Report.After = append(p.Report.After, m.s.Pods[j].Name)
				}
			}
			continue
		}
		acks.Members = append(acks.Members, member)
	}
	m.s.Groups = []model.Group{acks, data, primary}
	return m.s
}

// still decides that no pod goes, and moves partitions where the plan does.
func (m *replicated) still() {
	p := Decide(m.at())
	require.Empty(m.t, p.Steps, p.Text())
	for _, l := range p.Lines {
		m.s.Pools[0].Partition = l.Partition
	}
}

// roll carries out plans until there is nothing left to do.
func (m *replicated) roll() {
	for {
		p := Decide(m.at())
		for _, l := range p.Lines {
			m.s.Pools[0].Partition = l.Partition
		}
		if len(p.Steps) == 0 {
			require.Empty(m.t, p.Holds, p.Text())
			return
		}
		require.Len(m.t, p.Steps, 1)
		m.restart(p.Steps[0])
	}
}

func (m *replicated) restart(step model.Step) {
	i := slices.IndexFunc(m.s.Pods, func(p model.Pod) bool { return p.Name == step.Pod })
	p := &m.s.Pods[i]
	claim := model.Claim{ID: "k-" + p.Name, Pod: p.Name, UID: p.UID, Action: step.Action, Reason: step.Reason, Prepare: step.Prepare,
		From: p.Revision, To: m.s.Pools[0].Revision, Phase: model.PhaseDraining}
	m.s.Cluster.Status.Claims = []model.Claim{claim}
	m.still()
	if i == m.primary && step.Prepare == model.PrepareHandoff {
		m.switchover(step.Pod)
		m.still()
	}
	again, hold := Recheck(m.at(), p.Name)
	require.Nil(m.t, hold)
	if again.Partition != nil {
		m.s.Pools[0].Partition = *again.Partition
	}
	m.takes(p)
	require.NotEqual(m.t, m.primary, i, "the primary is not taken away")
	require.GreaterOrEqual(m.t, m.acking(i), m.acks, "fewer replicas than must acknowledge")

	m.went = append(m.went, p.Name)
	m.s.Cluster.Status.Claims[0].Phase = model.PhaseGone
	for _, change := range []func(){
		func() { p.Phase = model.PodPhaseTerminating },
		func() { p.Phase, p.UID, p.Report, p.Revision = model.PodPhaseMissing, "", nil, "" },
		func() { p.Phase, p.UID, p.Revision = model.PodPhaseNotStarted, claim.UID+"'", m.s.Pools[0].Revision },
		func() {
			r := defaultReport()
			p.Phase, p.Report, r.Settled, r.Member = model.PodPhaseStarted, &r, false, model.MembershipNotLive
		},
		func() { p.Phase, p.Report.Member = model.PodPhaseReady, model.MembershipLive },
	} {
		m.s.Now = model.At(m.s.Now.Add(10 * time.Second))
		change()
		m.still()
		require.False(m.t, Returned(m.at(), claim).Done)
		m.follows(p.Name)
	}
	p.Report.Settled = true
	require.True(m.t, Returned(m.at(), claim).Done)
	m.s.Cluster.Status.Claims = nil
}

// takes requires that a pod that the controller could update by itself is the one that goes.
func (m *replicated) takes(goes *model.Pod) {
	pool := m.s.Pools[0]
	for i := range m.s.Pods {
		p := &m.s.Pods[i]
		if pool.Strategy == model.StrategyRollingUpdate && p.Guard == model.GuardNone && p.Ordinal >= pool.Partition && p.Revision != pool.Revision {
			require.Equal(m.t, goes.Name, p.Name)
		}
	}
}

func (m *replicated) switchover(pod string) {
	who := Successors(m.at(), pod)
	require.NotContains(m.t, who, pod)
	to := m.choose(who)
	m.primary = slices.IndexFunc(m.s.Pods, func(p model.Pod) bool { return p.Name == to })
	require.True(m.t, m.s.Pods[m.primary].Report.Settled)
	m.switchovers++
	m.follows(pod)
}

// follows requires that no replica runs an older version than the primary, except the pod that goes
// next.
func (m *replicated) follows(goes string) {
	source, _ := model.ParseEngineVersion(m.versions[m.s.Pods[m.primary].Revision])
	for i := range m.s.Pods {
		if v, known := model.ParseEngineVersion(m.versions[m.s.Pods[i].Revision]); known && m.s.Pods[i].Name != goes {
			require.LessOrEqual(m.t, source.Compare(v), 0, "%s is older than the primary", m.s.Pods[i].Name)
		}
	}
}

// acking counts the replicas that would acknowledge commits without one of the pods.
func (m *replicated) acking(without int) int {
	n := 0
	for i := range m.s.Pods {
		n += cluster.Count(i != without && i != m.primary && m.s.Pods[i].Phase == model.PodPhaseReady && m.s.Pods[i].Report.Settled)
	}
	return n
}

// rolled is a way in which a StatefulSet is driven.
type rolled struct {
	by       model.RollingUpdate
	guard    model.Guard
	strategy model.Strategy
}

var rolledWays = map[string]rolled{
	"OnDelete":                  {model.RollingUpdateByGuard, model.GuardEnforce, model.StrategyOnDelete},
	"guard":                     {model.RollingUpdateByGuard, model.GuardEnforce, model.StrategyRollingUpdate},
	"partition":                 {model.RollingUpdateByPartition, model.GuardEnforce, model.StrategyRollingUpdate},
	"partition without a guard": {model.RollingUpdateByPartition, model.GuardOff, model.StrategyRollingUpdate},
}

// eachReplicated has a database of each size, with the primary on each ordinal, rolled in each way,
// to another configuration and to another version, with a successor from either end of the possible
// ones.
func eachReplicated(t *testing.T, test func(t *testing.T, m *replicated, way rolled)) {
	for how, way := range rolledWays {
		for _, n := range []int{3, 5, 11} {
			for primary := range n {
				for _, version := range []string{"8.4.6", "8.4.7"} {
					for end, choose := range map[string]func([]string) string{"first": first, "last": last} {
						t.Run(fmt.Sprintf("%s of %d from %d to %s %s", how, n, primary, version, end), func(t *testing.T) {
							m := newReplicated(t, n, primary, way)
							m.versions["v2"], m.choose = version, choose
							test(t, m, way)
						})
					}
				}
			}
		}
	}
}

// One switchover, wherever the primary is, and at most two if ordinals decide. Each pod goes once.
func TestSwitchoversOfARollout(t *testing.T) {
	eachReplicated(t, func(t *testing.T, m *replicated, way rolled) {
		n, primary := len(m.s.Pods), m.primary
		want := 1
		// No pod runs the new revision yet, or the one that does is too new for the pods that
		// follow.
		if way.by == model.RollingUpdateByPartition && primary > 0 && (primary == n-1 || m.versions["v1"] != m.versions["v2"]) {
			want = 2
		}
		m.roll()
		require.Equal(t, want, m.switchovers)
		require.Len(t, m.went, n)
		if way.by == model.RollingUpdateByPartition {
			slices.Reverse(m.went)
			require.True(t, slices.IsSortedFunc(m.went, byOrdinal), m.went)
			require.Equal(t, model.FirstOrdinalNone, m.s.Pools[0].Partition)
			return
		}
		require.Equal(t, fmt.Sprintf("mysql-%d", primary), m.went[n-1])
	})
}

// While one replica lags, or none could take over, the primary stays, and the hold says why.
func TestReplicasHoldThePrimary(t *testing.T) {
	for how, way := range rolledWays {
		for name, c := range map[string]struct {
			change func(m *replicated)
			says   string
		}{
			"a replica lags": {func(m *replicated) { m.s.Pods[2].Report.Settled = false },
				"pod-budget: 2 of 3 pods would be unavailable, the limit is 1: mysql-2 (not settled)"},
			"a server has stopped": {func(m *replicated) {
				m.s.Pods[1].Report.Member, m.s.Pods[1].Report.Settled = model.MembershipNotLive, false
			},
				"mysql-1"},
			"none could take over": {func(m *replicated) { m.unfit = true },
				"eligible primary: primary would have no Active member that may lead"},
			"a backup runs on it": {func(m *replicated) { m.s.Pods[0].Report.Busy = "a backup runs" },
				"busy: a backup runs"},
		} {
			t.Run(how+" "+name, func(t *testing.T) {
				m := newReplicated(t, 3, 0, way)
				for i := range m.s.Pods[1:] {
					m.s.Pods[1+i].Revision = "v2"
				}
				m.s.Pools[0].Partition = min(m.s.Pools[0].Partition, 1)
				c.change(m)
				m.still()
				require.Contains(t, Decide(m.at()).Text(), "hold   mysql-0")
				require.Contains(t, Decide(m.at()).Text(), c.says)
			})
		}
	}
}

// The primary goes after its replicas and is not last: which pods go after it does not matter, and
// without the replicas it waits for the version alone.
func TestPrimaryGoesAfterItsReplicas(t *testing.T) {
	m := newReplicated(t, 3, 1, rolledWays["OnDelete"])
	m.s.Pods[2].Revision = "v2"
	p := Decide(m.at())
	require.Equal(t, []string{"mysql-0", "mysql-1"}, p.Order)
	require.Equal(t, model.RuleVersionOrder, p.Holds[0].Rule)
	require.Equal(t, "mysql-0 must carry the new version first", p.Holds[0].Reason)
}

// byOrdinal compares names: shorter ones have lower ordinals.
func byOrdinal(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return slices.Compare([]byte(a), []byte(b))
}
