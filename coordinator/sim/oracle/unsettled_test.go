package oracle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A member that is back and not settled is unavailable already, and waits for none that is
// unavailable for another cause. Its copies are asked about all the same.
func TestUnsettledPodIsUnavailable(t *testing.T) {
	one, two := Limits{Pods: 1, Shard: 1}, Limits{Pods: 2, Shard: 1}
	out := func(pod string) func(s *scene) {
		return func(s *scene) { s.db.LoseSession(pod) }
	}
	goes := func(pod string) func(s *scene) {
		return func(s *scene) { s.goes(pod) }
	}
	cases := map[string]struct {
		limits Limits
		first  func(s *scene) // of another pod
		before func(s *scene)
		stays  bool // out of the register
		broken []string
	}{
		"beside one that is no member":                        {limits: one, first: out("db-2")},
		"beside one that is no member, and no agent tells it": {limits: one, first: out("db-2"), before: func(s *scene) { s.unjoined("db-0") }, broken: []string{"I1"}},
		"and no member itself any more":                       {limits: one, first: out("db-2"), stays: true, broken: []string{"I1"}},
		"beside as many as may go by Rollcall's hand":         {limits: one, first: goes("db-2"), broken: []string{"I2"}},
		"beside fewer":                         {limits: two, first: goes("db-2")},
		"beside the other copy of what it has": {limits: two, first: out("db-1"), broken: []string{"I1", "I3"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.broken, play(t, c.limits, c.before, func(s *scene) {
				c.first(s)
				s.o.Look()
				s.wait(told + time.Second)
				s.db.LoseSession("db-0")
				s.o.Look()
				if !c.stays {
					s.rejoins("db-0")
					require.False(t, s.db.Whole("db-0"))
				}
				s.look("db-0", "db-1", "db-2")
				s.goes("db-0")
			}))
		})
	}
}

// rejoins waits until a pod is a member again. Its copies still recover then.
func (s *scene) rejoins(pod string) {
	s.db.Rejoin(pod)
	var again func()
	again = func() {
		if s.db.Listed(pod) {
			s.o.loop.Stop()
			return
		}
		s.o.loop.In(time.Millisecond, again)
	}
	again()
	s.o.loop.Run()
}
