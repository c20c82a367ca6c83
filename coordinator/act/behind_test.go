package act

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// A claimed pod that the line frees only after another is counted on when that one goes, so it must be there. One that
// goes first counts as away, and need not be.
func TestWhoIsFreedLaterMustBeThere(t *testing.T) {
	for deleted, waits := range map[string]bool{"s-1": true, "s-2": false} {
		t.Run(deleted, func(t *testing.T) {
			inRollingWorld(t, model.ByPartition, false, func(t *testing.T, w *world) {
				p := newProcess(w, 0, false)
				require.NoError(t, p.start())
				at := Situation{Snapshot: w.snapshotNow(), Pools: w.pools()}
				for _, pod := range at.Snapshot.Pods[1:] {
					at.Snapshot.Cluster.Status.Claims = append(at.Snapshot.Cluster.Status.Claims,
						model.Claim{ID: "of " + pod.Name, Pod: pod.Name, UID: pod.UID, Action: model.LowerPartition, Phase: model.PhasePrepared})
				}
				going := map[string]string{"s-1": "s-2", "s-2": "s-1"}[deleted]
				require.NoError(t, p.actor.stillThere(t.Context(), at, going))
				admin := w.server.Client(nil).Kubernetes.CoreV1().Pods(namespace)
				require.NoError(t, admin.Delete(t.Context(), deleted, metav1.DeleteOptions{}))
				w.wrong = nil
				err := p.actor.stillThere(t.Context(), at, going)
				if waits {
					require.ErrorIs(t, err, errBehind)
				} else {
					require.NoError(t, err)
				}
				p.kill()
				p.actor.Wait()
			})
		})
	}
}
