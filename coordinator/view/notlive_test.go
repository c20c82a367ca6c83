package view

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rollcall-dev/rollcall/coordinator/agents"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// The agent's own word, of the time without a break; nothing where it says nothing, or that the pod
// is live.
func TestNotLiveForHowLong(t *testing.T) {
	for name, c := range map[string]struct {
		says edit
		want float64
	}{
		"for a while": {says(2, func(r *rollcallv1.Report) { r.Member, r.NotLive = notLive, durationpb.New(90*time.Second) }), 90},
		"a blip":      {says(2, func(r *rollcallv1.Report) { r.Member, r.NotLive = notLive, durationpb.New(1200*time.Millisecond) }), 1.2},
		"not told":    {says(2, func(r *rollcallv1.Report) { r.Member = notLive }), 0},
		"nonsense":    {says(2, func(r *rollcallv1.Report) { r.Member, r.NotLive = notLive, durationpb.New(-time.Hour) }), 0},
		"live again":  {says(2, func(r *rollcallv1.Report) { r.NotLive = durationpb.New(time.Hour) }), 0},
	} {
		t.Run(name, func(t *testing.T) {
			in := made(c.says)
			require.Equal(t, c.want, reportOfPod(t, Join(in), "search-2").NotLiveSeconds)
		})
	}
}

// Those who speak for a pod without an agent do not tell for how long, so it is counted from look
// to look, begins again after each break, and with each coordinator.
func TestNotLiveByTheOthers(t *testing.T) {
	in := made(noAgent(2), allSay([]int{0, 1}, sees(2, notLive)))
	look := func(after time.Duration) *model.Report {
		for uid, r := range in.Agents.Reports {
			r.At = r.At.Add(after)
			in.Agents.Reports[uid] = r
		}
		in.Now = in.Now.Add(after)
		s := Join(in)
		in.NotLive = NotLive(s, in)
		return reportOfPod(t, s, "search-2")
	}
	r := look(0)
	require.Equal(t, model.MembershipNotLive, r.Member)
	require.Zero(t, r.NotLiveSeconds, "seen for the first time")
	require.Equal(t, 3.0, look(3*time.Second).NotLiveSeconds)
	require.Equal(t, 10.0, look(7*time.Second).NotLiveSeconds)

	forgetful := maps.Clone(in.Agents.Reports)
	for i := range 2 {
		in.Agents.Reports[fmt.Sprintf("u%d", i)] = agents.Received{Report: reportOf(i), At: in.Now}
	}
	require.Equal(t, model.MembershipLive, look(time.Second).Member)
	for uid, r := range forgetful {
		in.Agents.Reports[uid] = agents.Received{Report: r.Report, At: in.Now}
	}
	require.Zero(t, look(time.Second).NotLiveSeconds, "it has been back")
	require.Equal(t, 5.0, look(5*time.Second).NotLiveSeconds)
	in.NotLive = nil // another coordinator
	require.Zero(t, look(time.Second).NotLiveSeconds)
}

func reportOfPod(t *testing.T, s model.Snapshot, name string) *model.Report {
	t.Helper()
	for i := range s.Pods {
		if s.Pods[i].Name == name {
			require.NotNil(t, s.Pods[i].Report)
			return s.Pods[i].Report
		}
	}
	t.Fatalf("no pod %s", name)
	return nil
}
