package agents

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// A roster that only counts something up is no reason to decide anew.
func TestSameRoster(t *testing.T) {
	roster := func(change func(*rollcallv1.Roster)) *rollcallv1.Roster {
		r := &rollcallv1.Roster{Sequence: 7, Synced: true, Entries: []*rollcallv1.RosterEntry{
			{Headline: &rollcallv1.Headline{Pod: "s-0", PodUid: "u0", Incarnation: 1, Sequence: 3, Epoch: 2, Node: "n0"}},
			{Headline: &rollcallv1.Headline{Pod: "s-1", PodUid: "u1", Incarnation: 1, Sequence: 3, Epoch: 2, Node: "n1"}},
		}}
		change(r)
		return r
	}
	was := roster(func(*rollcallv1.Roster) {})
	require.False(t, sameRoster(nil, was), "the first one is news")
	for name, change := range map[string]func(*rollcallv1.Roster){
		"sequence": func(r *rollcallv1.Roster) { r.Sequence++ },
		"headline": func(r *rollcallv1.Roster) { r.Entries[0].Headline.Sequence++ },
		"age":      func(r *rollcallv1.Roster) { r.Entries[0].Since = durationpb.New(5) },
		"digest":   func(r *rollcallv1.Roster) { r.Entries[1].Headline.Digest = 9 },
		"count":    func(r *rollcallv1.Roster) { r.Entries[1].Headline.Alive = 3 },
	} {
		require.True(t, sameRoster(was, roster(change)), name)
	}
	dead := rollcallv1.Liveness_LIVENESS_DEAD
	for name, change := range map[string]func(*rollcallv1.Roster){
		"synced":   func(r *rollcallv1.Roster) { r.Synced = false },
		"gone":     func(r *rollcallv1.Roster) { r.Entries = r.Entries[:1] },
		"dead":     func(r *rollcallv1.Roster) { r.Entries[0].Liveness = dead },
		"another":  func(r *rollcallv1.Roster) { r.Entries[0].Headline.PodUid = "u2" },
		"restart":  func(r *rollcallv1.Roster) { r.Entries[0].Headline.Incarnation++ },
		"epoch":    func(r *rollcallv1.Roster) { r.Entries[0].Headline.Epoch++ },
		"node":     func(r *rollcallv1.Roster) { r.Entries[0].Headline.Node = "n9" },
		"member":   func(r *rollcallv1.Roster) { r.Entries[0].Headline.Member = rollcallv1.Membership_MEMBERSHIP_LIVE },
		"verdict":  func(r *rollcallv1.Roster) { r.Entries[0].Headline.Verdict = rollcallv1.Verdict_VERDICT_RED },
		"drain":    func(r *rollcallv1.Roster) { r.Entries[0].Headline.Drain = rollcallv1.Drain_DRAIN_PREPARED },
		"the role": func(r *rollcallv1.Roster) { r.Entries[0].Headline.Roles = []string{"overseer"} },
	} {
		now := roster(change)
		require.False(t, proto.Equal(was, now), name)
		require.False(t, sameRoster(was, now), name)
	}
}
