package incidents

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// The limiter was asked last but its turn was waited for, and by the time it
// came the database was not healthy any more.
func TestLimiterBeforeHealthCheck(t *testing.T) {
	d := newDatabase(t, 3)
	d.Fleet = model.Fleet{Restarts: 1, Max: 1}
	d.requireHeld("db-2", model.RuleFleetFull)
	d.Health = model.Health{Verdict: model.VerdictRed, Reason: "a shard has no leader"}
	d.Fleet.Restarts = 0
	d.requireHeld("db-2", model.RuleHealth)
	d.Health = model.Health{Verdict: model.VerdictGreen}
	d.requireGo("db-2")
}

// The database had said that it could lose three; it was asked before the last
// restarts, when it still could.
func TestThreePodsDeletedOnAStaleFaultToleranceFigure(t *testing.T) {
	d := newDatabase(t, 5)
	d.mayBeAway(3)
	d.addCopies("storage", model.GroupAcks, 2, "db-0", "db-1", "db-2", "db-3", "db-4")
	d.requireGo("db-4", "db-3", "db-2")
	for i := range d.Pods {
		d.Pods[i].Report.Fresh, d.Pods[i].Report.AgeSeconds = false, 30
	}
	d.requireHeld("db-4", model.RuleStaleReport)
}

// The StatefulSet controller had not looked at the new template, so that its update
// revision was still that of the last one: every pod seemed to be up to date, or
// out of date, and was neither.
func TestStatusOlderThanGeneration(t *testing.T) {
	d := newDatabase(t, 3)
	for i := range d.Pods {
		d.Pods[i].Revision = "v2"
	}
	require.Equal(t, model.ClusterDone, policy.Decide(d.Snapshot).Phase)
	d.Pools[0].Observed = false
	require.NotEqual(t, model.ClusterDone, policy.Decide(d.Snapshot).Phase)

	d = newDatabase(t, 3)
	d.requireGo("db-2")
	d.Pools[0].Observed = false
	require.Empty(t, d.goes())
	d.Pods[0].Restart = true // whatever the revisions are
	d.requireHeld("db-0", model.RulePoolUnobserved)
}

// The status had no update revision for a moment, and no pod was of that.
func TestAnEmptyRevisionMadeAllLookOld(t *testing.T) {
	d := newDatabase(t, 3)
	d.requireGo("db-2")
	d.Pools[0].Revision = ""
	plan := policy.Decide(d.Snapshot)
	require.Empty(t, plan.Order, plan.Text())
	require.Empty(t, plan.Steps, plan.Text())
}

// Who upgraded the operator got all databases restarted, for what the new one adds
// to their pods.
func TestAnOperatorUpgradeRestartedEveryPod(t *testing.T) {
	d := newDatabase(t, 3)
	for i := range d.Pods {
		d.Pods[i].Revision = "v2"
	}
	require.Empty(t, d.goes(), "another version of Rollcall makes nobody out of date")
	for i := range d.Pods {
		d.Pods[i].Agent, d.Pods[i].Report = false, nil // as they came up before
	}
	d.requireHeld("db-2", model.RuleApproval)
	d.Cluster.Status.Approvals = []model.Approval{{What: model.ApprovedAdopt, At: d.Now}}
	d.requireGo("db-2")
}
