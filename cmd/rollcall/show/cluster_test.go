package show

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func sample() *rollcallv1.Cluster {
	return &rollcallv1.Cluster{
		Namespace: "prod", Name: "search", Engine: "Solr", Phase: "Rolling",
		Pods:      &rollcallv1.PodCounts{Desired: 6, Current: 4, Updated: 2, Ready: 5, Unavailable: 1, Failed: 1},
		DecidedAt: timestamppb.New(noon.Add(-3 * time.Second)),
		Claims: []*rollcallv1.Claim{{
			Id: "k1", Pod: "search-3", Action: "Restart", Drain: "Handoff", Reason: "Outdated", Phase: "Gone", StartedAt: timestamppb.New(noon.Add(-20 * time.Second)),
		}},
		Plan: &rollcallv1.Plan{
			Budget:   &rollcallv1.Budget{PodLimit: 1, PodsUnavailable: 1, PodsClaimed: 1},
			Forecast: &rollcallv1.Forecast{Waves: 3, Seconds: 190},
			Holds: []*rollcallv1.Hold{
				{Pod: "search-3", Rule: "claimed", Reason: "it is on its way"},
				{Pod: "search-2", Rule: "shard-budget", Group: "books/s1", Reason: "books/s1 would have 1 of 3 members, needs 2"},
			},
		},
		PodStates: []*rollcallv1.PodState{
			{Pod: "search-2", Zone: "z1", Phase: "Ready", Member: "Live", ReportAgeSeconds: 0.8, Roles: []string{"overseer"}},
			{Pod: "search-3", Phase: "Missing", ReportAgeSeconds: -1},
		},
	}
}

func TestRefusalsAreShown(t *testing.T) {
	c := sample()
	c.Refusals = []*rollcallv1.Refusal{
		{Pod: "search-2", What: "gossip: key", Count: 7, Since: durationpb.New(10 * time.Minute), Last: durationpb.New(4 * time.Second), From: "10.0.0.7:1"},
		{What: "webhook: \x1b[2Jsize", Count: 1, Since: durationpb.New(time.Minute), Last: durationpb.New(time.Minute)},
	}
	for range 2 * maxRows {
		c.Refusals = append(c.Refusals, c.Refusals[0])
	}
	var out strings.Builder
	Cluster(&out, Palette{}, c, "by the coordinator", noon)
	_, text, found := strings.Cut(out.String(), "\nRefused within the last hour (deploy/docs/runbook.md#what-was-refused):\n")
	require.True(t, found)
	lines := strings.Split(text, "\n")
	require.Equal(t, []string{"OF", "WHAT", "TIMES", "SINCE", "LAST", "LAST", "FROM"}, strings.Fields(lines[0]))
	require.Equal(t, []string{"search-2", "gossip:", "key", "7", "10m", "4s", "10.0.0.7:1"}, strings.Fields(lines[1]))
	require.Equal(t, []string{"(coordinator)", "webhook:", "?[2Jsize", "1", "60s", "60s", "-"}, strings.Fields(lines[2]))
	require.Contains(t, text, "and 27 more")
}

func TestClusterView(t *testing.T) {
	var out strings.Builder
	Cluster(&out, Palette{}, sample(), "by the coordinator", noon)
	require.Equal(t, `cluster   prod/search (Solr)
phase     Rolling
pods      2 of 6 updated, 5 ready, 1 unavailable (at most 1), 1 failed
forecast  3m, in 3 waves
decided   3s ago, by the coordinator

On their way:
  POD       SINCE  PHASE  WHAT
  search-3  20s    Gone   Restart after Handoff (Outdated)

Held:
  POD       RULE          REASON
  search-3  claimed       it is on its way
  search-2  shard-budget  books/s1 would have 1 of 3 members, needs 2

Pods:
  POD       ZONE  PHASE    UPDATED  MEMBER  REPORT  ROLES
  search-2  z1    Ready    no       Live    800ms   overseer
  search-3  ?     Missing  no       -       none    -
`, out.String())
}

// TestUnavailableAndReady checks that a pod that counts as unavailable may be Ready, also if there
// is no report about it.
func TestUnavailableAndReady(t *testing.T) {
	c := sample()
	c.Phase, c.Pods = "Done", &rollcallv1.PodCounts{Desired: 3, Updated: 3, Ready: 3, Unavailable: 3}
	var out strings.Builder
	Cluster(&out, Palette{}, c, "", noon)
	require.Contains(t, out.String(), "phase     Done\n")
	require.Contains(t, out.String(), "3 ready, 3 unavailable (at most 1), 3 of them Ready but not settled\n")
	c.Pods.Unavailable = 0
	c.PodStates = []*rollcallv1.PodState{{Pod: "search-0", Phase: "Ready", ReportAgeSeconds: -1}}
	out.Reset()
	Cluster(&out, Palette{}, c, "", noon)
	require.Contains(t, out.String(), "phase     Done, as far as Kubernetes knows: no agent has told of the database yet\n")
	require.Contains(t, out.String(), "3 ready, 0 unavailable (at most 1)\n")
}

// TestOpenGuardsAreShown checks that status names pods with open guards, which anybody may remove.
func TestOpenGuardsAreShown(t *testing.T) {
	c := sample()
	c.PodStates = append(c.PodStates,
		&rollcallv1.PodState{Pod: "search-0", Guard: "Closed"}, &rollcallv1.PodState{Pod: "search-1", Guard: "Open"},
		&rollcallv1.PodState{Pod: "search-4", Guard: "None"}, &rollcallv1.PodState{Pod: "search-5", Guard: "Open", ClaimPhase: "Approved"})
	var out strings.Builder
	Cluster(&out, Palette{}, c, "", noon)
	require.Contains(t, out.String(), "guards    2 of 6 open: search-1, search-5 (on its way)\n")
	for i := range 30 {
		c.PodStates = append(c.PodStates, &rollcallv1.PodState{Pod: fmt.Sprint("p-", i), Guard: "Open"})
	}
	out.Reset()
	Cluster(&out, Palette{}, c, "", noon)
	require.Contains(t, strings.Join(strings.Fields(out.String()), " "), "guards 32 of 36 open: search-1, search-5 (on its way), p-0,")
	require.Contains(t, strings.Join(strings.Fields(out.String()), " "), "p-22, and 7 more decided")
}

func TestLongListsAreCut(t *testing.T) {
	c := sample()
	for i := range 100 {
		c.Plan.Holds = append(c.Plan.Holds, &rollcallv1.Hold{Pod: fmt.Sprint("p-", i), Rule: "pod-budget"})
		c.PodStates = append(c.PodStates, &rollcallv1.PodState{Pod: fmt.Sprint("p-", i)})
	}
	var out strings.Builder
	Cluster(&out, Palette{}, c, "", noon)
	require.Equal(t, 2, strings.Count(out.String(), "and 77 more"))
}

func TestHoldOfEverybodyIsShownOnce(t *testing.T) {
	c := sample()
	c.Claims = nil
	c.Plan.Holds = []*rollcallv1.Hold{
		{Rule: "paused", Reason: "as asked"}, {Pod: "search-2", Rule: "paused", Reason: "as asked"}, {Pod: "search-3", Rule: "veto", Reason: "no"},
	}
	var out strings.Builder
	Cluster(&out, Palette{}, c, "", noon)
	require.Equal(t, 1, strings.Count(out.String(), "as asked"))
	require.Contains(t, out.String(), "  search-3  veto    no")
}

func TestProgressIsEqualWhileNothingChanges(t *testing.T) {
	require.Equal(t, "Rolling: 2 of 6 updated, 1 unavailable, 1 failed; search-3 Gone", Progress(sample()))
	older := sample()
	older.DecidedAt = nil
	require.Equal(t, Progress(sample()), Progress(older))

	held := sample()
	held.Claims = nil
	require.Equal(t, "Rolling: 2 of 6 updated, 1 unavailable, 1 failed; shard-budget holds search-2: books/s1 would have 1 of 3 members, needs 2", Progress(held))
	require.Equal(t, "Unknown: 0 of 0 updated, 0 unavailable", Progress(&rollcallv1.Cluster{}))
}

func TestHappened(t *testing.T) {
	require.Equal(t, []string{
		"phase  Rolling: 2 of 6 updated, 5 ready, 1 unavailable, 1 failed",
		"claim  search-3 Gone Restart after Handoff (Outdated)",
		"hold   search-2 shard-budget books/s1: books/s1 would have 1 of 3 members, needs 2",
	}, Happened(nil, sample()))
	require.Empty(t, Happened(sample(), sample()))

	next := sample()
	next.Claims[0].Phase = "Rejoined"
	next.Plan.Steps = []*rollcallv1.Step{{Pod: "search-2", Action: "Restart", Drain: "Handoff", Reason: "Outdated"}}
	next.Plan.Holds = nil
	require.Equal(t, []string{
		"claim  search-3 Rejoined Restart after Handoff (Outdated)",
		"go     search-2 Restart after Handoff (Outdated)",
	}, Happened(sample(), next))
}

func TestListOfNobodyKnows(t *testing.T) {
	var out strings.Builder
	List(&out, Palette{}, []*rollcallv1.Cluster{{Name: "new"}}, false, false, time.Time{})
	require.Equal(t, "NAME  ENGINE  PHASE    UPDATED  READY  UNAVAIL  FAILED  WAITING FOR\nnew           Unknown  0/0      0/0    0        0       -\n", out.String())
}

func TestSeveralStatefulSetsAreShown(t *testing.T) {
	c := sample()
	one := &rollcallv1.PoolState{Name: "search", Revision: "search-7f9c", Desired: 6, Updated: 2, Ready: 5}
	c.Pools = []*rollcallv1.PoolState{one}
	var out strings.Builder
	Cluster(&out, Palette{}, c, "by the coordinator", noon)
	require.NotContains(t, out.String(), "StatefulSets:", "one says nothing that the counts do not")

	c.Pools = append(c.Pools, &rollcallv1.PoolState{Name: "managers", Desired: 3, Updated: 3, Ready: 3, Version: "3.4.0", Complete: true})
	out.Reset()
	Cluster(&out, Palette{}, c, "by the coordinator", noon)
	require.Contains(t, out.String(), `
StatefulSets:
  STATEFULSET  UPDATED  READY  REVISION     VERSION
  search       2/6      5/6    search-7f9c  -
  managers     3/3      3/3    ?            3.4.0
`)
}

// A forecast counts from when the rollout goes on.
func TestForecastOfARolloutThatWaits(t *testing.T) {
	for phase, want := range map[string]string{
		"Rolling": "3m, in 3 waves\n", "Waiting": "3m, in 3 waves once it goes on\n", "Stalled": "3m, in 3 waves once it goes on\n", "Paused": "3m, in 3 waves once it goes on\n",
	} {
		c := sample()
		c.Phase = phase
		var out strings.Builder
		Cluster(&out, Palette{}, c, "by the coordinator", noon)
		require.Contains(t, out.String(), "forecast  "+want)
	}
}
