package act

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
	"github.com/rollcall-dev/rollcall/test/race"
)

// adopt makes s-2 a pod that ran before agents did.
func (w *world) adopt() {
	object, _ := w.server.Pod(namespace, "s-2")
	w.bare = map[types.UID]bool{object.UID: true}
	w.edit(func(c *v1alpha1.DatabaseCluster) { c.Spec.Update.Adopt = model.AdoptAllow })
}

// handOffOnBehalf is what a neighbour does for a pod without an agent. The world is locked.
func (w *world) handOffOnBehalf(member string) effect.Progress {
	object, ok := w.server.Pod(namespace, strings.TrimPrefix(member, "n-"))
	if !ok {
		return effect.Progress{State: model.DrainDone}
	}
	w.drained[string(object.UID)] = true
	return w.handOver(effect.Target{UID: string(object.UID)}, 2)
}

// Somebody makes a pod that was relieved the leader again at any moment before it is
// removed: it is relieved again, and never goes as the leader.
func TestPodThatLeadsAgainIsHandedOffAgain(t *testing.T) {
	for at := 1; at < 25; at++ {
		if !race.Part(at, 15) {
			continue
		}
		inWorld(t, func(t *testing.T, w *world) {
			w.adopt()
			w.onDrain = func(to effect.Target, _ effect.Order) (effect.Progress, error) { return w.handOver(to, 2), nil }
			p, given := w.handingBack(at)
			p.run(5 * time.Minute)
			w.requireRolled(1)
			require.True(t, given.Load())
			require.NotEmpty(t, w.handedOff)
		})
	}
}

// Where an engine lets a pod go though it leads, because others are elected, it is asked
// twice and no more.
func TestPodThatMayGoAsLeaderIsHandedOffTwice(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.adopt()
		object, _ := w.server.Pod(namespace, "s-2")
		w.onLook = func(s *model.Snapshot) {
			for i := range s.Groups[0].Members {
				m := &s.Groups[0].Members[i]
				m.Leader = m.Leader && !w.bare[object.UID] || m.Pod == "s-2" && w.live[object.UID]
			}
		}
		newProcess(w, 0, false).run(5 * time.Minute)
		w.requireRolled(1)
		require.Len(t, w.handedOff, 2)
	})
}
