package act

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
	"github.com/rollcall-dev/rollcall/test/race"
)

// sluggish is an agent whose database takes a while to answer each look.
type sluggish struct {
	*agents
	pod  string
	time time.Duration
}

func (s *sluggish) Fresh(ctx context.Context, to effect.Target) error {
	if to.Pod == s.pod {
		select {
		case <-time.After(s.time):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return s.agents.Fresh(ctx, to)
}

// newOutage is a world in which a person has approved that all pods go at once to a version that does not
// talk to what runs. From when the first has gone the database says so.
func newOutage(t *testing.T, w *world) {
	admin := w.server.Client(nil).Clusters.DatabaseClusters(namespace)
	cluster, err := admin.Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	cluster.Spec.Engine, cluster.Spec.Policy.Unit = model.FoundationDB, model.UnitAll
	_, err = admin.Update(t.Context(), cluster, metav1.UpdateOptions{})
	require.NoError(t, err)
	w.maxUnavailable, w.byForce = 3, true
	var first time.Time // when the first was seen to have gone
	w.onLook = func(s *model.Snapshot) {
		s.Cluster.Engine.SameMinor, s.Cluster.Engine.SettleSeconds = true, 60
		s.Cluster.Status.Approvals = []model.Approval{{What: model.ApprovedOutage}}
		s.Pools[0].Version = "7.3.63"
		if len(w.removed) > 0 && first.IsZero() {
			first = time.Now()
		}
		if !first.IsZero() && time.Since(first) > 300*time.Millisecond && len(w.removed) < len(s.Pods) {
			at := model.At(first)
			s.Cluster.Status.LastDeparture, s.Health.Verdict = &at, model.VerdictRed // neither half of them is a database
		}
		for i := range s.Pods {
			if p := &s.Pods[i]; p.Report != nil {
				p.Report.EngineVersion = map[string]string{"v1": "7.1.67", "v2": "7.3.63"}[p.Revision]
			}
		}
	}
}

// Members of the two versions do not talk to each other, so slow pods must follow the others.
func TestSlowPodFollowsInAnOutage(t *testing.T) {
	for name, slow := range map[string]time.Duration{"none": 0, "a second": time.Second} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				newOutage(t, w)
				p := newProcess(w, 0, false)
				p.startWith(&sluggish{agents: p.agents, pod: "s-0", time: slow})
				p.run(45 * time.Second)
				require.Equal(t, map[string]int{"s-0": 1, "s-1": 1, "s-2": 1}, w.removed, w.describe())
			})
		})
	}
}

// A coordinator that begins again in the middle of it finishes it.
func TestAnOutageIsFinishedByASuccessor(t *testing.T) {
	var stranded []string
	for at := 1; at < 60; at++ {
		if !race.Part(at, 15) {
			continue
		}
		inWorld(t, func(t *testing.T, w *world) {
			newOutage(t, w)
			newProcess(w, at, true).run(time.Minute)
			went := len(w.gone())
			time.Sleep(15 * time.Second) // a lease
			newProcess(w, 0, false).run(2 * time.Minute)
			if n := len(w.gone()); n != 3 {
				stranded = append(stranded, fmt.Sprintf("crash at call %d: %d had gone, %d have: %s", at, went, n, w.describe()))
			}
		})
	}
	require.Empty(t, stranded)
}

// All are granted at once, or none is.
func TestAnOutageIsGrantedWhole(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		newOutage(t, w)
		p := newProcess(w, 0, false)
		require.NoError(t, p.start())
		p.leader.room = new(2) // another database has begun meanwhile
		out, leads := p.pass()
		require.True(t, leads)
		require.Empty(t, out.Edits.Add, "two of three go")
		p.kill()
		p.leader.Wait()
	})
}

// With a partition all go at once, too.
func TestOutageByPartition(t *testing.T) {
	for _, guarded := range []bool{true, false} {
		t.Run(fmt.Sprintf("guarded %t", guarded), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.becomeRolling(model.RollingUpdateByPartition, guarded, model.FirstOrdinalNone, fmt.Sprint(model.FirstOrdinalNone))
				newOutage(t, w)
				newProcess(w, 0, false).run(45 * time.Second)
				require.Equal(t, map[string]int{"s-0": 1, "s-1": 1, "s-2": 1}, w.gone(), w.describe())
			})
		})
	}
}
