package incidents

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

var (
	now  = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	long = model.At(now.Add(-time.Hour))
)

// database is what a coordinator sees of one. In all of them the pods run v1, the templates say v2,
// one pod may be unavailable, and all is well until a test says otherwise, so that one pod would
// go.
type database struct {
	model.Snapshot
	t *testing.T
}

// newDatabase has one pool db of so many pods, and no data.
func newDatabase(t *testing.T, pods int) *database {
	one := model.Count(1)
	d := &database{t: t, Snapshot: model.Snapshot{
		Version: model.Version, Now: model.At(now),
		Cluster: model.Cluster{
			Namespace: "prod", Name: "db", UID: "c", Window: model.WindowState{Open: true}, GuardEnforcing: true,
			Engine: model.EngineFacts{MaxMajorStep: 1}, Status: model.Status{Initialized: true},
		},
		Health: model.Health{Verdict: model.VerdictGreen},
	}}
	d.Cluster.Spec.Engine = model.Solr
	d.Cluster.Spec.Policy.MaxUnavailable = &one
	d.Cluster.Spec = d.Cluster.Spec.WithDefaults()
	d.addPool("db", pods)
	return d
}

// addPool adds a StatefulSet.
func (d *database) addPool(name string, pods int) {
	d.Pools = append(d.Pools, model.Pool{
		Name: name, Replicas: int32(pods), Revision: "v2", Observed: true, Agents: true,
		Management: model.ManagementParallel, Strategy: model.StrategyOnDelete,
	})
	for ordinal := range pods {
		pod := fmt.Sprintf("%s-%d", name, ordinal)
		d.Pods = append(d.Pods, model.Pod{
			Name: pod, UID: "first " + pod, Pool: name, Ordinal: int32(ordinal), Node: "node of " + pod, Zone: "z",
			Revision: "v1", Phase: model.PodPhaseReady, Since: long, Agent: true, Guard: model.GuardClosed, EstimateSeconds: 60,
			Report: &model.Report{UID: "first " + pod, Self: true, Fresh: true, Member: model.MembershipLive, Settled: true},
		})
		d.Nodes = append(d.Nodes, model.Node{Name: "node of " + pod, Zone: "z"})
	}
}

// addCopies adds a group with a copy on each of the pods, led by the first. Of a
// Shard the policy says how many may be missing, of others need is how many not.
func (d *database) addCopies(id string, kind model.GroupKind, need int32, pods ...string) {
	g := model.Group{ID: id, Kind: kind, NeedsLeader: true}
	if kind != model.GroupShard {
		g.MinAvailable = &need
	}
	for i, pod := range pods {
		g.Members = append(g.Members, model.Member{ID: id + " on " + pod, Pod: pod, State: model.MemberActive, Leader: i == 0, Eligible: true})
	}
	d.Groups = append(d.Groups, g)
}

// mayBeAway sets the limit of pods.
func (d *database) mayBeAway(pods int64) {
	limit := model.Count(pods)
	d.Cluster.Spec.Policy.MaxUnavailable = &limit
}

// byPartition has the pool driven by its partition, with nothing else that keeps
// its controller from an outdated pod at or above that.
func (d *database) byPartition(partition int32) {
	d.Cluster.Spec.Update.RollingUpdate = model.RollingUpdateByPartition
	d.Cluster.Spec.Guard, d.Cluster.GuardEnforcing = model.GuardOff, false
	d.Pools[0].Strategy, d.Pools[0].Partition = model.StrategyRollingUpdate, partition
	for i := range d.Pods {
		d.Pods[i].Guard = model.GuardNone
	}
}

func (d *database) pod(name string) *model.Pod {
	d.t.Helper()
	i := slices.IndexFunc(d.Pods, func(p model.Pod) bool { return p.Name == name })
	require.GreaterOrEqual(d.t, i, 0, name)
	return &d.Pods[i]
}

// hangs: the pod's database has not come up, and nobody speaks for it.
func (d *database) hangs(name string, phase model.PodPhase) *model.Pod {
	p := d.pod(name)
	p.Phase, p.Report = phase, nil
	for i := range d.Groups {
		for j := range d.Groups[i].Members {
			if m := &d.Groups[i].Members[j]; m.Pod == name {
				m.State, m.Leader = model.MemberDown, false
			}
		}
	}
	return p
}

// goes is who goes now.
func (d *database) goes() []string {
	var pods []string
	for _, step := range policy.Decide(d.Snapshot).Steps {
		if step.Action != model.ActionRestore {
			pods = append(pods, step.Pod)
		}
	}
	return pods
}

// requireGo wants these and nobody else to go.
func (d *database) requireGo(pods ...string) {
	d.t.Helper()
	require.Equal(d.t, pods, d.goes(), policy.Decide(d.Snapshot).Text())
}

// requireHeld wants nobody to go, and the pod to be held by the rule.
func (d *database) requireHeld(pod string, rule model.Rule) {
	d.t.Helper()
	plan := policy.Decide(d.Snapshot)
	require.Empty(d.t, d.goes(), plan.Text())
	i := slices.IndexFunc(plan.Holds, func(h model.Hold) bool { return h.Pod == pod })
	require.GreaterOrEqual(d.t, i, 0, plan.Text())
	require.Equal(d.t, rule, plan.Holds[i].Rule, plan.Text())
}

func (d *database) requirePartition(want int32) {
	d.t.Helper()
	require.Equal(d.t, want, d.Pools[0].Partition)
}

// carryOut does what the plan says, and what a StatefulSet controller does then:
// who goes is terminating.
func (d *database) carryOut() []string {
	plan := policy.Decide(d.Snapshot)
	var gone []string
	for _, step := range plan.Steps {
		if step.Action == model.ActionRestore {
			continue
		}
		if step.Partition != nil {
			d.Pools[0].Partition = *step.Partition
		}
		d.pod(step.Pod).Phase = model.PodPhaseTerminating
		gone = append(gone, step.Pod)
	}
	for _, line := range plan.Lines {
		d.Pools[0].Partition = line.Partition
	}
	return gone
}

// returnAll brings back, up to date, who is terminating.
func (d *database) returnAll() {
	for i := range d.Pods {
		p := &d.Pods[i]
		if p.Phase != model.PodPhaseTerminating {
			continue
		}
		p.UID, p.Phase, p.Revision, p.Problem = "next "+p.UID, model.PodPhaseReady, d.Pools[0].Revision, model.ProblemNone
		p.Report = &model.Report{UID: p.UID, Self: true, Fresh: true, Member: model.MembershipLive, Settled: true}
	}
}
