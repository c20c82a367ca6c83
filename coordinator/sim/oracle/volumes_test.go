package oracle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
	"github.com/rollcall-dev/rollcall/coordinator/sim/workload"
)

// When data may come to a pod again that was being emptied, on the volume that it had.
func TestIncluded(t *testing.T) {
	emptied := func(claim *model.Claim) { at := model.At(time.Now()); claim.EmptiedAt = &at }
	gone := func(s *scene) { s.server.Drop(api.Pods, "db-2") }
	scaledAway := func(s *scene) {
		gone(s)
		set := workload.NewSet("prod", "db", "db", "v2", 2)
		s.server.Put(api.Sets, set)
	}
	ended := func(s *scene) {
		gone(s)
		s.o.Look() // the claim is known by now
		cluster := s.server.Cluster("db").DeepCopy()
		cluster.Status.Claims = cluster.Status.Claims[:2]
		cluster.Status.PendingRestores = []model.PendingRestore{{Claim: "claim-db-2-old", Pod: "db-2"}}
		s.server.Put(api.Clusters, cluster)
	}
	volume := func(s *scene, uid types.UID, leaving bool) {
		s.server.MakeVolume("data-db-2")
		v := s.server.Volume("data-db-2")
		if v.UID = uid; leaving {
			now := metav1.Now()
			v.DeletionTimestamp = &now
		}
	}
	for name, c := range map[string]struct {
		claim  func(claim *model.Claim)
		story  func(s *scene)
		broken []string
	}{
		"it stays":                                                        {},
		"it stays, and was called empty":                                  {claim: emptied, broken: []string{"V2"}},
		"it has gone":                                                     {story: gone, broken: []string{"V2"}},
		"another has its name":                                            {story: func(s *scene) { s.pod("db-2", "db-2-new") }, broken: []string{"V2"}},
		"it has gone and is not wanted":                                   {story: scaledAway},
		"it is not wanted, and its volume is there":                       {story: func(s *scene) { scaledAway(s); volume(s, "old", false) }},
		"it has gone, is not wanted and was called empty":                 {claim: emptied, story: func(s *scene) { scaledAway(s); volume(s, "old", false) }, broken: []string{"V2"}},
		"and its volume is being deleted":                                 {claim: emptied, story: func(s *scene) { scaledAway(s); volume(s, "old", true) }},
		"and its volume is gone":                                          {claim: emptied, story: scaledAway},
		"its volume is gone, and it is wanted":                            {claim: emptied, story: gone, broken: []string{"V2"}},
		"its volume is gone, it is wanted again, and the claim has ended": {claim: emptied, story: ended},
		"its volume is being deleted, it is wanted again, and the claim has ended": {claim: emptied, story: func(s *scene) { ended(s); volume(s, "old", true) }},
		"another runs on it by then": {claim: emptied, story: func(s *scene) {
			ended(s)
			volume(s, "old", true)
			s.pod("db-2", "db-2-new")
		}, broken: []string{"V2"}},
		"its volume is there, it is wanted again, and the claim has ended": {claim: emptied, story: func(s *scene) { ended(s); volume(s, "old", false) }, broken: []string{"V2"}},
		"another has its name, on a volume that is being deleted": {claim: emptied, story: func(s *scene) {
			s.pod("db-2", "db-2-new")
			volume(s, "old", true)
		}, broken: []string{"V2"}},
		"another has its name, and new volumes": {claim: emptied, story: func(s *scene) {
			s.pod("db-2", "db-2-new")
			volume(s, "new", false)
		}},
	} {
		broken := play(t, Limits{}, nil, func(s *scene) {
			cluster := s.server.Cluster("db").DeepCopy()
			claim := &cluster.Status.Claims[2]
			require.Equal(s, "db-2", claim.Pod)
			claim.Volumes = []model.VolumeClaim{{Name: "data-db-2", UID: "old"}}
			if c.claim != nil {
				c.claim(claim)
			}
			s.server.Put(api.Clusters, cluster)
			if c.story != nil {
				c.story(s)
			}
			s.o.included("db-2", "claim-db-2-old")
		})
		require.Equal(t, c.broken, broken, name)
	}
}
