package kube

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// Whoever may edit a StatefulSet writes 300,000 into spec.replicas, or two billion. No quota knows of
// pods that there are not; each of them has a place of 1 KiB in what is looked at.
func TestManyReplicasAreNotAPlaceEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.addCluster(t, search)
		set := statefulSet("s", "u-s")
		w.addSet(t, set)
		other := statefulSet("t", "u-t")
		other.Spec.Replicas = new(int32(1))
		w.addSet(t, other)
		scale := func(replicas int32) {
			set.Spec.Replicas = &replicas
			_, err := w.kubernetes.AppsV1().StatefulSets(search.Namespace).Update(t.Context(), set, metav1.UpdateOptions{})
			require.NoError(t, err)
			time.Sleep(time.Minute)
		}
		for _, replicas := range []int32{MaxMissing, 300_000, math.MaxInt32} {
			scale(replicas)
			_, ok := w.Cluster(search)
			require.False(t, ok)
			require.Contains(t, w.Missing(search), "and Rollcall decides with at most 1000 missing: lower spec.replicas, or wait until there are more")
			require.True(t, w.Synced(), "others have a coordinator")
		}
		require.Equal(t, "its StatefulSets want 2147483648 pods more than the 0 that there are, and Rollcall decides with at most 1000 missing: "+
			"lower spec.replicas, or wait until there are more", w.Missing(search))
		scale(MaxMissing - 1)
		_, ok := w.Cluster(search)
		require.True(t, ok)
		require.Empty(t, w.Missing(search))
	})
}

// What is more of one pool is not taken for what another lacks.
func TestMissingPodsAreCountedByPool(t *testing.T) {
	pools := []Pool{{Name: "a", Replicas: 3}, {Name: "b", Replicas: 0}}
	require.Equal(t, 2, missing(pools, []Pod{{Pool: "a"}, {Pool: "b"}, {Pool: "b"}}))
}

// The same of a StatefulSet that has lost its label, which is looked at without a Cache.
func TestManyReplicasWithoutALabel(t *testing.T) {
	set := statefulSet("s", "u-s")
	set.Labels, set.Spec.Replicas = nil, new(int32(300_000))
	pod := ownedPod(set, 0)
	pod.Labels = map[string]string{v1alpha1.LabelCluster: search.Name}
	o := ClusterObjects{Cluster: &v1alpha1.DatabaseCluster{ObjectMeta: metav1.ObjectMeta{Namespace: search.Namespace, Name: search.Name}}, Nodes: map[string]Node{}}
	_, err := Unlabelled(t.Context(), fake.NewClientset(set, pod), &o)
	require.ErrorContains(t, err, "StatefulSet s wants 300000 pods, and of one that has lost its label at most 1000 are looked at")
	require.Empty(t, o.Pools)
}
