package oracle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
	"github.com/rollcall-dev/rollcall/coordinator/sim/workload"
)

func TestRemovals(t *testing.T) {
	one, two := Limits{Pods: 1, Shard: 1}, Limits{Pods: 2, Shard: 1}
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
			s.line(2)
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
		s.line(0)
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
		"a third pod, when the first is ready again, and no pod has an agent": {limits: one, before: (*scene).allUnjoined, story: func(s *scene) {
			s.goes("db-2")
			s.db.LoseSession("db-2")
			s.pod("db-2", "db-2-new")
			s.unjoined("db-2")
			s.o.Look()
			s.goes("db-0")
		}},
		"a higher rank":                                          {limits: Limits{Pods: 2, Shard: 1, Line: true}, broken: []string{"I8"}, story: outranked("db-1", "db-2", false)},
		"a higher rank above a broken copy":                      {limits: Limits{Pods: 2, Shard: 1, Line: true}, story: outranked("db-2", "db-0", false)},
		"a higher rank above a broken copy, guarded":             {limits: Limits{Pods: 2, Shard: 1, Line: true}, broken: []string{"I8"}, story: outranked("db-2", "db-0", true)},
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
		"a third pod, when the first was whole before it was ready":      {limits: one, story: spoilt(true, told)},
		"a third pod, when the first was whole long before it was ready": {limits: one, broken: []string{"I2"}, story: spoilt(true, told+1)},
		"a third pod, when the first was whole as another than it is":    {limits: one, broken: []string{"I2"}, story: spoilt(false, told)},
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
		"the other copy, while the first has lost its session":           {limits: two, broken: []string{"I1", "I3"}, story: loses("db-0", told+time.Second, "db-1")},
		"the other copy, before it can be known that the first lost one": {limits: two, story: loses("db-0", told-time.Second, "db-1")},
		"the copy that has lost its session, while the other is unavailable": {limits: two, broken: []string{"I1", "I3"}, story: func(s *scene) {
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
		"rolled back, when claimed to be replaced":                 {limits: replaced, story: rolledBack(model.Replace, true)},
		"rolled back, when claimed to be restarted":                {limits: replaced, story: rolledBack(model.Restart, true), broken: []string{"I7"}},
		"claimed to be replaced, long after it was rolled back":    {limits: replaced, story: rolledBack(model.Replace, false), broken: []string{"I7"}},
		"rolled back, when claimed to be replaced where nobody is": {limits: two, story: rolledBack(model.Replace, true), broken: []string{"I7"}},
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
