package view

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/rollcall-dev/rollcall/coordinator/agents"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// FuzzJoin has one agent say anything at all, in its report and in its roster:
// the snapshot can be decided on and written down, and what the agent says does
// not make its own pod's neighbours look better than they say themselves.
func FuzzJoin(f *testing.F) {
	for _, r := range []*rollcallv1.Report{{}, reportOf(2), {Member: live, Groups: []*rollcallv1.Group{{}, {Id: "books/s1"}}}} {
		report, err := proto.Marshal(r)
		require.NoError(f, err)
		roster, err := proto.Marshal(&rollcallv1.Roster{Entries: []*rollcallv1.RosterEntry{
			{Headline: &rollcallv1.Headline{Pod: "search-1", PodUid: "u1", Member: live, Node: "x"}},
		}})
		require.NoError(f, err)
		f.Add(report, roster)
	}
	f.Fuzz(func(t *testing.T, report, roster []byte) {
		var r rollcallv1.Report
		var all rollcallv1.Roster
		if proto.Unmarshal(report, &r) != nil || proto.Unmarshal(roster, &all) != nil {
			return
		}
		late := noon.Add(-DefaultMaxAge - 1)
		in := made(observedAt(0, late), observedAt(1, late))
		in.Agents.Reports["u2"] = agents.Received{Report: &r, At: noon}
		in.Agents.Rosters = []agents.ReceivedRoster{{Pod: "search-2", UID: "u2", Roster: &all, At: noon}}
		s := Join(in)
		require.NotEqual(t, model.MembershipLive, s.Pods[0].Report.Member)
		require.NotEqual(t, model.MembershipLive, s.Pods[1].Report.Member)
		for _, step := range policy.Decide(s).Steps {
			require.Equal(t, "search-2", step.Pod, "nobody else has good news of itself")
		}
		_, err := json.Marshal(s)
		require.NoError(t, err)
	})
}
