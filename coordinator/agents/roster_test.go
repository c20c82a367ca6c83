package agents

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// A roster that only counts something up is no reason to decide again.
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
		"drain":    func(r *rollcallv1.Roster) { r.Entries[0].Headline.Drain = rollcallv1.Drain_DRAIN_DRAINED },
		"the role": func(r *rollcallv1.Roster) { r.Entries[0].Headline.Roles = []string{"overseer"} },
	} {
		now := roster(change)
		require.False(t, proto.Equal(was, now), name)
		require.False(t, sameRoster(was, now), name)
	}
}

// An agent that hangs may have a kernel that answers for it.
func TestWitnessThatFallsSilentIsReplaced(t *testing.T) {
	for name, after := range map[string]time.Duration{"from the beginning": 0, "later": time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := start(t, func(o *Options) { o.Witnesses = 1 })
				f := newFakeAgent("search-0", "u0")
				f.hang = after == 0
				h.serve(zero.IP, search, f)
				one := Target{Pod: "search-1", UID: "u1", IP: "10.0.0.2", Zone: "z1"}
				h.serve(one.IP, search, newFakeAgent("search-1", "u1"))
				idle := following(zero, one)
				idle.Reports = false
				h.Follow(search, idle)
				if after > 0 {
					time.Sleep(after)
					require.Equal(t, []string{"search-0"}, podsOf(h.State(search).Rosters), "it speaks")
					f.say(func(*rollcallv1.Report) { f.hang = true })
				}
				time.Sleep(20 * time.Second)
				require.Equal(t, []string{"search-1"}, podsOf(h.State(search).Rosters))
			})
		})
	}
}
