package peers

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestNextMeshHasTheKeysOfThen checks that the next attempt to start gossip uses the keys of that
// time.
func TestNextMeshHasTheKeysOfThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
		k := NewKeeper(0, slog.New(slog.DiscardHandler))
		var seen [][]byte
		k.Start(t.Context(), [][]byte{first}, func(keys [][]byte) (Mesh, error) {
			seen = append(seen, keys[0])
			return nil, errors.New("address in use")
		})
		synctest.Wait()
		require.NoError(t, k.Rekey([][]byte{second}))
		time.Sleep(firstMeshPause)
		synctest.Wait()
		k.Stop()
		require.Equal(t, [][]byte{first, second}, seen)
	})
}

// TestPeersAreNotWaitedForForEver checks that orders are accepted after syncTimeout without any
// peers.
func TestPeersAreNotWaitedForForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := NewKeeper(time.Hour, slog.New(slog.DiscardHandler))
		require.False(t, k.Heard(), "it has not begun to wait")
		k.Start(t.Context(), nil, func([][]byte) (Mesh, error) { return nil, errors.New("address in use") })
		defer k.Stop()
		time.Sleep(time.Hour - time.Nanosecond)
		require.False(t, k.Heard())
		time.Sleep(time.Nanosecond)
		require.True(t, k.Heard(), "it has waited long enough")
	})
}
