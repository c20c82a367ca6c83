package coordinator

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	k8stesting "k8s.io/client-go/testing"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Somebody has as many pods as may be looked at at once, none of them well, and makes a StatefulSet whose
// pods cannot be listed: nothing is decided any more of that database, and others have their turn.
func TestADatabaseThatIsNotKnownKeepsNoTurn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.firstLooks = 6
		hostile := w.add("hostile", 6)
		w.mu.Lock()
		hostile.said = func(_ string, r *rollcallv1.Report) *rollcallv1.Report {
			r.Verdict = rollcallv1.Verdict_VERDICT_RED
			return r
		}
		w.mu.Unlock()
		var forbidden atomic.Bool
		forbidden.Store(true)
		w.onClient = func(c *kubetest.Client) {
			c.Kubernetes.PrependReactor("list", "pods", func(a k8stesting.Action) (bool, runtime.Object, error) {
				if forbidden.Load() && strings.Contains(a.(k8stesting.ListAction).GetListRestrictions().Labels.String(), "pool=unlisted") {
					return true, nil, apierrors.NewForbidden(corev1.Resource("pods"), "", nil)
				}
				return false, nil, nil
			})
		}
		p := w.start()
		defer p.end()
		time.Sleep(10 * time.Second)
		unlisted := map[string]string{"pool": "unlisted"}
		_, err := w.admin.Kubernetes.AppsV1().StatefulSets(namespace).Create(t.Context(), &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "unlisted", UID: types.UID("set-unlisted"), Generation: 1,
				Labels: map[string]string{v1alpha1.LabelCluster: "hostile"}},
			Spec: appsv1.StatefulSetSpec{Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: unlisted}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		time.Sleep(time.Minute)

		honest := w.add("honest", 3)
		time.Sleep(turnPatience + 2*time.Second)
		require.True(t, isTrue(honest.status(), v1alpha1.ConditionInitialized), "others wait for it for ever")
		require.Equal(t, model.ClusterDone, honest.status().Phase)

		w.mu.Lock()
		watching := w.watching
		w.mu.Unlock()
		require.LessOrEqual(t, watching, w.firstLooks, "the streams of both")

		// It is looked at again once it is known.
		w.mu.Lock()
		hostile.said = nil
		w.mu.Unlock()
		forbidden.Store(false)
		time.Sleep(2 * time.Minute)
		require.True(t, isTrue(hostile.status(), v1alpha1.ConditionInitialized))
	})
}
