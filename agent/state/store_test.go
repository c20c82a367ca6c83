package state

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
	s := Store{dir, "uid-1"}
	_, mine, err := s.LoadStop()
	require.NoError(t, err)
	require.False(t, mine)
	require.True(t, s.FirstOfPod())

	want := Stop{Undo: [][]byte{{0, 255}, []byte("x")}, Started: time.Now().UTC().Truncate(time.Second), Grace: time.Minute}
	require.NoError(t, s.SaveStop(want))
	got, mine, err := s.LoadStop()
	require.NoError(t, err)
	require.True(t, mine)
	want.PodUID = "uid-1"
	require.Equal(t, want, got)

	// A directory that is kept beyond the pod, against what it is for.
	_, mine, err = Store{dir, "uid-2"}.LoadStop()
	require.NoError(t, err)
	require.False(t, mine)

	require.NoError(t, s.MarkPod())
	require.False(t, s.FirstOfPod())
	require.True(t, Store{dir, "uid-2"}.FirstOfPod())
	require.NoError(t, s.ClearStop())
	require.NoError(t, s.ClearStop())
	_, mine, _ = s.LoadStop()
	require.False(t, mine)

	require.NoError(t, os.WriteFile(filepath.Join(dir, stopFile), []byte("{"), 0o600))
	_, mine, err = s.LoadStop()
	require.ErrorContains(t, err, "stop.json")
	require.False(t, mine)
	require.Error(t, Store{filepath.Join(dir, "nowhere"), "u"}.SaveStop(want))
}

func TestStoreOfAClaim(t *testing.T) {
	dir := t.TempDir()
	s := Store{dir, "uid-1"}
	_, mine, err := s.LoadClaim()
	require.NoError(t, err)
	require.False(t, mine)
	want := Claim{
		ClusterUID: "u", Claim: "c", Epoch: 4, Kind: engines.Handoff, Eligible: []string{"b"}, Undo: []byte{0, 255},
		Until: &BootTime{"b", time.Hour}, Drained: true, Undoing: true, Restoring: true, Undone: true,
	}
	require.NoError(t, s.SaveClaim(want))
	got, mine, err := s.LoadClaim()
	require.NoError(t, err)
	require.True(t, mine)
	want.PodUID = "uid-1"
	require.Equal(t, want, got)
	_, mine, err = Store{dir, "uid-2"}.LoadClaim()
	require.NoError(t, err)
	require.False(t, mine)
	_, mine, err = s.LoadStop()
	require.NoError(t, err)
	require.False(t, mine, "the stop hook's is another")
	require.NoError(t, s.ClearClaim())
	require.NoError(t, s.ClearClaim())
	_, mine, _ = s.LoadClaim()
	require.False(t, mine)
}

func TestNoStore(t *testing.T) {
	s := Store{}
	require.NoError(t, s.SaveStop(Stop{}))
	require.NoError(t, s.SaveClaim(Claim{}))
	_, kept, err := s.LoadClaim()
	require.NoError(t, err)
	require.False(t, kept)
	require.NoError(t, s.ClearStop())
	require.NoError(t, s.MarkPod())
	_, mine, err := s.LoadStop()
	require.NoError(t, err)
	require.False(t, mine)
	require.False(t, s.FirstOfPod(), "what is not known permits nothing")
}
