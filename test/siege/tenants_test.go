package siege

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

const (
	hostileNamespace = "hostile"
	hostileClusters  = 300
	hostileBytes     = 900_000
	// patience is how long the API server is given for them: some shapes cost it a second each.
	patience = 90 * time.Second
)

// bound returns the one that the CRD's schema gives, such as maxLength of spec.overrides.reason,
// and at most the second. Lists are walked through.
func (w *world) bound(t *testing.T, keyword string, atMost int, path ...string) int {
	t.Helper()
	versions, _, err := unstructured.NestedSlice(w.crd.Object, "spec", "versions")
	require.NoError(t, err)
	node, _, err := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema")
	require.NoError(t, err)
	for _, name := range path {
		if items, ok := node["items"].(map[string]any); ok {
			node = items
		}
		properties, _ := node["properties"].(map[string]any)
		next, ok := properties[name].(map[string]any)
		require.True(t, ok, "the CRD has no %v", path)
		node = next
	}
	if keyword == "maxLength" {
		if items, ok := node["items"].(map[string]any); ok {
			node = items
		}
	}
	if bound, ok := node[keyword].(float64); ok { // as YAML has numbers
		return min(atMost, int(bound))
	}
	return atMost
}

// reasons are overrides with reasons as long as the API server takes them.
func reasons(t *testing.T, w *world) {
	count := w.bound(t, "maxItems", 50, "spec", "overrides")
	length := w.bound(t, "maxLength", hostileBytes/count, "spec", "overrides", "reason")
	var overrides []any
	for range count {
		overrides = append(overrides, map[string]any{
			"expires": "2100-01-01T00:00:00Z", "rule": "soak", "pods": []any{"*"}, "reason": strings.Repeat("r", length),
		})
	}
	w.spread(t, map[string]any{"engine": "Solr", "overrides": overrides}, nil)
}

// hostileReasons are overrides with reasons of 900 KB in all.
func hostileReasons() map[string]any {
	var overrides []any
	for range 50 {
		overrides = append(overrides, map[string]any{
			"expires": "2100-01-01T00:00:00Z", "rule": "soak", "pods": []any{"*"}, "reason": strings.Repeat("r", hostileBytes/50),
		})
	}
	return map[string]any{"engine": "Solr", "overrides": overrides}
}

// longReasons are all refused, with the field's name.
func longReasons(t *testing.T, w *world) {
	w.namespace(t, hostileNamespace)
	spec := hostileReasons()
	for i := range hostileClusters {
		_, err := w.hostile(t, i, spec)
		require.True(t, apierrors.IsInvalid(err), "the API server takes it: %v", err)
		require.ErrorContains(t, err, "spec.overrides[0].reason: Too long")
	}
	t.Logf("%d DatabaseClusters of %d bytes were refused", hostileClusters, hostileBytes)
}

// storedReasons are what somebody wrote while the definition of DatabaseCluster was one
// without bounds, as in versions before.
func storedReasons(t *testing.T, w *world) {
	unbounded := w.crd.DeepCopy()
	withoutBounds(unbounded.Object)
	w.define(t, unbounded, func(err error) bool { return err == nil })
	w.spread(t, hostileReasons(), nil)
	w.define(t, w.crd, apierrors.IsInvalid)
}

// define installs a definition, and waits until it is that by which the API server judges.
func (w *world) define(t *testing.T, crd *unstructured.Unstructured, judged func(error) bool) {
	t.Helper()
	definitions := w.objects.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	_, err := definitions.Apply(t.Context(), crd.GetName(), crd, metav1.ApplyOptions{FieldManager: "siege", Force: true})
	require.NoError(t, err)
	w.namespace(t, hostileNamespace)
	try := hostileObject(hostileClusters, hostileReasons())
	require.Eventually(t, func() bool {
		_, err := w.clusters(hostileNamespace).Create(t.Context(), try, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return judged(err)
	}, time.Minute, 200*time.Millisecond, "the definition does not take effect")
}

// withoutBounds takes them out of a schema, and the rules, which may not cost as much as they do without them.
func withoutBounds(node map[string]any) {
	for _, bound := range []string{"maxLength", "maxItems", "maxProperties", "x-kubernetes-validations"} {
		if _, isField := node[bound].(map[string]any); !isField {
			delete(node, bound)
		}
	}
	for _, below := range node {
		switch below := below.(type) {
		case map[string]any:
			withoutBounds(below)
		case []any:
			for _, one := range below {
				if one, ok := one.(map[string]any); ok {
					withoutBounds(one)
				}
			}
		}
	}
}

func hostileObject(number int, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rollcall.dev/v1alpha1", "kind": "DatabaseCluster",
		"metadata": map[string]any{"name": fmt.Sprintf("db-%d", number), "namespace": hostileNamespace}, "spec": spec,
	}}
}

func (w *world) hostile(t *testing.T, number int, spec map[string]any) (*unstructured.Unstructured, error) {
	return w.clusters(hostileNamespace).Create(t.Context(), hostileObject(number, spec), metav1.CreateOptions{})
}

// smallFields are as many pods in overrides, and taints, as the API server takes.
func smallFields(t *testing.T, w *world) {
	count := w.bound(t, "maxItems", 50, "spec", "overrides")
	pods := w.bound(t, "maxItems", hostileBytes/count/8, "spec", "overrides", "pods")
	var overrides []any
	for range count {
		var names []any
		for i := range pods {
			names = append(names, fmt.Sprintf("%x", i))
		}
		overrides = append(overrides, map[string]any{"expires": "2100-01-01T00:00:00Z", "rule": "r", "pods": names, "reason": "r"})
	}
	w.spread(t, map[string]any{"engine": "Solr", "overrides": overrides}, nil)
}

// statuses are what whoever may approve can write as well.
func statuses(t *testing.T, w *world) {
	var claims, shared, finished []any
	count := w.bound(t, "maxItems", 20_000, "status", "clusterSettings", "claims")
	for range count {
		claims = append(claims, "")
	}
	for range w.bound(t, "maxItems", 5, "status", "clusterSettings") {
		shared = append(shared, map[string]any{"setting": "k", "claims": claims})
	}
	for range w.bound(t, "maxItems", 20_000, "status", "lastFinished") {
		finished = append(finished, map[string]any{"pool": "", "revision": ""})
	}
	w.spread(t, map[string]any{"engine": "Solr"}, map[string]any{"clusterSettings": shared, "lastFinished": finished})
}

// spread makes many DatabaseClusters, and removes them when the test has ended.
func (w *world) spread(t *testing.T, spec, status map[string]any) {
	t.Helper()
	w.namespace(t, hostileNamespace)
	clusters := w.clusters(hostileNamespace)
	t.Cleanup(func() {
		if err := clusters.DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			t.Logf("remove DatabaseClusters: %v", err)
		}
	})
	patch, err := json.Marshal(map[string]any{"status": status})
	require.NoError(t, err)
	var size, refused atomic.Int64
	var why atomic.Value
	next := make(chan int)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range next {
				object, err := w.hostile(t, i, spec)
				if err == nil && status != nil {
					// Without a version: the coordinator writes, too.
					object, err = clusters.Patch(t.Context(), fmt.Sprintf("db-%d", i), types.MergePatchType, patch, metav1.PatchOptions{}, "status")
				}
				if err != nil {
					refused.Add(1)
					why.Store(fmt.Sprintf("; such as: %.300s", err))
					continue
				}
				text, _ := object.MarshalJSON()
				size.Add(int64(len(text)))
			}
		})
	}
	made := 0
	for begin := time.Now(); made < hostileClusters && time.Since(begin) < patience; made++ {
		next <- made
	}
	close(next)
	all.Wait()
	t.Logf("%d DatabaseClusters, %s in all, %d refused%v", made, mebibytes(size.Load()), refused.Load(), cmp.Or(why.Load(), any("")))
	require.Less(t, refused.Load(), int64(made), "the API server took none, so nothing was attacked")
}
