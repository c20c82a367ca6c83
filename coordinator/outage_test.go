package coordinator

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
	"github.com/rollcall-dev/rollcall/test/race"
)

// An approved outage in which old and new do not talk to each other is interrupted halfway: the API server loses
// all evictions but the first half for a while, and the coordinator may die, too. The others follow.
func TestAnInterruptedOutageIsCarriedThrough(t *testing.T) {
	race.Heavy(t)
	for name, at := range map[string]struct {
		trouble time.Duration
		dies    bool
	}{
		"evictions fail for 20 s":                        {trouble: 20 * time.Second},
		"and the coordinator dies":                       {trouble: 20 * time.Second, dies: true},
		"evictions fail for so long that all give it up": {trouble: 20 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) { interruptedOutage(t, at.trouble, at.dies) })
	}
}

func interruptedOutage(t *testing.T, trouble time.Duration, dies bool) {
	const n = 4
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("fdb", n)
		db.announceOutage(t)
		db.said = func(_ string, r *rollcallv1.Report) *rollcallv1.Report {
			live := map[string]int{}
			for _, m := range db.members {
				if m.live {
					live[m.revision]++
				}
			}
			if max(live["v1"], live["v2"]) <= n/2 { // no quorum
				r.Member, r.Settled, r.SettledFor, r.Groups, r.Nodes = rollcallv1.Membership_MEMBERSHIP_UNSPECIFIED, false, nil, nil, nil
				r.Verdict = rollcallv1.Verdict_VERDICT_RED
			}
			return r
		}
		var evicted atomic.Int32
		var until atomic.Int64
		w.released = make(chan struct{})
		close(w.released)
		w.hangs = func(c kubetest.Call) bool {
			if c.Verb != "evict" && c.Verb != "delete" || evicted.Add(1) <= n/2 {
				return false
			}
			until.CompareAndSwap(0, time.Now().Add(trouble).UnixNano())
			return time.Now().UnixNano() < until.Load()
		}
		p := w.start()
		time.Sleep(20 * time.Second)
		db.roll("v2")
		time.Sleep(5 * time.Second)
		if dies {
			p.end()
			time.Sleep(15 * time.Second)
			p = w.start()
		}
		defer func() { p.end() }()
		if trouble > time.Minute {
			time.Sleep(trouble - time.Minute)
			status := db.status()
			require.Equal(t, model.ClusterStalled, status.Phase)
			require.Contains(t, conditionOf(status, v1alpha1.ConditionStalled).Message, "the connection was lost", "what is in the way of the others is told, not who waits for them")
		}
		time.Sleep(trouble + 2*time.Minute)
		require.Equal(t, model.ClusterDone, db.status().Phase, "%+v", db.status().Conditions)
	})
}

// announceOutage sets the unit to All, and approves what that asks for.
func (db *database) announceOutage(t *testing.T) {
	c := db.object()
	c.Spec.Policy.Unit = model.UnitAll
	c, err := db.w.admin.Clusters.DatabaseClusters(namespace).Update(t.Context(), c, metav1.UpdateOptions{})
	require.NoError(t, err)
	c.Status.Approvals = []model.Approval{{What: model.ApprovedOutage, By: "kim", At: model.At(time.Now())}}
	_, err = db.w.admin.Clusters.DatabaseClusters(namespace).UpdateStatus(t.Context(), c, metav1.UpdateOptions{})
	require.NoError(t, err)
}
