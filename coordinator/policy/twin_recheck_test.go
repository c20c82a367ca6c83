package policy_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/coordinator/policy/naive"
)

// TestNaiveTwinRechecks each claimed pod at the barrier as the policy does.
func TestNaiveTwinRechecks(t *testing.T) {
	goes, held, undone := 0, 0, 0
	policy.SomeSnapshots(t, twinNumber(t), 0, 1, func(t *testing.T, g policy.Generator, s model.Snapshot) {
		if nothingCanBeCounted(g) {
			return
		}
		for _, claim := range s.Cluster.Status.Claims {
			switch step, hold := requireRechecked(t, s, claim.Pod); {
			case step != nil:
				goes++
			case hold != nil:
				held++
			default:
				undone++
			}
		}
	})
	t.Logf("%d go, %d are held, %d should not go any more", goes, held, undone)
	for _, n := range []int{goes, held, undone} {
		require.NotZero(t, n)
	}
}

// TestNaiveTwinRechecksPodsClaimedTogether by the partition, like the policy.
func TestNaiveTwinRechecksPodsClaimedTogether(t *testing.T) {
	together := 0
	policy.SomeSnapshots(t, twinNumber(t), 0, 1, func(t *testing.T, g policy.Generator, s model.Snapshot) {
		if g.Broken() != "" {
			return
		}
		claims := g.ClaimedByPartition(&s)
		s.Cluster.Status.Claims = append(s.Cluster.Status.Claims, claims...)
		for _, claim := range claims {
			requireRechecked(t, s, claim.Pod)
			together += len(claims) - 1
		}
	})
	require.NotZero(t, together)
}

// TestNaiveTwinRechecksPodsOfACorrection below the partition as the policy does: one that is
// claimed, with others behind it of which one is broken.
func TestNaiveTwinRechecksPodsOfACorrection(t *testing.T) {
	goes, held := 0, 0
	policy.SomeSnapshots(t, twinNumber(t), 0, 1, func(t *testing.T, g policy.Generator, s model.Snapshot) {
		if g.Broken() != "" {
			return
		}
		g.BrokenBelow(&s)
		s.Cluster.Status.Claims = g.ClaimedBelow(&s)
		for _, claim := range s.Cluster.Status.Claims {
			step, hold := requireRechecked(t, s, claim.Pod)
			switch corrected := naive.NewJudge(&s).GoesWith(claim.Pod); {
			case corrected == nil:
			case step != nil:
				goes++
			case hold != nil:
				held++
			}
		}
	})
	t.Logf("of those that go with a correction below the partition %d go, %d are held", goes, held)
	require.NotZero(t, goes)
	require.NotZero(t, held)
}

// requireRechecked requires that both say the same about a claimed pod at the barrier.
func requireRechecked(t *testing.T, s model.Snapshot, pod string) (*model.Step, *model.Hold) {
	wantStep, wantHold := naive.Recheck(s, pod)
	step, hold := policy.Recheck(s, pod)
	if step != nil {
		step.Notes = nil
	}
	if hold != nil {
		hold = &model.Hold{Pod: hold.Pod, Rule: hold.Rule, Group: hold.Group}
	}
	require.Equal(t, wantHold, hold, "%s", pod)
	require.Equal(t, wantStep, step, "%s", pod)
	return step, hold
}

// TestNaiveTwinWaitsForTheReturn of each claimed pod like the policy: of the recreated pod, and as
// if it had gone under another UID.
func TestNaiveTwinWaitsForTheReturn(t *testing.T) {
	seen := map[string]int{}
	policy.SomeSnapshots(t, twinNumber(t), 0, 1, func(t *testing.T, g policy.Generator, s model.Snapshot) {
		if g.Broken() != "" {
			return
		}
		for _, claim := range s.Cluster.Status.Claims {
			claim.UID = []string{claim.UID, "before"}[g.IntN(2)]
			claim.Unseen = g.IntN(4) == 0
			for _, group := range s.Groups {
				switch g.IntN(4) {
				case 0:
					claim.Groups = map[string]int32{group.ID: int32(g.IntN(4))}
				case 1:
					claim.Broken = map[string]int32{group.ID: int32(g.IntN(3))}
				}
			}
			joined, done, failed := naive.Returned(s, claim)
			r := policy.Returned(s, claim)
			require.Equal(t, []bool{joined, done, failed}, []bool{r.Joined, r.Done, r.Failed}, "joined, done, failed: %+v", claim)
			seen[fmt.Sprintf("joined %t, done %t, failed %t", joined, done, failed)]++
		}
	})
	t.Log(seen)
	require.Len(t, seen, 4)
}
