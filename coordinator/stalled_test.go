package coordinator

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
	"github.com/rollcall-dev/rollcall/test/race"
)

func (db *database) change(t *testing.T, change func(*v1alpha1.DatabaseCluster)) {
	c := db.object()
	change(c)
	_, err := db.w.admin.Clusters.DatabaseClusters(namespace).Update(t.Context(), c, metav1.UpdateOptions{})
	require.NoError(t, err)
}

// The agent of the canary's pod falls silent for ever. Nobody asked for that wait, so it is a stall that names
// the pod; and a blip of a pod that soaked for long is none.
func TestACanaryThatCannotBeProvenIsStalled(t *testing.T) {
	race.Heavy(t)
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("search", 3)
		db.change(t, func(c *v1alpha1.DatabaseCluster) {
			c.Spec.Update.Canary = model.Canary{Pods: 1, SoakSeconds: 14400}
		})
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		db.roll("v2")
		time.Sleep(time.Hour)
		require.Equal(t, model.ClusterWaiting, db.status().Phase, "it soaks")

		db.live("search-2", false)
		time.Sleep(time.Minute)
		require.Equal(t, model.ClusterWaiting, db.status().Phase, "a blip is no stall, however long nothing was to be done")
		db.live("search-2", true)
		time.Sleep(time.Hour)
		require.Equal(t, model.ClusterWaiting, db.status().Phase, "it soaks again")

		w.mu.Lock()
		silent := db.members["search-2"].server
		w.mu.Unlock()
		silent.Stop()
		time.Sleep(15 * time.Minute)
		s := db.status()
		require.Equal(t, model.ClusterStalled, s.Phase)
		stall := conditionOf(s, v1alpha1.ConditionStalled)
		require.Equal(t, string(model.RuleCanary), stall.Reason)
		require.Contains(t, stall.Message, "search-2 is unavailable")
	})
}

// search-2 recovers in vain on the new revision, and search-0 blips every four minutes. That it is back is no progress.
func TestAPodThatFlapsHidesNoStall(t *testing.T) {
	race.Heavy(t)
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("search", 3)
		db.said = func(pod string, r *rollcallv1.Report) *rollcallv1.Report {
			recovers := func(n string) bool { m := db.members[n]; return m != nil && m.live && m.revision == "v2" }
			if recovers(pod) {
				r.Settled, r.SettledFor = false, nil
			}
			for _, g := range r.Groups {
				for i, m := range g.Members {
					if recovers(fmt.Sprintf("search-%d", i)) {
						m.State = rollcallv1.MemberState_MEMBER_STATE_RECOVERING
					}
				}
			}
			return r
		}
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		db.roll("v2")
		for i := range 8 {
			time.Sleep(4 * time.Minute)
			if i >= 3 {
				require.Equal(t, model.ClusterStalled, db.status().Phase, "after %d blips", i)
			}
			db.live("search-0", false)
			time.Sleep(15 * time.Second)
			db.live("search-0", true)
		}
	})
}

// Managers wait for the data pods, and these for a person: nobody has to look at anything else.
func TestWaitingForAPersonIsNotStalled(t *testing.T) {
	race.Heavy(t)
	inWorld(t, func(t *testing.T, w *world) {
		db := w.addPools("search", model.OpenSearch, false, &pool{name: "data", replicas: 3}, &pool{name: "mgr", replicas: 3, rank: 10, manages: true})
		db.change(t, func(c *v1alpha1.DatabaseCluster) { c.Spec.Update.Canary.Pods, c.Spec.Update.Canary.Approve = 1, true })
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		db.roll("v2")
		time.Sleep(25 * time.Minute)
		s := db.status()
		require.Equal(t, model.ClusterWaiting, s.Phase, "%+v", s.Conditions)
	})
}
