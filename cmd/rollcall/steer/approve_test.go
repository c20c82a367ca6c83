package steer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

func TestAddApprovals(t *testing.T) {
	now := time.Now()
	have, added := addApprovals(nil, model.ApprovedAdopt, []string{"v1", "v2"}, "ada", now)
	require.Equal(t, 2, added)
	have, added = addApprovals(have, model.ApprovedAdopt, []string{"v2", "v3"}, "ada", now)
	require.Equal(t, 1, added)
	_, added = addApprovals(have, model.ApprovedLeader, []string{"v2"}, "ada", now)
	require.Equal(t, 1, added, "an approval is of one thing")
	have, _ = addApprovals(have, model.ApprovedAdopt, []string{""}, "ada", now)
	_, added = addApprovals(have, model.ApprovedAdopt, []string{"v9"}, "ada", now)
	require.Zero(t, added, "any revision covers all")

	for i := range 300 {
		have, _ = addApprovals(have, model.ApprovedCanary, []string{string(rune('a' + i))}, "ada", now)
	}
	require.Len(t, have, maxApprovals)
}
