package effect

import "errors"

// What carrying out an effect can come to, besides success and errors that say nothing.
var (
	// ErrGone means that the pod is gone, or another one has its name.
	ErrGone = errors.New("the pod is gone")
	// ErrConflict means that the pod has changed since it was read.
	ErrConflict = errors.New("the pod has changed since it was read")
	// ErrBudget means that a PodDisruptionBudget refuses the eviction.
	ErrBudget = errors.New("a PodDisruptionBudget refuses the eviction")
	// ErrSuperseded means that another coordinator leads the database cluster now.
	ErrSuperseded = errors.New("the claim is another coordinator's now")
	// ErrStaleEpoch means that an agent has seen a higher epoch.
	ErrStaleEpoch = errors.New("the agent has seen orders of a newer coordinator")
	// ErrChanged means that the DatabaseCluster is not what was decided on.
	ErrChanged = errors.New("the DatabaseCluster has changed since the decision")
	// ErrSetChanged means that the StatefulSet is not what was decided on, or read.
	ErrSetChanged = errors.New("the StatefulSet has changed since the decision")
	// ErrBehind means that the caches that were decided on do not show what the API server has.
	ErrBehind = errors.New("the cache is behind")
	// ErrNotObserved means that the StatefulSet controller may still act on the partition as it
	// was.
	ErrNotObserved = errors.New("the StatefulSet controller has not looked at the partition yet")
	// ErrVolumeKept means that a volume claim was not asked to be deleted, so it will not be
	// deleted later.
	ErrVolumeKept = errors.New("a volume claim is left")
	// ErrForbidden means that the coordinator's account lacks a right on volume claims.
	ErrForbidden = errors.New("the coordinator may not")
)

// OwnAgentOnlyError: only a pod's own agent could hand over for it. Why says what is at stake.
type OwnAgentOnlyError struct{ Why string }

func (e *OwnAgentOnlyError) Error() string { return e.Why }
