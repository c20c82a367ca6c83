package rollout

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

const (
	settingName = "allocation"
	before      = "all" // what a person has set
)

// listed is a database with the claims a and b in the record of one setting, c that wants to join,
// and what a coordinator knows about them.
func listed() *step {
	claims := []model.Claim{{ID: "a", Pod: "a", UID: "a"}, {ID: "b", Pod: "b", UID: "b"}, {ID: "c", Pod: "c", UID: "c"}}
	a := stepOn(Facts{}, time.Unix(1000, 0))
	a.Record.Claims = claims
	a.Record.ClusterSettings = []model.ClusterSetting{{Name: settingName, Undo: []byte(before), Claims: []string{"a", "b"}}}
	a.Snapshot.Cluster.Spec.Policy.StartSeconds = 100
	a.s.recorded = map[string]bool{"a": true}
	for _, claim := range claims {
		a.Snapshot.Pods = append(a.Snapshot.Pods, model.Pod{Name: claim.Pod, UID: claim.UID, Phase: model.PodPhaseReady})
		a.s.attempts[claim.ID] = &attempt{known: Known{DrainPlanned: true, Setting: effect.ClusterSetting{Name: settingName}}}
	}
	a.learnSettings()
	return a
}

func TestQueueOfAClusterSetting(t *testing.T) {
	prepared := func(a *step, ids ...string) {
		for _, id := range ids {
			a.s.attempts[id].known.Drained = DrainedBySelf
		}
	}
	for name, c := range map[string]struct {
		change  func(a *step)
		waiting string
	}{
		"nobody is drained":     {func(*step) {}, "bc"},
		"the first is":          {func(a *step) { prepared(a, "a") }, "c"},
		"all are":               {func(a *step) { prepared(a, "a", "b") }, ""},
		"the first has gone":    {func(a *step) { a.Snapshot.Pods[0].UID = "new" }, "c"},
		"the first is released": {func(a *step) { a.Record.Claims = a.Record.Claims[1:] }, "c"},
		"released, the other drained": {func(a *step) {
			prepared(a, "b")
			a.Record.Claims = a.Record.Claims[1:]
		}, "c"},
		"the first needs it no more": {func(a *step) {
			prepared(a, "a", "b")
			a.Snapshot.Pods[0].UID, a.s.attempts["a"].settingReleased = "new", true
		}, "c"},
		"the first is given up":           {func(a *step) { prepared(a, "a", "b"); a.s.attempts["a"].giveUp = "paused" }, "c"},
		"nothing is known of the first":   {func(a *step) { prepared(a, "b"); delete(a.s.attempts, "a") }, "bc"},
		"it is being put back":            {func(a *step) { prepared(a, "a", "b"); a.s.settings[settingName].begun = true }, "c"},
		"an order may still be late":      {func(a *step) { prepared(a, "a", "b"); a.s.settings[settingName].lateUntil = a.now.Add(1) }, "c"},
		"no order can be late any more":   {func(a *step) { prepared(a, "a", "b"); a.s.settings[settingName].lateUntil = a.now }, ""},
		"the record is another setting's": {func(a *step) { a.Record.ClusterSettings[0].Name = "other" }, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			a := listed()
			c.change(a)
			waiting := ""
			for _, claim := range []model.Claim{{ID: "a"}, {ID: "b"}, {ID: "c"}} {
				if r := a.s.attempts[claim.ID]; r != nil && a.queued(claim, r) {
					waiting += claim.ID
				}
			}
			require.Equal(t, c.waiting, waiting)
		})
	}
}

// A pod that goes first because of the partition, whose new claim waits until a setting is
// restored, waits for the claim of the pod that waits for it. One of the two has to be given up.
func TestDeadlockOfPartitionAndSettingIsDetected(t *testing.T) {
	for name, c := range map[string]struct {
		change func(a *step)
		why    string
	}{
		"it joins a record of which one is over": {func(*step) {}, "c goes first, and its drain waits until " + settingName + " is put back, which this claim still needs"},
		"it has no claim": {func(a *step) {
			a.Snapshot.Cluster.Status.Claims = a.Snapshot.Cluster.Status.Claims[:2]
		}, "c goes first, and has no claim"},
		"it may join": {func(a *step) {
			a.s.attempts["a"].known.Drained = DrainedBySelf
			a.Record.Claims = []model.Claim{{ID: "a", Pod: "a", UID: "a"}, {ID: "b", Pod: "b", UID: "b"}}
		}, ""},
		"it is listed, and waits for its turn": {func(a *step) {
			a.Record.ClusterSettings[0].Claims = []string{"a", "b", "c"}
			a.Record.Claims = []model.Claim{{ID: "a", Pod: "a", UID: "a"}, {ID: "b", Pod: "b", UID: "b"}}
		}, ""},
		"its drain writes another setting": {func(a *step) { a.s.attempts["c"].known.Setting.Name = "other" }, ""},
		"nothing is known of its drain":    {func(a *step) { delete(a.s.attempts, "c") }, ""},
		"this claim needs no setting":      {func(a *step) { a.Record.ClusterSettings[0].Claims = []string{"a"} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := listed()
			a.s.attempts["b"].known.Drained = DrainedBySelf
			a.Snapshot.Cluster.Status.Claims = a.Record.Claims
			a.Record.Claims = a.Record.Claims[1:] // the claim of a is over
			c.change(a)
			require.Equal(t, c.why, a.deadlock(model.Claim{ID: "b", Pod: "b", UID: "b"}, a.Snapshot.Pods[2:]))
		})
	}
}

// A setting is no longer needed if its pod is not back after the time that a start may take, but
// not while the pod's agent may still write it.
func TestOverForAClusterSetting(t *testing.T) {
	gone := Case{Pod: PodGone, SettingRecorded: true, Rejoined: true, Known: Known{GoneConfirmed: true}}
	for name, c := range map[string]struct {
		change func(c *Case, r *attempt, a *step)
		over   bool
	}{
		"back":                      {func(*Case, *attempt, *step) {}, true},
		"here":                      {func(c *Case, _ *attempt, _ *step) { c.Pod = PodPresent }, false},
		"leaving, with time left":   {func(c *Case, r *attempt, a *step) { c.Pod, r.wentAt = PodTerminating, a.now.Add(-99*time.Second) }, false},
		"leaving, perhaps for ever": {func(c *Case, r *attempt, a *step) { c.Pod, r.wentAt = PodTerminating, a.now.Add(-100*time.Second) }, true},
		"leaving, and its agent may write": {func(c *Case, r *attempt, a *step) {
			c.Pod, r.wentAt, r.notAfter = PodTerminating, a.now.Add(-100*time.Second), a.now.Add(1)
		}, false},
		"gone, says the cache":     {func(c *Case, _ *attempt, _ *step) { c.Known.GoneConfirmed = false }, false},
		"not listed":               {func(c *Case, _ *attempt, _ *step) { c.SettingRecorded = false }, false},
		"not back":                 {func(c *Case, _ *attempt, _ *step) { c.Rejoined = false }, false},
		"removed":                  {func(c *Case, _ *attempt, _ *step) { c.Rejoined, c.Claim.Action = false, model.ActionRemove }, true},
		"not back in time":         {func(c *Case, r *attempt, a *step) { c.Rejoined, r.goneAt = false, a.now.Add(-100*time.Second) }, true},
		"not back, with time left": {func(c *Case, r *attempt, a *step) { c.Rejoined, r.goneAt = false, a.now.Add(-99*time.Second) }, false},
		"its agent may write":      {func(_ *Case, r *attempt, a *step) { r.notAfter = a.now.Add(1) }, false},
		"its agent had drained it": {func(_ *Case, r *attempt, a *step) {
			r.known.Drained, r.notAfter = DrainedBySelf, a.now.Add(1)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			a := listed()
			of, r := gone, &attempt{}
			c.change(&of, r, a)
			a.noteSettingReleased(of, r)
			require.Equal(t, c.over, r.settingReleased)
			if !c.over && of.Pod == PodGone && of.SettingRecorded && of.Known.GoneConfirmed {
				require.False(t, a.out.Wake.IsZero(), "only a clock ends it")
			}
		})
	}
}

// Three agents at a time, and not always the same three.
func TestEveryAgentMayPutASettingBack(t *testing.T) {
	var s model.Snapshot
	for i := range 7 {
		s.Pods = append(s.Pods, model.Pod{Name: fmt.Sprint(i), UID: fmt.Sprint(i), Agent: true, Phase: model.PodPhaseReady, Report: &model.Report{Member: model.MembershipLive}})
	}
	s.Pods[3].Agent, s.Pods[4].Phase, s.Pods[5].Report = false, model.PodPhaseTerminating, nil
	asked := map[string]int{}
	for failures := range 4 {
		targets := restorers(s, failures)
		require.Len(t, targets, 3)
		for _, target := range targets {
			asked[target.Pod]++
		}
	}
	require.Equal(t, map[string]int{"0": 3, "1": 3, "2": 3, "6": 3}, asked)
	s.Pods = s.Pods[:2]
	require.Len(t, restorers(s, 5), 2)
}
