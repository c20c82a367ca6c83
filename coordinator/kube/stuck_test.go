package kube

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ktesting "k8s.io/client-go/testing"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// Where Synced is false a coordinator that starts does not become ready, and does not stand
// for election. A tenant makes a StatefulSet of which nobody can list the pods: with a
// selector of more than a megabyte, which no request has room for. That is the tenant's
// own trouble, of which Missing tells, and nobody else's.
func TestOneTenantKeepsNoCoordinatorFromStarting(t *testing.T) {
	w := start(t)
	w.kubernetes.PrependReactor("list", "pods", func(a ktesting.Action) (bool, runtime.Object, error) {
		if a.(ktesting.ListAction).GetListRestrictions().Labels.String() == "app=hostile" {
			return true, nil, errors.New("http2: request header list larger than peer's advertised limit")
		}
		return false, nil, nil
	})
	hostile := Key{Namespace: "tenant", Name: "hostile"}
	for _, key := range []Key{search, hostile} {
		w.addCluster(t, key)
		set := statefulSet(key.Name, types.UID(key.Name))
		set.Namespace, set.Labels = key.Namespace, map[string]string{v1alpha1.LabelCluster: key.Name}
		w.addSet(t, set)
	}
	w.eventually(t, func() bool { _, ok := w.Cluster(search); return ok && w.Missing(hostile) != "" })
	require.Eventually(t, w.Synced, 20*time.Second, 100*time.Millisecond)
}
