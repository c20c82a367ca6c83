package oracle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
	"github.com/rollcall-dev/rollcall/coordinator/sim/workload"
)

// What the controller does because somebody else has moved the partition counts as Rollcall's doing
// once the partition could be back up.
func TestPartitionsThatOthersReset(t *testing.T) {
	// passes has time pass, and a look at its end.
	passes := func(s *scene, d time.Duration) {
		s.o.Look()
		s.wait(d)
		s.o.Look()
	}
	anew := func(s *scene) {
		s.server.Drop(api.Sets, "db")
		s.o.Surprise("db")
		s.partition(0)
	}
	paused := func(pod string) func(s *scene) { return func(s *scene) { s.db.Freeze(pod, false) } }
	on := func(pod string) func(s *scene) { return func(s *scene) { s.db.Thaw(pod) } }
	moved := func(at int32) func(s *scene) { return func(s *scene) { s.partition(at) } }
	after := func(d time.Duration) func(s *scene) { return func(s *scene) { passes(s, d) } }
	long := after(2 * shown)
	mine := []string{"I4"}
	for name, c := range map[string]struct {
		steps   []func(s *scene)
		guarded bool
		none    bool // Rollcall has no partition
		broken  []string
	}{
		"at once":                                    {steps: []func(s *scene){anew}},
		"just in time":                               {steps: []func(s *scene){anew, after(shown)}},
		"long after":                                 {steps: []func(s *scene){anew, after(shown + 1)}, broken: mine},
		"a pod is paused":                            {steps: []func(s *scene){paused("db-0"), anew, long}},
		"another is paused":                          {steps: []func(s *scene){paused("db-2"), anew, long}},
		"one is paused later":                        {steps: []func(s *scene){anew, after(shown), paused("db-2"), long}},
		"one is paused too late":                     {steps: []func(s *scene){anew, after(shown + 1), paused("db-2"), long}, broken: mine},
		"one has gone on":                            {steps: []func(s *scene){paused("db-2"), anew, long, on("db-2"), after(shown)}},
		"one has gone on long ago":                   {steps: []func(s *scene){paused("db-2"), anew, long, on("db-2"), after(shown + 1)}, broken: mine},
		"one goes on and is paused again":            {steps: []func(s *scene){paused("db-2"), anew, long, on("db-2"), after(shown), paused("db-2"), long}},
		"one goes on and is paused too late":         {steps: []func(s *scene){paused("db-2"), anew, long, on("db-2"), after(shown + 1), paused("db-2"), long}, broken: mine},
		"one is not ready":                           {steps: []func(s *scene){func(s *scene) { s.ready("db-2", false) }, anew, long}},
		"a copy recovers":                            {steps: []func(s *scene){func(s *scene) { s.db.Ail("db-0", "books/s1", true, false) }, anew, long}, broken: mine},
		"one is paused that is up to date":           {steps: []func(s *scene){paused("db-2"), updated, anew, long}, broken: mine},
		"one is paused that is claimed":              {steps: []func(s *scene){paused("db-2"), claimed, after(time.Second), anew, long}, broken: mine},
		"one is paused that terminates":              {steps: []func(s *scene){paused("db-2"), terminates, anew, long}, broken: mine},
		"one is paused that is gone":                 {steps: []func(s *scene){func(s *scene) { s.server.Drop(api.Pods, "db-2") }, anew, long}, broken: mine},
		"the partition was moved since":              {steps: []func(s *scene){paused("db-0"), anew, moved(model.FirstOrdinalNone), moved(0), long}, broken: mine},
		"the template is new":                        {steps: []func(s *scene){moved(0), long, paused("db-0"), revised, long}},
		"the template is new and the partition next": {steps: []func(s *scene){moved(1), long, paused("db-0"), revised, moved(0), long}, broken: mine},
		"nobody has undone it":                       {steps: []func(s *scene){paused("db-0"), moved(0), long}, broken: mine},
		"guards keep the pods":                       {steps: []func(s *scene){opened, paused("db-0"), anew, long}, guarded: true, broken: mine},
		"Rollcall does not have the partition":       {steps: []func(s *scene){paused("db-0"), anew, long}, none: true, broken: mine},
	} {
		require.Equal(t, c.broken, play(t, Limits{Pods: 1, Shard: 1, ByPartition: !c.none}, nil, func(s *scene) {
			s.server.Enforce = c.guarded
			s.unclaimed()
			for _, step := range c.steps {
				step(s)
			}
			require.NoError(s, s.server.Remove(workload.ControllerUser, "db-0", nil, false))
		}), name)
	}
	// A pod below the partition keeps it nowhere.
	require.Equal(t, mine, play(t, Limits{Pods: 1, Shard: 1, ByPartition: true}, nil, func(s *scene) {
		s.server.Enforce = false
		s.unclaimed()
		paused("db-0")(s)
		s.server.Drop(api.Sets, "db")
		s.o.Surprise("db")
		s.partition(1)
		long(s)
		require.NoError(s, s.server.Remove(workload.ControllerUser, "db-2", nil, false))
	}))
}

// unclaimed removes all claims.
func (s *scene) unclaimed() {
	cluster := s.server.Cluster("db").DeepCopy()
	cluster.Status.Claims = nil
	s.server.Put(api.Clusters, cluster)
}

// claimed has a claim on db-2 alone.
func claimed(s *scene) {
	cluster := s.server.Cluster("db").DeepCopy()
	cluster.Status.Claims = []model.Claim{{ID: "c", Pod: "db-2", UID: "db-2-old", Epoch: 1}}
	s.server.Put(api.Clusters, cluster)
}

// updated has db-2 run the template.
func updated(s *scene) {
	pod := s.server.Pod("db-2").DeepCopy()
	pod.Labels[workload.LabelRevision] = "v2"
	s.server.Put(api.Pods, pod)
}

// opened has the guard of db-0 open.
func opened(s *scene) {
	pod := s.server.Pod("db-0").DeepCopy()
	pod.Labels[v1alpha1.LabelGuard] = v1alpha1.GuardOpen
	s.server.Put(api.Pods, pod)
}

// terminates has somebody delete db-2, which takes its time.
func terminates(s *scene) {
	pod, now := s.server.Pod("db-2").DeepCopy(), metav1.Now()
	pod.DeletionTimestamp = &now
	s.server.Put(api.Pods, pod)
}

// revised has a new template, and the partition where it is.
func revised(s *scene) {
	next := workload.NewSet("prod", "db", "db", "v3", 3)
	next.Spec.UpdateStrategy = s.set.Spec.UpdateStrategy
	s.set = next
	s.server.Put(api.Sets, next)
}
