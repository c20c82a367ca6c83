package policy_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/coordinator/policy/naive"
)

// twinNumber is on how many snapshots the twin must agree.
func twinNumber(t *testing.T) int {
	text := os.Getenv("ROLLCALL_TWIN")
	if text == "" {
		return policy.Snapshots()
	}
	number, err := strconv.Atoi(text)
	require.NoError(t, err, "ROLLCALL_TWIN")
	return number
}

// TestNaiveTwinAgrees on which pods should go, in which order, what is done to those that go, which
// rule and group hold each of the others and the whole cluster, what is unavailable, how the
// partitions move, and the phase.
func TestNaiveTwinAgrees(t *testing.T) {
	number, parts := twinNumber(t), runtime.GOMAXPROCS(0)
	for part := range parts {
		t.Run(fmt.Sprintf("%d of %d", part+1, parts), func(t *testing.T) {
			t.Parallel()
			policy.SomeSnapshots(t, number, part, parts, func(t *testing.T, g policy.Generator, s model.Snapshot) {
				want, got := naive.Decide(s), told(policy.Decide(s))
				if nothingCanBeCounted(g) {
					want, got = onlyHolds(want), onlyHolds(got)
				}
				require.Equal(t, want, got)
			})
		})
	}
}

// TestNaiveTwinAgreesOnTheScripts, which have what no random snapshot has. They are asked in the
// order: the twin knows no other sequence.
func TestNaiveTwinAgreesOnTheScripts(t *testing.T) {
	for name, s := range policy.GoldenSnapshots(t) {
		t.Run(name, func(t *testing.T) {
			s.Cluster.Spec.Update.Schedule = model.Ordered
			require.Equal(t, naive.Decide(s), told(policy.Decide(s)))
			for _, claim := range s.Cluster.Status.Claims {
				requireRechecked(t, s, claim.Pod)
			}
		})
	}
}

// Both agree on which pods go with a broken pod of a pool that is driven by the partition,
// especially in an OrderedReady one.
func TestNaiveTwinAgreesOnCorrectionsBelowThePartition(t *testing.T) {
	together, two := 0, 0
	policy.SomeSnapshots(t, twinNumber(t), 0, 1, func(t *testing.T, g policy.Generator, s model.Snapshot) {
		if g.Broken() != "" {
			return
		}
		g.BrokenBelow(&s)
		plan := told(policy.Decide(s))
		require.Equal(t, naive.Decide(s), plan)
		others, broken := goTogether(s, plan.Steps)
		together += min(others, 1)
		two += max(min(broken, 2)-1, 0)
	})
	t.Logf("in an OrderedReady pool others go with a correction in %d snapshots, of two that are broken in %d", together, two)
	require.NotZero(t, together)
	require.NotZero(t, two)
}

// goTogether counts the pods of an OrderedReady pool that are freed with a broken one below them, and the broken ones of
// such a pool that are freed at once.
func goTogether(s model.Snapshot, steps []model.Step) (others, broken int) {
	for _, pool := range s.Pools {
		var here, outside int
		for _, step := range steps {
			if pool.Management != model.ManagementOrderedReady || step.Action != model.ActionLowerPartition || !strings.HasPrefix(step.Pod, pool.Name+"-") {
				continue
			}
			here++
			if step.OutsideBudget {
				outside++
			}
		}
		if outside > 0 {
			others, broken = max(others, here-outside), max(broken, outside)
		}
	}
	return others, broken
}

// nothingCanBeCounted reports whether all that can be said is that nothing goes: there is no time,
// a number of replicas makes no sense, two pools have the same name, or a pod has no pool.
func nothingCanBeCounted(g policy.Generator) bool {
	twoPools := strings.HasPrefix(g.Broken(), "pools[") && strings.HasSuffix(g.Broken(), "].name")
	return g.Broken() == "now" || strings.HasSuffix(g.Broken(), "].replicas") || strings.HasSuffix(g.Broken(), "].pool") || twoPools
}

func onlyHolds(v naive.Verdict) naive.Verdict {
	return naive.Verdict{Steps: v.Steps, Holds: v.Holds[:1]}
}

// told returns what two implementations must agree on: everything but the texts.
func told(p model.Plan) naive.Verdict {
	v := naive.Verdict{Phase: p.Phase, Budget: p.Budget, Order: p.Order}
	for _, step := range p.Steps {
		step.Notes = nil
		v.Steps = append(v.Steps, step)
	}
	for _, h := range p.Holds {
		v.Holds = append(v.Holds, model.Hold{Pod: h.Pod, Rule: h.Rule, Group: h.Group})
	}
	for _, l := range p.Lines {
		v.Lines = append(v.Lines, model.Line{Pool: l.Pool, Partition: l.Partition})
	}
	return v
}
