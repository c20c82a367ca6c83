package mysql

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMembersWithoutReportHostTakeNothingOver: nobody could be told to follow them.
func TestMembersWithoutReportHostTakeNothingOver(t *testing.T) {
	v := seen()
	v.others[0].state.Unnamed = true
	a := next(v)
	require.Equal(t, start, a.deed, "the other one can take over: "+a.words)
	v.others[1].state.Unnamed = true
	a = next(v)
	require.Equal(t, wait, a.deed)
	require.Contains(t, a.words, "db-1 has no report_host, so that nobody can be told to follow it")
}
