package run

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A whole zone may be unavailable at least, also one that has grown.
func TestWholeZoneMayBeUnavailable(t *testing.T) {
	s := Scenario{Kind: ByZone, Pools: []Pool{{Replicas: 6, Start: 2}}}
	require.Equal(t, 2, s.maxUnavailable(1, 6))
	require.Equal(t, 3, s.maxUnavailable(1, 7), "db-2, db-5 and db-8")
	require.Equal(t, 5, s.maxUnavailable(5, 7))
	s.Kind = Sharded
	require.Equal(t, 1, s.maxUnavailable(1, 7))
	s.Kind = AtOnce
	require.Zero(t, s.maxUnavailable(5, 7), "before a person has approved")
}
