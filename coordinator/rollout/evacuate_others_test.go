package rollout

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// TestAddress tests who gets the order for a pod, and what it says.
func TestAddress(t *testing.T) {
	live := func(name string) model.Pod {
		return model.Pod{Name: name, UID: "u-" + name, Agent: true, Phase: model.PodPhaseReady, Report: &model.Report{Member: model.MembershipLive}}
	}
	stranded := model.Pod{Name: "s-1", UID: "u-s-1", Agent: true, Phase: model.PodPhasePending}
	for name, c := range map[string]struct {
		change func(a *step, claim *model.Claim)
		to     string
		node   string
		err    string
	}{
		"another":                  {nil, "u-s-0", "n-1", ""},
		"nobody else can":          {func(a *step, _ *model.Claim) { a.Engine.EvacuatesOthers = false }, "u-s-1", "", ""},
		"it has started":           {func(a *step, _ *model.Claim) { a.Snapshot.Pods[1].Phase = model.PodPhaseNotStarted }, "u-s-1", "", ""},
		"it is restarted":          {func(_ *step, c *model.Claim) { c.Action = model.ActionRestart }, "u-s-1", "", ""},
		"nobody knows its name":    {func(a *step, _ *model.Claim) { a.MemberNames = nil }, "", "", nameUnknown},
		"nobody else is well":      {func(a *step, _ *model.Claim) { a.Snapshot.Pods[0].Report = nil }, "", "n-1", nobodyWell},
		"its agent is not there":   {func(a *step, _ *model.Claim) { a.Snapshot.Pods[1].Agent = false }, "u-s-0", "n-1", ""},
		"another agent is leaving": {func(a *step, _ *model.Claim) { a.Snapshot.Pods[0].Phase = model.PodPhaseTerminating }, "", "n-1", nobodyWell},
	} {
		t.Run(name, func(t *testing.T) {
			a := stepOn(Facts{Engine: Engine{EvacuatesOthers: true}, Snapshot: model.Snapshot{Pods: []model.Pod{live("s-0"), stranded}}, MemberNames: map[string]string{"s-1": "n-1"}}, time.Time{})
			claim := model.Claim{ID: "c", Pod: "s-1", UID: "u-s-1", Action: model.ActionReplace, Prepare: model.PrepareEvacuate}
			if c.change != nil {
				c.change(a, &claim)
			}
			to, order, err := a.address(claim)
			require.Equal(t, c.to, to.UID)
			require.Equal(t, c.node, order.For.Node)
			require.Equal(t, order.For.UID != "", c.node != "" || c.err != "")
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, c.err)
			}
		})
	}
}

// A stranded pod does not have to report, but another pod must.
func TestBarrierOfAStrandedPod(t *testing.T) {
	pods := []model.Pod{
		{Name: "s-0", UID: "u0", Agent: true, Phase: model.PodPhaseReady}, {Name: "s-1", UID: "u1", Agent: true, Phase: model.PodPhasePending},
		{Name: "s-2", UID: "u2", Agent: true, Phase: model.PodPhaseReady},
	}
	claim := model.Claim{Pod: "s-1", UID: "u1", Action: model.ActionReplace, Reason: model.ReasonReplacement}
	b := barrierOf(model.Snapshot{Pods: pods}, claim)
	require.Nil(t, b.Own)
	require.Equal(t, []effect.Target{{Pod: "s-0", UID: "u0"}, {Pod: "s-2", UID: "u2"}}, b.Witnesses)
	what, missing := b.Missing(map[string]bool{})
	require.True(t, missing)
	require.Equal(t, "no fresh report from any of s-0, s-2", what)
	_, missing = b.Missing(map[string]bool{"s-2": true})
	require.False(t, missing)

	what, missing = barrierOf(model.Snapshot{Pods: pods[1:2]}, claim).Missing(nil)
	require.True(t, missing)
	require.Equal(t, "no fresh report from any of the other pods: none is ready", what)

	pods[1].Phase = model.PodPhaseStarted
	require.NotNil(t, barrierOf(model.Snapshot{Pods: pods}, claim).Own)
}
