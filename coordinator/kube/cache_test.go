package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	clusterfake "github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1/fake"
)

var search = Key{Namespace: "prod", Name: "search"}

// world is a cache on fake clients, and how often each key was told of.
type world struct {
	*Cache
	kubernetes *fake.Clientset
	clusters   *clusterfake.Clients

	mu    sync.Mutex
	heard map[Key]int
	// watched counts watches that are open, by resource.
	watched map[string]int
}

func (w *world) watching(resource string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.watched[resource]
}

// opens has the fake's watches counted once they are open: what is changed
// between a fake's list and its watch is lost.
func (w *world) opens(tracker ktesting.ObjectTracker) ktesting.WatchReactionFunc {
	return func(action ktesting.Action) (bool, watch.Interface, error) {
		open, err := tracker.Watch(action.GetResource(), action.GetNamespace())
		w.mu.Lock()
		defer w.mu.Unlock()
		w.watched[action.GetResource().Resource]++
		return true, open, err
	}
}

func (w *world) heardOf(key Key) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.heard[key]
}

func start(t *testing.T) *world {
	t.Helper()
	w := &world{kubernetes: fake.NewClientset(), clusters: clusterfake.New(), heard: map[Key]int{}, watched: map[string]int{}}
	w.kubernetes.PrependWatchReactor("*", w.opens(w.kubernetes.Tracker()))
	w.clusters.PrependWatchReactor("*", w.opens(w.clusters.Tracker()))
	cache, err := New(Options{Kubernetes: w.kubernetes, Clusters: w.clusters, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	w.Cache = cache
	cache.Subscribe(func(key Key) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.heard[key]++
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- cache.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			require.NoError(t, err)
		case <-time.After(time.Minute):
			t.Error("Run did not end")
		}
	})
	w.eventually(t, func() bool {
		return cache.KnowsClusters() && w.watching("databaseclusters") == 1 && w.watching("statefulsets") == 1 && w.watching("nodes") == 1
	})
	return w
}

func (w *world) eventually(t *testing.T, f func() bool) {
	t.Helper()
	require.Eventually(t, f, 2*time.Minute, 5*time.Millisecond)
}

func (w *world) addCluster(t *testing.T, key Key) {
	t.Helper()
	_, err := w.clusters.DatabaseClusters(key.Namespace).Create(t.Context(), &v1alpha1.DatabaseCluster{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: key.Name, UID: "d0",
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

func statefulSet(name string, uid types.UID) *appsv1.StatefulSet {
	replicas, start, partition := int32(3), int32(2), int32(1)
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "prod", Name: name, UID: uid, Generation: 4,
			Labels:      map[string]string{"rollcall.dev/cluster": "search"},
			Annotations: map[string]string{"rollcall.dev/paused": "true", "rollcall.dev/unit": "rack1"},
		},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas,
			Ordinals: &appsv1.StatefulSetOrdinals{Start: start},
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{
				Type:          appsv1.RollingUpdateStatefulSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition},
			},
			PodManagementPolicy: appsv1.ParallelPodManagement,
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{
				{Name: "solr", Image: "solr:9.10.0"},
			}}},
		},
		Status: appsv1.StatefulSetStatus{ObservedGeneration: 3, UpdateRevision: "v2", CurrentRevision: "v1"},
	}
}

func ownedPod(set *appsv1.StatefulSet, ordinal int) *corev1.Pod {
	controller := true
	p := readyPod()
	p.Namespace, p.Name = set.Namespace, fmt.Sprintf("%s-%d", set.Name, ordinal)
	p.UID = types.UID(fmt.Sprintf("%s-u%d", set.Name, ordinal))
	p.Labels = map[string]string{
		"app": set.Name, "controller-revision-hash": "v1", "rollcall.dev/guard": "closed",
	}
	p.Annotations = map[string]string{"rollcall.dev/claim": "c1"}
	p.OwnerReferences = []metav1.OwnerReference{{Kind: "StatefulSet", Name: set.Name, UID: set.UID, Controller: &controller}}
	p.Status.PodIP = fmt.Sprintf("10.0.0.%d", ordinal)
	return p
}

func (w *world) addSet(t *testing.T, set *appsv1.StatefulSet) {
	t.Helper()
	_, err := w.kubernetes.AppsV1().StatefulSets(set.Namespace).Create(t.Context(), set, metav1.CreateOptions{})
	require.NoError(t, err)
}

func (w *world) addPod(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	_, err := w.kubernetes.CoreV1().Pods(pod.Namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
}

func (w *world) names(key Key) []string {
	o, _ := w.Cluster(key)
	names := []string{}
	for _, p := range o.Pods {
		names = append(names, p.Name)
	}
	return names
}

func TestCacheJoinsAClustersObjects(t *testing.T) {
	w := start(t)
	_, err := w.kubernetes.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node1", Labels: map[string]string{"topology.kubernetes.io/zone": "z1"}},
		Spec:       corev1.NodeSpec{Unschedulable: true, Taints: []corev1.Taint{{Key: "maintenance"}}},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	w.addCluster(t, search)
	set := statefulSet("search", "s0")
	for _, n := range []int{10, 2, 3} {
		w.addPod(t, ownedPod(set, n))
	}
	w.addSet(t, set)
	w.eventually(t, func() bool { return w.Synced() && len(w.names(search)) == 3 })

	o, ok := w.Cluster(search)
	require.True(t, ok)
	require.Equal(t, []Key{search}, w.Clusters())
	require.Equal(t, types.UID("d0"), o.Cluster.UID)
	pool := o.Pools[0]
	require.Equal(t, Pool{
		Namespace: "prod", Name: "search", UID: "s0", ResourceVersion: pool.ResourceVersion, Cluster: "search",
		Generation: 4, ObservedGeneration: 3, Replicas: 3, Start: 2, Revision: "v2", CurrentRevision: "v1",
		Strategy: "RollingUpdate", Management: "Parallel", Partition: 1, Image: "solr:9.10.0",
		Unit: "rack1", Paused: true, selector: "app=search", exact: "app=search", Shape: Shape{Security: "fsGroup - -, solr -:-"},
	}, pool)
	require.False(t, pool.Observed())
	require.Equal(t, []string{"search-2", "search-3", "search-10"}, w.names(search), "ordinals are numbers")
	require.Equal(t, Pod{
		Namespace: "prod", Name: "search-2", UID: "search-u2", ResourceVersion: o.Pods[0].ResourceVersion,
		Pool: "search", Ordinal: 2, Node: "node1", IP: "10.0.0.2", Revision: "v1", Created: o.Pods[0].Created, Guard: "closed", Claim: "c1",
		Shared: "app=search,controller-revision-hash=v1", Shape: Shape{Security: "fsGroup - -, solr -:-"},
		Phase: Ready, Since: o.Pods[0].Since, Agent: true, Container: "solr", Image: "solr:9.9.0",
	}, o.Pods[0])
	require.Equal(t, Node{
		Name: "node1", Labels: map[string]string{"topology.kubernetes.io/zone": "z1"},
		Cordoned: true, Silent: true, Taints: []Taint{{Key: "maintenance"}},
	}, o.Nodes["node1"])
}

// Pods that the selector finds and the set does not own leave nothing behind:
// another set's, a bare pod, one of an earlier set of the same name.
func TestCacheKeepsOwnedPodsOnly(t *testing.T) {
	w := start(t)
	w.addCluster(t, search)
	set := statefulSet("search", "s0")
	orphan := ownedPod(set, 3)
	orphan.OwnerReferences = nil
	w.addPod(t, orphan)
	earlier := ownedPod(set, 4)
	earlier.OwnerReferences[0].UID = "s-earlier"
	w.addPod(t, earlier)
	w.addPod(t, ownedPod(set, 2))
	w.addSet(t, set)
	w.eventually(t, func() bool { return len(w.names(search)) == 1 })
	require.Equal(t, []string{"search-2"}, w.names(search))
	w.mu.Lock()
	watch := w.pods["s0"]
	w.mu.Unlock()
	for _, object := range watch.informer.GetStore().List() {
		e := object.(*Entry[Pod])
		require.Equal(t, e.name == "search-2", e.Facts != nil)
		key, err := cache.MetaNamespaceKeyFunc(e)
		require.NoError(t, err)
		require.Equal(t, search.Namespace+"/"+e.name, key)
	}
}

// Nobody is answered for before the pods of all pools are known.
func TestCacheIsSilentUntilComplete(t *testing.T) {
	w := start(t)
	_, ok := w.Cluster(search)
	require.False(t, ok, "no such cluster")
	w.addCluster(t, search)
	w.eventually(t, func() bool { _, ok := w.Cluster(search); return ok })

	// The pool's pods cannot be listed until the gate opens.
	gate := make(chan struct{})
	w.kubernetes.PrependReactor("list", "pods", func(ktesting.Action) (bool, runtime.Object, error) {
		<-gate
		return false, nil, nil
	})
	w.addSet(t, statefulSet("search", "s0"))
	w.eventually(t, func() bool { return len(w.poolsOf(search)) == 1 })
	_, ok = w.Cluster(search)
	require.False(t, ok)
	require.False(t, w.Synced())
	before := w.heardOf(search)
	close(gate)
	w.eventually(t, func() bool { _, ok := w.Cluster(search); return ok && w.heardOf(search) > before })
}

// Pools whose pods cannot be listed do not keep others from beginning.
func TestCacheBeginsBesideStuckPools(t *testing.T) {
	w := start(t)
	w.kubernetes.PrependReactor("list", "pods", func(action ktesting.Action) (bool, runtime.Object, error) {
		stuck := strings.HasPrefix(action.(ktesting.ListAction).GetListRestrictions().Labels.String(), "app=stuck")
		return stuck, nil, errors.New("forbidden")
	})
	w.addCluster(t, search)
	for i := range startTogether + 1 {
		stuck := statefulSet(fmt.Sprintf("stuck-%d", i), types.UID(fmt.Sprintf("stuck-%d", i)))
		w.addSet(t, stuck)
	}
	other := Key{Namespace: "prod", Name: "other"}
	w.addCluster(t, other)
	set := statefulSet("other", "s9")
	set.Labels["rollcall.dev/cluster"] = "other"
	w.addSet(t, set)
	w.eventually(t, func() bool { o, ok := w.Cluster(other); return ok && len(o.Pools) == 1 })
	_, ok := w.Cluster(search)
	require.False(t, ok)
}

func TestCacheFollowsPools(t *testing.T) {
	w := start(t)
	w.addCluster(t, search)
	set := statefulSet("search", "s0")
	w.addPod(t, ownedPod(set, 2))
	w.addSet(t, set)
	w.eventually(t, func() bool { return len(w.names(search)) == 1 })

	// The set is deleted and made again: its old pods belong to nobody.
	require.NoError(t, w.kubernetes.AppsV1().StatefulSets("prod").Delete(t.Context(), "search", metav1.DeleteOptions{}))
	w.eventually(t, func() bool { return len(w.watches()) == 0 })
	again := statefulSet("search", "s1")
	w.addSet(t, again)
	w.eventually(t, func() bool { o, ok := w.Cluster(search); return ok && len(o.Pools) == 1 && len(o.Pods) == 0 })

	// Without its DatabaseCluster a pool's pods are not watched.
	require.NoError(t, w.clusters.DatabaseClusters("prod").Delete(t.Context(), "search", metav1.DeleteOptions{}))
	w.eventually(t, func() bool { return len(w.watches()) == 0 })
	_, ok := w.Cluster(search)
	require.False(t, ok)
	require.Empty(t, w.Clusters())
}

func (w *world) watches() []string {
	w.Cache.mu.Lock()
	defer w.Cache.mu.Unlock()
	var names []string
	for _, watch := range w.pods {
		names = append(names, watch.pool.Name)
	}
	return names
}

// Subscribers hear of what differs, under the key of the cluster it concerns.
func TestCacheTellsOfChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.addCluster(t, search)
		other := Key{Namespace: "prod", Name: "other"}
		w.addCluster(t, other)
		set := statefulSet("search", "s0")
		pod := ownedPod(set, 2)
		w.addPod(t, pod)
		w.addSet(t, set)
		_, err := w.kubernetes.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node1"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		w.eventually(t, func() bool {
			o, _ := w.Cluster(search)
			return len(o.Pods) == 1 && len(o.Nodes) == 1 && w.watching("pods") == 1
		})
		synctest.Wait() // the end of a first list is told apart from its objects
		quiet := w.heardOf(other)

		heard := w.heardOf(search)
		pod.Status.Conditions[1].Status = corev1.ConditionFalse
		_, err = w.kubernetes.CoreV1().Pods("prod").UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
		require.NoError(t, err)
		w.eventually(t, func() bool { o, _ := w.Cluster(search); return w.heardOf(search) > heard && o.Pods[0].Phase == Started })

		heard = w.heardOf(search)
		_, err = w.kubernetes.CoreV1().Nodes().Update(t.Context(), &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "node1"}, Spec: corev1.NodeSpec{Unschedulable: true},
		}, metav1.UpdateOptions{})
		require.NoError(t, err)
		w.eventually(t, func() bool { o, _ := w.Cluster(search); return w.heardOf(search) > heard && o.Nodes["node1"].Cordoned })

		// What no decision depends on is no change.
		heard = w.heardOf(search)
		pod.Annotations["irrelevant"] = "true"
		pod.ResourceVersion = "99"
		_, err = w.kubernetes.CoreV1().Pods("prod").Update(t.Context(), pod, metav1.UpdateOptions{})
		require.NoError(t, err)
		synctest.Wait()
		o, _ := w.Cluster(search)
		require.Equal(t, "99", o.Pods[0].ResourceVersion)
		require.Equal(t, heard, w.heardOf(search))
		require.Equal(t, quiet, w.heardOf(other))
	})
}

// After the first list of each kind nothing is listed again.
func TestCacheListsOnce(t *testing.T) {
	w := start(t)
	w.addCluster(t, search)
	set := statefulSet("search", "s0")
	for n := range 5 {
		w.addPod(t, ownedPod(set, n))
	}
	w.addSet(t, set)
	w.eventually(t, func() bool { return len(w.names(search)) == 5 })
	lists := map[string]int{}
	for _, action := range w.kubernetes.Actions() {
		if action.GetVerb() == "list" {
			lists[action.GetResource().Resource]++
		}
		if action.GetResource().Resource == "pods" && action.GetVerb() == "watch" {
			selector := action.(ktesting.WatchAction).GetWatchRestrictions().Labels.String()
			require.Equal(t, "app=search", selector)
			require.Equal(t, "prod", action.GetNamespace())
		}
		if action.GetResource().Resource == "statefulsets" && action.GetVerb() == "watch" {
			require.True(t, strings.HasPrefix(action.(ktesting.WatchAction).GetWatchRestrictions().Labels.String(), "rollcall.dev/cluster"))
		}
	}
	require.Equal(t, map[string]int{"pods": 1, "nodes": 1, "statefulsets": 1}, lists)
}

func TestNewRefusesMissingClients(t *testing.T) {
	_, err := New(Options{})
	require.ErrorContains(t, err, "Kubernetes and Clusters are required")
}
