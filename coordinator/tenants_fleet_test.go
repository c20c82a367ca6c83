package coordinator

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The status of a DatabaseCluster that is never led, for instance because nobody can list its
// pods, is what a tenant has written there: it has no pod, and takes no restart from others.
func TestClaimsThatNobodyLeadsTakeNotTheWholeFleet(t *testing.T) {
	hostile, honest := Key{Namespace: "tenant", Name: "x"}, Key{Namespace: "prod", Name: "search"}
	f := newFleet(5, func() map[Key]int { return map[Key]int{hostile: 1000} }, func() {})
	require.True(t, f.grant(honest, 1))
}
