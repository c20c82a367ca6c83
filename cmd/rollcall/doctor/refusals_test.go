package doctor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

func refusal(pod, what, from string, count uint64, since, last time.Duration) *rollcallv1.Refusal {
	return &rollcallv1.Refusal{Pod: pod, What: what, From: from, Count: count, Since: durationpb.New(since), Last: durationpb.New(last)}
}

// TestDoctorTellsOfRefusals checks that each kind of refusal is reported once for a database, with
// how many, since when, from whom last, and what to do; those of the coordinator once for all
// databases.
func TestDoctorTellsOfRefusals(t *testing.T) {
	webhook := refusal("", "webhook: size", "", 9, time.Minute, time.Second)
	f := &Facts{Live: &Live{ControllersHaveAccounts: true, Refusals: map[string][]*rollcallv1.Refusal{
		"prod/a": {
			refusal("a-0", "gossip: key", "10.0.0.7:1", 3, 10*time.Minute, 20*time.Second),
			refusal("a-1", "gossip: key", "10.0.0.8:1", 4, 30*time.Minute, 5*time.Minute),
			webhook,
		},
		"prod/b": {webhook},
	}}}
	found := Examine(f)
	require.Equal(t, []Finding{
		{Severity: Warning, Check: "refusals", Object: "DatabaseCluster prod/a", Found: "refused 7 times since 30m0s ago, last 20s ago: gossip: key, at the agent of a-0 and of 1 other pods, from 10.0.0.7:1", Fix: remedy("gossip: key")},
		{Severity: Warning, Check: "refusals", Object: "coordinator", Found: "refused 9 times since 1m0s ago, last 1s ago: webhook: size, at the coordinator", Fix: remedy("webhook: size")},
	}, found)
	for _, what := range []string{
		"stop hook: token", "stop hook: held", "stop hook: address", "gossip: key", "gossip: content", "caller: role",
		"connections: grpc", "message: memory", "webhook: busy", "token: unknown",
	} {
		require.NotEqual(t, remedy("another"), remedy(what), what)
	}
	require.NotEqual(t, remedy("stop hook: token"), remedy("stop hook: address"))
}
