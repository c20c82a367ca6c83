package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// TestGeneratorReachesEveryRule measures the snapshots on which the properties and the twin are
// tested: each rule is the reason of a hold in at least one snapshot of a hundred, and in three of
// ten something goes.
func TestGeneratorReachesEveryRule(t *testing.T) {
	const least, leastSteps = 0.01, 0.30
	number, steps, holds := max(*snapshots, 5_000), 0, map[model.Rule]int{}
	for seed := range uint64(number) {
		p := Decide(newGenerator(seed).snapshot())
		steps += cluster.Count(len(p.Steps) > 0)
		seen := map[model.Rule]bool{}
		for _, h := range p.Holds {
			if !seen[h.Rule] {
				seen[h.Rule] = true
				holds[h.Rule]++
			}
		}
	}
	var table strings.Builder
	for _, r := range model.Rules() {
		fmt.Fprintf(&table, "\n%-16s %6.2f %%", r, 100*float64(holds[r])/float64(number))
	}
	t.Logf("of %d snapshots %.1f %% have steps; rules that are the reason of a hold, in snapshots:%s",
		number, 100*float64(steps)/float64(number), &table)
	for _, r := range model.Rules() {
		require.GreaterOrEqual(t, float64(holds[r]), least*float64(number), "too few snapshots are held by %s", r)
	}
	require.GreaterOrEqual(t, float64(steps), leastSteps*float64(number), "too few snapshots in which something goes")
}

// What the generator breaks is the reason why nothing goes.
func TestNonsenseIsNamed(t *testing.T) {
	broken := 0
	eachSnapshot(t, func(t *testing.T, g generator, s model.Snapshot) {
		p := Decide(s)
		if g.broken == "" {
			for _, h := range p.Holds {
				require.NotEqual(t, model.RuleBadInput, h.Rule, h.Reason)
			}
			return
		}
		broken++
		require.Empty(t, p.Steps)
		require.Equal(t, model.RuleBadInput, p.Holds[0].Rule)
		require.Contains(t, p.Holds[0].Reason, g.broken)
	})
	require.GreaterOrEqual(t, broken, *snapshots/1000)
}
