package act

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// writtenEmpty counts the claims that cannot be given up any more.
func (w *world) writtenEmpty() (n int) {
	for _, claim := range w.claims() {
		if claim.EmptiedAt != nil {
			n++
		}
	}
	return n
}

// Two pods are being replaced at once, and are written down as empty. Then something
// changes that would hold them: a limit is lowered so that either uses all of it, the fleet is
// full, one of them gets the role that goes last. Both go, and the others after them.
func TestReplacementsPastEmptiedAlwaysEnd(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"a lower limit": func(w *world) {
			one := model.Count(1)
			w.edit(func(c *v1alpha1.DatabaseCluster) {
				c.Spec.Policy.MaxUnavailable, c.Spec.Policy.MaxShardUnavailable = &one, &one
			})
		},
		"a full fleet": func(w *world) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.onLook = func(s *model.Snapshot) {
				if slices.ContainsFunc(s.Cluster.Status.Claims, func(c model.Claim) bool { return c.EmptiedAt != nil }) {
					s.Fleet = model.Fleet{Restarts: 2, Max: 1}
				}
			}
		},
		"the overseer": func(w *world) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.onLook = func(s *model.Snapshot) {
				for i := range s.Pods {
					if r := s.Pods[i].Report; r != nil && w.disks.first[w.disks.of[types.UID(s.Pods[i].UID)]] && w.drained[s.Pods[i].UID] {
						r.Last = true
					}
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inDiskWorld(t, func(t *testing.T, w *world) {
				w.maxUnavailable = 2
				two := model.Count(2)
				w.edit(func(c *v1alpha1.DatabaseCluster) {
					c.Spec.Policy.MaxUnavailable, c.Spec.Policy.MaxShardUnavailable = &two, &two
				})
				var changed atomic.Bool // two claims are carried out at once
				p := intercepted(w, func(kubetest.Call) error {
					if w.writtenEmpty() == 2 && changed.CompareAndSwap(false, true) {
						change(w)
					}
					return nil
				})
				p.run(5 * time.Minute)
				require.True(t, changed.Load())
				w.requireRolled(1)
			})
		})
	}
}
