package coordinator

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	k8stesting "k8s.io/client-go/testing"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// The API server refuses to list the pods of one pool.
func TestStatusWhenPodsCannotBeListed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.addPools("search", model.Solr, false, &pool{name: "search-a", replicas: 2}, &pool{name: "search-b", replicas: 2})
		var forbidden atomic.Bool
		forbidden.Store(true)
		w.onClient = func(c *kubetest.Client) {
			c.Kubernetes.PrependReactor("list", "pods", func(a k8stesting.Action) (bool, runtime.Object, error) {
				if forbidden.Load() && strings.Contains(a.(k8stesting.ListAction).GetListRestrictions().Labels.String(), "pool=search-b") {
					return true, nil, apierrors.NewForbidden(corev1.Resource("pods"), "", nil)
				}
				return false, nil, nil
			})
		}
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		db.roll("v2")
		time.Sleep(unknownFor)
		ready := conditionOf(db.status(), v1alpha1.ConditionReady)
		require.Equal(t, metav1.ConditionUnknown, ready.Status)
		require.Contains(t, ready.Message, "nothing is decided: the pods of StatefulSet search-b are not known: ")
		require.Contains(t, ready.Message, "forbidden")
		require.NotEqual(t, metav1.ConditionTrue, conditionOf(db.status(), v1alpha1.ConditionStalled).Status)
		before := p.total()
		time.Sleep(unknownStall)
		require.Equal(t, metav1.ConditionTrue, conditionOf(db.status(), v1alpha1.ConditionStalled).Status)
		require.Equal(t, before+1, p.total())
		require.Empty(t, w.gone())
		forbidden.Store(false)
		db.requireDone(5*time.Minute, "v2")
		require.Equal(t, metav1.ConditionTrue, conditionOf(db.status(), v1alpha1.ConditionReady).Status)
		require.Equal(t, metav1.ConditionFalse, conditionOf(db.status(), v1alpha1.ConditionStalled).Status)
	})
}
