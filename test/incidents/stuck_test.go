package incidents

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// Copies that a pod of the new version holds cannot be had again on one of the old,
// so the database is not green until the rollout, which waited for green, has ended.
func TestStuckOnGreen(t *testing.T) {
	d := newDatabase(t, 3)
	d.pod("db-2").Revision = "v2"
	d.Health = model.Health{Verdict: model.VerdictRecoverable, Reason: "a replica waits for a node of the new version"}
	d.requireGo("db-1")
}

// A bad template kept a pod from being Ready, and its correction waited for all pods
// to be Ready.
func TestStuckOnReady(t *testing.T) {
	d := newDatabase(t, 3)
	d.addCopies("books/1", model.GroupShard, 0, "db-0", "db-1", "db-2")
	d.Health = model.Health{Verdict: model.VerdictRed, Reason: "books/1 has lost a copy"}
	d.hangs("db-2", model.PodPhaseStarted).Problem = model.ProblemCrashLoop
	d.requireGo("db-2")
}

// Two templates were replaced before they had reached pod 0. What it ran was the
// first, which could not start any more, and the third waited for it to be up.
func TestAThirdRevisionStrandedPod0(t *testing.T) {
	stranded := func() *database {
		d := newDatabase(t, 3)
		d.Pools[0].Revision, d.Pools[0].Strategy = "v3", model.StrategyRollingUpdate
		d.pod("db-1").Revision, d.pod("db-2").Revision = "v2", "v2"
		d.addCopies("books/1", model.GroupShard, 0, "db-1", "db-2", "db-0")
		d.hangs("db-0", model.PodPhaseNotStarted)
		return d
	}
	d := stranded()
	d.requireGo("db-0")
	var went []string
	for range 3 {
		went = append(went, d.carryOut()...)
		d.returnAll()
		d.Groups[0].Members[2].State = model.MemberActive
	}
	require.Equal(t, []string{"db-0", "db-2", "db-1"}, went)
	require.Equal(t, model.ClusterDone, policy.Decide(d.Snapshot).Phase)

	// The line cannot pass the two in between, so a person is told at once.
	d = stranded()
	d.byPartition(model.FirstOrdinalNone)
	d.requireHeld("db-0", model.RuleOrderedReady)
	require.Equal(t, model.ClusterStalled, policy.Decide(d.Snapshot).Phase)
}
