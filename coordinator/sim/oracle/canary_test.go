package oracle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
)

// The overseer goes before two others only from a node that is to be left, while these wait for a canary.
func TestTheOverseerLeavesItsNodeInSpiteOfACanary(t *testing.T) {
	for name, c := range map[string]struct {
		follow   bool
		canary   int32
		approved bool
		broken   []string
	}{
		"its node stays":                 {canary: 1, broken: []string{"I8", "I8"}},
		"nobody waits for a canary":      {follow: true, broken: []string{"I8", "I8"}},
		"the canary was approved of":     {follow: true, canary: 1, approved: true, broken: []string{"I8", "I8"}},
		"the others wait for the canary": {follow: true, canary: 1},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.broken, play(t, Limits{Pods: 2, Shard: 1}, func(s *scene) { s.db.LoseSession("boss") }, func(s *scene) {
				cluster := s.server.Cluster("db").DeepCopy()
				cluster.Spec.Update.NodeDrains.Follow, cluster.Spec.Update.Canary.Pods = c.follow, c.canary
				if c.approved {
					cluster.Status.Approvals = []model.Approval{{What: model.ApprovedCanary, At: model.At(time.Now())}}
				}
				s.server.Put(api.Clusters, cluster)
				s.o.Look()
				s.wait(2 * noticed)
				s.look("db-0", "db-1", "db-2")
				s.goes(s.db.Overseer())
			}))
		})
	}
}
