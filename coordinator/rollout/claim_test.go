package rollout

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// A claim says when nobody could tell what was not Active on its pod: no pod had an agent, or
// none was live.
func TestAClaimSaysThatNobodyCouldTell(t *testing.T) {
	step := policy.Step{Pod: "db-1", UID: "u1", Action: policy.Restart}
	for name, c := range map[string]struct {
		reports []*policy.Report
		unseen  bool
	}{
		"no agents":             {reports: []*policy.Report{nil, nil}, unseen: true},
		"nobody live":           {reports: []*policy.Report{{Member: policy.NotLive}, nil}, unseen: true},
		"another can tell":      {reports: []*policy.Report{{Member: policy.Live}, nil}},
		"it can tell by itself": {reports: []*policy.Report{nil, {Member: policy.Live}}},
	} {
		s := policy.Snapshot{Pods: []policy.Pod{{Name: "db-0", Report: c.reports[0]}, {Name: "db-1", Report: c.reports[1]}}}
		require.Equal(t, c.unseen, newClaim(1, s, step).Unseen, name)
	}
}

// At the barrier it is known who was claimed before its turn.
func TestAClaimSaysWhetherItsPodWentBeforeItsTurn(t *testing.T) {
	for _, early := range []bool{false, true} {
		require.Equal(t, early, newClaim(1, policy.Snapshot{}, policy.Step{Pod: "db-1", BeforeTurn: early}).BeforeTurn)
	}
}
