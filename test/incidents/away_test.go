package incidents

import (
	"testing"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// A node had died, which its pod's phase did not show yet, and an update was
// started: the next pod went, and two were down.
func TestNodeDeadAndAnUpdateStarted(t *testing.T) {
	d := newDatabase(t, 3)
	d.requireGo("db-2")
	for i := range d.Nodes {
		d.Nodes[i].Gone = d.Nodes[i].Name == d.pod("db-0").Node
	}
	d.pod("db-0").Report.Fresh = false // its last word was that all is well
	d.requireHeld("db-2", model.RulePodBudget)
	d.requireHeld("db-1", model.RulePodBudget)
}

// The line was lowered because all pods still reported that they were well, the one
// that was terminating too, and so on down to 0.
func TestPartitionRanToZeroWhileAPodWasTerminating(t *testing.T) {
	d := newDatabase(t, 5)
	d.byPartition(model.FirstOrdinalNone)
	d.requireGo("db-4")
	for range 10 {
		d.carryOut() // and nobody ever comes back
	}
	d.requirePartition(4)
	d.requireHeld("db-3", model.RulePodBudget)
}

// Pods that had failed before cost nothing: as many healthy ones went as if all had
// been there.
func TestAlreadyFailedPodsNotCounted(t *testing.T) {
	d := newDatabase(t, 6)
	d.addPool("warm", 2)
	d.mayBeAway(2)
	d.Cluster.Spec.Policy.MaxFailed = 3 // so that they do not stop the line
	d.pod("warm-0").Revision, d.pod("warm-1").Revision = "v2", "v2"
	d.requireGo("db-5", "db-4")
	d.hangs("warm-0", model.PodPhaseFailed)
	d.requireGo("db-5")
	d.hangs("warm-1", model.PodPhaseFailed)
	d.requireHeld("db-5", model.RulePodBudget)
}

// The highest pod was up to date, and evicted before the others had their turn. It
// found no other node, was passed over as done, and all below it went.
func TestOneEvictedPodMadeAllLowerOrdinalsGo(t *testing.T) {
	d := newDatabase(t, 5)
	d.byPartition(4)
	evicted := d.pod("db-4")
	evicted.Revision = "v2"
	d.requireGo("db-3")
	d.hangs("db-4", model.PodPhasePending).Since = d.Now
	for range 10 {
		d.carryOut()
		d.returnAll()
	}
	d.requirePartition(4)
	d.requireHeld("db-3", model.RulePodBudget)
}

// Each StatefulSet had a budget of its own, and so one pod of each went at once:
// all that had data.
func TestAllDataPodsRestartedTogetherBecauseTheBudgetWasPerSet(t *testing.T) {
	d := newDatabase(t, 1)
	d.addPool("hot", 1)
	d.addPool("warm", 1)
	for _, pod := range []string{"db-0", "hot-0", "warm-0"} {
		d.addCopies("only on "+pod, model.GroupShard, 0, pod)
	}
	d.requireGo("db-0")
}

// The process that had evicted a pod was restarted and did not know of it any more;
// the pod still looked well, and the next went.
func TestEvictionMemoryLostOnRestart(t *testing.T) {
	d := newDatabase(t, 3)
	d.requireGo("db-2")
	d.Cluster.Status.Claims = []model.Claim{{
		ID: "1", Pod: "db-2", UID: d.pod("db-2").UID, Action: model.ActionRestart, Reason: model.ReasonOutdated,
		Prepare: model.PrepareHandoff, From: "v1", To: "v2", Phase: model.PhaseOpened, StartedAt: long,
	}}
	d.requireHeld("db-1", model.RulePodBudget)
	d.requireHeld("db-2", model.RuleClaimed)
}
