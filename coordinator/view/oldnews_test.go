package view

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// A pod that has not spoken for longer than the limit is counted on by nobody, whatever the reports of
// the others say of its copies; and what others say counts only from reports that are fresh.
func TestOldNewsOfAnotherPodIsNotCountedOn(t *testing.T) {
	all := model.Count(3) // the copies are what holds
	steps := func(edits ...edit) int {
		in := made(edits...)
		in.Kube.Cluster.Spec.Policy.MaxUnavailable = &all
		return len(policy.Decide(Join(in)).Steps)
	}
	barrier := func(in *Input) { in.Barrier = noon.Add(-2 * time.Second) }
	before := func(i int) edit { return observedAt(i, noon.Add(-5*time.Second)) }
	require.Equal(t, 1, steps(), "all speak")
	require.Zero(t, steps(observedAt(2, noon.Add(-DefaultMaxAge-1))), "one has long been silent")
	require.Equal(t, 1, steps(barrier, before(1), before(2)), "two have not spoken since the last action, and one who has sees their copies")
	require.Zero(t, steps(barrier, before(0), before(1), before(2)), "nobody has")
}
