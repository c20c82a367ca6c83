package oracle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
	"github.com/rollcall-dev/rollcall/coordinator/sim/workload"
)

func TestRemovals(t *testing.T) {
	two := Limits{Pods: 2, Shard: 1}
	// rolledBack has db-2 go, which was claimed before the rollback to its template, or long after.
	replaced := Limits{Pods: 2, Shard: 1, Replaced: true}
	rolledBack := func(action model.Action, before bool) func(s *scene) {
		return func(s *scene) {
			claim := func() {
				cluster := s.server.Cluster("db").DeepCopy()
				cluster.Status.Claims = append(cluster.Status.Claims[:2:2], model.Claim{ID: "c", Pod: "db-2", UID: "db-2-old", Action: action, Epoch: 1})
				s.server.Put(api.Clusters, cluster)
			}
			if before {
				claim()
			}
			s.server.Put(api.Sets, workload.NewSet("prod", "db", "db", "v1", 3))
			s.wait(shown + time.Second)
			if !before {
				claim()
			}
			s.wait(time.Second)
			s.look("db-0", "db-1", "db-2")
			s.goes("db-2")
		}
	}
	// primaryGoes has it go, having led for long.
	primaryGoes := func(s *scene) {
		s.wait(shown)
		s.look("db-0", "db-1", "db-2")
		s.goes("db-2")
	}
	// outranked has a pod go before one of a lower rank, while a copy on another is broken.
	outranked := func(pod, broken string, guarded bool) func(s *scene) {
		return func(s *scene) {
			s.server.Enforce = guarded
			s.partition(2)
			s.db.Rank(pod, 1)
			s.db.Ail(broken, "books/s1", true, false) // where it has one
			s.wait(shown + 1)
			s.look("db-0", "db-1", "db-2")
			s.goes(pod)
		}
	}
	// rolls has its controller take db-0 when its claim has been changed.
	rolls := func(s *scene, change func(claim *model.Claim)) {
		s.server.Enforce = false
		s.partition(0)
		s.wait(shown + 1)
		s.look("db-0", "db-1", "db-2")
		cluster := s.server.Cluster("db").DeepCopy()
		for i := range cluster.Status.Claims {
			change(&cluster.Status.Claims[i])
		}
		s.server.Put(api.Clusters, cluster)
		require.NoError(s, s.server.Remove(workload.ControllerUser, "db-0", nil, false))
		require.Equal(s, 1, s.o.Removals)
	}
	for name, c := range map[string]struct {
		limits        Limits
		before, story func(s *scene)
		broken        []string
	}{
		"the other copy, while the first has lost its session, and no pod has an agent": {
			limits: two, before: (*scene).allUnjoined, story: loses("db-0", told+time.Second, "db-1"),
		},
		"the other copy, while the first has lost its session, and one pod has an agent": {
			limits: two, broken: []string{"I1", "I3"}, before: func(s *scene) { s.unjoined("db-0", "db-1") }, story: loses("db-0", told+time.Second, "db-1"),
		},
		"the other copy, while the first is not ready, and no pod has an agent": {
			limits: two, broken: []string{"I1", "I3"}, before: (*scene).allUnjoined, story: func(s *scene) {
				s.ready("db-0", false)
				loses("db-0", shown+1, "db-1")(s)
			},
		},
		"a higher rank":                                          {limits: Limits{Pods: 2, Shard: 1, ByPartition: true}, broken: []string{"I8"}, story: outranked("db-1", "db-2", false)},
		"a higher rank above a broken copy":                      {limits: Limits{Pods: 2, Shard: 1, ByPartition: true}, story: outranked("db-2", "db-0", false)},
		"a higher rank above a broken copy, guarded":             {limits: Limits{Pods: 2, Shard: 1, ByPartition: true}, broken: []string{"I8"}, story: outranked("db-2", "db-0", true)},
		"a higher rank above a broken copy, without a partition": {limits: Limits{Pods: 2, Shard: 1}, broken: []string{"I8"}, story: outranked("db-2", "db-0", false)},
		"the primary": {limits: two, broken: []string{"I8"}, before: (*scene).primary, story: primaryGoes},
		"the primary, and no pod has an agent": {limits: two, before: func(s *scene) {
			s.primary()
			s.allUnjoined()
		}, story: primaryGoes},
		"the primary, which has no agent": {limits: two, broken: []string{"I8"}, before: func(s *scene) {
			s.primary()
			s.unjoined("db-2")
		}, story: primaryGoes},
		"by its controller, whose guard the one before the new leader opened": {limits: two, story: func(s *scene) {
			rolls(s, func(claim *model.Claim) { claim.Epoch = 2 })
		}},
		"by its controller, while nobody leads who had its claim": {limits: two, broken: []string{"I4", "I10", "I10"}, story: func(s *scene) {
			rolls(s, func(claim *model.Claim) { s.o.born[claim.ID], claim.Epoch = 2, 2 })
		}},
		"nobody else has looked, and the other is not well": {limits: two, story: func(s *scene) {
			s.wait(30 * time.Second)
			delete(s.o.Seen["c1"], "db-1-old")
			s.db.LoseSession("db-1")
			s.look("db-0")
			s.goes("db-0")
		}},
		"one pod": {limits: two, story: func(s *scene) { s.goes("db-0") }},
		"two pods of different shards": {limits: two, story: func(s *scene) {
			s.goes("db-0")
			s.goes("db-2")
		}},
		"the other copy, while the first has lost its session":           {limits: two, broken: []string{"I1", "I3"}, story: loses("db-0", told+time.Second, "db-1")},
		"the other copy, before it can be known that the first lost one": {limits: two, story: loses("db-0", told-time.Second, "db-1")},
		"the copy that has lost its session, while the other is unavailable": {limits: two, broken: []string{"I1", "I3"}, story: func(s *scene) {
			s.goes("db-0")
			s.db.LoseSession("db-1")
			s.look("db-1")
			s.goes("db-1")
		}},
		"both copies, the first of which serves yet": {limits: two, broken: []string{"I1", "I3"}, story: func(s *scene) {
			s.goes("db-0")
			s.goes("db-1")
		}},
		"both copies, where two may be unavailable": {limits: Limits{Pods: 2, Shard: 2}, broken: []string{"I3"}, story: func(s *scene) {
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
		"rolled back, when claimed to be replaced":                 {limits: replaced, story: rolledBack(model.ActionReplace, true)},
		"rolled back, when claimed to be restarted":                {limits: replaced, story: rolledBack(model.ActionRestart, true), broken: []string{"I7"}},
		"claimed to be replaced, long after it was rolled back":    {limits: replaced, story: rolledBack(model.ActionReplace, false), broken: []string{"I7"}},
		"rolled back, when claimed to be replaced where nobody is": {limits: two, story: rolledBack(model.ActionReplace, true), broken: []string{"I7"}},
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
		"a veto of one who leaves": {limits: two, broken: []string{"I9"}, story: func(s *scene) {
			s.scale(2)
			s.db.SetVeto("db-2", "a backup runs")
			s.o.Look()
			s.wait(26 * time.Second)
			s.goes("db-2")
		}},
		"a veto that is over since its pod is to leave": {limits: two, story: func(s *scene) {
			s.db.SetVeto("db-2", "a backup runs")
			s.o.Look()
			s.wait(26 * time.Second)
			s.scale(2)
			s.db.SetVeto("db-2", "")
			s.o.Look()
			s.goes("db-2")
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
		"nobody else has looked, in an outage of which a person has approved": {limits: two, story: func(s *scene) {
			s.o.Announce()
			s.wait(30 * time.Second)
			delete(s.o.Seen["c1"], "db-1-old")
			s.look("db-0")
			s.goes("db-0")
		}},
		"not looked at, in an outage of which a person has approved": {limits: two, broken: []string{"I10"}, story: func(s *scene) {
			s.o.Announce()
			s.wait(30 * time.Second)
			delete(s.o.Seen["c1"], "db-0-old")
			s.look("db-1")
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
