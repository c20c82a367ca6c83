package rollout

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// A claim says that nobody knew what was not Active on its pod: no pod had an agent, or none was
// live.
func TestClaimSaysThatNobodyKnew(t *testing.T) {
	step := model.Step{Pod: "db-1", UID: "u1", Action: model.ActionRestart}
	for name, c := range map[string]struct {
		reports []*model.Report
		unseen  bool
	}{
		"no agents":             {reports: []*model.Report{nil, nil}, unseen: true},
		"nobody live":           {reports: []*model.Report{{Member: model.MembershipNotLive}, nil}, unseen: true},
		"another can tell":      {reports: []*model.Report{{Member: model.MembershipLive}, nil}},
		"it can tell by itself": {reports: []*model.Report{nil, {Member: model.MembershipLive}}},
	} {
		s := model.Snapshot{Pods: []model.Pod{{Name: "db-0", Report: c.reports[0]}, {Name: "db-1", Report: c.reports[1]}}}
		require.Equal(t, c.unseen, newClaim(1, s, step).Unseen, name)
	}
}

// At the barrier it is known which pod was claimed before its turn.
func TestClaimRecordsGoingOutOfOrder(t *testing.T) {
	for _, early := range []bool{false, true} {
		require.Equal(t, early, newClaim(1, model.Snapshot{}, model.Step{Pod: "db-1", BeforeTurn: early}).BeforeTurn)
	}
}
