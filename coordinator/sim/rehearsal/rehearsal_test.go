package rehearsal

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
	"github.com/rollcall-dev/rollcall/coordinator/sim/oracle"
	"github.com/rollcall-dev/rollcall/coordinator/sim/run"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

func small() Options {
	o := Default()
	o.Pods, o.Shards = 3, 1
	return o
}

func TestSameOptionsSameRehearsal(t *testing.T) {
	o := small()
	o.Faults = []string{"kill-leader", "lossy-network@10s+5s"}
	a, err := Run(o)
	require.NoError(t, err)
	b, err := Run(o)
	require.NoError(t, err)
	require.Equal(t, timeline(a, true), timeline(b, true))
}

// A seed is the run that the simulation makes of it, with its verdict.
func TestSeedIsTheRunOfTheSimulation(t *testing.T) {
	for _, seed := range []uint64{1, 2, 3} {
		want, err := run.Seed(seed, run.Options{})
		require.NoError(t, err)
		got, err := Run(Options{Seed: seed})
		require.NoError(t, err)
		require.Equal(t, want.Sum(), got.Summary.Log)
		require.Equal(t, want.Took.Seconds(), got.Summary.Seconds)
		require.Len(t, got.Summary.Restarted, want.Removals)
		require.Len(t, got.Summary.Broken, len(want.Breaks))
		require.Equal(t, seed, got.Summary.Seed)
	}
}

// Of a shard with one copy nobody speaks while its pod crashes: what was known of
// it must not keep the correction from that pod.
func TestThePodOfAnOnlyCopyIsCorrected(t *testing.T) {
	o := Default()
	o.Pods, o.Copies = 3, 1
	o.Faults = []string{"crash-loop@46s"}
	r, err := Run(o)
	require.NoError(t, err)
	require.NoError(t, r.Summary.Err())
}

// Before there is a coordinator, too, everything may happen.
func TestFaultsAtTheVeryBeginning(t *testing.T) {
	for _, name := range FaultNames() {
		o := small()
		o.Faults = []string{name + "@0s"}
		r, err := Run(o)
		require.NoError(t, err, name)
		require.NoError(t, r.Summary.Err(), name)
	}
}

// One who has been well for a moment only may speak for a shard, too.
func TestWhoIsWellOnlyNowIsAWitness(t *testing.T) {
	o := Default()
	o.Pods, o.Shards, o.Copies = 4, 2, 3
	o.Faults = []string{"partition@37s", "rollback@35s", "read-only-api@0s"}
	r, err := Run(o)
	require.NoError(t, err)
	require.NoError(t, r.Summary.Err())
}

// Two pods that were unavailable come back while both are claimed: only one of them goes.
func TestOnlyOneOfThoseThatComeBackGoes(t *testing.T) {
	o := Default()
	o.Pods, o.Shards, o.Copies, o.MaxUnavailable = 7, 2, 2, 1
	o.Faults = []string{"bad-image@35s", "fail-node@51s", "partition@15s"}
	r, err := Run(o)
	require.NoError(t, err)
	require.NoError(t, r.Summary.Err())
}

func TestWhatCannotBeRehearsedIsRefused(t *testing.T) {
	for want, change := range map[string]func(o *Options){
		"no simulated database of this engine: MySQL; there is Solr (shards": func(o *Options) { o.Engine = model.MySQL },
		"0 pods: 1 to 60 are possible":                                       func(o *Options) { o.Pods = 0 },
		"101 shards: 1 to 100":                                               func(o *Options) { o.Shards = 101 },
		"4 copies of a shard: 1 to 3":                                        func(o *Options) { o.Copies = 4 },
		"0 pods that may be unavailable: 1 to 3":                             func(o *Options) { o.MaxUnavailable = 0 },
		"there is no fault \"flood\"; there are:\n  bad-image ":              func(o *Options) { o.Faults = []string{"flood@3s"} },
		"fault \"pause@soon\": \"soon\" is no time from 0s to 1h0m0s":        func(o *Options) { o.Faults = []string{"pause@soon"} },
		"fault \"pause@3s+-1s\": \"-1s\" is no time":                         func(o *Options) { o.Faults = []string{"pause@3s+-1s"} },
		"fault \"pause@\": \"\" is no time":                                  func(o *Options) { o.Faults = []string{"pause@"} },
	} {
		o := small()
		change(&o)
		_, err := Run(o)
		require.ErrorContains(t, err, want)
	}
	o := small()
	o.Engine = model.FoundationDB
	_, err := Run(o)
	require.ErrorIs(t, err, ErrNoShape)
}

func TestFaultsBeginWhenTheyAreToldTo(t *testing.T) {
	for text, want := range map[string]run.Fault{
		"partition":        {Name: "partition", Class: run.Partition, At: faultAt, For: 20 * time.Second},
		"partition@12s":    {Name: "partition", Class: run.Partition, At: 12 * time.Second, For: 20 * time.Second},
		"partition@1m+40s": {Name: "partition", Class: run.Partition, At: time.Minute, For: 40 * time.Second},
	} {
		got, err := parseFault(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	require.Len(t, FaultNames(), len(strings.Split(Faults(), "\n")))
}

func TestStageInWords(t *testing.T) {
	s := run.Scenario{Replicas: 3, MaxPods: 2, MaxShard: 1, Shards: [][]int{{0}, {1, 2}, {2, 0}}}
	require.Equal(t, "3 pods in 3 zones, 2 pods may be unavailable; 1 shard of 1 copy; 2 shards of 2 copies, 1 of a shard may be unavailable", stage(s))
}

// Plans are in the policy's own words.
func TestPlansAreInThePolicysWords(t *testing.T) {
	r, err := Run(small())
	require.NoError(t, err)
	seen := map[Kind]int{}
	for _, e := range r.Events {
		seen[e.Kind]++
		switch e.Kind {
		case Go:
			require.Equal(t, model.Step{Pod: e.Pods[0], Action: model.ActionRestart, Prepare: model.PrepareHandoff, Reason: model.ReasonOutdated}.Text(), e.Text)
		case Hold:
			require.Regexp(t, `^hold   (-|db-\d) `+e.Rule+`( books/s\d)?: \S`, e.Text)
		}
	}
	for _, kind := range []Kind{World, Acts, Phase, Order, Go, Hold, Claim, Call} {
		require.Positive(t, seen[kind], kind)
	}
	require.Zero(t, seen[Broken])
	require.Less(t, len(r.Timeline(false)), len(r.Timeline(true)))
	require.Len(t, r.Timeline(true), len(r.Events))
}

func decision(holds ...model.Hold) status.Decision {
	return status.Decision{Moment: progress.Moment{Phase: model.ClusterWaiting, Plan: model.Plan{Holds: holds}}}
}

func texts(events []Event) []string {
	var out []string
	for _, e := range events {
		out = append(out, Clock(e.At)+" "+e.Text)
	}
	return out
}

func TestHoldsAreToldOnceAsTheyBegin(t *testing.T) {
	var events []Event
	told := newTeller("c1", &events)
	budget := func(pod, reason string) model.Hold {
		return model.Hold{Pod: pod, Rule: model.RulePodBudget, Reason: reason}
	}
	settling := model.Hold{Rule: model.RuleFailureDetection, Reason: "wait"}
	told.decided(0, decision(budget("a", "one"), budget("b", "one"), model.Hold{Pod: "c", Rule: model.RuleClaimed}))
	told.decided(2*time.Second, decision(budget("a", "two"), budget("b", "two")))
	told.decided(3*time.Second, decision(settling, model.Hold{Pod: "a", Rule: model.RuleFailureDetection, Reason: "wait"}))
	told.decided(3100*time.Millisecond, decision(budget("a", "two")))
	told.decided(5*time.Second, decision())
	told.decided(9*time.Second, decision(budget("a", "three")))
	told.gone(12 * time.Second)
	r := Rehearsal{Events: events}
	require.Equal(t, []string{
		"0:00.000 phase  Waiting: 0 of 0 updated", "0:00.000 hold   a pod-budget: one (and b)", "0:09.000 hold   a pod-budget: three",
	}, texts(r.Timeline(false)))
	require.Equal(t, []string{
		"0:00.000 phase  Waiting: 0 of 0 updated", "0:00.000 hold   a pod-budget: one (and b)", "0:03.000 hold   - failure-detection: wait", "0:09.000 hold   a pod-budget: three",
	}, texts(r.Timeline(true)))
}

func TestStepsAreToldOnce(t *testing.T) {
	var events []Event
	told := newTeller("c1", &events)
	d := decision()
	d.Plan.Order = []string{"a"}
	d.Plan.Steps = []model.Step{{Pod: "a", Action: model.ActionRestart, Prepare: model.PrepareNone, Reason: model.ReasonFailed}}
	for range 3 {
		told.decided(time.Second, d)
	}
	require.Equal(t, []string{"0:01.000 phase  Waiting: 0 of 0 updated", "0:01.000 order  a", "0:01.000 go     a Restart after None (Failed)"}, texts(events))
}

func TestLinesOfTheLog(t *testing.T) {
	for _, c := range []struct {
		who, what string
		want      Kind
	}{
		{"c1", "status cluster db: ok", Call},
		{"c1", "drain of db-1: DRAIN_DRAINED", Call},
		{"c1", "evict pod db-1: ok", Acts},
		{"c2", "delete pod db-1: Conflict", Acts},
		{"c2", "crashes", Acts},
		{"kubelet", "db-1 is gone", Acts},
		{"fault", "pause begins", Fault},
		{"ORACLE", "db-1 goes by c1", Call},
		{"ORACLE", "I2: db-1 goes while [db-2] are unavailable by Rollcall's hand: 1 may be", Broken},
		{"world", "all is well", World},
	} {
		require.Equal(t, c.want, said(0, c.who, c.what).Kind, c.what)
	}
	require.Equal(t, " 1:02.003  database     db-1 is a member", said(62*time.Second+3*time.Millisecond, "db", "db-1 is a member").String())
}

func TestEventsAsJSON(t *testing.T) {
	data, err := json.Marshal(Event{At: 1500 * time.Millisecond, Who: "c1", Kind: Hold, Text: "hold   - paused: x", Rule: "paused"})
	require.NoError(t, err)
	require.JSONEq(t, `{"at":1.5,"who":"c1","kind":"hold","text":"hold   - paused: x","rule":"paused"}`, string(data))
}

func TestSummarySaysWhatBroke(t *testing.T) {
	r := run.Result{Took: time.Minute, Scenario: run.Scenario{MaxPods: 1}, Tally: run.Tally{Went: []string{"db-1"}, Taken: []string{"db-2"}, ByHand: 2, Away: 2, Shard: "books/s1", Copies: 2}}
	well := summarise(Options{}, r)
	require.NoError(t, well.Err())
	require.True(t, well.RolledOut)
	require.Contains(t, well.String(), "18 checked, all kept: I1 ")
	require.Contains(t, well.String(), "taken by others           1: db-2\n")
	require.Contains(t, well.String(), "fewest copies of a shard  0 of 2 (books/s1)\n")

	r.Stuck = "db-1"
	stuck := summarise(Options{}, r)
	require.False(t, stuck.RolledOut)
	require.NoError(t, stuck.Err(), "as it should be")
	r.Stuck = ""

	r.Breaks = []oracle.Break{{At: time.Second, Invariant: "I2", Why: "two are unavailable"}}
	broken := summarise(Options{}, r)
	require.True(t, broken.RolledOut)
	require.EqualError(t, broken.Err(), "an invariant did not hold: I2 at 1s: two are unavailable")
	require.Contains(t, broken.String(), "18 checked, broken: I2 at 1s: two are unavailable")

	r.Breaks = []oracle.Break{{At: time.Second, Invariant: "L1", Why: "the rollout has not ended"}}
	open := summarise(Options{}, r)
	require.False(t, open.RolledOut)
	require.Error(t, open.Err())
	require.Contains(t, open.String(), "NOT rolled out")
}
