package view

import (
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/agents"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// DefaultMaxAge is the age above which a report is not fresh. An agent may miss three heartbeats.
const DefaultMaxAge = 15 * time.Second

// defaultEstimate is how long a pod is expected to be unavailable if that has not been measured.
const defaultEstimate = 60

// Input is what a snapshot is made of. Look changes none of it.
type Input struct {
	Now  time.Time
	Kube kube.ClusterObjects
	// Agents is what was received from the cluster's agents.
	Agents agents.State
	// Idle is true if reports are not being followed, only rosters. They then stand in for the
	// reports, and permit nothing.
	Idle bool
	// Barrier is when the last action on this cluster ended. What was observed before is not fresh.
	// It is zero if there was no action.
	Barrier time.Time
	// MaxAge is the maximum age of a fresh report. 0 means DefaultMaxAge.
	MaxAge time.Duration
	// Known are the groups of the last look. A group that no pod reports any more is over only when
	// every pod that was in it has reported.
	Known []model.Group
	// Noticed are conditions of pods as this coordinator has seen them first, besides those in the
	// status. It has no more than earlier snapshots of Look.
	Noticed []v1alpha1.PodCondition
	// NotLive is since when the others have said that pods without an agent, by their UIDs, are not
	// live, as NotLive returned it for the previous snapshot.
	NotLive map[string]time.Time
	// Engine are the facts of the adapter, except the oldest version that can be updated from:
	// MinSource has it by the major version of the target.
	Engine model.EngineFacts
	// Replaced is true if a pod is replaced when a restart does not bring the change.
	Replaced bool
	// NamedByPod is true if members are named after their pods.
	NamedByPod bool
	// Unlisted is true if a pod without an agent that no agent lists may be a member, unless the
	// agent of a leading pod is among them.
	Unlisted  bool
	MinSource map[int]string
	// Topologies is true if the engine's agents tell a topology.
	Topologies bool
	// Paused is the switch for all clusters.
	Paused bool
	// GuardEnforcing is true if Kubernetes refuses to remove closed pods now.
	GuardEnforcing bool
	Fleet          model.Fleet
}

// Look makes the snapshot, and returns for how long it stands. The same input gives the same
// snapshot, whatever the order of its lists.
func Look(in Input) (model.Snapshot, *Basis) {
	in.MaxAge = maxAge(in)
	w := newWorld(in)
	groups := w.mergeGroups()
	s := model.Snapshot{
		Version: model.Version,
		Now:     model.At(in.Now),
		Cluster: clusterOf(in),
		Nodes:   w.nodes(),
		Groups:  groups,
		Fleet:   in.Fleet,
	}
	s.Pods = w.policyPods(groups)
	s.Pools = w.policyPools()
	s.Cluster.Engine.MinSourceVersion = minSource(in.MinSource, s.Pools)
	s.Health = w.health()
	s.Cluster.Topology, s.Cluster.TopologyWhy = w.topology()
	return s, newBasis(in, w, timely(in, s.Cluster.Window))
}

func maxAge(in Input) time.Duration {
	if in.MaxAge <= 0 {
		return DefaultMaxAge
	}
	return in.MaxAge
}

// Names returns the names that the database has for the pods, by pod, as far as they are certain.
func Names(in Input) map[string]string {
	in.MaxAge = maxAge(in)
	w := newWorld(in)
	names := map[string]string{}
	for i := range w.pods {
		if p := &w.pods[i]; len(p.names) == 1 && !p.ambiguous {
			names[p.name] = p.names[0]
		}
	}
	return names
}

func clusterOf(in Input) model.Cluster {
	d := in.Kube.Cluster
	c := model.Cluster{
		Namespace: d.Namespace,
		Name:      d.Name,
		UID:       string(d.UID),
		Spec:      *d.Spec.DeepCopy(),
		Status: model.Status{
			Epoch:         d.Status.Epoch,
			Claims:        cloned(d.Status.Claims),
			Approvals:     cloned(d.Status.Approvals),
			Initialized:   v1alpha1.IsTrue(d.Status.Conditions, v1alpha1.ConditionInitialized),
			LastProgress:  moment(d.Status.LastProgress),
			LastDeparture: moment(d.Status.LastDeparture),
		},
		Paused: in.Paused || d.Spec.Update.Paused || d.Annotations[v1alpha1.AnnotationPaused] == "true",
		Window: WindowAt(d.Spec.Update.Windows, in.Now),
		Engine: in.Engine,

		GuardEnforcing: in.GuardEnforcing,
	}
	for _, p := range in.Kube.Pools {
		c.Paused = c.Paused || p.Paused
	}
	return c
}

func moment(t model.Time) *model.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// cloned copies a list and what it points to, and makes an empty list of null.
func cloned[T any, P interface {
	*T
	DeepCopyInto(*T)
}](list []T) []T {
	out := make([]T, len(list))
	for i := range list {
		P(&list[i]).DeepCopyInto(&out[i])
	}
	return out
}
