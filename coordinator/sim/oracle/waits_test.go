package oracle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
	"github.com/rollcall-dev/rollcall/coordinator/sim/database"
	"github.com/rollcall-dev/rollcall/coordinator/sim/workload"
)

// brokenBelow: db-0 does not work, and another would be freed with it.
func brokenBelow(unguarded bool, phase model.ClusterPhase, with string) func(s *scene) {
	return func(s *scene) {
		below(s, unguarded, phase, "db-0", with)
		s.db.Stop("db-0", false)
	}
}

// below the partition are these pods.
func below(s *scene, unguarded bool, phase model.ClusterPhase, pods ...string) {
	s.server.Enforce = !unguarded
	s.partition(model.FirstOrdinalNone)
	for _, name := range pods {
		s.pod(name, types.UID(name+"-old"))
	}
	cluster := s.server.Cluster("db").DeepCopy()
	cluster.Status.Phase = phase
	s.server.Put(api.Clusters, cluster)
}

// recoversBelow: all are below the partition, and a copy on db-0 never recovers, but by a restart.
func recoversBelow(s *scene) {
	below(s, true, model.ClusterStalled, "db-0", "db-1", "db-2")
	s.db.Ail("db-0", "books/s1", true, false)
}

// recoversBesideVoters: these vote, and db-3 and db-4 are up to date.
func recoversBesideVoters(voters ...string) func(s *scene) {
	return func(s *scene) {
		s.scale(5)
		for _, name := range []string{"db-3", "db-4"} {
			s.pod(name, types.UID(name+"-new"))
			s.edit(name, func(pod *corev1.Pod) { pod.Labels[workload.LabelRevision] = "v2" })
			s.db.AddLive(name, "9.9.0")
		}
		s.db.Vote(voters...)
		recoversBelow(s)
	}
}

// incurableBelow: a copy on db-0 is broken for ever, and these are below the partition.
func incurableBelow(recovering bool, pods ...string) func(s *scene) {
	return func(s *scene) {
		below(s, true, model.ClusterStalled, pods...)
		s.db.Ail("db-0", "books/s1", recovering, true)
	}
}

// zoned: db-0 does not work below the partition, and the others are in another zone.
func zoned(unit model.Unit) func(s *scene) {
	return func(s *scene) {
		brokenBelow(true, model.ClusterStalled, "db-1")(s)
		s.old("db-2")
		s.o.Zone = func(pod string) string { return map[bool]string{true: "a", false: "b"}[pod == "db-0"] }
		cluster := s.server.Cluster("db").DeepCopy()
		limit := model.Count(int64(s.o.limits.Pods))
		cluster.Spec.Policy.Unit, cluster.Spec.Policy.MaxUnavailable = unit, &limit
		s.server.Put(api.Clusters, cluster)
	}
}

// leftWaiting: db-1, which has a mark, is out of date, and the other copy of what it has is broken for ever.
func leftWaiting(s *scene) {
	s.pod("db-1", "db-1-old")
	s.db.Ail("db-0", "books/s1", false, true)
	s.db.Leave(database.Mark{Claim: "c", Node: database.NodeName("db-1"), Shard: "books/s1"})
}

// What is left at the end. No claim is, in these.
func TestEnd(t *testing.T) {
	for name, c := range map[string]struct {
		limits Limits
		done   bool
		story  func(s *scene)
		broken []string
	}{
		"all well": {done: true},
		"not done": {broken: []string{"L1"}},
		"the template of another pool": {done: true, limits: Limits{Sets: []string{"dbx"}}, story: func(s *scene) {
			s.pod("dbx-0", "dbx-0-uid") // which runs v1
		}},
		"an old template":         {done: true, story: func(s *scene) { s.pod("db-1", "db-1-new") }, broken: []string{"L2"}},
		"a partition at rest":     {done: true, limits: Limits{ByPartition: true}, story: func(s *scene) { s.partition(model.FirstOrdinalNone) }},
		"a partition left low":    {done: true, limits: Limits{ByPartition: true}, story: func(s *scene) { s.partition(1) }, broken: []string{"I11"}},
		"a partition of others":   {done: true, story: func(s *scene) { s.partition(1) }},
		"a partition not at rest": {limits: Limits{ByPartition: true}, story: func(s *scene) { s.partition(1) }, broken: []string{"L1"}},
		"a broken pod below the partition, which one that would go too may not follow": {
			limits: Limits{Pods: 2, Shard: 1, ByPartition: true}, story: brokenBelow(true, model.ClusterStalled, "db-1"),
		},
		"the same, and nobody is told":       {limits: Limits{Pods: 2, Shard: 1, ByPartition: true}, story: brokenBelow(true, model.ClusterWaiting, "db-1"), broken: []string{"L1"}},
		"the same, where all may go":         {limits: Limits{Pods: 2, Shard: 2, ByPartition: true}, story: brokenBelow(true, model.ClusterStalled, "db-2"), broken: []string{"L1"}},
		"the same, where the last copy goes": {limits: Limits{Pods: 2, Shard: 2, ByPartition: true}, story: brokenBelow(true, model.ClusterStalled, "db-1")},
		"the same, where too many pods go":   {limits: Limits{Pods: 1, Shard: 2, ByPartition: true}, story: brokenBelow(true, model.ClusterStalled, "db-1")},
		"the same, which guards would allow": {limits: Limits{Pods: 2, Shard: 1, ByPartition: true}, story: brokenBelow(false, model.ClusterStalled, "db-1"), broken: []string{"L1"}},
		"the same, without a partition":      {limits: Limits{Pods: 2, Shard: 1}, story: brokenBelow(true, model.ClusterStalled, "db-1"), broken: []string{"L1"}},
		"a mark": {done: true, broken: []string{"I11"}, story: func(s *scene) {
			s.db.Leave(database.Mark{Claim: "c", Node: database.NodeName("db-1"), Shard: "books/s1"})
		}},
		"a mark of a pod that waits without an agent": {limits: Limits{Shard: 1}, story: func(s *scene) {
			leftWaiting(s)
			s.unjoined("db-1")
		}},
		"a mark of a pod that waits": {broken: []string{"I11"}, limits: Limits{Shard: 1}, story: leftWaiting},
		"a mark of a pod without an agent": {done: true, broken: []string{"I11"}, story: func(s *scene) {
			s.db.Leave(database.Mark{Claim: "c", Node: database.NodeName("db-1"), Shard: "books/s1"})
			s.unjoined("db-1")
		}},
		"a claim": {done: true, broken: []string{"I11", "I11", "I11"}, story: func(s *scene) { s.claims() }},
		"an open guard": {done: true, broken: []string{"I11"}, story: func(s *scene) {
			pod := s.server.Pod("db-1").DeepCopy()
			pod.Labels[v1alpha1.LabelGuard] = v1alpha1.GuardOpen
			s.server.Put(api.Pods, pod)
		}},
	} {
		broken := ends(t, c.limits, c.done, c.story)
		require.Equal(t, c.broken, broken, name)
	}
}

// ends is the judgement at the end of a run in which all pods run the last template
// and nobody is claimed, but for the story.
func ends(t *testing.T, limits Limits, done bool, story func(s *scene)) []string {
	return play(t, limits, nil, func(s *scene) {
		s.noClaims()
		for _, name := range s.server.Names(api.Pods) {
			s.edit(name, func(pod *corev1.Pod) { pod.Labels[workload.LabelRevision] = "v2" })
		}
		if story != nil {
			story(s)
		}
		s.o.End(done, "")
	})
}

// A run does not end early while a claim is open, though a person has to act.
func TestMustWait(t *testing.T) {
	for _, claimed := range []bool{false, true} {
		play(t, Limits{Ephemeral: true}, nil, func(s *scene) {
			s.fails("db-0", "db-1", "db-2")
			s.agentless("db-0", "db-1", "db-2")
			if !claimed {
				s.noClaims()
			}
			require.Equal(t, !claimed, s.o.MustWait())
		})
	}
}

// Each wait for a person, and what is so near to it that nobody needs to wait.
func TestWaits(t *testing.T) {
	stuck := []string{"L1"}
	all := []string{"db-0", "db-1", "db-2"}
	lost := func(s *scene) { s.fails("db-0", "db-1") }
	oneByLine := Limits{Shard: 1, Pods: 1, ByPartition: true}
	for name, c := range map[string]struct {
		limits Limits
		story  func(s *scene)
		broken []string
	}{
		"another copy is broken for ever":                                       {Limits{Shard: 1}, func(s *scene) { s.db.Ail("db-0", "books/s1", false, true); s.old("db-1") }, nil},
		"it was broken, and a restart cures it":                                 {Limits{Shard: 1}, func(s *scene) { s.db.Ail("db-0", "books/s1", false, false); s.old("db-1") }, stuck},
		"it is broken for ever, and two may be unavailable, which would be all": {Limits{Shard: 2}, func(s *scene) { s.db.Ail("db-0", "books/s1", false, true); s.old("db-1") }, nil},
		"it is broken for ever, and two of three may be unavailable": {Limits{Shard: 2}, func(s *scene) {
			s.db.AddShard("books/s2", all...)
			s.db.Ail("db-0", "books/s2", false, true)
			s.old("db-1")
		}, stuck},
		"it is broken for ever, and its own pod has no agent":    {Limits{Shard: 1}, func(s *scene) { s.db.Ail("db-0", "books/s1", false, true); s.agentless("db-0") }, stuck},
		"it is broken for ever, and the pod beside has no agent": {Limits{Shard: 1}, func(s *scene) { s.db.Ail("db-0", "books/s1", false, true); s.agentless("db-1") }, nil},
		"it is broken for ever, and its own pod has not gone":    {Limits{Shard: 1}, func(s *scene) { s.db.Ail("db-0", "books/s1", false, true); s.old("db-0") }, stuck},
		"it is broken for ever, and a third pod has not gone":    {Limits{Shard: 1}, func(s *scene) { s.db.Ail("db-0", "books/s1", false, true); s.old("db-1", "db-2") }, stuck},
		"it is broken for ever, and a third pod goes last": {Limits{Shard: 1}, func(s *scene) {
			s.db.Ail("db-0", "books/s1", false, true)
			s.old("db-1", "db-2")
			s.o.overseer = "db-2"
		}, nil},
		"it is broken for ever, and a third pod has a higher rank": {Limits{Shard: 1}, func(s *scene) {
			s.db.Ail("db-0", "books/s1", false, true)
			s.old("db-1", "db-2")
			s.db.Rank("db-2", 1)
		}, nil},

		"another copy was on a pod that a person has scaled away":                    {Limits{Shard: 1}, scaledAway(false, "db-1"), nil},
		"it was, and its own pod is there yet":                                       {Limits{Shard: 1}, scaledAway(true, "db-1"), stuck},
		"it was, and all others of its shard may be unavailable, which would be all": {Limits{Shard: 2}, scaledAway(false, "db-1"), nil},
		"it was, and the pod that has not gone has no copy of the shard":             {Limits{Shard: 1}, scaledAway(false, "db-0"), stuck},
		"another voter of three was, which a majority may not miss": {Limits{Shard: 2}, func(s *scene) {
			s.db.Vote(all...)
			s.old("db-0")
			s.scale(2)
			s.leaves("db-2")
		}, nil},
		"it was, and Rollcall took the pod": {Limits{Shard: 1, Pods: 1}, func(s *scene) {
			s.old("db-1")
			s.db.AddShard("books/s2", "db-1", "db-2")
			s.wait(shown + told + 1)
			s.look("db-0", "db-1", "db-2")
			s.scale(2)
			s.claims()
			s.wait(time.Second)
			s.look("db-0", "db-1", "db-2")
			s.goes("db-2")
			s.leaves("db-2")
			s.noClaims()
		}, stuck},

		"by partition, those above wait for the next": {Limits{Shard: 1, Pods: 3, ByPartition: true}, func(s *scene) {
			s.db.AddShard("books/s2", "db-0", "db-2")
			brokenBelow(true, model.ClusterStalled, "db-1")(s)
			s.old("db-2")
		}, nil},
		"by partition, the next could go": {Limits{Shard: 1, Pods: 3, ByPartition: true}, func(s *scene) {
			brokenBelow(true, model.ClusterStalled, "db-1")(s)
			s.old("db-2")
		}, stuck},

		"by partition, a copy recovers for ever, and the highest above it could go": {Limits{Shard: 1, Pods: 3, ByPartition: true}, recoversBelow, stuck},
		"by partition, a copy recovers for ever, and the highest above it shares another with it": {Limits{Shard: 1, Pods: 3, ByPartition: true}, func(s *scene) {
			s.db.AddShard("books/s2", "db-0", "db-2")
			recoversBelow(s)
		}, nil},
		"by partition, a copy recovers for ever, and the highest above it has a vote that three need": {Limits{Shard: 2, Pods: 3, ByPartition: true}, recoversBesideVoters(all...), nil},
		"by partition, the same, and that one has no vote":                                            {Limits{Shard: 2, Pods: 3, ByPartition: true}, recoversBesideVoters("db-0", "db-1", "db-3"), stuck},
		"by partition, the same, and five vote":                                                       {Limits{Shard: 1, Pods: 3, ByPartition: true}, recoversBesideVoters("db-0", "db-1", "db-2", "db-3", "db-4"), stuck},

		"by partition, no restart ends that a copy recovers, and its pod takes the whole budget": {oneByLine, incurableBelow(true, all...), nil},
		"by partition, the same, and the copy is down":                                           {oneByLine, incurableBelow(false, all...), stuck},
		"by partition, the same, and another may be unavailable":                                 {Limits{Shard: 1, Pods: 2, ByPartition: true}, incurableBelow(true, all...), stuck},
		"by partition, the same, and the highest above it shares another with it": {Limits{Shard: 1, Pods: 2, ByPartition: true}, func(s *scene) {
			s.db.AddShard("books/s2", "db-0", "db-2")
			incurableBelow(true, all...)(s)
		}, nil},
		"by partition, the same, and nobody is above it": {oneByLine, incurableBelow(true, "db-0"), stuck},
		"by partition, the same, and it is no longer below": {oneByLine, func(s *scene) {
			incurableBelow(true, all...)(s)
			s.partition(0)
		}, stuck},
		"by partition, the same, and guards enforce": {oneByLine, func(s *scene) {
			incurableBelow(true, all...)(s)
			s.server.Enforce = true
		}, stuck},
		"by partition, the same, and nobody is told": {oneByLine, func(s *scene) {
			incurableBelow(true, all...)(s)
			below(s, true, model.ClusterWaiting)
		}, stuck},
		"not by partition, no restart ends that a copy recovers":                                     {Limits{Shard: 1, Pods: 1}, incurableBelow(true, all...), stuck},
		"by partition, a copy recovers on a pod that is up to date, and takes the whole budget":      {oneByLine, incurableBelow(true, "db-1", "db-2"), nil},
		"by partition, a copy recovers on a pod that is up to date, and one more may be unavailable": {Limits{Shard: 1, Pods: 2, ByPartition: true}, incurableBelow(true, "db-2"), stuck},

		"by partition, those above go one by one":      {Limits{Shard: 1, Pods: 2, ByPartition: true}, zoned(model.UnitPod), stuck},
		"by partition, those above go as a whole zone": {Limits{Shard: 1, Pods: 2, ByPartition: true}, zoned(model.UnitZone), nil},
		"by partition, the whole zone fits beside it":  {Limits{Shard: 1, Pods: 3, ByPartition: true}, zoned(model.UnitZone), stuck},

		"a copy recovers in vain on a pod that is up to date, and one may be unavailable": {Limits{Shard: 1, Pods: 1}, func(s *scene) {
			s.db.Ail("db-0", "books/s1", true, false)
			s.old("db-2")
		}, nil},
		"a copy recovers in vain on a pod that is up to date, and two may be unavailable": {Limits{Shard: 1, Pods: 2}, func(s *scene) {
			s.db.Ail("db-0", "books/s1", true, false)
			s.old("db-2")
		}, stuck},
		"the same, and its controller takes one at a time": {Limits{Shard: 1, Pods: 2}, func(s *scene) {
			s.db.Ail("db-0", "books/s1", true, false)
			s.old("db-2")
			s.set = s.set.DeepCopy()
			s.set.Spec.PodManagementPolicy = appsv1.OrderedReadyPodManagement
			s.server.Put(api.Sets, s.set)
		}, nil},
		"a copy recovers in vain on a pod that is outdated": {Limits{Shard: 1, Pods: 1}, func(s *scene) {
			s.db.Ail("db-0", "books/s1", true, false)
			s.old("db-0")
			s.old("db-2")
		}, stuck},
		"the last copies would be gone":                                 {Limits{Ephemeral: true}, lost, nil},
		"the last copies are on disks that stay":                        {Limits{}, lost, stuck},
		"a copy serves elsewhere":                                       {Limits{Ephemeral: true}, func(s *scene) { s.fails("db-0") }, stuck},
		"the last copies are on pods that may come back":                {Limits{Ephemeral: true}, func(s *scene) { lost(s); s.o.Broken = func(*corev1.Pod) bool { return false } }, stuck},
		"the last copies would be gone, and a third is well":            {Limits{Ephemeral: true}, func(s *scene) { lost(s); s.old("db-2") }, nil},
		"the last copies would be gone, and a third is to be corrected": {Limits{Ephemeral: true}, func(s *scene) { s.fails(all...) }, stuck},
		"the last copies are on pods that never started": {Limits{Ephemeral: true}, func(s *scene) {
			lost(s)
			for _, name := range []string{"db-0", "db-1"} {
				s.edit(name, func(pod *corev1.Pod) {
					pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}
				})
			}
		}, stuck},
		"a mark is on a pod that does not run":       {Limits{Ephemeral: true}, func(s *scene) { lost(s); s.mark("db-1") }, nil},
		"a mark is on a pod that could take it back": {Limits{Ephemeral: true}, func(s *scene) { lost(s); s.mark("db-2") }, []string{"I11"}},
		"the last copies would be gone, and one above them is to be corrected, which would not be made again": {Limits{Ephemeral: true}, func(s *scene) {
			s.fails(all...)
			s.set = s.set.DeepCopy()
			s.set.Spec.PodManagementPolicy = appsv1.OrderedReadyPodManagement
			s.server.Put(api.Sets, s.set)
		}, nil},
		"one above is not created": {Limits{Ephemeral: true}, func(s *scene) {
			lost(s)
			s.removed("db-2")
			s.set = s.set.DeepCopy()
			s.set.Spec.PodManagementPolicy = appsv1.OrderedReadyPodManagement
			s.server.Put(api.Sets, s.set)
		}, nil},
		"one above is not created, though its controller would": {Limits{Ephemeral: true}, func(s *scene) { lost(s); s.removed("db-2") }, stuck},

		"the last copy would be gone, and nobody can tell that a third is broken": {Limits{Ephemeral: true}, untold("db-1", "db-2"), nil},
		"the same, and Kubernetes tells": {Limits{Ephemeral: true}, func(s *scene) {
			untold("db-1", "db-2")(s)
			s.edit("db-2", func(pod *corev1.Pod) {
				pod.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1}
			})
		}, stuck},
		"the same, and its own agent tells":       {Limits{Ephemeral: true}, untold("db-1"), stuck},
		"the same, and another's agent tells":     {Limits{Ephemeral: true}, untold("db-2"), stuck},
		"the same, and nobody's copy is the last": {Limits{Ephemeral: true}, func(s *scene) { s.fails("db-0", "db-2"); s.agentless("db-1", "db-2") }, stuck},

		"nobody has an agent, and the data would be gone": {Limits{Ephemeral: true}, func(s *scene) { s.agentless(all...); s.old("db-1") }, nil},
		"nobody has an agent, and the data stay":          {Limits{}, func(s *scene) { s.agentless(all...); s.old("db-1") }, stuck},
		"one has an agent":                                {Limits{Ephemeral: true}, func(s *scene) { s.agentless("db-0", "db-1"); s.old("db-1") }, stuck},
		"nobody has an agent, and one leaves":             {Limits{}, func(s *scene) { s.agentless(all...); s.scale(2) }, nil},

		"replaced, without an agent":   {Limits{Replaced: true}, func(s *scene) { s.agentless("db-2"); s.old("db-2") }, nil},
		"replaced, with an agent":      {Limits{Replaced: true}, func(s *scene) { s.old("db-2") }, stuck},
		"restarted, without an agent":  {Limits{}, func(s *scene) { s.agentless("db-2"); s.old("db-2") }, stuck},
		"up to date, without an agent": {Limits{Replaced: true}, func(s *scene) { s.agentless("db-2") }, stuck},
	} {
		assert.Equal(t, c.broken, ends(t, c.limits, false, c.story), name)
	}
}

// A claim may stay open at the end where nobody can tell that its pod is back, and in nothing that is near to it.
func TestClaimsThatNobodyCanEnd(t *testing.T) {
	both := []string{"db-0", "db-1"}
	left := []string{"I11"}
	for name, c := range map[string]struct {
		story  func(s *scene)
		broken []string
	}{
		"its pod has no agent, and no other runs": {followed(both, "db-2"), nil},
		"its own agent tells":                     {followed(both), left},
		"another's agent tells":                   {followed(both[:1], "db-2"), left},
		"nobody has an agent":                     {followed(both, "db-0", "db-1", "db-2"), left},
		"its pod is not ready": {func(s *scene) {
			followed(both, "db-2")(s)
			s.ready("db-2", false)
		}, left},
		"its pod has not gone": {func(s *scene) {
			followed(both, "db-2")(s)
			s.edit("db-2", func(pod *corev1.Pod) { pod.UID = "db-2-before" })
		}, left},
		"its pod is not wanted any more": {func(s *scene) {
			followed(both, "db-2")(s)
			s.scale(2)
		}, left},
		"its pod is not there": {func(s *scene) {
			followed(both, "db-2")(s)
			s.scale(2)
			s.leaves("db-2")
		}, left},
	} {
		assert.Equal(t, c.broken, ends(t, Limits{Ephemeral: true}, false, c.story), name)
	}
}
