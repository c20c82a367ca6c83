package oracle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
	"github.com/rollcall-dev/rollcall/coordinator/sim/workload"
)

// TestAThirdPod goes while another is unavailable: whether it counts as unavailable depends on what
// is known of it.
func TestAThirdPod(t *testing.T) {
	one := Limits{Pods: 1, Shard: 1}
	other := one
	other.Sets = []string{"dbx"}
	// deleted has a second pod go after the only one of another StatefulSet, which somebody deletes.
	deleted := func(ended bool, set string) func(s *scene) {
		return func(s *scene) {
			s.pod("dbx-0", "dbx-0-old")
			pod := s.server.Pod("dbx-0").DeepCopy()
			pod.Labels[workload.LabelRevision] = "v0"
			s.server.Put(api.Pods, pod)
			s.db.AddLive("dbx-0", "9.9.0")
			s.claims()
			s.wait(time.Second)
			s.look("dbx-0", "db-0", "db-1", "db-2")
			s.goes("dbx-0")
			if ended {
				s.server.Drop(api.Pods, "dbx-0")
			}
			if set != "" {
				s.server.Drop(api.Sets, set)
			}
			s.wait(time.Second)
			s.look("db-0", "db-1", "db-2")
			s.goes("db-2")
		}
	}
	// lasts has a second pod go when it has been without a session for so long.
	lasts := func(without time.Duration) func(s *scene) {
		return func(s *scene) {
			s.starts(60)
			s.goes("db-2")
			s.db.LoseSession("db-0")
			s.look("db-0")
			s.wait(without)
			s.look("db-0", "db-1")
			s.goes("db-0")
		}
	}
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
	// spoilt has a second pod go so long after the successor of the first was whole, which
	// is ready since then.
	spoilt := func(whole bool, after time.Duration) func(s *scene) {
		return func(s *scene) {
			s.goes("db-0")
			s.pod("db-0", "db-0-new")
			s.ready("db-0", false)
			if whole {
				s.o.Look()
			}
			s.wait(time.Second)
			s.db.LoseSession("db-0")
			s.o.Look()
			s.wait(after)
			s.ready("db-0", true)
			s.look("db-0", "db-2")
			s.goes("db-2")
		}
	}
	for name, c := range map[string]struct {
		limits        Limits
		before, story func(s *scene)
		broken        []string
	}{
		"a third pod, when the first is ready again, and no pod has an agent": {limits: one, before: (*scene).allUnjoined, story: func(s *scene) {
			s.goes("db-2")
			s.db.LoseSession("db-2")
			s.pod("db-2", "db-2-new")
			s.unjoined("db-2")
			s.o.Look()
			s.goes("db-0")
		}},
		"a third pod, when the first was whole before it was ready":      {limits: one, story: spoilt(true, told)},
		"a third pod, when the first was whole long before it was ready": {limits: one, broken: []string{"I2"}, story: spoilt(true, told+1)},
		"a third pod, when the first was whole as another than it is":    {limits: one, broken: []string{"I2"}, story: spoilt(false, told)},
		"a third pod": {limits: one, broken: []string{"I2"}, story: func(s *scene) {
			s.goes("db-0")
			s.goes("db-2")
		}},
		"a third pod, and of the first nothing is left":                              {limits: other, story: deleted(true, "dbx")},
		"a third pod, and the StatefulSet of the first is deleted":                   {limits: other, broken: []string{"I2"}, story: deleted(false, "dbx")},
		"a third pod, and of the first its StatefulSet is left":                      {limits: other, broken: []string{"I2"}, story: deleted(true, "")},
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
		"a third pod, which has lost its session for as long as a start may take":  {limits: one, story: lasts(60 * time.Second)},
		"a third pod, which has lost its session for less time than a start takes": {limits: one, broken: []string{"I2"}, story: lasts(59 * time.Second)},
		"a third pod, which is paused": {limits: one, broken: []string{"I2"}, story: func(s *scene) {
			s.goes("db-2")
			s.db.Freeze("db-0", true)
			s.look("db-0")
			s.goes("db-0")
		}},
		"a third pod, which serves and has long not been ready": {limits: one, broken: []string{"I2"}, story: func(s *scene) {
			s.ready("db-0", false)
			s.look("db-0")
			s.wait(11 * time.Minute)
			s.claims()
			s.wait(time.Second)
			s.look("db-0", "db-1", "db-2")
			s.goes("db-2")
			s.goes("db-0")
		}},
		"a third pod, which has ended and is started again": {limits: one, story: func(s *scene) {
			s.goes("db-2")
			s.db.Stop("db-0", false)
			s.look("db-0")
			s.goes("db-0")
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
	} {
		require.Equal(t, c.broken, play(t, c.limits, c.before, c.story), name)
	}
}
