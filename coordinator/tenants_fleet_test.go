package coordinator

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The status of a DatabaseCluster that is never led, for instance because nobody can list its
// pods, is what a tenant has written there: it has no pod, and takes no restart from others.
func TestClaimsWithoutALeaderLeaveRoomInTheFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hostile, empty, honest := Key{Namespace: "tenant", Name: "x"}, Key{Namespace: "tenant", Name: "y"}, Key{Namespace: "prod", Name: "search"}
		claims := map[Key]int{hostile: 1000, empty: 1000}
		away := func(key Key) (int, bool) { return map[Key]int{empty: 1}[key], key == empty }
		f := newFleet(5, func() map[Key]int { return claims }, away, func() {})
		require.False(t, f.grant(honest, 1), "pods that are listed late may be unavailable")
		time.Sleep(listedWithin)
		require.True(t, f.grant(honest, 4))
		require.False(t, f.grant(honest, 5), "one may be on its way of the StatefulSet without pods")
		claims = nil
		f.noteClaims(hostile, 1000, 2)
		require.True(t, f.grant(honest, 3))
		require.False(t, f.grant(honest, 4), "it has two pods")
		f.noteClaims(hostile, 1000, 1)
		require.False(t, f.grant(honest, 4), "of which one is unavailable")
	})
}
