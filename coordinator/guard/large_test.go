package guard

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
)

// All PodDisruptionBudgets of all namespaces are known to each coordinator, whose memory is
// 256 MiB. etcd takes one with 200,000 short values (1 MB).
func TestWhatIsKeptOfABudgetIsBounded(t *testing.T) {
	var kept []*Budget
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	const budgets = 5
	size := 0
	for n := range budgets {
		values := make([]string, 200_000)
		for i := range values {
			values[i] = fmt.Sprintf("%c%03x", 'a'+n, i&0xfff) + fmt.Sprint(i>>12)
		}
		pdb := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: fmt.Sprint("b", n)}}
		pdb.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpIn, Values: values}}}
		size = pdb.Size()
		kept = append(kept, budgetOf(pdb))
	}
	each := (heap() - before) / budgets
	runtime.KeepAlive(kept)
	t.Logf("stored: %d bytes; kept in memory: %d", size, each)
	require.Less(t, each, int64(64<<10))
}

// Nor is a pod with the label of a guard, whose owner is whatever its maker says.
func TestWhatIsKeptOfALabelledPodIsBounded(t *testing.T) {
	yes, long := true, strings.Repeat("n", 1<<19)
	l := labelledOf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "tenant", Name: "p", Labels: map[string]string{v1alpha1.LabelGuard: "closed"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: long, UID: types.UID(long), Controller: &yes}},
	}})
	require.Less(t, len(l.Set)+len(l.SetUID), 1<<10)
	b := budgetOf(&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{
		Name: "b", OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: long, Name: long, UID: "u", Controller: &yes}},
		Annotations: map[string]string{"meta.helm.sh/release-name": long},
	}})
	require.Less(t, len(b.Source.owner)+len(b.Source.release), 2<<10)
	ours := shut()
	ours.OwnerReferences[0].UID = types.UID(long)
	require.Empty(t, budgetOf(ours).Owner)
}

// manyValues selects pods of applications, of which search is one, in more text than is read.
func manyValues() *metav1.LabelSelector {
	values := []string{"search"}
	for i := range 1000 {
		values = append(values, fmt.Sprint("app-", i))
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: values}}}
}

// Of a budget with a long selector it is not known what it selects. Rollcall's own stays, so
// that evictions go on being refused, and a person is told.
func TestBudgetsThatAreNotReadAreTold(t *testing.T) {
	facts := func(selector *metav1.LabelSelector) Facts {
		return Facts{
			Objects: kube.ClusterObjects{Cluster: database(), Pods: []kube.Pod{pod("closed", "search")}}, Admission: working,
			Budgets: []Budget{*budgetOf(shut()), *budgetOf(charts(selector))},
		}
	}
	d := Decide(facts(manyValues()))
	require.Equal(t, KeepBudget, d.Budget)
	require.True(t, d.State.Enforcing)
	require.Regexp(t, "Whether PodDisruptionBudget search-pdb of somebody else selects pods of this database is not known: its selector takes .* KiB, .* "+
		"Give it a shorter one, or switch the budget off: kubectl -n prod delete poddisruptionbudget search-pdb", d.State.ForeignBudget)

	for _, f := range []Facts{facts(app("search")), facts(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "x", Operator: metav1.LabelSelectorOpDoesNotExist}}})} {
		f.Objects.Pods[0].ManyLabels = true
		d = Decide(f)
		require.Equal(t, KeepBudget, d.Budget)
		require.Contains(t, d.State.ForeignBudget, "pod search-0 has more labels than Rollcall reads")
	}
	all := facts(&metav1.LabelSelector{})
	all.Objects.Pods[0].ManyLabels = true
	require.Equal(t, DeleteBudget, Decide(all).Budget, "that one selects all pods")
}
