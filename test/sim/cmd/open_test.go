package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOpenFaults(t *testing.T) {
	list, err := open(openFaults)
	require.NoError(t, err)
	for seed, invariant := range list {
		require.NotZero(t, seed)
		require.Regexp(t, `^[ILV]\d+$`, invariant)
	}
	_, err = open("x L1 words")
	require.ErrorContains(t, err, "line 1")
	_, err = open("7 L1")
	require.ErrorContains(t, err, "what is known")

	list, err = open("# words\n7 L1 it stands\n8 L1 it stands\n9 L1 it stands\n99 L1 not run\n")
	require.NoError(t, err)
	known, fresh, whole := stillOpen(map[uint64]string{7: "L1 at 15m: x", 8: "I1 at 3s: x", 10: "L1 at 15m: x", 11: "L11 at 1s"}, 1, 20, list)
	require.Equal(t, []uint64{7}, known)
	require.Equal(t, []uint64{8, 10, 11}, fresh, "another invariant, and those that nobody knows")
	require.Equal(t, []string{"9"}, whole)
}
