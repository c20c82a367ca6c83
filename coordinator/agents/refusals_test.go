package agents

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rollcall-dev/rollcall/agent/door"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// What an agent has refused comes with its report, under its own pod's name only; what it sent and
// was refused is told beside it; both bounded.
func TestRefusalsReachPeople(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, nil)
		f := newFakeAgent("search-0", "u0")
		h.serve(zero.IP, search, f)
		h.Follow(search, following(zero))
		time.Sleep(time.Second)
		require.Empty(t, h.Refusals(search))
		f.say(func(r *rollcallv1.Report) {
			r.Refusals = []*rollcallv1.Refusal{{
				Pod: "another-0", What: "gossip: key", Count: 7, From: "x" + strings.Repeat("ä", 40),
				Since: durationpb.New(time.Minute), Last: durationpb.New(time.Second),
			}}
		})
		time.Sleep(time.Second)
		told := h.Refusals(search)
		require.Len(t, told, 1)
		require.Equal(t, "search-0", told[0].GetPod())
		require.Equal(t, "gossip: key", told[0].GetWhat())
		require.EqualValues(t, 7, told[0].GetCount())
		_, err := proto.Marshal(told[0])
		require.NoError(t, err, "a word that is cut off is a word all the same")
		require.LessOrEqual(t, len(told[0].GetFrom()), door.MaxOrigin)

		f.say(func(r *rollcallv1.Report) { r.Roles = make([]string, 1000) })
		time.Sleep(time.Second)
		told = h.Refusals(search)
		require.Equal(t, "message: count", told[0].GetWhat())
		require.Equal(t, zero.IP, told[0].GetFrom())
		require.Empty(t, h.Refusals(orders), "nor is it told of another database")

		f.say(func(r *rollcallv1.Report) {
			r.Roles, r.Refusals = nil, make([]*rollcallv1.Refusal, 33)
			for i := range r.Refusals {
				r.Refusals[i] = &rollcallv1.Refusal{What: fmt.Sprint(i)}
			}
		})
		time.Sleep(time.Minute)
		require.Contains(t, h.State(search).Refused["u0"], "more than 32 of rollcall.v1.Report.refusals")
	})
}

// Who sees one database is not told who sends the coordinator what.
func TestCoordinatorTellsNoAddresses(t *testing.T) {
	var r door.Refusals
	r.Note("connections: webhook", "10.0.0.7:1")
	require.Empty(t, Told("", &r)[0].GetFrom())
	require.Equal(t, "10.0.0.7:1", Told("search-0", &r)[0].GetFrom())
}
