package oracle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
	"github.com/rollcall-dev/rollcall/coordinator/sim/workload"
)

// cordons is a person who has pods leave a node, or stay on it.
func (s *scene) cordons(node string, is bool) {
	s.server.Put(api.Nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: corev1.NodeSpec{Unschedulable: is}})
	s.o.Look()
}

// follows is a person who has Rollcall follow node drains, or not.
func (s *scene) follows(is bool) {
	cluster := s.server.Cluster("db").DeepCopy()
	cluster.Spec.Update.NodeDrains.Follow = is
	s.server.Put(api.Clusters, cluster)
	s.o.Look()
}

// A pod that is well and up to date goes from a node that is to be left, and until it can be known that the node is not any more.
func TestDrainsThatAreOver(t *testing.T) {
	// over has a drain end in some way, and so much time pass.
	over := func(end func(s *scene), after time.Duration) func(s *scene) {
		return func(s *scene) {
			s.cordons("here", true)
			s.follows(true)
			s.wait(noticed)
			end(s)
			s.wait(after)
		}
	}
	uncordoned := func(s *scene) { s.cordons("here", false) }
	unfollowed := func(s *scene) { s.follows(false) }
	cordonedAgain := func(s *scene) {
		s.cordons("here", false)
		s.wait(2 * shown)
		s.cordons("here", true)
	}
	for name, c := range map[string]struct {
		story  func(s *scene)
		broken []string
	}{
		"no node is":                         {story: func(s *scene) { s.follows(true) }, broken: []string{"I7"}},
		"its node is":                        {story: over(func(*scene) {}, 0)},
		"its node is again":                  {story: over(cordonedAgain, 2*shown)},
		"its node was until just now":        {story: over(uncordoned, shown)},
		"its node was until before":          {story: over(uncordoned, shown+1), broken: []string{"I7"}},
		"drains were followed till just now": {story: over(unfollowed, shown)},
		"drains were followed till before":   {story: over(unfollowed, shown+1), broken: []string{"I7"}},
		"its node was gone until just now": {story: func(s *scene) {
			s.follows(true)
			s.server.Drop(api.Nodes, "here")
			s.o.Look()
			s.wait(time.Second)
			s.cordons("here", false)
			s.wait(shown)
		}},
		"another node is": {story: func(s *scene) {
			s.follows(true)
			s.cordons("there", true)
		}, broken: []string{"I7"}},
		"its node was until just now, and nobody follows drains": {story: func(s *scene) {
			s.cordons("here", true)
			s.cordons("here", false)
		}, broken: []string{"I7"}},
		"drains were followed till just now, and its node was until before": {story: func(s *scene) {
			over(uncordoned, shown+1)(s)
			s.follows(false)
		}, broken: []string{"I7"}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.broken, play(t, Limits{Pods: 2, Shard: 1}, func(s *scene) {
				s.server.Put(api.Nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "here"}})
				s.edit("db-2", func(pod *corev1.Pod) { pod.Spec.NodeName, pod.Labels[workload.LabelRevision] = "here", "v2" })
			}, func(s *scene) {
				s.wait(2 * shown)
				c.story(s)
				s.look("db-0", "db-1", "db-2")
				s.goes("db-2")
			}))
		})
	}
}

// So it is with an overseer that does not wait for others, because its node is to be left.
func TestAnOverseerWhoseDrainIsOver(t *testing.T) {
	for name, c := range map[string]struct {
		after  time.Duration
		broken []string
	}{
		"just now": {after: shown},
		"before":   {after: shown + 1, broken: []string{"I8", "I8"}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.broken, play(t, Limits{Pods: 2, Shard: 1}, func(s *scene) { s.db.LoseSession("boss") }, func(s *scene) {
				cluster := s.server.Cluster("db").DeepCopy()
				cluster.Spec.Update.Canary = model.Canary{Pods: 1}
				s.server.Put(api.Clusters, cluster)
				s.follows(true)
				s.wait(2 * noticed)
				s.follows(false)
				s.wait(c.after)
				s.look("db-0", "db-1", "db-2")
				s.goes(s.db.Overseer())
			}))
		})
	}
}
