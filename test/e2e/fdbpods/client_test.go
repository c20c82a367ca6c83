package fdbpods

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestJudge checks that a write counts as lost when what is there is older than what was acknowledged, or nothing.
func TestJudge(t *testing.T) {
	const ledger = "acknowledged c-1 1 1\nacknowledged c-2 2 3\nfailed c-3 3 Specified timeout reached\nacknowledged c-1 101 1\nacknowledged c-4 4 1\n"
	o, err := judge(ledger, "\nRange limited to 1000 keys\n`c-1' is `201'\n`c-2' is `2'\n`c-4' is `4'\n\n")
	require.NoError(t, err)
	require.Equal(t, Outcome{Acknowledged: 4, Again: 1, Failed: 1, Words: "failed c-3 3 Specified timeout reached"}, o)
	o, err = judge(ledger, "`c-1' is `1'\n`c-2' is `2'\n")
	require.NoError(t, err)
	require.Equal(t, 2, o.Lost)
	_, err = judge(ledger, "`c-1' is `x'\n")
	require.Error(t, err)
}
