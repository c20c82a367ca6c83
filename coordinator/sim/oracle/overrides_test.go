package oracle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
)

// overrides is a person who switches a rule off for some pods, for so long, and for all others no longer.
func (s *scene) overrides(rule model.Rule, long time.Duration, pods ...string) {
	cluster := s.server.Cluster("db").DeepCopy()
	cluster.Spec.Overrides = nil
	if len(pods) > 0 {
		cluster.Spec.Overrides = []model.Override{{Rule: rule, Pods: pods, Expires: model.At(time.Now().Add(long))}}
	}
	s.server.Put(api.Clusters, cluster)
}

// A pod whose rank a person has switched off goes before those of a lower one, until the end of that can be known.
func TestOverridesOfRanks(t *testing.T) {
	soon := time.Second
	for name, c := range map[string]struct {
		broken []string
		story  func(s *scene)
	}{
		"nobody has":           {broken: []string{"I8"}, story: func(s *scene) {}},
		"for it":               {story: func(s *scene) { s.overrides(model.RuleRankOrder, time.Minute, "db-1") }},
		"for all":              {story: func(s *scene) { s.overrides(model.RuleRankOrder, time.Minute, "*") }},
		"for another":          {broken: []string{"I8"}, story: func(s *scene) { s.overrides(model.RuleRankOrder, time.Minute, "db-0") }},
		"for it, another rule": {broken: []string{"I8"}, story: func(s *scene) { s.overrides(model.RuleFailureDetection, time.Minute, "db-1") }},
		"until just now": {story: func(s *scene) {
			s.overrides(model.RuleRankOrder, soon, "db-1")
			s.wait(soon + told)
		}},
		"until before": {broken: []string{"I8"}, story: func(s *scene) {
			s.overrides(model.RuleRankOrder, soon, "db-1")
			s.wait(soon + told + 1)
		}},
		"withdrawn just now": {story: func(s *scene) {
			s.overrides(model.RuleRankOrder, time.Minute, "db-1")
			s.overrides(model.RuleRankOrder, 0)
			s.wait(told)
		}},
		"withdrawn before": {broken: []string{"I8"}, story: func(s *scene) {
			s.overrides(model.RuleRankOrder, time.Minute, "db-1")
			s.overrides(model.RuleRankOrder, 0)
			s.wait(told + 1)
		}},
		"for it, and it is the overseer": {broken: []string{"I8", "I8"}, story: func(s *scene) {
			s.overrides(model.RuleRankOrder, time.Minute, "db-1")
			s.db.Rank("db-2", 1)
			s.o.Look()
			s.o.overseer, s.o.overseerAt = "db-1", 0
		}},
	} {
		require.Equal(t, c.broken, play(t, Limits{Pods: 2, Shard: 1}, nil, func(s *scene) {
			s.db.Rank("db-1", 1)
			s.wait(shown + 1)
			s.look("db-0", "db-1", "db-2")
			c.story(s)
			s.o.Seen["c1"]["db-0-old"], s.o.Seen["c1"]["db-1-old"] = time.Now(), time.Now()
			s.goes("db-1")
		}), name)
	}
}
