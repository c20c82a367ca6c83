package act

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// listed is a database with the claims a and b in the record of the one setting,
// c that would like to join, and what an actor knows of them.
func listed() (*Actor, Situation) {
	now := time.Unix(1000, 0)
	claims := []model.Claim{{ID: "a", Pod: "a", UID: "a"}, {ID: "b", Pod: "b", UID: "b"}, {ID: "c", Pod: "c", UID: "c"}}
	at := Situation{Now: now, Cluster: &v1alpha1.DatabaseCluster{}}
	at.Cluster.Status.Claims = claims
	at.Cluster.Status.Shared = []v1alpha1.SharedSetting{{Knob: knobName, Undo: []byte(before), Claims: []string{"a", "b"}}}
	at.Snapshot.Cluster.Spec.Policy.StartSeconds = 100
	a := &Actor{runs: map[string]*run{}, knobs: map[string]*knob{}, shared: map[string]bool{"a": true}}
	for _, claim := range claims {
		at.Snapshot.Pods = append(at.Snapshot.Pods, model.Pod{Name: claim.Pod, UID: claim.UID, Phase: model.Ready})
		a.runs[claim.ID] = &run{heard: Heard{Asked: true, Shared: Shared{Knob: knobName}}}
	}
	a.learnKnobs(at)
	return a, at
}

func TestQueueOfASharedSetting(t *testing.T) {
	prepared := func(a *Actor, ids ...string) {
		for _, id := range ids {
			a.runs[id].heard.Prepared = true
		}
	}
	for name, c := range map[string]struct {
		change  func(a *Actor, at *Situation)
		waiting string
	}{
		"nobody is prepared":    {func(*Actor, *Situation) {}, "bc"},
		"the first is":          {func(a *Actor, _ *Situation) { prepared(a, "a") }, "c"},
		"all are":               {func(a *Actor, _ *Situation) { prepared(a, "a", "b") }, ""},
		"the first has gone":    {func(_ *Actor, at *Situation) { at.Snapshot.Pods[0].UID = "new" }, "c"},
		"the first is released": {func(_ *Actor, at *Situation) { at.Cluster.Status.Claims = at.Cluster.Status.Claims[1:] }, "c"},
		"released, the other prepared": {func(a *Actor, at *Situation) {
			prepared(a, "b")
			at.Cluster.Status.Claims = at.Cluster.Status.Claims[1:]
		}, "c"},
		"the first needs it no more": {func(a *Actor, at *Situation) {
			prepared(a, "a", "b")
			at.Snapshot.Pods[0].UID, a.runs["a"].over = "new", true
		}, "c"},
		"the first is given up":           {func(a *Actor, _ *Situation) { prepared(a, "a", "b"); a.runs["a"].giveUp = "paused" }, "c"},
		"nothing is known of the first":   {func(a *Actor, _ *Situation) { prepared(a, "b"); delete(a.runs, "a") }, "bc"},
		"it is being put back":            {func(a *Actor, _ *Situation) { prepared(a, "a", "b"); a.knobs[knobName].begun = true }, "c"},
		"an order may still be late":      {func(a *Actor, at *Situation) { prepared(a, "a", "b"); a.knobs[knobName].lateUntil = at.Now.Add(1) }, "c"},
		"no order can be late any more":   {func(a *Actor, at *Situation) { prepared(a, "a", "b"); a.knobs[knobName].lateUntil = at.Now }, ""},
		"the record is another setting's": {func(_ *Actor, at *Situation) { at.Cluster.Status.Shared[0].Knob = "other" }, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			a, at := listed()
			c.change(a, &at)
			waiting := ""
			for _, claim := range []model.Claim{{ID: "a"}, {ID: "b"}, {ID: "c"}} {
				if r := a.runs[claim.ID]; r != nil && a.queued(at, claim, r) {
					waiting += claim.ID
				}
			}
			require.Equal(t, c.waiting, waiting)
		})
	}
}

// A pod that goes first by the line, whose new claim waits until a setting is put back,
// waits for the claim of the pod that waits for it. One of the two has to be given up.
func TestADeadlockBetweenTheLineAndASettingIsSeen(t *testing.T) {
	for name, c := range map[string]struct {
		change func(a *Actor, at *Situation)
		why    string
	}{
		"it joins a record of which one is over": {func(*Actor, *Situation) {}, "c goes first, and its prepare waits until " + knobName + " is put back, which this claim still needs"},
		"it has no claim": {func(_ *Actor, at *Situation) {
			at.Snapshot.Cluster.Status.Claims = at.Snapshot.Cluster.Status.Claims[:2]
		}, "c goes first, and has no claim"},
		"it may join": {func(a *Actor, at *Situation) {
			a.runs["a"].heard.Prepared = true
			at.Cluster.Status.Claims = []model.Claim{{ID: "a", Pod: "a", UID: "a"}, {ID: "b", Pod: "b", UID: "b"}}
		}, ""},
		"it is listed, and waits for its turn": {func(_ *Actor, at *Situation) {
			at.Cluster.Status.Shared[0].Claims = []string{"a", "b", "c"}
			at.Cluster.Status.Claims = []model.Claim{{ID: "a", Pod: "a", UID: "a"}, {ID: "b", Pod: "b", UID: "b"}}
		}, ""},
		"its prepare writes another setting": {func(a *Actor, _ *Situation) { a.runs["c"].heard.Shared.Knob = "other" }, ""},
		"nothing is known of its prepare":    {func(a *Actor, _ *Situation) { delete(a.runs, "c") }, ""},
		"this claim needs no setting":        {func(_ *Actor, at *Situation) { at.Cluster.Status.Shared[0].Claims = []string{"a"} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a, at := listed()
			a.runs["b"].heard.Prepared = true
			at.Snapshot.Cluster.Status.Claims = at.Cluster.Status.Claims
			at.Cluster.Status.Claims = at.Cluster.Status.Claims[1:] // that of a is over
			c.change(a, &at)
			require.Equal(t, c.why, a.deadlock(at, model.Claim{ID: "b", Pod: "b", UID: "b"}, at.Snapshot.Pods[2:]))
		})
	}
}

// Nobody needs a setting no more whose pod is not back, for as long as a start may
// take, or whose agent may still write it.
func TestOverForASharedSetting(t *testing.T) {
	gone := Case{Pod: Gone, Listed: true, Rejoined: true, Heard: Heard{Confirmed: true}}
	for name, c := range map[string]struct {
		change func(c *Case, r *run, at *Situation)
		over   bool
	}{
		"back":                      {func(*Case, *run, *Situation) {}, true},
		"here":                      {func(c *Case, _ *run, _ *Situation) { c.Pod = Here }, false},
		"leaving, with time left":   {func(c *Case, r *run, at *Situation) { c.Pod, r.wentAt = Leaving, at.Now.Add(-99*time.Second) }, false},
		"leaving, perhaps for ever": {func(c *Case, r *run, at *Situation) { c.Pod, r.wentAt = Leaving, at.Now.Add(-100*time.Second) }, true},
		"leaving, and its agent may write": {func(c *Case, r *run, at *Situation) {
			c.Pod, r.wentAt, r.notAfter = Leaving, at.Now.Add(-100*time.Second), at.Now.Add(1)
		}, false},
		"gone, says the cache":     {func(c *Case, _ *run, _ *Situation) { c.Heard.Confirmed = false }, false},
		"not listed":               {func(c *Case, _ *run, _ *Situation) { c.Listed = false }, false},
		"not back":                 {func(c *Case, _ *run, _ *Situation) { c.Rejoined = false }, false},
		"removed":                  {func(c *Case, _ *run, _ *Situation) { c.Rejoined, c.Claim.Action = false, model.Remove }, true},
		"not back in time":         {func(c *Case, r *run, at *Situation) { c.Rejoined, r.goneAt = false, at.Now.Add(-100*time.Second) }, true},
		"not back, with time left": {func(c *Case, r *run, at *Situation) { c.Rejoined, r.goneAt = false, at.Now.Add(-99*time.Second) }, false},
		"its agent may write":      {func(_ *Case, r *run, at *Situation) { r.notAfter = at.Now.Add(1) }, false},
		"its agent had prepared it": {func(_ *Case, r *run, at *Situation) {
			r.heard.Prepared, r.notAfter = true, at.Now.Add(1)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			a, at := listed()
			of, r, out := gone, &run{}, Outcome{}
			c.change(&of, r, &at)
			a.noteOver(at, of, r, &out)
			require.Equal(t, c.over, r.over)
			if !c.over && of.Pod == Gone && of.Listed && of.Heard.Confirmed {
				require.False(t, out.Wake.IsZero(), "only a clock ends it")
			}
		})
	}
}

// Three at a time, and never only the same three.
func TestEveryAgentMayPutASettingBack(t *testing.T) {
	var s model.Snapshot
	for i := range 7 {
		s.Pods = append(s.Pods, model.Pod{Name: fmt.Sprint(i), UID: fmt.Sprint(i), Agent: true, Phase: model.Ready, Report: &model.Report{Member: model.Live}})
	}
	s.Pods[3].Agent, s.Pods[4].Phase, s.Pods[5].Report = false, model.Terminating, nil
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
