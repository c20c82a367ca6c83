package oracle

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
	"github.com/rollcall-dev/rollcall/coordinator/sim/database"
	"github.com/rollcall-dev/rollcall/coordinator/sim/workload"
)

// What happens in a scene.

func (s *scene) noClaims() {
	cluster := s.server.Cluster("db").DeepCopy()
	cluster.Status.Claims = nil
	s.server.Put(api.Clusters, cluster)
}

// starts writes how long a start may take, which is less than a rollout may stand still.
func (s *scene) starts(seconds int64) {
	cluster := s.server.Cluster("db").DeepCopy()
	cluster.Spec.Policy.StartSeconds, cluster.Spec.Policy.ProgressSeconds = seconds, 10*seconds
	s.server.Put(api.Clusters, cluster)
}

func (s *scene) edit(name string, edit func(pod *corev1.Pod)) {
	pod := s.server.Pod(name).DeepCopy()
	edit(pod)
	s.server.Put(api.Pods, pod)
}

// old pods run the first template.
func (s *scene) old(pods ...string) {
	for _, name := range pods {
		s.edit(name, func(pod *corev1.Pod) { pod.Labels[workload.LabelRevision] = "v1" })
	}
}

// fails has the databases of outdated pods never come back; they have run.
func (s *scene) fails(pods ...string) {
	s.old(pods...)
	for _, name := range pods {
		s.db.Stop(name, false)
		s.edit(name, func(pod *corev1.Pod) {
			pod.Status.Conditions = nil
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: workload.Database, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
		})
	}
	s.o.Broken = func(pod *corev1.Pod) bool { return slices.Contains(pods, pod.Name) }
}

// agentless pods have no agent.
func (s *scene) agentless(pods ...string) {
	for _, name := range pods {
		s.edit(name, func(pod *corev1.Pod) { pod.Spec.InitContainers = nil })
	}
}

// untold: db-0 has failed with the only copy of a shard, and db-2 beside it. These have no agent.
func untold(agentless ...string) func(s *scene) {
	return func(s *scene) {
		s.db.AddShard("books/s2", "db-0")
		s.fails("db-0", "db-2")
		s.agentless(agentless...)
	}
}

func (s *scene) scale(replicas int32) {
	s.set = s.set.DeepCopy()
	s.set.Spec.Replicas = &replicas
	s.server.Put(api.Sets, s.set)
}

// scaledAway: db-2, which has a copy of what db-1 has, is not wanted and, unless it is there yet,
// gone. These have not gone for the template.
func scaledAway(there bool, old ...string) func(s *scene) {
	return func(s *scene) {
		s.db.AddShard("books/s2", "db-1", "db-2")
		s.old(old...)
		s.scale(2)
		if !there {
			s.leaves("db-2")
		}
	}
}

// leaves has a pod be gone, and its member with it.
func (s *scene) leaves(name string) {
	s.db.Stop(name, true)
	s.server.Drop(api.Pods, name)
	s.o.Look()
}

// removed has a pod be gone, under its claim.
func (s *scene) removed(name string) {
	cluster := s.server.Cluster("db").DeepCopy()
	cluster.Status.Claims = []model.Claim{{ID: "claim", Pod: name, UID: string(s.server.Pod(name).UID), Epoch: 1}}
	s.server.Put(api.Clusters, cluster)
	s.server.Drop(api.Pods, name)
}

// followed: db-2 has come after one that went under its claim. Others have failed with the last copies.
func followed(failed []string, agentless ...string) func(s *scene) {
	return func(s *scene) {
		s.db.AddShard("books/s2", "db-0")
		s.fails(failed...)
		s.agentless(agentless...)
		cluster := s.server.Cluster("db").DeepCopy()
		cluster.Status.Claims = []model.Claim{{ID: "claim", Pod: "db-2", UID: "db-2-before", Epoch: 1}}
		s.server.Put(api.Clusters, cluster)
	}
}

func (s *scene) mark(pod string) {
	s.db.Leave(database.Mark{Claim: "c", Node: database.NodeName(pod), Shard: "books/s1"})
}
