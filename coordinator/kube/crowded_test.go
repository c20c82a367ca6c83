package kube

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// Somebody makes StatefulSets without pods, each of which finds all pods of the namespace. What changes of one pod of
// 1.3 MiB was sent for each of them at once: for 256 it took 800 MiB, and at the start of a coordinator as much.
func TestFewStatefulSetsFindTheSamePod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.addCluster(t, search)
		logs := Key{Namespace: search.Namespace, Name: "logs"}
		w.addCluster(t, logs)
		own := statefulSet("own", "u-own")
		own.Labels = map[string]string{"rollcall.dev/cluster": logs.Name}
		w.addSet(t, own)
		born := time.Now()
		add := func(i int) {
			set := statefulSet(fmt.Sprint("s", i), types.UID(fmt.Sprint("u", i)))
			set.CreationTimestamp = metav1.NewTime(born.Add(time.Duration(i) * time.Second))
			set.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "none", Operator: metav1.LabelSelectorOpDoesNotExist}}}
			w.addSet(t, set)
			synctest.Wait() // the fake's watch has room for a hundred
		}
		for i := range maxSharing - 1 {
			add(i)
		}
		time.Sleep(time.Minute)
		_, ok := w.Cluster(search)
		require.True(t, ok, "with as few as these all goes on")
		for i := range 50 {
			add(maxSharing - 1 + i)
		}
		time.Sleep(time.Minute)
		require.LessOrEqual(t, w.watching("pods"), maxSharing)
		require.True(t, w.Synced(), "others have a coordinator")
		_, ok = w.Cluster(search)
		require.False(t, ok)
		require.Equal(t, "the pods of StatefulSet s15 are not known: its spec.selector may find the pods of 16 other StatefulSets of its namespace, such as own: "+
			"make it again with a label in spec.selector.matchLabels of which no other has the value, or take its label rollcall.dev/cluster off", w.Missing(search))
		_, ok = w.Cluster(logs)
		require.True(t, ok, "one that was there before stays")
		for i := range 50 {
			require.NoError(t, w.kubernetes.AppsV1().StatefulSets(search.Namespace).Delete(t.Context(), fmt.Sprint("s", maxSharing-1+i), metav1.DeleteOptions{}))
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		_, ok = w.Cluster(search)
		require.True(t, ok, "once there are fewer, all is as before")
	})
}

func TestMayShare(t *testing.T) {
	pool := func(exact map[string]string, in ...string) labels.Set {
		set := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Selector: &metav1.LabelSelector{MatchLabels: exact}}}
		if len(in) > 0 {
			set.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: in}}
		}
		return poolOf(set).demands()
	}
	a, b := map[string]string{"app": "a", "rack": "1"}, map[string]string{"app": "a", "rack": "2"}
	require.False(t, mayShare(pool(a), pool(b)))
	require.True(t, mayShare(pool(a), pool(a)))
	require.True(t, mayShare(pool(a), pool(map[string]string{"zone": "z"})))
	require.False(t, mayShare(pool(a), pool(nil, "b")))
	require.True(t, mayShare(pool(a), pool(nil, "a")))
	require.True(t, mayShare(pool(a), pool(nil, "a", "b")))
}

// A namespace of hundreds of databases in racks, each found by its own labels.
func TestDatabasesOfTheirOwnLabelsAreNotCrowded(t *testing.T) {
	var pools []Pool
	for i := range 300 {
		for rack := range 3 {
			pools = append(pools, Pool{Name: fmt.Sprint("db", i, "-", rack), UID: types.UID(fmt.Sprint(i, ".", rack)),
				exact: fmt.Sprintf("app=db,instance=%d,rack=%d", i, rack)})
		}
	}
	require.Empty(t, crowdedOf(pools))
}
