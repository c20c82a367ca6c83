package state

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is in the state's directory may be of another version, or half of a file.
func FuzzState(f *testing.F) {
	f.Add([]byte(`{"podUID":"uid","clusterUID":"c","claim":"rc1","epoch":3,"undo":"eA==","until":{"boot":"b","since":5}}`))
	f.Add([]byte(`{"podUID":"uid","undo":["eA=="],"grace":1}`))
	f.Add([]byte(`{"podUID":"uid-2"}`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := Store{t.TempDir(), "uid"}
		for _, name := range []string{stopFile, claimFile} {
			require.NoError(t, os.WriteFile(filepath.Join(s.Dir, name), data, 0o600))
		}
		stopped, mine, err := s.LoadStop()
		if err != nil && mine {
			t.Fatalf("%+v is unreadable, and taken: %v", stopped, err)
		}
		claimed, mine, err := s.LoadClaim()
		if err != nil && mine || mine && claimed.PodUID != s.PodUID {
			t.Fatalf("%+v is not ours, and taken: %v", claimed, err)
		}
	})
}
