package effect

import "errors"

// The errors of effects that callers distinguish.
var (
	// ErrGone means that the pod is gone, or that another pod has its name.
	ErrGone = errors.New("the pod is gone")
	// ErrConflict means that the pod has changed since it was read.
	ErrConflict = errors.New("the pod has changed since it was read")
	// ErrBudget means that a PodDisruptionBudget refuses the eviction.
	ErrBudget = errors.New("a PodDisruptionBudget refuses the eviction")
	// ErrSuperseded means that another coordinator leads the database cluster now.
	ErrSuperseded = errors.New("the claim is another coordinator's now")
	// ErrStaleEpoch means that an agent has seen a higher epoch.
	ErrStaleEpoch = errors.New("the agent has seen orders of a newer coordinator")
	// ErrChanged means that the DatabaseCluster has changed since the decision.
	ErrChanged = errors.New("the DatabaseCluster has changed since the decision")
	// ErrSetChanged means that the StatefulSet has changed since the decision, or since it was
	// read.
	ErrSetChanged = errors.New("the StatefulSet has changed since the decision")
	// ErrBehind means that the caches used for the decision do not show what the API server has.
	ErrBehind = errors.New("the cache is behind")
	// ErrNotObserved means that the StatefulSet controller may still act on the former partition.
	ErrNotObserved = errors.New("the StatefulSet controller has not looked at the partition yet")
	// ErrVolumeKept means that no deletion of a volume claim was requested, so it will not be
	// deleted later.
	ErrVolumeKept = errors.New("a volume claim is left")
	// ErrForbidden means that the coordinator's service account lacks a permission on volume
	// claims.
	ErrForbidden = errors.New("the coordinator may not")
)

// OwnAgentOnlyError means that only a pod's own agent can hand over for it. Why says what is at
// stake.
type OwnAgentOnlyError struct{ Why string }

func (e *OwnAgentOnlyError) Error() string { return e.Why }
