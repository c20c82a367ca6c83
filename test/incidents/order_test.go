package incidents

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// Sorted as text db-9 comes after db-10, so it went first.
func TestTextSortFromTenPodsOn(t *testing.T) {
	d := newDatabase(t, 12)
	want := []string{"db-11", "db-10", "db-9", "db-8", "db-7", "db-6", "db-5", "db-4", "db-3", "db-2", "db-1", "db-0"}
	require.Equal(t, want, policy.Decide(d.Snapshot).Order)
	var went []string
	for range d.Pods {
		went = append(went, d.carryOut()...)
		d.returnAll()
	}
	require.Equal(t, want, went)
}

// newReplicated is a primary, on the pod that is named, with two replicas.
func newReplicated(t *testing.T, primary string) *database {
	d := newDatabase(t, 3)
	pods := []string{"db-0", "db-1", "db-2"}
	d.addCopies("data", model.GroupShard, 0, pods...)
	d.lead(primary)
	return d
}

// lead makes a pod the primary, which goes last.
func (d *database) lead(primary string) {
	for i := range d.Pods {
		p := &d.Pods[i]
		p.Report.Last, p.Report.Roles = p.Name == primary, nil
		if p.Report.Last {
			p.Report.Roles = []string{"primary"}
		}
	}
	for i := range d.Groups[0].Members {
		m := &d.Groups[0].Members[i]
		m.Leader = m.Pod == primary
	}
}

// The primary went while a replica still ran the old version, and the database was
// handed over to that one, which went next.
func TestTwoSwitchoversWhereOneWouldDo(t *testing.T) {
	d := newReplicated(t, "db-2")
	primary, switchovers := "db-2", 0
	var went []string
	for round := range 8 {
		d.pod("db-1").Report.Busy = map[bool]string{true: "a backup"}[round < 3]
		gone := d.carryOut()
		went = append(went, gone...)
		if slices.Contains(gone, primary) {
			switchovers++
			primary = "db-1"
		}
		d.returnAll()
		d.lead(primary)
	}
	require.Equal(t, []string{"db-0", "db-1", "db-2"}, went)
	require.Equal(t, 1, switchovers)
}

// A node was drained that had the primary and a replica. The replica became the
// primary although it was about to be stopped itself.
func TestPrimaryCreatedOnTheNodeBeingStopped(t *testing.T) {
	d := newReplicated(t, "db-0")
	two := model.Count(2)
	d.mayBeAway(2)
	d.Cluster.Spec.Policy.MaxShardUnavailable = &two
	d.Cluster.Spec.Update.NodeDrains.Follow = true
	d.Cluster.Spec.Drain.Data.NodeDrain = model.DataKeep
	for i := range d.Pods {
		d.Pods[i].Revision, d.Pods[i].Report.Last = "v2", false
	}
	d.Nodes = []model.Node{{Name: "old", Zone: "z", Cordoned: true}, {Name: "new", Zone: "z"}}
	d.pod("db-0").Node, d.pod("db-1").Node, d.pod("db-2").Node = "old", "old", "new"
	d.requireGo("db-1", "db-0") // db-2 can take over
	d.Groups[0].Members[2].Eligible = false
	d.requireGo("db-1") // only db-1 could, and that one is on its way
	hold := policy.Decide(d.Snapshot).Holds[0]
	require.Equal(t, "db-0", hold.Pod)
	require.Equal(t, model.RuleEligible, hold.Rule)
}
