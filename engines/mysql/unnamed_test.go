package mysql

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMembersWithoutReportHost: a primary is not restarted where nobody could be told to
// follow any of the others.
func TestMembersWithoutReportHost(t *testing.T) {
	require.Empty(t, observation(fromPrimary()).Veto)
	v := fromPrimary()
	v.others[0].state.Unnamed = true
	require.Empty(t, observation(v).Veto, "the other one can be followed")
	v.others[1].state.Unnamed = true
	require.Contains(t, observation(v).Veto, "db-2 has no report_host, so that nobody can be told to follow it: its configuration must say")
	v.external = true
	require.Empty(t, observation(v).Veto, "another manager knows where they are")
	v = healthy()
	for _, m := range []*member{&v.self, &v.others[0], &v.others[1]} {
		m.state.Unnamed = true
	}
	require.Empty(t, observation(v).Veto, "nobody need follow a replica")
}
