package act

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// Whoever a removal counts on must be there, as the API server says itself. Whom it does not count
// on does not have to be.
func TestCountedPodsMustExist(t *testing.T) {
	for deleted, waits := range map[string]bool{"s-1": true, "s-2": false} {
		t.Run(deleted, func(t *testing.T) {
			inRollingWorld(t, model.RollingUpdateByPartition, false, func(t *testing.T, w *world) {
				p := newProcess(w, 0, false)
				require.NoError(t, p.start())
				e := effect.Expected{Pools: w.pools()}
				for _, pod := range w.snapshotNow().Pods[:2] {
					e.Pods = append(e.Pods, effect.Target{Pod: pod.Name, UID: pod.UID})
				}
				require.NoError(t, p.leader.stillThere(t.Context(), e))
				admin := w.server.Client(nil).Kubernetes.CoreV1().Pods(namespace)
				require.NoError(t, admin.Delete(t.Context(), deleted, metav1.DeleteOptions{}))
				w.wrong = nil
				err := p.leader.stillThere(t.Context(), e)
				if waits {
					require.ErrorIs(t, err, effect.ErrBehind)
				} else {
					require.NoError(t, err)
				}
				p.kill()
				p.leader.Wait()
			})
		})
	}
}
