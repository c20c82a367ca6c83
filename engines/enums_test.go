package engines_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// TestEnumsDefaultToUnknown checks that the zero value of every enum is Unknown, and that a value
// out of range is too.
func TestEnumsDefaultToUnknown(t *testing.T) {
	for _, e := range []fmt.Stringer{
		engines.KindUnknown, engines.ProgressUnknown, engines.MembershipUnknown, engines.GroupUnknown, engines.MemberUnknown, engines.VerdictUnknown, engines.TopologyUnknown, engines.PrimaryUnknown,
		engines.Kind(99), engines.ProgressState(99), engines.Membership(99), engines.GroupKind(99), engines.MemberState(99), engines.Verdict(99), engines.Topology(99), engines.Primary(99),
	} {
		require.Equal(t, "Unknown", e.String())
	}
	require.Equal(t, "Evacuate Refused NotLive Role Down Red SingleServer RestartInPlace", fmt.Sprint(
		engines.Evacuate, engines.ProgressRefused, engines.MembershipNotLive, engines.GroupRole, engines.MemberDown, engines.VerdictRed, engines.SingleServer, engines.RestartInPlace))
}

func TestGroupHas(t *testing.T) {
	g := engines.Group{Members: []engines.Member{{Node: "a"}, {Node: "b"}}}
	require.True(t, g.Has("b"))
	require.False(t, g.Has("c"))
	require.False(t, engines.Group{}.Has(""))
}
