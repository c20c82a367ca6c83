package fdbreal

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator"
	"github.com/rollcall-dev/rollcall/coordinator/agents"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/coordinator/view"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

const (
	namespace   = "demo"
	clusterName = "fdb"
	// before and after are the revisions of a rollout.
	before, after = "v1", "v2"
	image         = "foundationdb/foundationdb:7.1.67"
	// looksAtOnce are the agents that look at the same time: the machine has few processors.
	looksAtOnce = 2
)

// Rollcall is what decides about the cluster: an agent with the real adapter for each pod, and the coordinator's view and
// policy. Kubernetes is made up: it shows processes as the test has left them, after some time.
type Rollcall struct {
	t testing.TB
	c *Cluster
	// Notices is how long Kubernetes shows a pod as Ready whose process has gone.
	Notices time.Duration

	agents map[string]*agent // by pod
	status v1alpha1.Status
	// barrier is when the last action ended.
	barrier time.Time
	// departed is when Kubernetes showed that a pod had gone, until the database has noticed.
	departed map[string]time.Time
	shown    map[string]kube.Phase // by UID
	known    []model.Group
	revision map[string]string
	// replace are the pods that a person wants on new volumes.
	replace map[string]time.Time
	made    int
}

// NewRollcall starts an agent for each pod. All pods are outdated, so each would go if it might.
func NewRollcall(t testing.TB, c *Cluster) *Rollcall {
	r := &Rollcall{
		t: t, c: c, Notices: 2 * time.Second, agents: map[string]*agent{}, shown: map[string]kube.Phase{}, departed: map[string]time.Time{},
		revision: map[string]string{}, replace: map[string]time.Time{},
	}
	r.status.Conditions = []v1alpha1.Condition{{Type: v1alpha1.ConditionInitialized, Status: metav1.ConditionTrue}}
	r.status.Epoch = 1
	for _, p := range c.Pods {
		r.revision[p.Name] = before
		r.create(p)
	}
	t.Cleanup(func() {
		for _, a := range r.agents {
			if a != nil {
				a.close()
			}
		}
	})
	return r
}

// create is what a StatefulSet's controller and a kubelet do for a pod that is missing, its agent included.
func (r *Rollcall) create(p *Pod) {
	r.made++
	r.agents[p.Name] = newAgent(r.t, r.c, p, types.UID(fmt.Sprintf("%s-%d", p.Name, r.made)))
}

// Silence ends a pod's agent without a word, as the loss of its node does.
func (r *Rollcall) Silence(pods ...*Pod) {
	for _, p := range pods {
		r.agents[p.Name].silent = true
	}
}

// Speak ends a silence.
func (r *Rollcall) Speak(pods ...*Pod) {
	for _, p := range pods {
		r.agents[p.Name].silent = false
	}
}

// Ask lets all agents look, and the policy decide.
func (r *Rollcall) Ask(ctx context.Context) (model.Snapshot, model.Plan) {
	var all sync.WaitGroup
	turns := make(chan struct{}, looksAtOnce)
	for _, a := range r.agents {
		if a == nil || a.silent {
			continue
		}
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			a.look(ctx)
		})
	}
	all.Wait()
	s := r.snapshot()
	return s, policy.Decide(s)
}

func (r *Rollcall) snapshot() model.Snapshot {
	now := time.Now()
	in := view.Input{
		Now: now, Barrier: r.barrier, Known: r.known, Engine: coordinator.FactsOf(model.FoundationDB),
		Replaced: true, NamedByPod: true, GuardEnforcing: true,
		Agents: agents.State{Reports: map[string]agents.Received{}},
		Kube:   kube.ClusterObjects{Nodes: map[string]kube.Node{}},
	}
	all := model.Percent(100)
	in.Kube.Cluster = &v1alpha1.DatabaseCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: clusterName, UID: "d"},
		Spec:       model.Spec{Engine: model.FoundationDB, Policy: model.Policy{MaxUnavailable: &all}},
	}
	in.Kube.Cluster.Spec.Replacement.Enabled = true
	for _, p := range r.c.Pods {
		node := "node-of-" + p.Name
		in.Kube.Nodes[node] = kube.Node{Name: node, Labels: map[string]string{"topology.kubernetes.io/zone": p.Zone}}
		if a := r.agents[p.Name]; a != nil {
			in.Kube.Pods = append(in.Kube.Pods, r.kubePod(a, node, now))
			if report, at := a.report(); report != nil {
				in.Agents.Reports[string(a.uid)] = agents.Received{Report: report, At: at}
			}
		}
	}
	in.Kube.Pools = []kube.Pool{{
		Namespace: namespace, Name: clusterName, UID: "s", Cluster: clusterName, Replicas: len(r.c.Pods), Revision: after,
		Generation: 1, ObservedGeneration: 1, Strategy: "OnDelete", Management: "Parallel", Image: image,
	}}
	r.status.LastDeparture = model.Time{}
	for pod, at := range r.departed {
		if r.noticed(pod, at) {
			delete(r.departed, pod)
		} else if at.After(r.status.LastDeparture.Time) {
			r.status.LastDeparture = model.At(at)
		}
	}
	in.Kube.Cluster.Status = *r.status.DeepCopy()
	s, _ := view.Look(in)
	r.known = s.Groups
	require.Empty(r.t, model.Validate(&s))
	return s
}

// kubePod is the pod as Kubernetes shows it.
func (r *Rollcall) kubePod(a *agent, node string, now time.Time) kube.Pod {
	r.c.mu.Lock()
	up, since := a.pod.up || a.pod.paused, a.pod.since
	r.c.mu.Unlock()
	phase := kube.Ready
	if !up && now.Sub(since) > r.Notices {
		phase = kube.Started
	}
	if shown := r.shown[string(a.uid)]; shown == kube.Ready && phase != kube.Ready {
		r.departed[a.pod.Name], r.barrier = now, now
	}
	r.shown[string(a.uid)] = phase
	return kube.Pod{
		Namespace: namespace, Name: a.pod.Name, UID: a.uid, Pool: clusterName, Ordinal: slices.Index(r.c.Pods, a.pod),
		Node: node, IP: "127.0.0.1", Revision: r.revision[a.pod.Name], Guard: "closed", GuardCluster: clusterName,
		Phase: phase, Since: since, Created: a.born, Agent: true, Container: "foundationdb", Image: image, Replace: r.replace[a.pod.Name],
	}
}

// noticed tells whether a pod that went is live again by its own word, or all others that have looked since say that it is not.
func (r *Rollcall) noticed(pod string, at time.Time) bool {
	spoke := false
	for name, a := range r.agents {
		if a == nil {
			continue
		}
		report, looked := a.report()
		if !looked.After(at) || report.GetError() != "" {
			continue
		}
		if name == pod {
			if report.GetMember() == rollcallv1.Membership_MEMBERSHIP_LIVE {
				return true
			}
			continue
		}
		spoke = true
		for _, n := range report.GetNodes() {
			if n.GetName() == pod && n.GetMember() != rollcallv1.Membership_MEMBERSHIP_NOT_LIVE {
				return false
			}
		}
	}
	return spoke
}

// goers are the pods that a plan takes away now, by zone.
func (r *Rollcall) goers(plan model.Plan) map[string][]string {
	out := map[string][]string{}
	for _, step := range plan.Steps {
		if step.Action != model.ActionRestore {
			zone := r.c.Pod(step.Pod).Zone
			out[zone] = append(out[zone], step.Pod)
		}
	}
	return out
}

// words are all reasons that a plan and the reports give, for those who look for one.
func words(s model.Snapshot, plan model.Plan) string {
	var out []string
	out = append(out, s.Health.Reason)
	for _, h := range plan.Holds {
		out = append(out, h.Pod+" "+string(h.Rule)+": "+h.Reason+" ("+h.Unblocks+")")
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), "\n")
}
