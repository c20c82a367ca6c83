package view

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rollcall-dev/rollcall/coordinator/agents"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// shuffled is the input with all that has no order in another one: pods, rosters and what
// is in them, and the groups, members and nodes of each report.
func shuffled(in Input) Input {
	in.Kube.Pods = mixed(in.Kube.Pods)
	in.Agents.Rosters = mixed(in.Agents.Rosters)
	for i := range in.Agents.Rosters {
		roster := proto.CloneOf(in.Agents.Rosters[i].Roster)
		roster.Entries = mixed(roster.GetEntries())
		in.Agents.Rosters[i].Roster = roster
	}
	reports := map[string]agents.Received{}
	for uid, received := range in.Agents.Reports {
		received.Report = proto.CloneOf(received.Report)
		received.Report.Nodes, received.Report.Groups = mixed(received.Report.GetNodes()), mixed(received.Report.GetGroups())
		for _, g := range received.Report.GetGroups() {
			g.Members = mixed(g.GetMembers())
		}
		reports[uid] = received
	}
	in.Agents.Reports = reports
	return in
}

func mixed[T any](list []T) []T {
	list = slices.Clone(list)
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// Many groups come out the same, too, whoever tells of them first.
func TestTheOrderOfTheInputChangesNothing(t *testing.T) {
	in := big(9)
	var all []*rollcallv1.Group
	for _, received := range in.Agents.Reports {
		all = append(all, received.Report.GetGroups()...)
	}
	for _, received := range in.Agents.Reports { // each tells of all
		received.Report.Groups = slices.Clone(all)
	}
	want, err := json.Marshal(Join(in))
	require.NoError(t, err)
	for range 20 {
		got, err := json.Marshal(Join(shuffled(in)))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	}
}

func TestSnapshotIsValidAndSurvivesJSON(t *testing.T) {
	for _, phase := range []kube.Phase{kube.Pending, kube.NotStarted, kube.Started, kube.Ready, kube.Terminating, kube.Failed} {
		s := Join(made(editPod(0, func(p *kube.Pod) { p.Phase = phase })))
		require.Empty(t, model.Validate(&s), "phase %v", phase)
	}
	in := made(noAgent(2), says(0, func(r *rollcallv1.Report) { r.SettledFor = durationpb.New(0) }), missing(1))
	s := Join(in)
	require.Empty(t, model.Validate(&s))
	data, err := json.Marshal(s)
	require.NoError(t, err)
	again, err := model.Decode(data)
	require.NoError(t, err)
	require.Equal(t, summary(s), summary(again))
	second, err := json.Marshal(again)
	require.NoError(t, err)
	require.JSONEq(t, string(data), string(second))
	require.Equal(t, policy.Decide(s), policy.Decide(again))
}

// Join changes nothing of what it is given, and what it gives shares nothing that
// the next decision could change.
func TestJoinLeavesItsInput(t *testing.T) {
	given := func() Input {
		return made(says(0, func(r *rollcallv1.Report) { r.Roles, r.After = []string{"r"}, []string{"search-1"} }), func(in *Input) {
			in.Kube.Cluster.Status.Claims = []model.Claim{{ID: "c1", Groups: map[string]int32{"g": 1}}}
			in.Known = []model.Group{{ID: "old", Kind: model.GroupShard, Members: []model.Member{{ID: "core9", Pod: "search-2", State: model.MemberActive, Leader: true}}}}
		}, noReport(2))
	}
	in := given()
	s := Join(in)
	require.Equal(t, given(), in)
	require.Len(t, s.Groups, 2)
	s.Cluster.Status.Claims[0].Groups["g"] = 9
	s.Pods[0].Report.Roles[0], s.Pods[0].Report.After[0] = "x", "x"
	for _, g := range s.Groups {
		g.Members[0].ID = "x"
	}
	require.Equal(t, given(), in)
}
