package rollout

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// A step that would let a healthy pod go without a drain is not carried out, whoever planned it.
func TestOnlyBrokenPodsGoUnprepared(t *testing.T) {
	now := time.Unix(10_000, 0)
	s := threePods(now)
	uid := s.Pods[2].UID
	for _, c := range []struct {
		step model.Step
		want int
	}{
		{model.Step{Pod: "s-2", UID: uid, Action: model.ActionRestart, Prepare: model.PrepareNone, Reason: model.ReasonOutdated}, 0},
		{model.Step{Pod: "s-2", UID: uid, Action: model.ActionRestart, Prepare: model.PrepareNone, Reason: model.ReasonFailed}, 1},
		{model.Step{Pod: "s-2", UID: uid, Action: model.ActionRestart, Prepare: model.PrepareHandoff, Reason: model.ReasonOutdated}, 1},
		{model.Step{Pod: "s-2", UID: uid, Action: model.ActionReplace, Prepare: model.PrepareEvacuate, Reason: model.ReasonReplacement}, 1},
		{model.Step{Pod: "s-2", UID: "", Action: model.ActionRestart, Prepare: model.PrepareHandoff, Reason: model.ReasonOutdated}, 0},
	} {
		a := stepOn(Facts{Snapshot: s, Unlimited: true}, now)
		a.plan.Steps = []model.Step{c.step}
		a.claimSteps()
		require.Len(t, a.out.Edits.Add, c.want, "%+v", c.step)
	}
}

// Nothing is begun for a database cluster that is being deleted, whatever the plan says.
func TestNothingIsClaimedOfWhatIsBeingDeleted(t *testing.T) {
	now := time.Unix(10_000, 0)
	facts := Facts{Record: Record{Epoch: 1}, Snapshot: threePods(now), Unlimited: true}
	_, before := Step(NewState(1, Before{}), facts, nil, now)
	require.Len(t, before.Edits.Add, 1)
	facts.Object.DeletionTimestamp = now
	_, after := Step(NewState(1, Before{}), facts, nil, now)
	require.NotEmpty(t, after.Plan.Steps)
	require.Empty(t, after.Edits.Add)
}

// As many claims are opened as other database clusters leave room for. The pods of an outage go
// together or not at all.
func TestClaimsStayWithinTheLimit(t *testing.T) {
	now := time.Unix(10_000, 0)
	steps := []model.Step{}
	s := threePods(now)
	for _, pod := range s.Pods {
		steps = append(steps, model.Step{Pod: pod.Name, UID: pod.UID, Action: model.ActionRestart, Prepare: model.PrepareHandoff})
	}
	for _, unit := range []model.Unit{model.UnitPod, model.UnitAll} {
		for room, want := range map[model.Unit][]int{model.UnitPod: {0, 1, 2, 3, 3}, model.UnitAll: {0, 0, 0, 3, 3}}[unit] {
			s.Cluster.Spec.Policy.Unit = unit
			a := stepOn(Facts{Snapshot: s, ClaimLimit: room}, now)
			a.plan.Steps = steps
			a.claimSteps()
			require.Len(t, a.out.Edits.Add, want, "%s %d", unit, room)
		}
	}
}
