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
)

// All PodDisruptionBudgets of all namespaces are known to each coordinator, whose memory is
// 256 MiB. etcd takes one with 200,000 short values (1 MB).
func TestWhatIsKeptOfABudgetIsBounded(t *testing.T) {
	var kept []*Budget
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
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
	require.Less(t, each, uint64(64<<10))
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
	}})
	require.Less(t, len(b.Source.owner), 1<<10)
}
