package enginetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// Group returns the group of the observation with this ID.
func Group(t testing.TB, o engines.Observation, id string) engines.Group {
	t.Helper()
	for _, g := range o.Groups {
		if g.ID == id {
			return g
		}
	}
	require.FailNow(t, "no group "+id)
	return engines.Group{}
}

// States returns the states of the group's members, by node.
func States(t testing.TB, o engines.Observation, id string) map[string]engines.MemberState {
	t.Helper()
	out := map[string]engines.MemberState{}
	for _, m := range Group(t, o, id).Members {
		require.NotContains(t, out, m.Node)
		out[m.Node] = m.State
	}
	return out
}
