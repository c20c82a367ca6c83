package agent

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

func TestStore(t *testing.T) {
	dir := t.TempDir()
	s := store{dir, "uid-1"}
	_, mine, err := s.load()
	require.NoError(t, err)
	require.False(t, mine)
	require.True(t, s.firstOfPod())

	want := record{Undo: [][]byte{{0, 255}, []byte("x")}, Started: time.Now().UTC().Truncate(time.Second), Grace: time.Minute}
	require.NoError(t, s.save(want))
	got, mine, err := s.load()
	require.NoError(t, err)
	require.True(t, mine)
	want.PodUID = "uid-1"
	require.Equal(t, want, got)

	// A directory that is kept beyond the pod, against what it is for.
	_, mine, err = store{dir, "uid-2"}.load()
	require.NoError(t, err)
	require.False(t, mine)

	require.NoError(t, s.markPod())
	require.False(t, s.firstOfPod())
	require.True(t, store{dir, "uid-2"}.firstOfPod())
	require.NoError(t, s.clear())
	require.NoError(t, s.clear())
	_, mine, _ = s.load()
	require.False(t, mine)

	require.NoError(t, os.WriteFile(filepath.Join(dir, recordFile), []byte("{"), 0o600))
	_, mine, err = s.load()
	require.ErrorContains(t, err, "stop.json")
	require.False(t, mine)
	require.Error(t, store{filepath.Join(dir, "nowhere"), "u"}.save(want))
}

func TestStoreOfAClaim(t *testing.T) {
	dir := t.TempDir()
	s := store{dir, "uid-1"}
	_, mine, err := s.loadClaim()
	require.NoError(t, err)
	require.False(t, mine)
	want := claimRecord{
		ClusterUID: "u", Claim: "c", Epoch: 4, Kind: engines.Handoff, Eligible: []string{"b"}, Undo: []byte{0, 255},
		Until: &bootTime{"b", time.Hour}, Reached: true, Resting: true, Restored: true, Rested: true,
	}
	require.NoError(t, s.saveClaim(want))
	got, mine, err := s.loadClaim()
	require.NoError(t, err)
	require.True(t, mine)
	want.PodUID = "uid-1"
	require.Equal(t, want, got)
	_, mine, err = store{dir, "uid-2"}.loadClaim()
	require.NoError(t, err)
	require.False(t, mine)
	_, mine, err = s.load()
	require.NoError(t, err)
	require.False(t, mine, "the stop hook's is another")
	require.NoError(t, s.clearClaim())
	require.NoError(t, s.clearClaim())
	_, mine, _ = s.loadClaim()
	require.False(t, mine)
}

func TestNoStore(t *testing.T) {
	s := store{}
	require.NoError(t, s.save(record{}))
	require.NoError(t, s.saveClaim(claimRecord{}))
	_, kept, err := s.loadClaim()
	require.NoError(t, err)
	require.False(t, kept)
	require.NoError(t, s.clear())
	require.NoError(t, s.markPod())
	_, mine, err := s.load()
	require.NoError(t, err)
	require.False(t, mine)
	require.False(t, s.firstOfPod(), "what is not known permits nothing")
}
