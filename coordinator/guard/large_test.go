package guard

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
