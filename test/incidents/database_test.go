package incidents

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

var (
	now  = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	long = policy.At(now.Add(-time.Hour))
)

// database is what a coordinator sees of one. In all of them the pods run v1, the
// templates say v2, one pod may be away, and all is well until a test says
// otherwise, so that one pod would go.
type database struct {
	policy.Snapshot
	t *testing.T
}

// newDatabase has one pool db of so many pods, and no data.
func newDatabase(t *testing.T, pods int) *database {
	one := policy.Count(1)
	d := &database{t: t, Snapshot: policy.Snapshot{
		Version: policy.Version, Now: policy.At(now),
		Cluster: policy.Cluster{
			Namespace: "prod", Name: "db", UID: "c", Window: policy.WindowState{Open: true}, GuardEnforcing: true,
			Engine: policy.EngineFacts{MaxMajorStep: 1}, Status: policy.Status{Initialized: true},
		},
		Health: policy.Health{Verdict: policy.Green},
	}}
	d.Cluster.Spec.Engine = policy.Solr
	d.Cluster.Spec.Policy.MaxUnavailable = &one
	d.Cluster.Spec = d.Cluster.Spec.WithDefaults()
	d.addPool("db", pods)
	return d
}

// addPool adds a StatefulSet.
func (d *database) addPool(name string, pods int) {
	d.Pools = append(d.Pools, policy.Pool{
		Name: name, Replicas: int32(pods), Revision: "v2", Observed: true, Agents: true,
		Management: policy.Parallel, Strategy: policy.OnDelete,
	})
	for ordinal := range pods {
		pod := fmt.Sprintf("%s-%d", name, ordinal)
		d.Pods = append(d.Pods, policy.Pod{
			Name: pod, UID: "first " + pod, Pool: name, Ordinal: int32(ordinal), Node: "node of " + pod, Zone: "z",
			Revision: "v1", Phase: policy.Ready, Since: long, Agent: true, Guard: policy.GuardClosed, EstimateSeconds: 60,
			Report: &policy.Report{UID: "first " + pod, Self: true, Fresh: true, Member: policy.Live, Settled: true},
		})
		d.Nodes = append(d.Nodes, policy.Node{Name: "node of " + pod, Zone: "z"})
	}
}

// addCopies adds a group with a copy on each of the pods, led by the first. Of a
// Shard the policy says how many may be missing, of others need is how many not.
func (d *database) addCopies(id string, kind policy.GroupKind, need int32, pods ...string) {
	g := policy.Group{ID: id, Kind: kind, NeedsLeader: true}
	if kind != policy.Shard {
		g.MinAvailable = &need
	}
	for i, pod := range pods {
		g.Members = append(g.Members, policy.Member{ID: id + " on " + pod, Pod: pod, State: policy.Active, Leader: i == 0, Eligible: true})
	}
	d.Groups = append(d.Groups, g)
}

// mayBeAway sets the limit of pods.
func (d *database) mayBeAway(pods int64) {
	limit := policy.Count(pods)
	d.Cluster.Spec.Policy.MaxUnavailable = &limit
}

// byPartition has the pool driven by its partition, with nothing else that keeps
// its controller from an outdated pod at or above that.
func (d *database) byPartition(partition int32) {
	d.Cluster.Spec.Update.RollingUpdate = policy.ByPartition
	d.Cluster.Spec.Guard, d.Cluster.GuardEnforcing = policy.GuardOff, false
	d.Pools[0].Strategy, d.Pools[0].Partition = policy.RollingUpdateStrategy, partition
	for i := range d.Pods {
		d.Pods[i].Guard = policy.GuardNone
	}
}

func (d *database) pod(name string) *policy.Pod {
	d.t.Helper()
	i := slices.IndexFunc(d.Pods, func(p policy.Pod) bool { return p.Name == name })
	require.GreaterOrEqual(d.t, i, 0, name)
	return &d.Pods[i]
}

// hangs: the pod's database has not come up, and nobody speaks for it.
func (d *database) hangs(name string, phase policy.PodPhase) *policy.Pod {
	p := d.pod(name)
	p.Phase, p.Report = phase, nil
	for i := range d.Groups {
		for j := range d.Groups[i].Members {
			if m := &d.Groups[i].Members[j]; m.Pod == name {
				m.State, m.Leader = policy.Down, false
			}
		}
	}
	return p
}

// goes is who goes now.
func (d *database) goes() []string {
	var pods []string
	for _, step := range policy.Decide(d.Snapshot).Steps {
		if step.Action != policy.Restore {
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
func (d *database) requireHeld(pod string, rule policy.Rule) {
	d.t.Helper()
	plan := policy.Decide(d.Snapshot)
	require.Empty(d.t, d.goes(), plan.Text())
	i := slices.IndexFunc(plan.Holds, func(h policy.Hold) bool { return h.Pod == pod })
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
		if step.Action == policy.Restore {
			continue
		}
		if step.Partition != nil {
			d.Pools[0].Partition = *step.Partition
		}
		d.pod(step.Pod).Phase = policy.Terminating
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
		if p.Phase != policy.Terminating {
			continue
		}
		p.UID, p.Phase, p.Revision, p.Problem = "next "+p.UID, policy.Ready, d.Pools[0].Revision, policy.NoProblem
		p.Report = &policy.Report{UID: p.UID, Self: true, Fresh: true, Member: policy.Live, Settled: true}
	}
}
