package guard

import (
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Mode says how the pods of a database cluster are guarded. The zero value leaves them without a
// guard.
type Mode int

// The modes.
const (
	// Unguarded pods carry no label.
	Unguarded Mode = iota
	// Audited pods may go, and Kubernetes records in its audit log who removed them.
	Audited
	// Closed pods stay until their guard is opened.
	Closed
)

// ModeOf returns the mode that a DatabaseCluster asks for. Nothing is guarded before the database
// has been healthy once, so that a wrong first template can be corrected by any means; once the
// DatabaseCluster is being deleted; and while Rollcall only observes, because it would not open
// what it closed.
func ModeOf(cluster *v1alpha1.DatabaseCluster) Mode {
	initialized := v1alpha1.IsTrue(cluster.Status.Conditions, v1alpha1.ConditionInitialized)
	if !initialized || cluster.DeletionTimestamp != nil || cluster.Spec.Update.Mode == model.ModeObserve {
		return Unguarded
	}
	switch cluster.Spec.Guard {
	case model.GuardEnforce:
		return Closed
	case model.GuardAudit:
		return Audited
	}
	return Unguarded
}
