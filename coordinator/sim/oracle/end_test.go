package oracle

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
	"github.com/rollcall-dev/rollcall/coordinator/sim/database"
	"github.com/rollcall-dev/rollcall/coordinator/sim/workload"
)

// brokenBelow: db-0 does not work, and db-1 would be freed with it.
func brokenBelow(unguarded bool, phase policy.ClusterPhase) func(s *scene) {
	return func(s *scene) {
		s.server.Enforce = !unguarded
		s.line(policy.RestLine)
		s.pod("db-0", "db-0-old")
		s.pod("db-1", "db-1-old")
		s.db.Stop("db-0", false)
		cluster := s.server.Cluster("db").DeepCopy()
		cluster.Status.Phase = phase
		s.server.Put(api.Clusters, cluster)
	}
}

// waits: db-1, which has a mark, is out of date, and the other copy of what it has is broken for ever.
func waits(s *scene) {
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
		"an old template":    {done: true, story: func(s *scene) { s.pod("db-1", "db-1-new") }, broken: []string{"L2"}},
		"a line at rest":     {done: true, limits: Limits{Line: true}, story: func(s *scene) { s.line(policy.RestLine) }},
		"a line left low":    {done: true, limits: Limits{Line: true}, story: func(s *scene) { s.line(1) }, broken: []string{"I11"}},
		"a line of others":   {done: true, story: func(s *scene) { s.line(1) }},
		"a line not at rest": {limits: Limits{Line: true}, story: func(s *scene) { s.line(1) }, broken: []string{"L1"}},
		"a broken pod below the line, which one that would go too may not follow": {
			limits: Limits{Pods: 2, Shard: 1, Line: true}, story: brokenBelow(true, policy.ClusterStalled),
		},
		"the same, and nobody is told":       {limits: Limits{Pods: 2, Shard: 1, Line: true}, story: brokenBelow(true, policy.ClusterWaiting), broken: []string{"L1"}},
		"the same, where all may go":         {limits: Limits{Pods: 2, Shard: 2, Line: true}, story: brokenBelow(true, policy.ClusterStalled), broken: []string{"L1"}},
		"the same, where too many pods go":   {limits: Limits{Pods: 1, Shard: 2, Line: true}, story: brokenBelow(true, policy.ClusterStalled)},
		"the same, which guards would allow": {limits: Limits{Pods: 2, Shard: 1, Line: true}, story: brokenBelow(false, policy.ClusterStalled), broken: []string{"L1"}},
		"the same, without a line":           {limits: Limits{Pods: 2, Shard: 1}, story: brokenBelow(true, policy.ClusterStalled), broken: []string{"L1"}},
		"a mark": {done: true, broken: []string{"I11"}, story: func(s *scene) {
			s.db.Leave(database.Mark{Claim: "c", Node: database.NodeName("db-1"), Shard: "books/s1"})
		}},
		"a mark of a pod that waits without an agent": {limits: Limits{Shard: 1}, story: func(s *scene) {
			waits(s)
			s.unjoined("db-1")
		}},
		"a mark of a pod that waits": {broken: []string{"I11"}, limits: Limits{Shard: 1}, story: waits},
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
		broken := play(t, c.limits, nil, func(s *scene) {
			cluster := s.server.Cluster("db").DeepCopy()
			cluster.Status.Claims = nil
			s.server.Put(api.Clusters, cluster)
			for _, name := range s.server.Names(api.Pods) {
				pod := s.server.Pod(name).DeepCopy()
				pod.Labels[workload.LabelRevision] = "v2"
				s.server.Put(api.Pods, pod)
			}
			if c.story != nil {
				c.story(s)
			}
			s.o.End(c.done, "")
		})
		require.Equal(t, c.broken, broken, name)
	}
}
