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
	"github.com/rollcall-dev/rollcall/coordinator/model"
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
		limits.Cluster = "db"
		for _, other := range limits.Sets {
			require.NoError(t, s.server.Create(api.Sets, workload.NewSet("prod", other, "db", "v1", 1)))
		}
		limits.Sets = append(limits.Sets, "db")
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
		cluster.Status.Claims = append(cluster.Status.Claims, model.Claim{
			ID: "claim-" + uid, Pod: name, UID: uid, Reason: model.ReasonOutdated, Epoch: 1,
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

// unjoined takes the agent of a pod away, or of all.
func (s *scene) unjoined(pods ...string) {
	for _, name := range pods {
		pod := s.server.Pod(name).DeepCopy()
		pod.Spec.InitContainers = nil
		s.server.Put(api.Pods, pod)
	}
}

func (s *scene) allUnjoined() { s.unjoined("db-0", "db-1", "db-2") }

// ready writes whether Kubernetes has a pod as ready.
func (s *scene) ready(name string, is bool) {
	pod := s.server.Pod(name).DeepCopy()
	pod.Status.Conditions = nil
	if is {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	s.server.Put(api.Pods, pod)
}

// primary makes db-2 the primary of a database, and the others its replicas.
func (s *scene) primary() { s.db.Replicate(1, "db-2", "db-0", "db-1") }

func (s *scene) partition(at int32) {
	s.set = s.set.DeepCopy()
	s.set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{
		Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &at},
	}
	s.server.Put(api.Sets, s.set)
}
