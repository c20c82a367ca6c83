package agent

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Keys that change while gossip cannot start are the keys of the next attempt.
func TestNextMeshHasTheKeysOfThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
		k := newMeshKeeper(0, slog.New(slog.DiscardHandler))
		var seen [][]byte
		k.start(t.Context(), [][]byte{first}, func(keys [][]byte) (Mesh, error) {
			seen = append(seen, keys[0])
			return nil, errors.New("address in use")
		})
		synctest.Wait()
		require.NoError(t, k.rekey([][]byte{second}))
		time.Sleep(firstMeshPause)
		synctest.Wait()
		k.stop()
		require.Equal(t, [][]byte{first, second}, seen)
	})
}
