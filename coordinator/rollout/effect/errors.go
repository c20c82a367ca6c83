package effect

import "errors"

// What carrying out an effect can come to, besides success and errors that say nothing.
var (
	// ErrGone: the pod is gone, or another one has its name.
	ErrGone = errors.New("the pod is gone")
	// ErrConflict: the pod has changed since it was read.
	ErrConflict = errors.New("the pod has changed since it was read")
	// ErrBudget: a PodDisruptionBudget refuses the eviction.
	ErrBudget = errors.New("a PodDisruptionBudget refuses the eviction")
	// ErrSuperseded: another coordinator leads the database cluster by now.
	ErrSuperseded = errors.New("the claim is another coordinator's now")
	// ErrStaleEpoch: an agent has seen a higher epoch.
	ErrStaleEpoch = errors.New("the agent has seen orders of a newer coordinator")
	// ErrChanged: the DatabaseCluster is not what was decided on.
	ErrChanged = errors.New("the DatabaseCluster has changed since the decision")
	// ErrSetChanged: the StatefulSet is not what was decided on, or read.
	ErrSetChanged = errors.New("the StatefulSet has changed since the decision")
	// ErrBehind: the caches that were decided on do not show what the API server has.
	ErrBehind = errors.New("the cache is behind")
	// ErrNotObserved: the StatefulSet controller may still act on the partition as it was.
	ErrNotObserved = errors.New("the StatefulSet controller has not looked at the partition yet")
	// ErrVolumeKept: a volume claim was not asked to be deleted, so it will not be deleted later.
	ErrVolumeKept = errors.New("a volume claim is left")
	// ErrForbidden: the coordinator's account lacks a right on volume claims.
	ErrForbidden = errors.New("the coordinator may not")
)

// OwnAgentOnlyError: only a pod's own agent could hand over for it. Why says what is at stake.
type OwnAgentOnlyError struct{ Why string }

func (e *OwnAgentOnlyError) Error() string { return e.Why }
