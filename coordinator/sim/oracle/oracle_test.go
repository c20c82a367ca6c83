package oracle

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
	"github.com/rollcall-dev/rollcall/coordinator/sim/clock"
	"github.com/rollcall-dev/rollcall/coordinator/sim/database"
	"github.com/rollcall-dev/rollcall/coordinator/sim/workload"
)

// scene is three pods that run the first template while the set has the second,
// all claimed by c1. db-0 and db-1 have the copies of a shard.
type scene struct {
	*testing.T
	o      *Oracle
	server *api.Server
	db     *database.Database
	set    *appsv1.StatefulSet
}

// play has the scene written, and answers which invariants were broken.
func play(t *testing.T, limits Limits, before, story func(s *scene)) []string {
	var broken []string
	synctest.Test(t, func(t *testing.T) {
		loop := clock.New(1)
		s := &scene{T: t, server: api.New(loop), db: database.New(loop, database.DefaultTimes())}
		s.server.Ours = func(user string) bool { return user[0] == 'c' }
		s.db.AddShard("books/s1", "db-0", "db-1")
		s.db.AddLive("boss", "9.9.0") // the overseer, which has no pod
		s.set = workload.NewSet("prod", "db", "db", "v2", 3)
		require.NoError(t, s.server.Create(api.Sets, s.set))
		require.NoError(t, s.server.Create(api.Clusters, &v1alpha1.DatabaseCluster{ObjectMeta: metav1.ObjectMeta{Name: "db"}}))
		for _, name := range []string{"db-0", "db-1", "db-2"} {
			s.pod(name, types.UID(name+"-old"))
			s.db.AddLive(name, "9.9.0")
		}
		limits.Cluster, limits.Sets = "db", []string{"db"}
		if before != nil {
			before(s)
		}
		s.o = New(loop, s.server, s.db, limits)
		s.o.Seen = map[string]map[string]time.Time{"c1": {}}
		s.o.Epoch("c1", 1)
		s.claims()
		s.wait(time.Second)
		s.look("db-0", "db-1", "db-2")
		story(s)
		for _, b := range s.o.Breaks {
			broken = append(broken, b.Invariant)
		}
	})
	return broken
}

// pod writes a ready pod of the first template.
func (s *scene) pod(name string, uid types.UID) {
	s.server.Put(api.Pods, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid, Labels: map[string]string{workload.LabelRevision: "v1"}},
		Spec:       corev1.PodSpec{InitContainers: []corev1.Container{{Name: v1alpha1.AgentContainer}}},
		Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	})
}

// claims are written on all pods that there are.
func (s *scene) claims() {
	cluster := s.server.Cluster("db").DeepCopy()
	cluster.Status.Claims = nil
	for _, name := range s.server.Names(api.Pods) {
		uid := string(s.server.Pod(name).UID)
		cluster.Status.Claims = append(cluster.Status.Claims, policy.Claim{
			ID: "claim-" + uid, Pod: name, UID: uid, Reason: policy.ReasonOutdated, Epoch: 1,
		})
	}
	s.server.Put(api.Clusters, cluster)
}

func (s *scene) wait(d time.Duration) { time.Sleep(d) }

// look is what c1 hears of pods now.
func (s *scene) look(pods ...string) {
	for _, name := range pods {
		s.o.Seen["c1"][string(s.server.Pod(name).UID)] = time.Now()
	}
	s.o.Look()
}

// goes is a removal by c1. The pod's containers have not stopped yet.
func (s *scene) goes(name string) {
	pod := s.server.Pod(name)
	options := &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion}}
	require.NoError(s, s.server.Remove("c1", name, options, false))
	s.o.Look()
}

// loses is one pod that loses its session, and another that goes so much later.
func loses(one string, later time.Duration, other string) func(s *scene) {
	return func(s *scene) {
		s.db.LoseSession(one)
		s.look(one)
		s.wait(later)
		s.look("db-0", "db-1", "db-2")
		s.goes(other)
	}
}

func (s *scene) line(at int32) {
	s.set = s.set.DeepCopy()
	s.set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{
		Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &at},
	}
	s.server.Put(api.Sets, s.set)
}

func TestRemovals(t *testing.T) {
	one, two := Limits{Pods: 1, Shard: 1}, Limits{Pods: 2, Shard: 1}
	// comesBack has a second pod go so long after it came back.
	comesBack := func(after time.Duration) func(s *scene) {
		return func(s *scene) {
			s.goes("db-0")
			s.wait(time.Second)
			s.pod("db-2", "db-2-new")
			s.o.Look()
			s.claims()
			s.wait(after)
			s.look("db-2")
			s.goes("db-2")
		}
	}
	// wholeAgain has a second pod go so long after the database had it again.
	wholeAgain := func(after time.Duration) func(s *scene) {
		return func(s *scene) {
			s.goes("db-0")
			pod := s.server.Pod("db-2").DeepCopy()
			pod.Status.Conditions = nil
			s.server.Put(api.Pods, pod)
			s.db.Stop("db-2", false)
			s.look("db-2")
			s.wait(5 * time.Second)
			s.claims()
			s.db.AddLive("db-2", "9.9.0")
			s.look("db-2")
			s.wait(after)
			s.look("db-2")
			s.goes("db-2")
		}
	}
	for name, c := range map[string]struct {
		limits        Limits
		before, story func(s *scene)
		broken        []string
	}{
		"one pod": {limits: two, story: func(s *scene) { s.goes("db-0") }},
		"two pods of different shards": {limits: two, story: func(s *scene) {
			s.goes("db-0")
			s.goes("db-2")
		}},
		"a third pod": {limits: one, broken: []string{"I2"}, story: func(s *scene) {
			s.goes("db-0")
			s.goes("db-2")
		}},
		"a third pod, which came back since the last look at it":                     {limits: one, story: comesBack(glance)},
		"a third pod, which came back before":                                        {limits: one, broken: []string{"I2"}, story: comesBack(glance + 1)},
		"a third pod, which is whole again since the last look at it, and not ready": {limits: one, story: wholeAgain(glance)},
		"a third pod, which is whole again since before, and not ready":              {limits: one, broken: []string{"I2"}, story: wholeAgain(glance + 1)},
		"a third pod, which has lost its session": {limits: one, broken: []string{"I2"}, story: func(s *scene) {
			s.goes("db-2")
			s.db.LoseSession("db-0")
			s.look("db-0")
			s.goes("db-0")
		}},
		"a third pod, which is paused": {limits: one, broken: []string{"I2"}, story: func(s *scene) {
			s.goes("db-2")
			s.db.Freeze("db-0", true)
			s.look("db-0")
			s.goes("db-0")
		}},
		"a third pod, which has ended and is started anew": {limits: one, story: func(s *scene) {
			s.goes("db-2")
			s.db.Stop("db-0", false)
			s.look("db-0")
			s.goes("db-0")
		}},
		"the other copy, while the first has lost its session":           {limits: two, broken: []string{"I1", "I3"}, story: loses("db-0", told+time.Second, "db-1")},
		"the other copy, before it can be known that the first lost one": {limits: two, story: loses("db-0", told-time.Second, "db-1")},
		"the copy that has lost its session, while the other is away": {limits: two, broken: []string{"I1", "I3"}, story: func(s *scene) {
			s.goes("db-0")
			s.db.LoseSession("db-1")
			s.look("db-1")
			s.goes("db-1")
		}},
		"a third pod, which cannot come back by itself": {limits: one, story: func(s *scene) {
			s.goes("db-0")
			s.o.Broken = func(pod *corev1.Pod) bool { return pod.Name == "db-1" }
			s.db.Stop("db-1", false)
			s.look("db-1")
			s.goes("db-1")
		}},
		"a third pod, which is called broken and serves": {limits: one, broken: []string{"I2", "I1", "I3"}, story: func(s *scene) {
			s.goes("db-0")
			s.o.Broken = func(pod *corev1.Pod) bool { return pod.Name == "db-1" }
			s.look("db-1")
			s.goes("db-1")
		}},
		"both copies, the first of which serves yet": {limits: two, broken: []string{"I1", "I3"}, story: func(s *scene) {
			s.goes("db-0")
			s.goes("db-1")
		}},
		"both copies, where two may be away": {limits: Limits{Pods: 2, Shard: 2}, broken: []string{"I3"}, story: func(s *scene) {
			s.goes("db-0")
			s.goes("db-1")
		}},
		"the other copy, when the first is back": {limits: two, story: func(s *scene) {
			s.goes("db-0")
			s.pod("db-0", "db-0-new")
			s.wait(time.Second)
			s.look("db-0", "db-1")
			s.goes("db-1")
		}},
		"the other copy, when the first serves again and its pod is not ready": {limits: two, story: func(s *scene) {
			s.goes("db-0")
			s.pod("db-0", "db-0-new")
			pod := s.server.Pod("db-0").DeepCopy()
			pod.Status.Conditions = nil
			s.server.Put(api.Pods, pod)
			s.wait(time.Second)
			s.look("db-0", "db-1")
			s.goes("db-1")
		}},
		"a veto from the beginning": {
			limits: two, broken: []string{"I9"},
			before: func(s *scene) { s.db.SetVeto("db-0", "a backup runs") },
			story:  func(s *scene) { s.goes("db-0") },
		},
		"a veto of one who does not serve": {
			limits: two,
			before: func(s *scene) { s.db.SetVeto("db-0", "a backup runs") },
			story: func(s *scene) {
				s.db.Stop("db-0", false)
				s.o.Look()
				s.goes("db-0")
			},
		},
		"a veto that is over": {
			limits: two,
			before: func(s *scene) { s.db.SetVeto("db-0", "a backup runs") },
			story: func(s *scene) {
				s.db.SetVeto("db-0", "")
				s.o.Look()
				s.goes("db-0")
			},
		},
		"a veto that nobody can know yet": {limits: two, story: func(s *scene) {
			s.db.SetVeto("db-0", "a backup runs")
			s.o.Look()
			s.wait(20 * time.Second)
			s.goes("db-0")
		}},
		"a veto that can be known": {limits: two, broken: []string{"I9"}, story: func(s *scene) {
			s.db.SetVeto("db-0", "a backup runs")
			s.o.Look()
			s.wait(26 * time.Second)
			s.goes("db-0")
		}},
		"not looked at since its claim": {limits: two, broken: []string{"I10"}, story: func(s *scene) {
			s.wait(30 * time.Second)
			delete(s.o.Seen["c1"], "db-0-old")
			s.look("db-1")
			s.goes("db-0")
		}},
		"looked at before its claim": {limits: two, broken: []string{"I10", "I10"}, story: func(s *scene) {
			s.wait(30 * time.Second)
			s.pod("db-0", "db-0-new")
			s.look("db-0", "db-1")
			s.wait(time.Second)
			s.claims()
			s.wait(time.Second)
			s.goes("db-0")
		}},
		"nobody else has looked": {limits: two, broken: []string{"I10"}, story: func(s *scene) {
			s.wait(30 * time.Second)
			delete(s.o.Seen["c1"], "db-1-old")
			s.look("db-0")
			s.goes("db-0")
		}},
		"nobody has looked since another went": {limits: two, broken: []string{"I10", "I10"}, story: func(s *scene) {
			s.wait(30 * time.Second)
			s.look("db-0", "db-1")
			s.wait(time.Second)
			s.goes("db-2")
			s.wait(16 * time.Second)
			s.goes("db-0")
		}},
		"another went, and they have looked": {limits: two, story: func(s *scene) {
			s.wait(30 * time.Second)
			s.goes("db-2")
			s.wait(16 * time.Second)
			s.look("db-0", "db-1")
			s.goes("db-0")
		}},
	} {
		require.Equal(t, c.broken, play(t, c.limits, c.before, c.story), name)
	}
}

func TestEpochs(t *testing.T) {
	for name, c := range map[string]struct {
		story  func(s *scene)
		broken []string
	}{
		"one after the other": {story: func(s *scene) { s.o.Epoch("c2", 2) }},
		"the same again":      {story: func(s *scene) { s.o.Epoch("c1", 1) }},
		"none yet":            {story: func(s *scene) { s.o.Epoch("c2", 0); s.o.Epoch("c3", 0) }},
		"two in one":          {story: func(s *scene) { s.o.Epoch("c2", 1) }, broken: []string{"I4"}},
	} {
		require.Equal(t, c.broken, play(t, Limits{}, nil, c.story), name)
	}
}
