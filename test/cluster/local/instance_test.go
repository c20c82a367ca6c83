package local

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/cluster/plan"
)

func newRegistry(t *testing.T, taken ...int) registry {
	return registry{dir: t.TempDir(), free: func(p plan.Plan) bool { return !slices.Contains(taken, p.Instance) }}
}

func TestClaimGivesEveryClusterItsOwnNumber(t *testing.T) {
	r := newRegistry(t, 1)
	a, b := t.TempDir(), t.TempDir()
	claim := func(dir string, had *record) int {
		i, err := r.claim(t.Context(), dir, had, "x")
		require.NoError(t, err)
		return i
	}
	require.Equal(t, 0, claim(a, nil))
	require.Equal(t, 2, claim(b, nil), "1 is used by something else on the machine")
	require.Equal(t, 0, claim(a, nil), "claimed before its record was written")
	require.Equal(t, 2, claim(b, &record{Instance: 2}))

	require.NoError(t, r.release(0))
	require.NoError(t, r.release(0), "twice is fine")
	require.Equal(t, 0, claim(t.TempDir(), nil))
}

func TestClaimDoesNotShareANumberAfterARestart(t *testing.T) {
	r := newRegistry(t) // empty, as after a restart of the machine
	a, b := t.TempDir(), t.TempDir()
	_, err := r.claim(t.Context(), a, &record{Instance: 4}, "x")
	require.NoError(t, err)
	_, err = r.claim(t.Context(), b, &record{Instance: 4}, "x")
	require.ErrorContains(t, err, a)

	require.NoError(t, os.RemoveAll(a))
	_, err = r.claim(t.Context(), b, &record{Instance: 4}, "x")
	require.NoError(t, err, "a folder that is gone owns nothing")
}

func TestClaimEndsWithTheNumbers(t *testing.T) {
	var all []int
	for i := range plan.MaxInstances {
		all = append(all, i)
	}
	_, err := newRegistry(t, all...).claim(t.Context(), t.TempDir(), nil, "x")
	require.ErrorContains(t, err, "all 10 numbers are in use")
}

func TestRecord(t *testing.T) {
	dir := t.TempDir()
	_, found, err := readRecord(dir)
	require.NoError(t, err)
	require.False(t, found)
	require.NoError(t, record{3, "x", 5}.write(dir))
	r, found, err := readRecord(dir)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, record{3, "x", 5}, r)
	require.NoError(t, os.WriteFile(filepath.Join(dir, recordFile), []byte("?"), 0o644))
	_, _, err = readRecord(dir)
	require.ErrorContains(t, err, recordFile)
}
