package rollout

import (
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// Known is what one coordinator knows about a claim beyond what the claim says. Repeating moves
// gives all of it again.
type Known struct {
	// DrainPlanned is true if the agent has said what its drain will change. Undo is its answer,
	// and Setting the cluster setting that it will write, if any.
	DrainPlanned bool
	Undo         []byte
	Setting      effect.ClusterSetting
	// Drained says whether the pod is safe to stop.
	Drained Drained
	// HandedOff is true if another agent has handed over for the pod, or has had its time.
	HandedOff bool
	// Guard is how far the removal of the pod has come while it exists.
	Guard GuardState
	// VolumesFound is true if the pod's own volume claims are known and we may delete them.
	VolumesFound bool
	Volumes      []model.VolumeClaim
	// VolumesDeleted is true if none of the claimed volumes outlives the pod.
	VolumesDeleted bool
	// VolumesNew is true if none of the claimed volumes is left, and the recreated pod has its own.
	VolumesNew bool
	// Successor is the UID of a recreated pod that uses a claimed volume. It is empty if there is
	// none.
	Successor string
	// GoneConfirmed is true if the API server itself has no pod with the claim's UID.
	GoneConfirmed bool
	// StillExists is true if the API server has the pod, although the cache does not.
	StillExists bool
	// SetGone is true if the API server has neither the pod's StatefulSet nor any pod of it.
	SetGone bool
	// Restored is true if an agent has confirmed that the drain is undone.
	Restored bool
	// UndoDeferred is true if nobody can undo the drain now. That is recorded, and it is undone
	// later.
	UndoDeferred bool
}

// Drained says why a pod counts as drained. The zero value means that it does not.
type Drained uint8

const (
	NotDrained Drained = iota
	// DrainedBySelf means that its own agent has confirmed the drain.
	DrainedBySelf
	// DrainedByOther means that another pod's agent has evacuated it.
	DrainedByOther
	// DrainOverdue means that the drain timed out, and the spec lets the pod go without it.
	DrainOverdue
	// DrainNotNeeded means that the pod has broken since, so its restart makes nothing unavailable.
	DrainNotNeeded
)

// confirmed reports whether an agent has confirmed it.
func (d Drained) confirmed() bool { return d == DrainedBySelf || d == DrainedByOther }

// GuardState is how far the removal of a claimed pod has come while the pod exists.
type GuardState uint8

const (
	// GuardUntouched means that nobody has opened it for this claim.
	GuardUntouched GuardState = iota
	// GuardKnownClosed means that the API server has said that the guard is closed and the pod not
	// terminating.
	GuardKnownClosed
	// GuardMaybeOpen means that the guard may be open without a decision that stands: a
	// predecessor, a write without an answer or a refused removal may have left it open.
	GuardMaybeOpen
	// GuardKnownOpen means that the claim is noted on the pod and its guard is open, on a decision
	// that still stands. In a RollingUpdate pool the guard is opened together with the removal.
	GuardKnownOpen
	// RemovalAccepted means that the API server has accepted the removal, or said that the pod is
	// gone.
	RemovalAccepted
)

// mayBeOpen reports whether, as far as is known, the guard stops nobody from removing the pod.
func (g GuardState) mayBeOpen() bool { return g == GuardMaybeOpen || g == GuardKnownOpen }
