package guard

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	clusterfake "github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1/fake"
	"github.com/rollcall-dev/rollcall/coordinator/pki"
)

// What ends the guards has 128 MiB. Somebody gives 1.5 MiB budgets of their own the label of
// Rollcall's; read all at once they are more than that, and evictions stay refused everywhere.
func TestWhoEndsTheGuardsReadsInPages(t *testing.T) {
	client, clusters := fake.NewClientset(), clusterfake.New()
	asked := map[string]string{}
	const pages = 3
	// Each page has one object, the rest of it no more than a name.
	page := func(a k8stesting.Action) (bool, runtime.Object, error) {
		options, kind := a.(k8stesting.ListActionImpl).ListOptions, a.GetResource().Resource
		require.Equal(t, int64(2), options.Limit, kind)
		asked[kind] += options.Continue + "."
		meta, more := metav1.ObjectMeta{Namespace: "prod", Name: fmt.Sprint("db", len(options.Continue))}, metav1.ListMeta{Continue: options.Continue + "c"}
		if len(options.Continue) == pages-1 {
			more.Continue = ""
		}
		switch kind {
		case "poddisruptionbudgets":
			meta.Labels = map[string]string{v1alpha1.LabelCluster: meta.Name, pki.LabelPartOf: pki.PartOf}
			meta.Name += "-rollcall"
			return true, &policyv1.PodDisruptionBudgetList{ListMeta: more, Items: []policyv1.PodDisruptionBudget{{ObjectMeta: meta}}}, nil
		case "databaseclusters":
			meta.Finalizers = []string{v1alpha1.Finalizer}
			return true, &v1alpha1.DatabaseClusterList{ListMeta: more, Items: []v1alpha1.DatabaseCluster{{ObjectMeta: meta}}}, nil
		case "statefulsets":
			return true, &appsv1.StatefulSetList{ListMeta: more, Items: []appsv1.StatefulSet{{ObjectMeta: meta}}}, nil
		case "pods":
			meta.Labels = map[string]string{v1alpha1.LabelGuard: v1alpha1.GuardClosed}
			return true, &corev1.PodList{ListMeta: more, Items: []corev1.Pod{{ObjectMeta: meta}}}, nil
		}
		return false, nil, fmt.Errorf("list of %s", kind)
	}
	changed := map[string]int{}
	change := func(a k8stesting.Action) (bool, runtime.Object, error) {
		changed[a.GetVerb()+" "+a.GetResource().Resource]++
		return true, &v1alpha1.DatabaseCluster{}, nil
	}
	touch := func(a k8stesting.Action) (bool, runtime.Object, error) {
		changed[a.GetVerb()+" "+a.GetResource().Resource]++
		return true, &corev1.Pod{}, nil
	}
	client.PrependReactor("list", "*", page)
	client.PrependReactor("patch", "pods", touch)
	client.PrependReactor("delete", "poddisruptionbudgets", touch)
	clusters.PrependReactor("list", "*", page)
	clusters.PrependReactor("patch", "*", change)

	relaxed := 0
	require.NoError(t, ourBudgets(context.Background(), client, func(*policyv1.PodDisruptionBudget, *Budget) { relaxed++ }))
	require.Equal(t, pages, relaxed)
	freed, err := free(context.Background(), clusters)
	require.NoError(t, err)
	require.Equal(t, pages, freed)
	require.Equal(t, map[string]string{"poddisruptionbudgets": ".c.cc.", "databaseclusters": ".c.cc."}, asked)

	client.PrependReactor("get", "deployments", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("not asked for here")
	})
	clear(asked)
	clear(changed)
	done, err := Uninstall(context.Background(), client, clusters, "rollcall-system")
	require.ErrorContains(t, err, "not asked for here")
	require.Equal(t, Uninstalled{Budgets: pages, Pods: pages, Freed: pages}, done)
	require.Equal(t, map[string]string{
		"poddisruptionbudgets": ".c.cc.", "databaseclusters": ".c.cc.", "statefulsets": ".c.cc.", "pods": ".c.cc.",
	}, asked)
	require.Equal(t, map[string]int{"patch pods": pages, "delete poddisruptionbudgets": pages, "patch databaseclusters": pages}, changed)
}
