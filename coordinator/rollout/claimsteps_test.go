package rollout

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// A step that would let a healthy pod go without a prepare is not carried out,
// whoever planned it.
func TestOnlyBrokenPodsGoUnprepared(t *testing.T) {
	now := time.Unix(10_000, 0)
	s := threePods(now)
	uid := s.Pods[2].UID
	for _, c := range []struct {
		step policy.Step
		want int
	}{
		{policy.Step{Pod: "s-2", UID: uid, Action: policy.Restart, Prepare: policy.PrepareNone, Reason: policy.ReasonOutdated}, 0},
		{policy.Step{Pod: "s-2", UID: uid, Action: policy.Restart, Prepare: policy.PrepareNone, Reason: policy.ReasonFailed}, 1},
		{policy.Step{Pod: "s-2", UID: uid, Action: policy.Restart, Prepare: policy.PrepareHandoff, Reason: policy.ReasonOutdated}, 1},
		{policy.Step{Pod: "s-2", UID: uid, Action: policy.Replace, Prepare: policy.PrepareEvacuate, Reason: policy.ReasonReplacement}, 1},
		{policy.Step{Pod: "s-2", UID: "", Action: policy.Restart, Prepare: policy.PrepareHandoff, Reason: policy.ReasonOutdated}, 0},
	} {
		a := stepOn(Facts{Snapshot: s, Unlimited: true}, now)
		a.plan.Steps = []policy.Step{c.step}
		a.claimSteps()
		require.Len(t, a.out.Edits.Add, c.want, "%+v", c.step)
	}
}

// What is being deleted is begun nothing with, whatever the plan says.
func TestNothingIsClaimedOfWhatIsBeingDeleted(t *testing.T) {
	now := time.Unix(10_000, 0)
	facts := Facts{Record: Record{Epoch: 1}, Snapshot: threePods(now), Unlimited: true}
	_, before := Step(NewState(1, Before{}), facts, nil, now)
	require.Len(t, before.Edits.Add, 1)
	facts.Object.Deleted = now
	_, after := Step(NewState(1, Before{}), facts, nil, now)
	require.NotEmpty(t, after.Plan.Steps)
	require.Empty(t, after.Edits.Add)
}

// As many claims are opened as other database clusters leave room for. The pods of an outage go
// together or not at all.
func TestNoMoreIsClaimedThanThereIsRoomFor(t *testing.T) {
	now := time.Unix(10_000, 0)
	steps := []policy.Step{}
	s := threePods(now)
	for _, pod := range s.Pods {
		steps = append(steps, policy.Step{Pod: pod.Name, UID: pod.UID, Action: policy.Restart, Prepare: policy.PrepareHandoff})
	}
	for _, unit := range []policy.Unit{policy.UnitPod, policy.UnitAll} {
		for room, want := range map[policy.Unit][]int{policy.UnitPod: {0, 1, 2, 3, 3}, policy.UnitAll: {0, 0, 0, 3, 3}}[unit] {
			s.Cluster.Spec.Policy.Unit = unit
			a := stepOn(Facts{Snapshot: s, Room: room}, now)
			a.plan.Steps = steps
			a.claimSteps()
			require.Len(t, a.out.Edits.Add, want, "%s %d", unit, room)
		}
	}
}
