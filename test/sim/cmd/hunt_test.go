package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/sim/oracle"
)

func TestOrder(t *testing.T) {
	require.Equal(t, []uint64{1, 2, 3}, order(0, 3))
	require.Equal(t, []uint64{2, 1, 3}, order(2, 3))
	require.Equal(t, []uint64{9, 1, 2, 3}, order(9, 3))
	require.Equal(t, []uint64{9}, order(9, 0))
}

func TestNoticed(t *testing.T) {
	p := prey{finds: " I1 I11 "}
	require.True(t, p.noticed(oracle.Break{Invariant: "I1"}))
	require.True(t, p.noticed(oracle.Break{Invariant: "I11"}))
	require.False(t, p.noticed(oracle.Break{Invariant: "I10"}))
	require.False(t, p.noticed(oracle.Break{Invariant: "L1"}))
}

// Every bug has a name of its own, a seed that finds it, and only invariants that there are;
// every invariant is one by which some bug may be noticed, and every seed is one of a bug.
func TestEveryBugHasItsSeed(t *testing.T) {
	all, err := allPrey()
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(all), 60)
	seeds, err := parseSeeds(seedList)
	require.NoError(t, err)
	names, may := map[string]bool{}, map[string]bool{}
	for _, p := range all {
		require.False(t, names[p.name], "two bugs are named %s", p.name)
		require.Positive(t, seeds[p.name], "no seed is known to find: %s", p.name)
		names[p.name] = true
		for invariant := range strings.FieldsSeq(p.finds) {
			may[invariant] = true
		}
	}
	for name := range seeds {
		require.True(t, names[name], "seeds.txt names a bug that there is not: %s", name)
	}
	for _, i := range oracle.Invariants {
		require.True(t, may[i.Name], "no bug may be noticed by %s", i.Name)
		delete(may, i.Name)
	}
	require.Empty(t, may, "not in the oracle's list")
	again, err := parseSeeds(writeSeeds(all, seeds))
	require.NoError(t, err)
	require.Equal(t, seeds, again)
}

func TestSeedsThatAreNone(t *testing.T) {
	for _, text := range []string{"", "  a bug", "12", "0 a bug", "12 a bug\n\n13 another"} {
		_, err := parseSeeds(text)
		require.Error(t, err, "%q", text)
	}
}

func TestInfect(t *testing.T) {
	defer planted("")
	o, err := infect("nobody ever goes")
	require.NoError(t, err)
	require.Equal(t, "nobody ever goes", o.Bug.Name)
	o, err = infect("one pod more")
	require.NoError(t, err)
	require.Nil(t, o.Bug)
	require.False(t, o.Replace)
	o, err = infect("what was called empty gets data again")
	require.NoError(t, err)
	require.True(t, o.Replace, "it shows where pods are replaced")
	_, err = infect("one pod m")
	require.Error(t, err)
}
