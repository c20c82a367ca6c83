package coordinator

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

func pods(n int) func(Key) (int, bool) {
	return func(Key) (int, bool) { return n, true }
}

func TestTheFleetNeverExceedsItsLimit(t *testing.T) {
	noted, freed := map[Key]int{{Name: "old"}: 1}, 0
	f := newFleet(3, func() map[Key]int { return noted }, pods(3), func() { freed++ })
	a, b, old := Key{Name: "a"}, Key{Name: "b"}, Key{Name: "old"}
	require.Equal(t, model.Fleet{Restarts: 1, Max: 3}, f.state(), "a claim counts before its session has spoken")

	require.True(t, f.grant(a, 1))
	require.True(t, f.grant(b, 1))
	require.False(t, f.grant(a, 2), "one of old, one of b")
	require.False(t, f.grant(old, 2))
	require.True(t, f.grant(old, 1), "the one that it has")
	require.Equal(t, 3, f.state().Restarts)

	f.noteClaims(b, 0, 3)
	require.Equal(t, 1, freed, "whoever waits is told")
	require.True(t, f.grant(a, 2))

	noted = map[Key]int{}
	f.forget(old)
	require.Equal(t, 2, freed)
	require.True(t, f.grant(a, 3))
}

func TestWithoutALimitEverythingIsGrantedAndCounted(t *testing.T) {
	f := newFleet(0, func() map[Key]int { return nil }, pods(9), func() { t.Fatal("nobody waits") })
	require.True(t, f.grant(Key{Name: "a"}, 1000))
	f.noteClaims(Key{Name: "a"}, 7, 9)
	f.noteClaims(Key{Name: "a"}, 5, 9)
	f.forget(Key{Name: "b"})
	require.Equal(t, model.Fleet{Restarts: 5}, f.state())
}

func TestSessionsThatAskAtOnceGetTheLimitTogether(t *testing.T) {
	f := newFleet(4, func() map[Key]int { return nil }, pods(9), func() {})
	var wait sync.WaitGroup
	var mu sync.Mutex
	granted := 0
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		wait.Go(func() {
			if f.grant(Key{Name: name}, 1) {
				mu.Lock()
				granted++
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	require.Equal(t, 4, granted)
}
