package oracle

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
	"github.com/rollcall-dev/rollcall/coordinator/sim/clock"
	"github.com/rollcall-dev/rollcall/coordinator/sim/database"
	"github.com/rollcall-dev/rollcall/coordinator/sim/workload"
)

// galeraScene is a scene of three members of Galera, which anybody may take at any time.
func galeraScene(t *testing.T, arbitrator bool, story func(s *scene)) []string {
	var broken []string
	synctest.Test(t, func(t *testing.T) {
		loop := clock.New(1)
		s := &scene{T: t, server: api.New(loop), db: database.New(loop, database.DefaultTimes())}
		s.server.Ours = func(user string) bool { return user[0] == 'c' }
		s.db.Galera(arbitrator, time.Minute, "db-0", "db-1", "db-2")
		s.set = workload.NewSet("prod", "db", "db", "v2", 3)
		require.NoError(t, s.server.Create(api.Sets, s.set))
		cluster := &v1alpha1.DatabaseCluster{}
		cluster.Name = "db"
		require.NoError(t, s.server.Create(api.Clusters, cluster))
		for _, name := range []string{"db-0", "db-1", "db-2"} {
			s.pod(name, types.UID(name+"-old"))
			s.db.AddLive(name, "9.9.0")
		}
		s.o = New(loop, s.server, s.db, Limits{Cluster: "db", Sets: []string{"db"}, Pods: 3, Shard: 3})
		s.o.Tells = func(string) bool { return true }
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

// Each removal leaves more than half of all votes, and of those that the component has then, the members
// that have ended among them.
func TestRemovalsLeaveThePrimaryComponent(t *testing.T) {
	ended := func(told bool, later time.Duration) func(s *scene) {
		return func(s *scene) {
			s.o.Tells = func(string) bool { return told }
			s.db.Stop("db-0", false)
			s.look("db-0")
			s.wait(later)
			s.look("db-1", "db-2")
			s.goes("db-2")
		}
	}
	for name, c := range map[string]struct {
		arbitrator bool
		story      func(s *scene)
		broken     []string
	}{
		"one":                               {story: func(s *scene) { s.goes("db-2") }},
		"two":                               {story: func(s *scene) { s.goes("db-2"); s.goes("db-1") }, broken: []string{"G1"}},
		"two, and an arbitrator stays":      {arbitrator: true, story: func(s *scene) { s.goes("db-2"); s.goes("db-1") }, broken: []string{"G1"}},
		"one beside one that has ended":     {story: ended(true, heard+1), broken: []string{"G1"}},
		"which could not be known yet":      {story: ended(true, heard)},
		"of which the agent is not heard":   {story: ended(false, heard+1)},
		"and an arbitrator votes":           {arbitrator: true, story: ended(true, heard+1)},
		"one beside one that is out":        {story: func(s *scene) { s.db.Stop("db-0", true); s.look("db-0"); s.wait(told + 1); s.goes("db-2") }, broken: []string{"G1"}},
		"one that has ended, beside others": {story: func(s *scene) { s.goes("db-2"); s.db.Stop("db-1", false); s.goes("db-1") }},
	} {
		require.Equal(t, c.broken, galeraScene(t, c.arbitrator, c.story), name)
	}
}

// A donor stays, and who could be the only one.
func TestDonorsStay(t *testing.T) {
	joins := func(later time.Duration, who string) func(s *scene) {
		return func(s *scene) {
			s.db.Stop("db-2", true)
			s.db.Enter("db-2")
			s.look("db-0", "db-1")
			s.wait(later)
			s.look("db-0", "db-1")
			s.goes(who)
		}
	}
	require.Equal(t, []string{"G2"}, galeraScene(t, true, joins(told+1, "db-0")))
	require.Empty(t, galeraScene(t, true, joins(told, "db-0")), "which could not be known yet")
	require.Empty(t, galeraScene(t, true, joins(told+1, "db-2")), "the joiner itself has nothing yet")
}
