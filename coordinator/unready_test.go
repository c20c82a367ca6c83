package coordinator

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/test/race"
)

// unready has Kubernetes find no pod Ready, though all are live.
func (db *database) unready() {
	db.w.mu.Lock()
	defer db.w.mu.Unlock()
	for name := range db.members {
		pod, _ := db.w.server.Pod(namespace, name)
		setState(pod, false, false)
		_, err := db.w.admin.Kubernetes.CoreV1().Pods(namespace).UpdateStatus(db.w.t.Context(), pod, metav1.UpdateOptions{})
		require.NoError(db.w.t, err)
	}
}

func (db *database) serving() int {
	db.w.mu.Lock()
	defer db.w.mu.Unlock()
	live := 0
	for _, m := range db.members {
		if m.live && !m.stopping {
			live++
		}
	}
	return live
}

// What the readiness probe asks is unavailable, and all pods are live. They may serve clients who
// do not go by readiness, so that a new template goes through them one at a time.
func TestPodsThatAreLiveAndNotReadyGoWithinTheBudget(t *testing.T) {
	race.Heavy(t)
	inWorld(t, func(t *testing.T, w *world) {
		db := w.addPools("search", model.OpenSearch, false, &pool{name: "data", replicas: 3}, &pool{name: "coord", replicas: 5, empty: true})
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		db.unready()
		time.Sleep(11 * time.Minute)
		db.roll("v2")
		for range 10 * 60 {
			time.Sleep(time.Second)
			require.GreaterOrEqual(t, db.serving(), 7, "%v", w.gone())
		}
		require.Len(t, w.gone(), 8, "a correction always gets through")
	})
}

// v2 has a wrong readiness probe: only as many pods get it as may be unavailable. v3 corrects them
// all.
func TestAWrongReadinessProbeIsCorrected(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("search", 3)
		db.unreadyOn = "v2"
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		db.roll("v2")
		time.Sleep(20 * time.Minute)
		require.Len(t, w.gone(), 1)
		require.Contains(t, fmt.Sprint(db.status().Conditions), model.RuleRolloutHalted)
		db.roll("v3")
		time.Sleep(10 * time.Minute)
		require.Len(t, w.gone(), 4)
		require.Empty(t, db.status().Claims)
	})
}
