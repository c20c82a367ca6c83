package rollout

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// What is known about the orders to an agent determines until when it may still be writing.
func TestUntilWhenAnAgentMayWrite(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	soon, later := now.Add(time.Second), now.Add(time.Minute)
	for name, c := range map[string]struct {
		attempt attempt
		want    time.Time
	}{
		"it was asked nothing":                   {attempt{}, time.Time{}},
		"it prepares":                            {attempt{orders: orders{notAfter: soon}}, soon},
		"it has drained":                         {attempt{orders: orders{notAfter: soon}, known: Known{Drained: DrainedBySelf}}, time.Time{}},
		"it has drained, and one order was lost": {attempt{orders: orders{notAfter: later, unansweredUntil: soon}, known: Known{Drained: DrainedBySelf}}, soon},
		"its time was up":                        {attempt{orders: orders{notAfter: soon}, known: Known{Drained: DrainOverdue}}, soon},
		"its pod broke meanwhile":                {attempt{orders: orders{notAfter: soon}, known: Known{Drained: DrainNotNeeded}}, soon},
		"it drains, and one order was lost":      {attempt{orders: orders{notAfter: later, unansweredUntil: soon}}, later},
	} {
		require.Equal(t, c.want, c.attempt.mayWriteUntil(), name)
	}
}

// A setting is restored after the last order to an agent that nobody has answered.
func TestASettingOutlastsAnOrderThatWasLost(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	a := stepOn(Facts{}, now)
	a.Snapshot.Cluster.Spec.Policy.StartSeconds = 600
	c := Case{Pod: PodGone, SettingRecorded: true, Rejoined: true, Known: Known{GoneConfirmed: true, Drained: DrainedBySelf}}
	r := &attempt{known: c.Known, orders: orders{unansweredUntil: now.Add(20 * time.Second)}}
	a.noteSettingReleased(c, r)
	require.False(t, r.settingReleased)
	require.Equal(t, r.unansweredUntil, a.out.Wake)
	a.now = r.unansweredUntil
	a.noteSettingReleased(c, r)
	require.True(t, r.settingReleased)
}

// An order that could not even be sent does not make the coordinator forget earlier ones that may
// still be carried out.
func TestAnOrderThatWasNeverSentForgetsNone(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	a := stepOn(Facts{Snapshot: threePods(now), Engine: Engine{EvacuatesOthers: true}}, now)
	for i := range a.Snapshot.Pods {
		a.Snapshot.Pods[i].Report = nil // no agent of a healthy pod could evacuate it
	}
	pod := &a.Snapshot.Pods[1]
	pod.Phase, pod.Node = model.PodPhasePending, ""
	claim := model.Claim{ID: "c", Pod: pod.Name, UID: pod.UID, Action: model.ActionReplace, Prepare: model.PrepareEvacuate, Undo: []byte("u"), Epoch: 1}
	a.Record.Claims = []model.Claim{claim}
	till := orders{notAfter: now.Add(30 * time.Second), unansweredUntil: now.Add(20 * time.Second), othersUnansweredUntil: now.Add(10 * time.Second)}
	r := &attempt{orders: till}
	a.s.attempts["c"] = r
	a.drain(claim)
	require.Empty(t, a.out.Effects)
	require.NotEmpty(t, r.problem)
	require.Equal(t, till, r.orders)
}
